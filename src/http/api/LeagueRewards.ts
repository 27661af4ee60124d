/** The rewards of a league. */
import { Schema } from "effect"
import { Reward } from "../../domain/message/FactMembers.ts"
import { leagueOutcomes } from "../../domain/project/League.ts"
import { limits } from "../../Limits.ts"
import { faultAt, integer, list, oneOf } from "./Common.ts"
import { DefinitionKey, NewReward } from "./DefinitionShapes.ts"

const ranks = list(integer(1, limits.leagueCohortSizeMax), 2, 2).annotate({
  description: "The first and the last rank in the cohort that win. Default: any rank.",
  examples: [[1, 3]],
})

const rewardMembers = {
  division: Schema.optionalKey(
    DefinitionKey.annotate({
      description: "The key of the division in which the user competed. Default: any.",
      examples: ["silver"],
    }),
  ),
  ranks: Schema.optionalKey(ranks),
  outcome: Schema.optionalKey(
    oneOf(leagueOutcomes).annotate({
      description: "What came of the window for the user. Default: anything.",
      examples: ["promoted"],
    }),
  ),
}

const hasCondition = ({
  outcome,
  ranks,
}: {
  readonly outcome?: string
  readonly ranks?: object
}) =>
  outcome === undefined && ranks === undefined
    ? [faultAt(["ranks"], "missing", "is required, or outcome")]
    : []

export const NewRewards = list(
  Schema.Struct({ ...rewardMembers, reward: NewReward })
    .check(Schema.makeFilter(hasCondition, { toJsonSchema: () => [{}, true] }))
    .annotate({
      identifier: "NewLeagueReward",
      description: "A reward for ranks, for an outcome, or for both.",
      examples: [{ division: "silver", ranks: [1, 3], reward: { points: 100 } }],
    }),
  0,
  limits.leagueRewardsMax,
).annotate({
  description:
    "What users get at the close of a window by rank and outcome. Each that matches pays, with the outcome, once. A user without a rank gets none. A reward counts in no league and on no leaderboard. An edit counts for windows that close later. Default: none.",
  examples: [[{ ranks: [1, 3], reward: { points: 100 } }]],
})

export const ShownRewards = Schema.Array(
  Schema.Struct({ ...rewardMembers, reward: Reward }).annotate({
    identifier: "LeagueReward",
    description: "A reward for ranks, for an outcome, or for both.",
  }),
).annotate({ description: "What users get at the close of a window." })
