/** Operations that read back what users were given, and what they spent. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  ApiKey,
  OpenTo,
  pageEndFields,
  pageQuery,
  type RequestParts,
  Time,
  UserId,
  UserNamed,
} from "./Common.ts"
import { revocation } from "./Events.ts"
import { reward, rewardPage, spendDetails, spendPage } from "./examples/userExamples.ts"
import { RewardNotFound, readProblems, SpendNotFound, UserNotFound } from "./Problems.ts"
import { eitherId, RewardOutcome, Spend } from "./Users.ts"

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
    description:
      "Newest first, revoked ones included. A page may have fewer than `limit` rewards although more follow: `hasMore` says whether they do.",
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
    description:
      "Newest first, revoked ones included. A page may have fewer than `limit` spends although more follow: `hasMore` says whether they do.",
  }),
  ...pageEndFields("spends"),
}).annotate({
  identifier: "SpendPage",
  description: "A page of a user's spends.",
  examples: [spendPage],
})

const params = { id: UserId }
const named = ({ params }: RequestParts): string => params.id

const unknown = (what: string) =>
  `Returns 404 for a ${what} of another user or environment, of an erased user, of which the journal no longer has the record, and for an id that was never used: the reply does not tell which.`

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
