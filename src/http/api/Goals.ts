/** Operations on shared goals, towards which users work together. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Reward } from "../../domain/message/FactMembers.ts"
import { questRecurrences } from "../../domain/project/Definition.ts"
import { goalScopes } from "../../domain/project/Goal.ts"
import { limits } from "../../Limits.ts"
import { AvatarUrl } from "./Attributes.ts"
import {
  ApiKey,
  counted,
  DateText,
  date,
  integer,
  limitQuery,
  OpenTo,
  oneOf,
  pageFields,
  type RequestParts,
  text,
  UserId,
  UserNamed,
} from "./Common.ts"
import {
  addedScore,
  DefinitionKey,
  listQuery,
  NewReward,
  newMembers,
  patchMembers,
  patchWords,
  pathOf,
  RewardPatch,
  shownMembers,
  statusWords,
} from "./DefinitionShapes.ts"
import { definitionEndpoints } from "./definitionEndpoints.ts"
import { goalId, teamId } from "./examples/exampleIds.ts"
import {
  contributorList,
  goal,
  goalDayList,
  goalNow,
  goalPage,
  progress,
  teamGoalKey,
  teamList,
  teamProgress,
  userGoals,
} from "./examples/goalExamples.ts"
import {
  ArchivedConflict,
  GoalNotFound,
  GoalOfTeamNotFound,
  KeyInProgress,
  readProblems,
  UserNotFound,
  writeProblems,
} from "./Problems.ts"

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people.",
  examples: ["A thousand kilometres"],
})

const Score = addedScore("points", "kilometres-run").annotate({
  identifier: "GoalScore",
  description:
    "What counts, one of the two: earned amounts of a currency, or what events add to a metric. It changes only while the goal is a draft.",
  examples: [{ currency: "points" }, { metric: "kilometres-run" }],
})

const Scope = oneOf(goalScopes).annotate({
  description:
    "Whose target it is. `everyone`: all users share one. `team`: each team of the kind `teamKind` has the target for itself. It changes only while the goal is a draft. Default `everyone`.",
  examples: ["everyone"],
})

const TeamKind = DefinitionKey.annotate({
  description:
    "With `scope: team`, the kind of the teams. It changes only while the goal is a draft.",
  examples: ["club"],
})

const Target = integer(1, limits.goalTargetMax).annotate({
  description:
    "What all reach together, in units of the currency or the metric. Lowered to the total, or below it, the goal is complete at once.",
  examples: [1_000],
})

const Recurrence = oneOf(questRecurrences).annotate({
  description:
    "The goal begins again at 0 each day, ISO week or month of the project's calendar. It changes only while the goal is a draft. Default `none`.",
  examples: ["none"],
})

const MinContribution = integer(1, limits.goalTargetMax).annotate({
  description: "What a user must contribute to get the reward. Default 1.",
  examples: [10],
})

export const NewGoal = Schema.Struct({
  ...newMembers("name"),
  name: Name,
  score: Score,
  scope: Schema.optionalKey(Scope),
  teamKind: Schema.optionalKey(TeamKind),
  target: Target,
  recurrence: Schema.optionalKey(Recurrence),
  reward: Schema.optionalKey(NewReward),
  minContribution: Schema.optionalKey(MinContribution),
}).annotate({
  identifier: "NewGoal",
  description: "A goal to create.",
  examples: [
    {
      name: "A thousand kilometres",
      score: { metric: "kilometres-run" },
      target: 1_000,
      reward: { points: 100 },
      minContribution: 10,
    },
    {
      name: "A club's week",
      score: { currency: "xp" },
      scope: "team",
      teamKind: "club",
      target: 5_000,
      recurrence: "weekly",
      reward: { points: 20 },
    },
  ],
})

export const GoalPatch = Schema.Struct({
  ...patchMembers,
  name: Schema.optionalKey(Name),
  score: Schema.optionalKey(Score),
  scope: Schema.optionalKey(Scope),
  teamKind: Schema.optionalKey(Schema.NullOr(TeamKind)),
  target: Schema.optionalKey(Target),
  recurrence: Schema.optionalKey(Recurrence),
  reward: Schema.optionalKey(Schema.NullOr(RewardPatch)).annotate({
    description: "What each contributor gets; null: nothing.",
    examples: [{ points: 120 }],
  }),
  minContribution: Schema.optionalKey(MinContribution),
}).annotate({
  identifier: "GoalPatch",
  examples: [{ target: 1_200 }, { reward: { points: 120 } }, { status: "paused" }],
})

const fields = {
  id: Schema.String.annotate({ description: "Laurel's id of the goal.", examples: [goalId] }),
  ...shownMembers,
  name: Schema.String.annotate({
    description: "Name for people.",
    examples: ["A thousand kilometres"],
  }),
  score: Score,
  scope: Scope,
  teamKind: Schema.NullOr(TeamKind).annotate({
    description: "The kind of the teams; null: everyone shares the target.",
    examples: [null],
  }),
  target: Target,
  recurrence: Recurrence,
  reward: Reward,
  minContribution: MinContribution,
}

export const Goal = Schema.Struct(fields).annotate({
  identifier: "Goal",
  description: "A shared goal.",
  examples: [goal],
})

const bound = (description: string) =>
  Schema.NullOr(Schema.String).annotate({ description, format: "date-time", examples: [null] })

const progressFields = {
  startsAt: bound("Start of the period; null: none."),
  endsAt: bound("End of the period; null: none."),
  total: Schema.Finite.annotate({
    description: "What was contributed in the period, also by users who are gone since.",
    examples: [500.2],
  }),
  percent: Schema.Finite.annotate({
    description: "The share of the target, 0 to 100, with at most one decimal, rounded down.",
    examples: [50],
  }),
  contributors: Schema.Int.annotate({
    description:
      "Users who contributed something. A member who left the team and came back counts again.",
    examples: [1_432],
  }),
  completedAt: bound("When the target was reached; null: it was not."),
  rewarded: Schema.NullOr(Schema.Int).annotate({
    description: "How many users got the reward; null: it is not paid to all yet.",
    examples: [null],
  }),
}

const Progress = Schema.Struct(progressFields).annotate({
  identifier: "GoalProgress",
  description: "How far the goal has come in the present period.",
  examples: [progress],
})

export const GoalNow = Schema.Struct({
  ...fields,
  progress: Schema.NullOr(Progress).annotate({
    description: "How far everyone has come; null: each team has its own.",
    examples: [progress],
  }),
}).annotate({
  identifier: "GoalNow",
  description: "A shared goal, and how far it has come.",
  examples: [goalNow],
})

export const GoalPage = Schema.Struct({
  goals: Schema.Array(GoalNow).annotate({ description: "In the order of creation." }),
  ...pageFields("goals"),
}).annotate({ identifier: "GoalPage", description: "A page of the goals.", examples: [goalPage] })

const Team = Schema.Struct({
  id: Schema.String.annotate({ description: "Id of the team.", examples: [teamId] }),
  name: Schema.String.annotate({ description: "Name of the team.", examples: ["Falcons"] }),
}).annotate({
  identifier: "GoalTeam",
  description: "The team.",
  examples: [{ id: teamId, name: "Falcons" }],
})

const reference = {
  goalId: Schema.String.annotate({ description: "Laurel's id of the goal.", examples: [goalId] }),
  key: Schema.String.annotate({ description: "Key of the goal.", examples: [goal.key] }),
  name: Schema.String.annotate({ description: "Name for people.", examples: [goal.name] }),
}

const TeamProgress = Schema.Struct({
  ...reference,
  team: Team,
  target: Target,
  ...progressFields,
}).annotate({
  identifier: "TeamGoalProgress",
  description: "How far a team has come in the present period.",
  examples: [teamProgress],
})

const TeamList = Schema.Struct({
  teams: Schema.Array(
    Schema.Struct({ team: Team, ...progressFields }).annotate({ identifier: "GoalOfTeam" }),
  ).annotate({ description: "Highest total first; of equal ones, by the ids of the teams." }),
}).annotate({
  identifier: "GoalTeams",
  description: "The teams with the highest totals.",
  examples: [teamList],
})

/** What a user did for a goal, and got for it. */
const ownPart = {
  contribution: Schema.Finite.annotate({
    description: "The user's contribution in the period.",
    examples: [240],
  }),
  rewarded: Schema.Boolean.annotate({
    description: "Whether the user got the reward of the period.",
    examples: [false],
  }),
}

const ContributorList = Schema.Struct({
  contributors: Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        userId: UserId,
        displayName: Schema.NullOr(Schema.String).annotate({
          description: "The user's name for people; null: none.",
          examples: ["Ada"],
        }),
        avatarUrl: AvatarUrl("user"),
        team: Schema.NullOr(Team).annotate({
          description: "The user's team; null: everyone shares the target.",
          examples: [null],
        }),
        ...ownPart,
      }).annotate({ identifier: "GoalContributor" }),
    ),
  ).annotate({
    description:
      "The highest contribution first; of equal ones, by the ids of the users. Null: not counted yet.",
  }),
  ...counted("contributions"),
}).annotate({
  identifier: "GoalContributors",
  description: "The users who contributed most.",
  examples: [contributorList],
})

/** How many days a read without `from` has. */
export const goalDaysDefault = 30

const daysQuery = {
  from: Schema.optionalKey(
    DateText.annotate({
      description: `The first day, at most ${limits.goalDaysMax - 1} days before today. Default: ${goalDaysDefault - 1} days before \`to\`.`,
      examples: ["2026-10-31"],
    }),
  ),
  to: Schema.optionalKey(
    DateText.annotate({
      description: "The last day. Default: today, or the last day of a goal that is over.",
      examples: ["2026-11-01"],
    }),
  ),
}

export const GoalDaysQuery = Schema.Struct(daysQuery)

const GoalDays = Schema.Struct({
  ...reference,
  from: date("The first day.", "2026-10-31"),
  to: date("The last day.", "2026-11-01"),
  days: Schema.Array(
    Schema.Struct({
      date: date("The day.", "2026-11-01"),
      contributed: Schema.Finite.annotate({
        description:
          "The contributions of all users on the day, in units of the currency or the metric.",
        examples: [5.2],
      }),
    }).annotate({ identifier: "GoalDay" }),
  ).annotate({ description: "Each day from `from` to `to`." }),
}).annotate({
  identifier: "GoalDays",
  description: "The contributions to a goal by day.",
  examples: [goalDayList],
})

const UserGoal = Schema.Struct({
  ...reference,
  status: shownMembers.status,
  scope: Scope,
  team: Schema.NullOr(Team).annotate({
    description:
      "The user's team; null: everyone shares the target, or the user is in no such team.",
    examples: [null],
  }),
  target: Target,
  reward: Reward,
  minContribution: MinContribution,
  progress: Schema.NullOr(Progress).annotate({
    description: "How far all, or the user's team, have come; null: the user is in no such team.",
    examples: [progress],
  }),
  ...ownPart,
}).annotate({ identifier: "UserGoal" })

const UserGoals = Schema.Struct({
  userId: UserId,
  goals: Schema.Array(UserGoal).annotate({
    description: "The goals that are active, paused or over, in the order of creation.",
  }),
}).annotate({
  identifier: "UserGoals",
  description: "The goals of a user, with the user's contributions.",
  examples: [userGoals],
})

const params = pathOf("goal", goalId)
const paramsOfTeams = pathOf("goal", teamGoalKey)
const named = ({ params }: RequestParts): string => params.id

export const Goals = HttpApiGroup.make("goals")
  .add(
    ...definitionEndpoints({
      path: "/v1/goals",
      params,
      readers: OpenTo.clients,
      notFound: GoalNotFound,
      create: {
        payload: NewGoal,
        success: Goal,
        summary: "Create a goal",
        description: `Users reach a target together. What an event or a granted reward gives of the currency, or adds to the metric, counts while the goal is active, from \`startsAt\` on, or else from its creation. Of a recurring goal, it counts if it occurred in the present period. The event that reaches the target completes the goal: later events do not count. Each user who contributed at least \`minContribution\` then gets the reward, once, in the background. A hidden user contributes, too.

With \`scope: team\`, a user contributes to the own team from when it joined. The contribution stays with the team: who leaves it starts from 0 in the next one, and the reward goes to users who were in the team at the completion. The reward counts for levels, badges and \`earnLimit\`, but for no leaderboard and no goal. An environment holds at most ${limits.goalsMax} goals that are not archived.`,
      },
      list: {
        query: listQuery("goals"),
        success: GoalPage,
        summary: "List goals",
        description:
          "Lists the goals of the key's project and environment: all except archived ones, or all with the given status. Publishable keys see goals that are active, paused or over and for every user, and user tokens also those for a segment of their user.",
      },
      get: {
        success: GoalNow,
        summary: "Read a goal",
        description: "Returns a goal by its id or key, and how far it has come.",
      },
      update: {
        payload: GoalPatch,
        success: Goal,
        error: [...writeProblems, GoalNotFound, ArchivedConflict],
        summary: "Change a goal",
        description: `${patchWords}

\`score\`, \`scope\`, \`teamKind\` and \`recurrence\` change only while it is a draft. With a lower target than the total the goal is complete; with a higher one, \`percent\` falls, and no message is sent twice. A goal that is complete stays so, with the reward of its completion. While it is paused, nothing counts.

${statusWords}`,
      },
      delete: {
        success: HttpApiSchema.NoContent.annotate({ description: "The goal is archived." }),
        error: [...readProblems, GoalNotFound, KeyInProgress],
        summary: "Archive a goal",
        description:
          "Nothing counts for it any more. The rewards of a completion are still paid. Archiving twice returns 404.",
      },
    }),
    HttpApiEndpoint.get("teams", "/v1/goals/:id/teams", {
      params: paramsOfTeams,
      query: {
        limit: limitQuery,
      },
      success: TeamList,
      error: [...readProblems, GoalNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the teams of a goal",
          description:
            "Returns the teams with the highest totals in the present period. A team without a contribution is not listed; a goal of everyone has no teams.",
        }),
      ),
    HttpApiEndpoint.get("team", "/v1/goals/:id/teams/:teamId", {
      params: {
        ...paramsOfTeams,
        teamId: text(1, limits.idCharactersMax).annotate({
          description: "The id of the team.",
          examples: [teamId],
        }),
      },
      success: TeamProgress,
      error: [...readProblems, GoalOfTeamNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a team's goal",
          description:
            "Returns how far a team has come. A team of another kind, and a goal of everyone, return 404.",
        }),
      ),
    HttpApiEndpoint.get("contributors", "/v1/goals/:id/contributors", {
      params,
      query: { limit: limitQuery },
      success: ContributorList,
      error: [...readProblems, GoalNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the top contributors of a goal",
          description: `Returns the users who contributed most in the present period, at most ${limits.goalContributorsMax}. Users who are hidden, erased or no longer in the team are left out. In an environment with many users, the list may be some minutes old: \`countedAt\` says when. A leaderboard of the same currency or metric ranks all users.`,
        }),
      ),
    HttpApiEndpoint.get("days", "/v1/goals/:id/days", {
      params,
      query: daysQuery,
      success: GoalDays,
      error: [...readProblems, GoalNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a goal by day",
          description: `Returns the contributions of the last ${limits.goalDaysMax} days, by day of the project's calendar: of a recurring goal in all periods, and of a goal of teams by all teams. A contribution counts on the day on which its event occurred. A revoked event counts on no day. The contributions of erased users stay.`,
        }),
      ),
    HttpApiEndpoint.get("ofUser", "/v1/users/:id/goals", {
      params: { id: UserId },
      success: UserGoals,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read", "user"])
      .annotate(UserNamed, named)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a user's goals",
          description:
            "Returns the goals that are for the user, how far all or the user's team have come, and the user's own contribution.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Goals",
      description:
        "Targets that users reach together, all of them or each team, and their rewards.",
    }),
  )
