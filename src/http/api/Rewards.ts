/** Operations that grant rewards to many users, and read back rewards and spends. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { limits } from "../../Limits.ts"
import { BatchRefusal, BatchSummary, batchCounts, batchHeaders, batchWords, ok } from "./Batches.ts"
import {
  ApiKey,
  BodyBytesMax,
  list,
  OpenTo,
  pageEndFields,
  pageQuery,
  type RequestParts,
  Time,
  UserId,
  UserNamed,
} from "./Common.ts"
import { NewReward } from "./DefinitionShapes.ts"
import { revocation } from "./Events.ts"
import {
  batchSummary,
  reward,
  rewardAccepted,
  rewardBatchOutcome,
  rewardPage,
  spendDetails,
  spendPage,
} from "./examples/userExamples.ts"
import {
  BatchTooLarge,
  KeyInProgress,
  RewardNotFound,
  readProblems,
  SpendNotFound,
  UserNotFound,
  writeProblems,
} from "./Problems.ts"
import { Spend } from "./Spends.ts"
import { aboutReward, eitherId, RewardOutcome } from "./Users.ts"

const ownId = (what: string, example: string) =>
  Schema.NullOr(Schema.String).annotate({
    description: `The \`id\` that you sent with the ${what}; null: none.`,
    examples: [example],
  })

const { differs: _, duplicate: _reward, ...rewardOutcome } = RewardOutcome.fields

export const GrantedReward = Schema.Struct({
  ...rewardOutcome,
  id: ownId("reward", "welcome-user-42"),
  reason: Schema.NullOr(Schema.String).annotate({
    description: "The reason sent with the reward; null: none.",
    examples: ["Welcome back"],
  }),
  grantedAt: Time.annotate({ description: "When the reward was granted." }),
  ...revocation,
}).annotate({
  identifier: "GrantedReward",
  description: "A reward that was granted, with what it gave then.",
  examples: [reward],
})

export const RewardPage = Schema.Struct({
  rewards: Schema.Array(GrantedReward).annotate({
    description: "Newest first, revoked ones included.",
  }),
  ...pageEndFields("rewards"),
}).annotate({
  identifier: "RewardPage",
  description: "A page of a user's rewards.",
  examples: [rewardPage],
})

const { duplicate: _spend, ...spendOutcome } = Spend.fields

export const SpendDetails = Schema.Struct({
  ...spendOutcome,
  id: ownId("spend", "order-1001"),
  spentAt: Time.annotate({ description: "When the points were spent." }),
  ...revocation,
}).annotate({
  identifier: "SpendDetails",
  description: "A spend, with the balance after it.",
  examples: [spendDetails],
})

export const SpendPage = Schema.Struct({
  spends: Schema.Array(SpendDetails).annotate({
    description: "Newest first, revoked ones included.",
  }),
  ...pageEndFields("spends"),
}).annotate({
  identifier: "SpendPage",
  description: "A page of a user's spends.",
  examples: [spendPage],
})

/* Rewards of many users. */

export const BatchedReward = Schema.Struct({
  userId: UserId,
  reward: NewReward,
  ...aboutReward,
}).annotate({
  identifier: "BatchedReward",
  description: "A reward of a user.",
  examples: [{ userId: "user-42", reward: { xp: 100 }, id: "welcome-user-42" }],
})

export const RewardBatch = Schema.Struct({
  rewards: list(BatchedReward, 1, limits.batchItemsMax).annotate({
    description: "The rewards of each user are granted in this order.",
  }),
}).annotate({
  identifier: "RewardBatch",
  examples: [{ rewards: [{ userId: "user-42", reward: { xp: 100 } }] }],
})

const RewardAccepted = Schema.Struct({ ok, ...RewardOutcome.fields }).annotate({
  identifier: "RewardAccepted",
  description: "The outcome of a reward in a batch.",
  examples: [rewardAccepted],
})

export const RewardBatchOutcome = Schema.Struct({
  ...batchCounts("rewards"),
  results: Schema.Array(Schema.Union([RewardAccepted, BatchRefusal])).annotate({
    description: "The outcome of each reward, in the order of the request. `ok` tells which it is.",
  }),
}).annotate({
  identifier: "RewardBatchOutcome",
  description: "The durable outcome of a batch of rewards.",
  examples: [rewardBatchOutcome],
})

const RewardBatchReply = Schema.Union([RewardBatchOutcome, BatchSummary]).annotate({
  identifier: "RewardBatchReply",
  description: "The outcome of each reward, or counts and refusals alone.",
  examples: [rewardBatchOutcome, batchSummary],
})

/* Operations. */

const params = { id: UserId }
const named = ({ params }: RequestParts): string => params.id

const unknown = (what: string) =>
  `Returns 404 for a ${what} of another user or environment, of an erased user, whose record was deleted by the retention of the history, and for an id that was never used. The reply is the same in all these cases.`

export const Rewards = HttpApiGroup.make("rewards")
  .add(
    HttpApiEndpoint.get("list", "/v1/users/:id/rewards", {
      params,
      query: pageQuery("rewards"),
      success: RewardPage,
      error: [...readProblems, UserNotFound],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List a user's rewards",
        description:
          "Lists the rewards granted to the user by request, newest first, as far as the journal has them. What events and quests gave is in the user's history.",
      }),
    ),
    HttpApiEndpoint.get("get", "/v1/users/:id/rewards/:rewardId", {
      params: { ...params, rewardId: eitherId("reward", ["rwd_0mi8k3f2a4c92", "welcome-user-42"]) },
      success: GrantedReward,
      error: [...readProblems, RewardNotFound],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read a reward",
        description: `Returns a reward with what it gave, and whether it was revoked. ${unknown("reward")}`,
      }),
    ),
  )
  .annotateEndpoints(OpenTo, ["read", "user"])
  .annotateEndpoints(UserNamed, named)
  .add(
    HttpApiEndpoint.post("grantBatch", "/v1/rewards/batch", {
      headers: batchHeaders,
      payload: [
        RewardBatch,
        HttpApiSchema.StreamNdjson({ schema: BatchedReward, maxBytes: limits.batchBodyBytesMax }),
      ],
      success: RewardBatchReply,
      error: [...writeProblems, BatchTooLarge, KeyInProgress],
    })
      .annotate(OpenTo, [])
      .annotate(BodyBytesMax, limits.batchBodyBytesMax)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Grant many rewards",
          description: `Grants 1 to ${limits.batchItemsMax} rewards of any users, in order per user, from a JSON object or from NDJSON with one reward per line. Each reward is granted as by \`POST /v1/users/{id}/rewards\`, and undone in the same way; an \`id\` that the user has used for a reward changes nothing. ${batchWords("rewards")}`,
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Rewards", description: "Rewards granted to users by request." }),
  )

export const Spends = HttpApiGroup.make("spends")
  .add(
    HttpApiEndpoint.get("list", "/v1/users/:id/points/spend", {
      params,
      query: pageQuery("spends"),
      success: SpendPage,
      error: [...readProblems, UserNotFound],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List a user's spends",
        description:
          "Lists the spends of the user's points, newest first, as far as the journal has them.",
      }),
    ),
    HttpApiEndpoint.get("get", "/v1/users/:id/points/spend/:spendId", {
      params: { ...params, spendId: eitherId("spend", ["spd_0mi8k3f2a4c92", "order-1001"]) },
      success: SpendDetails,
      error: [...readProblems, SpendNotFound],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read a spend",
        description: `Returns a spend, and whether it was revoked. ${unknown("spend")}`,
      }),
    ),
  )
  .annotateEndpoints(OpenTo, ["read", "user"])
  .annotateEndpoints(UserNamed, named)
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Spends", description: "Points that users have spent." }),
  )
