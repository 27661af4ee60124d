/** Operations on leagues as definitions, and reads of places and cohorts. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Reward } from "../../domain/message/FactMembers.ts"
import { leagueOutcomes } from "../../domain/project/League.ts"
import { windowKinds } from "../../domain/values/Calendar.ts"
import { limits } from "../../Limits.ts"
import { AvatarUrl } from "./Attributes.ts"
import { DisqualifyRequest } from "./BoardEntries.ts"
import {
  ApiKey,
  idempotencyHeaders,
  integer,
  list,
  OpenTo,
  oneOf,
  pageEndFields,
  pageFields,
  pageQuery,
  type RequestParts,
  text,
  UserId,
  UserNamed,
} from "./Common.ts"
import {
  addedScore,
  DefinitionKey,
  listQuery,
  newMembers,
  patchMembers,
  patchWords,
  pathOf,
  shownMembers,
  statusWords,
} from "./DefinitionShapes.ts"
import { definitionEndpoints } from "./definitionEndpoints.ts"
import { leagueId } from "./examples/exampleIds.ts"
import {
  cohort,
  cohortRead,
  cohortsPage,
  league,
  leaguesPage,
  leagueWindow,
  newLeague,
  userLeague,
  userLeagues,
} from "./examples/leagueExamples.ts"
import { NewRewards, ShownRewards } from "./LeagueRewards.ts"
import {
  CohortNotFound,
  KeyInProgress,
  keyedProblems,
  LeagueConflict,
  LeagueNotFound,
  LeagueOfUserNotFound,
  readProblems,
  UserNotFound,
  writeProblems,
} from "./Problems.ts"

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people.",
  examples: ["Weekly league"],
})

const moves = (words: string, example: number) =>
  integer(0, limits.leagueCohortSizeMax).annotate({ description: words, examples: [example] })

const divisionKey = DefinitionKey.annotate({
  description: "Your key of the division, unique in the league.",
  examples: ["silver"],
})

export const Division = Schema.Struct({
  key: divisionKey,
  name: text(1, limits.titleCharactersMax).annotate({
    description: "Name for people.",
    examples: ["Silver"],
  }),
  icon: Schema.optionalKey(
    Schema.NullOr(
      text(1, limits.urlCharactersMax).annotate({
        description: "A text or an address of an image, for your app. Default: none.",
        examples: ["🥈"],
      }),
    ),
  ),
  promote: moves(
    "How many of a full cohort move up. Of a smaller cohort their share, rounded up. Nobody leaves the highest division upwards.",
    7,
  ),
  demote: moves(
    "How many of a full cohort move down. Of a smaller cohort their share, rounded down, of those who do not move up. Nobody leaves the lowest division downwards.",
    5,
  ),
}).annotate({
  identifier: "LeagueDivision",
  description: "A division of a league.",
  examples: [league.divisions[1]],
})

const Divisions = list(Division, 1, limits.leagueDivisionsMax).annotate({
  description:
    "The divisions, the lowest first. Users begin in the lowest one. Once the league is published, divisions stay at their places; new ones come last.",
  examples: [league.divisions],
})

const CohortSize = integer(limits.leagueCohortSizeMin, limits.leagueCohortSizeMax).annotate({
  description:
    "How many users compete in a cohort. A cohort that is open takes users up to this number. Default 30.",
  examples: [30],
})

const Window = oneOf(windowKinds).annotate({
  description:
    "How long users compete: a day, an ISO week or a month of the project. Default `weekly`.",
  examples: ["weekly"],
})

const GraceMinutes = integer(0, limits.leagueGraceMinutesMax).annotate({
  description:
    "For how many minutes after its end a window takes events that occurred in it. Then it closes. Default 0.",
  examples: [0],
})

const Score = addedScore("xp", "distance").annotate({
  identifier: "LeagueScore",
  description:
    "What users are ranked by, one of the two. A currency: the amounts that they earn; spending and expiry do not lower a score. A metric: what events add to it.",
  examples: [{ currency: "xp" }, { metric: "distance" }],
})

const ScoreShown = (description: string, example: number) =>
  Schema.Finite.annotate({
    description: `${description} A metric with \`decimals\` gives a fraction.`,
    examples: [example],
  })

export const NewLeague = Schema.Struct({
  ...newMembers("name"),
  name: Name,
  score: Score,
  divisions: Divisions,
  cohortSize: Schema.optionalKey(CohortSize),
  window: Schema.optionalKey(Window),
  graceMinutes: Schema.optionalKey(GraceMinutes),
  rewards: Schema.optionalKey(NewRewards),
}).annotate({
  identifier: "NewLeague",
  description: "A league to create.",
  examples: [newLeague],
})

export const LeaguePatch = Schema.Struct({
  ...patchMembers,
  name: Schema.optionalKey(Name),
  score: Schema.optionalKey(Score),
  divisions: Schema.optionalKey(Divisions),
  cohortSize: Schema.optionalKey(Schema.NullOr(CohortSize)),
  window: Schema.optionalKey(Schema.NullOr(Window)),
  graceMinutes: Schema.optionalKey(Schema.NullOr(GraceMinutes)),
  rewards: Schema.optionalKey(Schema.NullOr(NewRewards)),
}).annotate({
  identifier: "LeaguePatch",
  examples: [{ cohortSize: 20 }, { status: "paused" }],
})

export const League = Schema.Struct({
  id: Schema.String.annotate({ description: "Laurel's id of the league.", examples: [leagueId] }),
  ...shownMembers,
  name: Schema.String.annotate({ description: "Name for people.", examples: ["Weekly league"] }),
  score: Score,
  divisions: Schema.Array(Division).annotate({
    description: "The divisions, the lowest first.",
    examples: [league.divisions],
  }),
  cohortSize: Schema.Int.annotate({
    description: "How many users compete in a cohort.",
    examples: [30],
  }),
  window: oneOf(windowKinds).annotate({
    description: "How long users compete.",
    examples: ["weekly"],
  }),
  graceMinutes: Schema.Int.annotate({
    description: "For how many minutes after its end a window takes events that occurred in it.",
    examples: [0],
  }),
  rewards: ShownRewards,
}).annotate({
  identifier: "League",
  description: "A league: its divisions, and what users are ranked by.",
  examples: [league],
})

export const LeagueList = Schema.Struct({
  leagues: Schema.Array(League).annotate({ description: "In the order of creation." }),
  ...pageFields("leagues"),
}).annotate({
  identifier: "LeagueList",
  description: "A page of the leagues.",
  examples: [leaguesPage],
})

/* Reads. */

const isoTimeOf = (description: string, example: string) =>
  Schema.String.annotate({ description, format: "date-time", examples: [example] })

const WindowShown = Schema.Struct({
  kind: oneOf(windowKinds).annotate({ description: "Its kind.", examples: ["weekly"] }),
  startsAt: isoTimeOf("Its start.", leagueWindow.startsAt),
  endsAt: isoTimeOf("Its end.", leagueWindow.endsAt),
}).annotate({
  identifier: "LeagueWindow",
  description: "The day, week or month.",
  examples: [leagueWindow],
})

const DivisionShown = Schema.Struct({
  key: Schema.String.annotate({ description: "Your key of the division.", examples: ["silver"] }),
  name: Schema.String.annotate({ description: "Name for people.", examples: ["Silver"] }),
  icon: Schema.NullOr(Schema.String).annotate({
    description: "A text or an address of an image; null: none.",
    examples: ["🥈"],
  }),
}).annotate({
  identifier: "DivisionShown",
  description: "A division.",
  examples: [userLeague.division],
})

const Outcome = (words: string) =>
  oneOf(leagueOutcomes).annotate({ description: words, examples: ["promoted"] })

const Rank = Schema.NullOr(Schema.Int).annotate({
  description:
    "Rank in the cohort. Of equal scores, the one that was reached first is first. Null: hidden, without a score, or in no cohort.",
  examples: [1],
})

const Settling = Schema.Boolean.annotate({
  description:
    "Whether the window is closed, and the user's outcome follows in moments. The ranks no longer change.",
  examples: [false],
})

const ClosesAt = isoTimeOf("When the window takes no more scores.", userLeague.closesAt)

const CohortId = Schema.String.annotate({
  description: "The division and the number of the cohort in the window.",
  examples: [cohort.id],
})

const CohortSizeShown = Schema.Int.annotate({
  description: "Number of users with a place in the cohort.",
  examples: [2],
})

const disqualifiedFlag = Schema.Literal(true).annotate({
  description: "The user is disqualified in the league, and has no rank. Absent: is not.",
  examples: [true],
})

const placeMembers = {
  disqualified: Schema.optionalKey(disqualifiedFlag),
  league: Schema.String.annotate({
    description: "The key of the league.",
    examples: ["weekly-league"],
  }),
  name: Schema.String.annotate({
    description: "The name of the league.",
    examples: ["Weekly league"],
  }),
  division: DivisionShown,
  window: WindowShown,
  closesAt: ClosesAt,
  settling: Settling,
  cohort: Schema.NullOr(
    Schema.Struct({ id: CohortId, size: CohortSizeShown }).annotate({
      identifier: "OwnLeagueCohort",
    }),
  ).annotate({
    description: "The user's cohort; null: the user has no score in the window yet.",
    examples: [userLeague.cohort],
  }),
  score: ScoreShown("What the user earned in the window.", 340),
  rank: Rank,
  outcome: Outcome("What would come of the window if it closed now."),
  rewards: Schema.Array(Reward).annotate({
    description: "What the user would get if the window closed now.",
    examples: [userLeague.rewards],
  }),
  nextScore: ScoreShown(
    "What the user has earned in the next window already, while this one is not settled. It counts there.",
    0,
  ),
}

export const UserLeagues = Schema.Struct({
  userId: UserId,
  leagues: Schema.Array(
    Schema.Struct(placeMembers).annotate({
      identifier: "LeaguePlace",
      description: "The user's place in a league.",
      examples: [userLeagues.leagues[0]],
    }),
  ).annotate({ description: "Those that are published, in the order of creation." }),
}).annotate({
  identifier: "UserLeagues",
  description: "A user's places in the leagues.",
  examples: [userLeagues],
})

export const LeagueDisqualified = Schema.Struct({
  league: Schema.String.annotate({
    description: "The key of the league.",
    examples: ["weekly-league"],
  }),
  userId: UserId,
  disqualified: Schema.Boolean.annotate({
    description: "Whether the league does not rank the user.",
    examples: [true],
  }),
}).annotate({
  identifier: "LeagueDisqualified",
  description: "A user of a league.",
  examples: [{ league: "weekly-league", userId: "user-42", disqualified: true }],
})

const LeagueEntry = Schema.Struct({
  rank: Rank,
  userId: UserId,
  displayName: Schema.NullOr(Schema.String).annotate({
    description: "The user's current display name; null: none.",
    examples: ["Ada"],
  }),
  avatarUrl: AvatarUrl("user"),
  score: ScoreShown("The score in the window.", 340),
  outcome: Outcome("What would come of the window if it closed now."),
  disqualified: Schema.optionalKey(disqualifiedFlag),
}).annotate({
  identifier: "LeagueEntry",
  description: "A user of a cohort.",
  examples: [userLeague.entries[0]],
})

const entries = Schema.Array(LeagueEntry).annotate({
  description: "The users of the cohort in the order of ranks, without hidden ones.",
})

const LeagueResult = Schema.Struct({
  window: WindowShown,
  division: DivisionShown,
  score: ScoreShown("The score in the window.", 510),
  rank: Schema.NullOr(Schema.Int).annotate({
    description: "Rank at the close; null: hidden, disqualified, or without a score.",
    examples: [2],
  }),
  of: Schema.Int.annotate({
    description: "How many users of the cohort had a rank.",
    examples: [30],
  }),
  outcome: Outcome("What came of it."),
}).annotate({
  identifier: "LeagueResult",
  description: "What came of a window for the user.",
  examples: [userLeague.history[0]],
})

export const UserLeague = Schema.Struct({
  userId: UserId,
  ...placeMembers,
  entries,
  history: Schema.Array(LeagueResult).annotate({
    description: `The latest windows with a score, newest first; at most ${limits.leagueResultsKept}.`,
  }),
}).annotate({
  identifier: "UserLeague",
  description: "A user's place in a league, the cohort, and past windows.",
  examples: [userLeague],
})

const cohortMembers = {
  id: CohortId,
  division: Schema.String.annotate({
    description: "The key of the division.",
    examples: ["silver"],
  }),
  size: CohortSizeShown,
}

const leagueKey = Schema.String.annotate({
  description: "The key of the league.",
  examples: ["weekly-league"],
})

export const CohortsPage = Schema.Struct({
  league: leagueKey,
  division: cohortMembers.division,
  window: WindowShown,
  closesAt: ClosesAt,
  settling: Settling,
  unsettled: Schema.Int.annotate({
    description:
      "For how many users of the league the closed window is not settled yet; 0 while it is open.",
    examples: [0],
  }),
  cohorts: Schema.Array(
    Schema.Struct(cohortMembers).annotate({
      identifier: "LeagueCohortSummary",
      description: "A cohort.",
      examples: [cohort],
    }),
  ).annotate({ description: "In the order in which they were opened." }),
  ...pageEndFields("cohorts"),
}).annotate({
  identifier: "LeagueCohortsPage",
  description: "A page of the cohorts of a division.",
  examples: [cohortsPage],
})

export const Cohort = Schema.Struct({
  league: leagueKey,
  ...cohortMembers,
  window: WindowShown,
  closesAt: ClosesAt,
  settling: Settling,
  entries,
}).annotate({
  identifier: "LeagueCohort",
  description: "The users of a cohort.",
  examples: [cohortRead],
})

const params = pathOf("league", leagueId)
const named = ({ params }: RequestParts): string => params.id

export const Leagues = HttpApiGroup.make("leagues")
  .add(
    ...definitionEndpoints({
      path: "/v1/leagues",
      params,
      readers: ["read"],
      notFound: LeagueNotFound,
      create: {
        payload: NewLeague,
        success: League,
        summary: "Create a league",
        description: `Users of one division compete in cohorts for a day, a week or a month. With the first amount of the currency that an event or a granted reward gives in a window, or the first event that counts for the metric, a user joins an open cohort of the own division; new users begin in the lowest one. At the close, the first of each cohort move up a division and the last move down. Who has no score in a window stays. A user who is hidden from leaderboards is not ranked, and stays. What backfills, prizes and refunds give does not count. An environment holds at most ${limits.leaguesMax} leagues that are not archived.`,
      },
      list: {
        query: listQuery("leagues"),
        success: LeagueList,
        summary: "List leagues",
        description:
          "Lists the leagues of the key's project and environment: all except archived ones, or all with the given status.",
      },
      get: {
        success: League,
        summary: "Read a league",
        description: "Returns the definition of a league by its id or key.",
      },
      update: {
        payload: LeaguePatch,
        success: League,
        error: [...writeProblems, LeagueNotFound, LeagueConflict],
        summary: "Change a league",
        description: `${patchWords}

\`score\`, \`window\`, \`graceMinutes\`, \`segment\` and \`startsAt\` change only while it is a draft. Published divisions stay at their places; their names, icons and numbers may change, and new ones come last. A window closes by the numbers of its close. A paused league counts no scores; its windows still close.

${statusWords}`,
      },
      delete: {
        success: HttpApiSchema.NoContent.annotate({ description: "The league is archived." }),
        error: [...readProblems, LeagueNotFound, KeyInProgress],
        summary: "Archive a league",
        description:
          "Open windows end without an outcome. A window that is closed already is settled for all. Archiving twice returns 404.",
      },
    }),
    HttpApiEndpoint.get("cohorts", "/v1/leagues/:id/cohorts", {
      params,
      query: {
        division: DefinitionKey.annotate({
          description: "The key of the division.",
          examples: ["silver"],
        }),
        ...pageQuery("cohorts"),
      },
      success: CohortsPage,
      error: [...readProblems, LeagueNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the cohorts of a division",
          description:
            "Lists the cohorts of the oldest window that is not settled, which is usually the present one.",
        }),
      ),
    HttpApiEndpoint.get("cohort", "/v1/leagues/:id/cohorts/:cohort", {
      params: {
        ...params,
        cohort: text(1, limits.idCharactersMax).annotate({
          description: "The id of the cohort.",
          examples: [cohort.id],
        }),
      },
      success: Cohort,
      error: [...readProblems, CohortNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a cohort",
          description:
            "Returns the users of a cohort of the oldest window that is not settled. Cohorts that are settled for all are no longer there; each user's history has the outcome.",
        }),
      ),
    HttpApiEndpoint.put("disqualify", "/v1/leagues/:id/members/:userId", {
      params: { ...params, userId: UserId },
      headers: idempotencyHeaders,
      payload: DisqualifyRequest,
      success: LeagueDisqualified,
      error: [...writeProblems, ...keyedProblems, LeagueOfUserNotFound],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Disqualify a user in a league",
        description:
          "The league ranks the user no more: the users behind move up. At the close the user stays in the division, takes no place of those who move, and wins nothing. Scores go on, so `false` before the close gives the rank back. Windows that are closed stay as they are. A merge makes both users so, if one is.",
      }),
    ),
    HttpApiEndpoint.get("ofUser", "/v1/users/:id/leagues", {
      params: { id: UserId },
      success: UserLeagues,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read", "user"])
      .annotate(UserNamed, named)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a user's leagues",
          description:
            "Returns the user's division, score and rank in each league that is active, paused or over; with a secret key also in those that have not begun.",
        }),
      ),
    HttpApiEndpoint.get("oneOfUser", "/v1/users/:id/leagues/:leagueId", {
      params: {
        id: UserId,
        leagueId: text(1, limits.idCharactersMax).annotate({
          description: "The league's id or key.",
          examples: [leagueId],
        }),
      },
      success: UserLeague,
      error: [...readProblems, LeagueOfUserNotFound],
    })
      .annotate(OpenTo, ["read", "user"])
      .annotate(UserNamed, named)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a user's cohort in a league",
          description:
            "Returns the user's place, the users of the same cohort with their ranks, and what came of past windows. A user token reads the own cohort alone, and returns 404 for a league that has not begun.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Leagues",
      description: "Divisions in which users compete in small cohorts, and move up and down.",
    }),
  )
