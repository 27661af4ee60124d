/** Operations on leaderboards as definitions, and reads of their entries. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Reward } from "../../domain/message/FactMembers.ts"
import {
  boardEntrants,
  boardOrders,
  boardTies,
  boardTimeZones,
  boardWindows,
  kindOfWindow,
  namedWindows,
} from "../../domain/project/BoardDefinition.ts"
import { limits } from "../../Limits.ts"
import {
  BoardEntries,
  BoardGroups,
  BoardLookup,
  BoardLookupRequest,
  BoardStats,
  Disqualified,
  DisqualifiedTeam,
  DisqualifyRequest,
  groupQuery,
  TeamBoardEntries,
  windowQuery,
} from "./BoardEntries.ts"
import {
  ApiKey,
  DateText,
  distinct,
  faultAt,
  idempotencyHeaders,
  integer,
  limitQuery,
  list,
  OpenTo,
  oneOf,
  pageFields,
  pageQuery,
  text,
  UserId,
  UserNamed,
  wholeNumber,
} from "./Common.ts"
import {
  DefinitionKey,
  listQuery,
  NewReward,
  newMembers,
  patchMembers,
  patchWords,
  pathOf,
  shownMembers,
  statusWords,
} from "./DefinitionShapes.ts"
import { definitionEndpoints } from "./definitionEndpoints.ts"
import { changeHeaders } from "./EntityTags.ts"
import { leaderboard, leaderboardsPage, teamBoardKey } from "./examples/boardExamples.ts"
import { leaderboardId } from "./examples/exampleIds.ts"
import {
  changeProblems,
  EndConflict,
  keyedProblems,
  LeaderboardConflict,
  LeaderboardNotFound,
  LeaderboardOrTeamNotFound,
  readProblems,
  UseConflict,
  UserNotFound,
  writeProblems,
} from "./Problems.ts"
import { TeamId, TeamKind } from "./Teams.ts"

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people.",
  examples: ["Gem hunters"],
})

const rankedKinds = ["currency", "metric", "streak"] as const

/** Exactly one of the members must be there. */
const oneKind = (score: { readonly [Kind in (typeof rankedKinds)[number]]?: string }) =>
  rankedKinds.filter((kind) => score[kind] !== undefined).length === 1
    ? undefined
    : "must have one of currency, metric and streak"

const Score = Schema.Struct({
  currency: Schema.optionalKey(
    DefinitionKey.annotate({
      description: "The key of a currency without a refill: `xp`, `points` or your own.",
      examples: ["gems"],
    }),
  ),
  metric: Schema.optionalKey(
    DefinitionKey.annotate({
      description: "The key of a metric.",
      examples: ["distance"],
    }),
  ),
  streak: Schema.optionalKey(
    DefinitionKey.annotate({ description: "The key of a streak.", examples: ["daily"] }),
  ),
})
  .check(Schema.makeFilter(oneKind, { toJsonSchema: () => [{}, true] }))
  .annotate({
    identifier: "BoardScore",
    description:
      "What users are ranked by, one of the three. A currency: the amounts that they earn; spending and expiry do not lower a score. A metric: what events add to a count or a sum, or the present value of another. A streak: its present length, which falls to 0 when the streak breaks.",
    examples: [{ currency: "gems" }, { metric: "distance" }, { streak: "daily" }],
  })

const Entrants = oneOf(boardEntrants).annotate({
  description:
    "Whom the leaderboard ranks. `teams`: the score of a team is what users earned while they were its members; `GET /v1/leaderboards/{id}/teams` reads it. Default `users`.",
  examples: ["users"],
})

const teamKindWords = {
  description: "The kind of the teams that a leaderboard of `teams` ranks, which needs one.",
  examples: ["club"],
}

const DaysWindow = Schema.Struct({
  days: integer(limits.boardWindowDaysMin, limits.boardWindowDaysMax).annotate({
    description: "How many days each window lasts.",
    examples: [14],
  }),
  anchor: DateText.annotate({
    description:
      "The first day of one of the windows, in the project's time zone. Windows follow each other without a gap before and after it.",
    examples: ["2026-01-05"],
  }),
}).annotate({
  identifier: "DaysWindow",
  description:
    "Windows of a fixed number of days, such as sprints of two weeks. Their name is `days`.",
  examples: [{ days: 14, anchor: "2026-01-05" }],
})

const Windows = list(Schema.Union([oneOf(namedWindows), DaysWindow]), 1, boardWindows.length)
  .check(distinct<typeof DaysWindow.Type | (typeof namedWindows)[number]>([], kindOfWindow))
  .annotate({
    description:
      "The windows in which users are ranked: all time; each day, ISO week and month, in the project's time zone; and windows of a fixed number of days, with one length a leaderboard. Default: all time, days, weeks and months; of a streak, `all_time` only, and a metric that neither counts nor sums must name that one.",
    examples: [
      ["all_time", "weekly"],
      ["all_time", { days: 14, anchor: "2026-01-05" }],
    ],
  })

const TimeZone = oneOf(boardTimeZones).annotate({
  description:
    "The calendar of the windows. `user`: what a user earns counts in the window of the user's local date, by the user's time zone when the event is decided. A window opens at `startsAt`, when its first day begins in the first time zone (UTC+14). It accepts late events until its last day has ended in the last time zone (UTC-12), at `endsAt`, and its `graceMinutes` are over; then it closes. Reads return the window of the project's date unless `at` has another date. Not allowed with `daily` windows, because three would be open at once, nor with `teams`. Default `project`.",
  examples: ["project"],
})

const Order = oneOf(boardOrders).annotate({
  description:
    "`desc`: the highest score is first. `asc`: the lowest. Of equal scores, the one that was reached first comes first. Default `desc`.",
  examples: ["desc"],
})

const Ties = oneOf(boardTies).annotate({
  description:
    "`shared`: equal scores share a rank, and the next rank skips: 1, 1, 3. `first`: of equal scores, the one that was reached first has the better rank: 1, 2, 3. Default `shared`.",
  examples: ["shared"],
})

const Attributes = list(text(1, limits.attributeNameCharactersMax), 0, limits.boardAttributesMax)
  .check(distinct<string>([], (name) => name))
  .annotate({
    description:
      "The names of further attributes of the users that entries show, also to callers with a publishable key. Names and pictures (`displayName`, and the attribute `avatarUrl`) are in entries anyway. Default: none.",
    examples: [["plan"]],
  })

const GroupBy = text(1, limits.attributeNameCharactersMax).annotate({
  description:
    "The name of an attribute of users, such as `city`: users with the same value are a group, in which they have a rank too. The value counts as text; a user without the attribute, or with an empty text, has no group. When the attribute changes, the user takes the whole score to the other group; closed windows keep the group that the user had at the close. Entries show the group, also to callers with a publishable key. The rank on the whole leaderboard decides prizes. Not for teams. Default: none.",
  examples: ["city"],
})

const prizeWindow = {
  description:
    "The windows that pay it: each day, ISO week or month, or each window of `days`; `all_time` pays when the leaderboard ends.",
  examples: ["weekly" as const],
}

const winners = {
  ranks: Schema.optionalKey(
    list(integer(1, limits.boardPrizeRankMax), 2, 2).annotate({
      description: "The first and the last rank that win. Equal ranks all win.",
      examples: [[1, 3]],
    }),
  ),
  percent: Schema.optionalKey(
    integer(1, 100).annotate({
      description:
        "In place of `ranks`: this share of the users wins, rounded up. Users who share the last of these ranks win too.",
      examples: [10],
    }),
  ),
}

/** A prize is for ranks or for a share. */
const ranksOrPercent = ({
  percent,
  ranks,
}: {
  readonly percent?: number
  readonly ranks?: ReadonlyArray<number>
}) => {
  if (percent !== undefined && ranks !== undefined) {
    return [faultAt(["percent"], "unknown_member", "must not be sent together with ranks")]
  }
  const isMissing = percent === undefined && ranks === undefined
  return isMissing ? [faultAt(["ranks"], "missing", "is required, or percent")] : []
}

const NewPrize = Schema.Struct({
  window: oneOf(boardWindows).annotate(prizeWindow),
  ...winners,
  reward: NewReward,
})
  .check(Schema.makeFilter(ranksOrPercent, { toJsonSchema: () => [{}, true] }))
  .annotate({
    identifier: "NewBoardPrize",
    description: "A reward for ranks, or for a share of the users.",
    examples: [{ window: "weekly", ranks: [1, 3], reward: { points: 100 } }],
  })

const Prizes = list(NewPrize, 0, limits.boardPrizesMax).annotate({
  description:
    "What users win by their rank when a window closes. Each prize that a rank matches pays. They are paid in the background, each once, and count on no leaderboard; `leaderboard.prize_won` tells of each. Those of `all_time` are paid when the leaderboard ends: see `endsAt`, and `POST /v1/leaderboards/{id}/close`. A user who is hidden or erased between the close and the payment gets nothing, and nobody moves up. Who takes in a winner by a merge gets the prize. On a leaderboard of teams, a team that wins pays each user who scored for it in the window, was in it when the window closed, and had scored for no other team in between, also if the user has left it since; hidden users get nothing, and nobody does if the team was deleted. An edit counts for windows that close later; a paused leaderboard pays nothing. Default: none.",
  examples: [[{ window: "weekly", ranks: [1, 3], reward: { points: 100 } }]],
})

const KeepWindows = integer(1, limits.boardWindowsKeptMax).annotate({
  description: `How many past windows of each kind can be read. Entries of older ones are deleted; a higher number brings none back. Default: ${limits.boardDailyWindowsKept} days, ${limits.boardWeeklyWindowsKept} weeks and ${limits.boardMonthlyWindowsKept} months, and ${limits.boardDaysWindowsKept} windows of days.`,
  examples: [52],
})

const GraceMinutes = integer(0, limits.boardGraceMinutesMax).annotate({
  description: `For how many minutes after its end a window takes late events that occurred in it; then it closes, and so does the leaderboard after its \`endsAt\`. At most ${limits.boardGraceMinutesMax}, less than the shortest day lasts. Default 0.`,
  examples: [60],
})

const AnnounceRanks = integer(1, limits.boardRanksAnnouncedMax).annotate({
  description: `The number of first places of an open window whose users get messages: \`leaderboard.rank_changed\` is sent when a user enters these places, moves within them or leaves them. Ranks are checked at most every ${limits.boardRanksLookMs / 1_000} seconds, so a change that is reversed between two checks sends nothing. When a leaderboard starts to announce ranks, the users who are in these places get a first message. When a window closes, its messages end. Not for teams. Default: no messages.`,
  examples: [10],
})

export const NewLeaderboard = Schema.Struct({
  ...newMembers("name"),
  name: Name,
  score: Score,
  entrants: Schema.optionalKey(Entrants),
  teamKind: Schema.optionalKey(TeamKind.annotate(teamKindWords)),
  windows: Schema.optionalKey(Windows),
  timeZone: Schema.optionalKey(TimeZone),
  order: Schema.optionalKey(Order),
  ties: Schema.optionalKey(Ties),
  attributes: Schema.optionalKey(Attributes),
  groupBy: Schema.optionalKey(GroupBy),
  prizes: Schema.optionalKey(Prizes),
  keepWindows: Schema.optionalKey(KeepWindows),
  graceMinutes: Schema.optionalKey(GraceMinutes),
  announceRanks: Schema.optionalKey(AnnounceRanks),
}).annotate({
  identifier: "NewLeaderboard",
  description: "A leaderboard to create.",
  examples: [
    { name: "Gem hunters", score: { currency: "gems" }, windows: ["all_time", "weekly"] },
    {
      name: "Weekly xp",
      score: { currency: "xp" },
      windows: ["weekly"],
      prizes: [
        { window: "weekly", ranks: [1, 1], reward: { points: 100 } },
        { window: "weekly", percent: 10, reward: { points: 20 } },
      ],
    },
    {
      name: "Sprint",
      score: { currency: "xp" },
      windows: [{ days: 14, anchor: "2026-01-05" }],
      prizes: [{ window: "days", ranks: [1, 3], reward: { points: 100 } }],
    },
    {
      name: "Season 1",
      score: { currency: "xp" },
      startsAt: "2026-11-02T00:00:00Z",
      endsAt: "2026-12-14T00:00:00Z",
    },
    {
      name: "Cup of the clubs",
      score: { currency: "xp" },
      entrants: "teams",
      teamKind: "club",
      windows: ["weekly"],
    },
  ],
})

export const LeaderboardPatch = Schema.Struct({
  ...patchMembers,
  name: Schema.optionalKey(Name),
  score: Schema.optionalKey(Score),
  entrants: Schema.optionalKey(Schema.NullOr(Entrants)),
  teamKind: Schema.optionalKey(Schema.NullOr(TeamKind.annotate(teamKindWords))),
  windows: Schema.optionalKey(Schema.NullOr(Windows)),
  timeZone: Schema.optionalKey(Schema.NullOr(TimeZone)),
  order: Schema.optionalKey(Schema.NullOr(Order)),
  ties: Schema.optionalKey(Schema.NullOr(Ties)),
  attributes: Schema.optionalKey(Schema.NullOr(Attributes)),
  groupBy: Schema.optionalKey(Schema.NullOr(GroupBy)),
  prizes: Schema.optionalKey(Schema.NullOr(Prizes)),
  keepWindows: Schema.optionalKey(Schema.NullOr(KeepWindows)),
  graceMinutes: Schema.optionalKey(Schema.NullOr(GraceMinutes)),
  announceRanks: Schema.optionalKey(Schema.NullOr(AnnounceRanks)),
}).annotate({
  identifier: "LeaderboardPatch",
  examples: [{ name: "Gem masters" }, { status: "paused" }],
})

export const LeaderboardDefinition = Schema.Struct({
  id: Schema.String.annotate({
    description: "Laurel's id of the leaderboard.",
    examples: [leaderboardId],
  }),
  ...shownMembers,
  name: Schema.String.annotate({ description: "Name for people.", examples: ["Gem hunters"] }),
  score: Score,
  entrants: oneOf(boardEntrants).annotate({
    description: "Whether the leaderboard ranks users or teams.",
    examples: ["users"],
  }),
  teamKind: Schema.NullOr(Schema.String).annotate({
    description: "The kind of the teams that it ranks; null: it ranks users.",
    examples: ["club"],
  }),
  windows: Schema.Array(Schema.Union([oneOf(namedWindows), DaysWindow])).annotate({
    description: "The windows in which users are ranked.",
    examples: [leaderboard.windows],
  }),
  timeZone: oneOf(boardTimeZones).annotate({
    description: "The calendar of the windows: that of the project, or of each user.",
    examples: ["project"],
  }),
  order: oneOf(boardOrders).annotate({
    description: "Whether the highest or the lowest score is first.",
    examples: ["desc"],
  }),
  ties: oneOf(boardTies).annotate({
    description: "Whether equal scores share a rank.",
    examples: ["shared"],
  }),
  attributes: Schema.Array(Schema.String).annotate({
    description: "The names of the further attributes of the users that entries show.",
    examples: [["plan"]],
  }),
  groupBy: Schema.NullOr(Schema.String).annotate({
    description: "The attribute whose values are the groups of users; null: there are no groups.",
    examples: ["city"],
  }),
  prizes: Schema.Array(
    Schema.Struct({
      window: oneOf(boardWindows).annotate(prizeWindow),
      ...winners,
      reward: Reward,
    }).annotate({
      identifier: "BoardPrize",
      description: "A reward for ranks, or for a share of the users.",
    }),
  ).annotate({ description: "What users win by their rank when a window closes." }),
  keepWindows: Schema.NullOr(Schema.Int).annotate({
    description: "How many past windows of each kind can be read; null: as many as by default.",
    examples: [52],
  }),
  graceMinutes: Schema.Int.annotate({
    description: "For how many minutes after its end a window takes late events.",
    examples: [0],
  }),
  announceRanks: Schema.NullOr(Schema.Int).annotate({
    description: "The number of first places whose users get messages of their ranks; null: none.",
    examples: [10],
  }),
}).annotate({
  identifier: "LeaderboardDefinition",
  description: "A leaderboard: what it ranks users by, and in which windows.",
  examples: [leaderboard],
})

export const LeaderboardList = Schema.Struct({
  leaderboards: Schema.Array(LeaderboardDefinition).annotate({
    description: "In the order of creation; `xp` is first.",
  }),
  ...pageFields("leaderboards"),
}).annotate({
  identifier: "LeaderboardList",
  description: "A page of the leaderboards.",
  examples: [leaderboardsPage],
})

const params = pathOf("leaderboard", leaderboardId)

/** Of what apps read. */
const notYet =
  "With a publishable key or a user token, a leaderboard that is a draft or has not begun returns 404."

const entriesProblems = [...readProblems, LeaderboardNotFound, UserNotFound] as const

export const Leaderboards = HttpApiGroup.make("leaderboards")
  .add(
    ...definitionEndpoints({
      path: "/v1/leaderboards",
      params,
      readers: ["read"],
      notFound: LeaderboardNotFound,
      create: {
        payload: NewLeaderboard,
        success: LeaderboardDefinition,
        summary: "Create a leaderboard",
        description: `Ranks users by the amounts of a currency that they earn with events and with rewards that you grant, by a metric, or by the present length of a streak. It counts what occurs from \`startsAt\` on and before \`endsAt\`, while it is active. At \`endsAt\` its windows close, that of all time too: its ranks are final, and nothing changes them but the erasure, the merge, the hiding or the disqualification of a user. Its last windows stay. A leaderboard without a \`segment\` and without a \`startsAt\` lists at once what users have ever earned or added in its \`all_time\` window; its other windows, and every window of the others, count from the publication on. With a \`segment\`, what a user earns counts while the user is a member; who leaves keeps the entry. A late event counts in the windows that are open on its arrival and contain it; \`graceMinutes\` keeps windows open after their ends. What backfills of badges pay, and what a backfill of a metric counts, count in \`all_time\` only. A leaderboard of a streak, or of a metric that neither counts nor sums, shows the lengths or values as they are: it has no other window than \`all_time\`, no \`segment\`, \`startsAt\` or \`endsAt\`, and is never paused. Of equal lengths, the one that was reached on an earlier day comes first; equal values share a rank. An environment holds at most ${limits.boardsMax} leaderboards that are not archived, \`xp\` among them, and ${limits.boardsOfCurrencyMax} of one currency, metric or streak.`,
      },
      list: {
        query: listQuery("leaderboards"),
        success: LeaderboardList,
        summary: "List leaderboards",
        description:
          "Lists the leaderboards of the key's project and environment: all except archived ones, or all with the given status. The leaderboard `xp`, which `GET /v1/leaderboard` reads, always exists.",
      },
      get: {
        success: LeaderboardDefinition,
        summary: "Read a leaderboard",
        description: "Returns the definition of a leaderboard by its id or key.",
      },
      update: {
        payload: LeaderboardPatch,
        success: LeaderboardDefinition,
        error: [...writeProblems, LeaderboardNotFound, LeaderboardConflict],
        summary: "Change a leaderboard",
        description: `${patchWords}

\`score\`, \`entrants\`, \`teamKind\`, \`windows\`, \`timeZone\`, \`order\`, \`groupBy\`, \`graceMinutes\`, \`segment\` and \`startsAt\` change only while it is a draft. \`endsAt\` can move to any later moment than now, or be removed, until the leaderboard has ended. A paused leaderboard counts nothing and shows its entries. The status and the end of the leaderboard \`xp\` cannot change.

${statusWords}`,
      },
      delete: {
        success: HttpApiSchema.NoContent.annotate({ description: "The leaderboard is archived." }),
        error: [...readProblems, LeaderboardNotFound, UseConflict],
        summary: "Archive a leaderboard",
        description:
          "Its entries are gone for good, those of past windows too. The leaderboard `xp` cannot be archived (409 `in_use`). Archiving twice returns 404.",
      },
    }),
    HttpApiEndpoint.get("entries", "/v1/leaderboards/:id/entries", {
      params,
      query: {
        ...windowQuery,
        ...groupQuery,
        around: Schema.optionalKey(
          UserId.annotate({
            description:
              "Centres the page on this user, instead of `offset`. For a user who is not listed, or not in the `group`, returns the first page with `me: null`. Not with a publishable key.",
            examples: ["user-42"],
          }),
        ),
        limit: limitQuery,
        offset: Schema.optionalKey(wholeNumber(0, Number.MAX_SAFE_INTEGER)),
      },
      success: BoardEntries,
      error: entriesProblems,
    })
      .annotate(OpenTo, OpenTo.clients)
      .annotate(UserNamed, ({ query }) => query.around)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read the entries of a leaderboard",
          description: `Ranks users in a window, on a leaderboard that ranks users. With \`group\`, the page, \`total\` and \`around\` are those of the group; \`rank\` stays the rank on the whole leaderboard. Users who are hidden, disqualified or without a score in the window are not listed; who is hidden or disqualified leaves past windows too. A draft lists nobody. ${notYet}`,
        }),
      ),
    HttpApiEndpoint.get("groups", "/v1/leaderboards/:id/groups", {
      params,
      query: { ...windowQuery, ...pageQuery("boardGroups") },
      success: BoardGroups,
      error: [...readProblems, LeaderboardNotFound],
    })
      .annotate(OpenTo, OpenTo.clients)
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the groups of a leaderboard",
          description: `Lists the groups of a leaderboard with \`groupBy\`: the number of users of each in a window, and the first of them. The groups are sorted by name, by UTF-16 code units. Empty groups are left out, and so are users without a group. ${notYet}`,
        }),
      ),
    HttpApiEndpoint.get("teams", "/v1/leaderboards/:id/teams", {
      params: pathOf("leaderboard", teamBoardKey),
      query: {
        ...windowQuery,
        around: Schema.optionalKey(
          TeamId.annotate({
            description:
              "Centres the page on this team, instead of `offset`. For a team that is not listed, returns the first page with `me: null`.",
            examples: ["falcons"],
          }),
        ),
        limit: limitQuery,
        offset: Schema.optionalKey(wholeNumber(0, Number.MAX_SAFE_INTEGER)),
      },
      success: TeamBoardEntries,
      error: [...readProblems, LeaderboardOrTeamNotFound],
    })
      .annotate(OpenTo, OpenTo.clients)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read the teams of a leaderboard",
          description: `Ranks teams in a window, on a leaderboard with \`entrants\` of \`teams\`. The score of a team is the sum of what users earned while they were its members: who leaves takes nothing away, and who joins brings nothing. An undo takes the score from the team that got it. What hidden users earned counts, and stays when a user is erased or merged. A team that is deleted leaves all windows, past ones too. A leaderboard of teams begins empty when it is published. ${notYet}`,
        }),
      ),
    HttpApiEndpoint.post("lookup", "/v1/leaderboards/:id/lookup", {
      params,
      payload: BoardLookupRequest,
      success: BoardLookup,
      error: [...writeProblems, LeaderboardNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Look users up on a leaderboard",
          description:
            "Returns the ranks of users, such as friends: on the whole leaderboard, in their groups, and among each other. Changes nothing. An `Idempotency-Key` is ignored.",
        }),
      ),
    HttpApiEndpoint.post("close", "/v1/leaderboards/:id/close", {
      params,
      headers: changeHeaders,
      success: LeaderboardDefinition,
      error: [...readProblems, LeaderboardNotFound, EndConflict, ...changeProblems],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Close a leaderboard",
          description:
            "Ends the leaderboard now: `endsAt` becomes the present time. Its windows close, at once or after its `graceMinutes`, that of all time too, with their prizes and messages; then its ranks are final. Only an active or a paused leaderboard can be closed (409 `invalid_transition`), not `xp`, and not one that shows present lengths or values. It cannot be opened again.",
        }),
      ),
    HttpApiEndpoint.put("disqualify", "/v1/leaderboards/:id/entries/:userId", {
      params: { ...params, userId: UserId },
      headers: idempotencyHeaders,
      payload: DisqualifyRequest,
      success: Disqualified,
      error: [...writeProblems, ...keyedProblems, LeaderboardNotFound, UserNotFound],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Disqualify a user on a leaderboard",
        description:
          "The leaderboard does not list the user any more, in open and past windows: the users behind move up. The user still scores, so `false` lists the user again with the present scores, in the windows that are open; past windows stay without the user. A merge makes both users so, if one is. To take a user off all leaderboards, set `hidden` of the user.",
      }),
    ),
    HttpApiEndpoint.put("disqualifyTeam", "/v1/leaderboards/:id/teams/:teamId", {
      params: { ...pathOf("leaderboard", teamBoardKey), teamId: TeamId },
      headers: idempotencyHeaders,
      payload: DisqualifyRequest,
      success: DisqualifiedTeam,
      error: [...writeProblems, ...keyedProblems, LeaderboardOrTeamNotFound],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Disqualify a team on a leaderboard",
        description:
          "The leaderboard does not list the team any more, in open and past windows: the teams behind move up, and prizes that are not paid yet do not go to its members. Its members still score for it, so `false` lists the team again with its scores in the windows that are open; past windows stay without the team. The team's `version` rises, its `disqualifiedOn` has the leaderboard, and one message `leaderboard.team_disqualified` says so. On a leaderboard that ranks teams of its kind only.",
      }),
    ),
    HttpApiEndpoint.get("stats", "/v1/leaderboards/:id/stats", {
      params,
      query: { ...windowQuery, ...groupQuery },
      success: BoardStats,
      error: [...readProblems, LeaderboardNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read statistics of a leaderboard",
          description:
            "Returns how many users a window lists, and how their scores are distributed. Each of them has scored in the window, so there is no separate number of active users.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Leaderboards",
      description: "Users ranked by a currency, a metric or a streak, in several windows.",
    }),
  )
