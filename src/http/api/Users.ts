/** What users have. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { limits } from "../../Limits.ts"
import { integer, oneOf, text } from "./Checks.ts"
import {
  ApiKey,
  Earned,
  EarnedBadge,
  EventKey,
  idempotencyHeaders,
  Level,
  LevelChange,
  OpenTo,
  Time,
  UserId,
  Xp,
} from "./Common.ts"
import { BalanceConflict, readProblems, UserNotFound, writeProblems } from "./Problems.ts"

export const Points = Schema.Int.annotate({
  description: "A balance beside the xp.",
  examples: [300],
})

export const User = Schema.Struct({
  id: UserId,
  displayName: Schema.NullOr(Schema.String),
  timezone: Schema.NullOr(Schema.String).annotate({ description: "An IANA time zone." }),
  attributes: Schema.Record(
    Schema.String,
    Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]),
  ),
  hidden: Schema.Boolean.annotate({ description: "Kept off every leaderboard." }),
  xp: Xp,
  level: Level,
  points: Points,
  badges: Schema.Array(
    Schema.Struct({
      id: Schema.String.annotate({ examples: ["first-lesson"] }),
      name: Schema.String.annotate({ examples: ["First lesson"] }),
      description: Schema.NullOr(Schema.String),
      icon: Schema.NullOr(Schema.String),
      earnedAt: Time,
    }).annotate({ identifier: "UserBadge" }),
  ),
  createdAt: Time,
  updatedAt: Time,
}).annotate({ identifier: "User", description: "A user, and what they have." })

export const LevelProgress = Schema.Struct({
  xpAtStart: Schema.Int.annotate({
    description: "The xp at which the level begins.",
    examples: [1000],
  }),
  xpAtNext: Schema.NullOr(Schema.Int).annotate({
    description: "The xp at which the next level begins; null on the top level.",
    examples: [1500],
  }),
  xpInto: Schema.Int.annotate({ description: "The xp since the level began.", examples: [250] }),
  xpToNext: Schema.NullOr(Schema.Int).annotate({
    description: "The xp that are missing to the next level; null on the top level.",
    examples: [250],
  }),
  ratio: Schema.Finite.annotate({
    description: "The share of the level that is done, 0 to 1.",
    examples: [0.5],
  }),
}).annotate({ identifier: "LevelProgress" })

export const Progress = Schema.Struct({
  userId: UserId,
  xp: Xp,
  level: Level,
  levelProgress: LevelProgress,
  rank: Schema.NullOr(Schema.Int).annotate({
    description: "The place on the all-time leaderboard; null when not listed there.",
  }),
  points: Points,
  badges: Schema.Array(
    Schema.Struct({
      id: Schema.String.annotate({ examples: ["ten-lessons"] }),
      name: Schema.String.annotate({ examples: ["Ten lessons"] }),
      current: Schema.Int.annotate({ examples: [7] }),
      target: Schema.Int.annotate({ examples: [10] }),
      earnedAt: Schema.NullOr(Time),
    }).annotate({ identifier: "BadgeProgress" }),
  ),
  quests: Schema.Array(
    Schema.Struct({
      questId: Schema.String.annotate({ examples: ["qst_01a1fc1e64c07345932e273286b5ca30"] }),
      title: Schema.String.annotate({ examples: ["First steps"] }),
      status: oneOf(["not_started", "in_progress", "completed", "expired"]),
      steps: Schema.Array(
        Schema.Struct({ key: Schema.String, current: Schema.Int, target: Schema.Int }),
      ),
      periodEndsAt: Schema.NullOr(Time),
      completedAt: Schema.NullOr(Time),
    }).annotate({ identifier: "QuestProgress" }),
  ).annotate({ description: "The quests that the user has begun or completed." }),
  streaks: Schema.Array(
    Schema.Struct({
      key: Schema.String,
      current: Schema.Int,
      best: Schema.Int,
      lastDay: Schema.NullOr(Schema.String),
      freezes: Schema.Int,
    }).annotate({ identifier: "StreakProgress" }),
  ),
}).annotate({ identifier: "Progress", description: "How far a user is." })

export const RewardGrant = Schema.Struct({
  type: oneOf(["xp"]).annotate({ description: "The kind of reward." }),
  amount: integer(1, limits.amountMax).annotate({
    description: "How much is granted.",
    examples: [100],
  }),
  reason: Schema.optionalKey(
    text(0, limits.reasonCharactersMax, "multiple").annotate({
      description: "Why, for the user's history.",
      examples: ["Welcome back"],
    }),
  ),
  id: Schema.optionalKey(EventKey),
}).annotate({ identifier: "RewardGrant", examples: [{ type: "xp", amount: 100 }] })

export const RewardOutcome = Schema.Struct({
  rewardId: Schema.String.annotate({ description: "Laurel's id of the reward." }),
  userId: UserId,
  type: oneOf(["xp"]),
  amount: Schema.Int,
  duplicate: Schema.Boolean.annotate({
    description:
      "A reward with this `id` was there already: nothing changed, this is the first outcome.",
  }),
  xp: Earned,
  points: Earned,
  level: LevelChange,
  badges: Schema.Array(EarnedBadge),
}).annotate({ identifier: "RewardOutcome", description: "What a reward did; durable." })

const params = { id: UserId }

export const Users = HttpApiGroup.make("users")
  .add(
    HttpApiEndpoint.get("get", "/v1/users/:id", {
      params,
      success: User,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a user",
          description: "The user's xp, level, badges and points.",
        }),
      ),
    HttpApiEndpoint.get("progress", "/v1/users/:id/progress", {
      params,
      success: Progress,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a user's progress",
          description: "How far the user is: within the level, on the leaderboard, in quests.",
        }),
      ),
    HttpApiEndpoint.post("reward", "/v1/users/:id/rewards", {
      params,
      headers: idempotencyHeaders,
      payload: RewardGrant,
      success: RewardOutcome,
      error: [...writeProblems, BalanceConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Grant a reward",
          description:
            "Gives the user xp by hand. A user who was never seen is created. The answer comes when the outcome is on disk.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Users", description: "What users have." }))
