/** Rewards by hand, and what is taken back. */
import { Schema } from "effect"
import { limits } from "../../Limits.ts"
import { integer, text } from "./Checks.ts"
import { BadgeId, BadgeName, Earned, EarnedBadge, EventKey, LevelChange, UserId } from "./Common.ts"
import { QuestOutcome } from "./Events.ts"
import { eventRevocation, rewardOutcome, rewardRevocation } from "./examples/Events.ts"
import { badgeId } from "./examples/Ids.ts"

const about = {
  reason: Schema.optionalKey(
    text(0, limits.reasonCharactersMax, "multiple").annotate({
      description: "Why, for the user's history.",
      examples: ["Welcome back"],
    }),
  ),
  id: Schema.optionalKey(EventKey),
}

const amount = integer(1, limits.amountMax).annotate({
  description: "How much is granted.",
  examples: [100],
})

export const RewardGrant = Schema.Union([
  Schema.Struct({ type: Schema.Literal("xp"), amount, ...about }).annotate({
    identifier: "XpGrant",
  }),
  Schema.Struct({ type: Schema.Literal("points"), amount, ...about }).annotate({
    identifier: "PointsGrant",
  }),
  Schema.Struct({
    type: Schema.Literal("badge"),
    badgeId: text(1, limits.idCharactersMax).annotate({
      description: "Laurel's id of a badge that is not archived.",
      examples: [badgeId],
    }),
    ...about,
  }).annotate({ identifier: "BadgeGrant" }),
]).annotate({
  identifier: "RewardGrant",
  description: "What is granted: xp, points or a badge.",
  examples: [
    { type: "xp", amount: 100 },
    { type: "points", amount: 5, reason: "Welcome back" },
    { type: "badge", badgeId },
  ],
})

export const RewardOutcome = Schema.Struct({
  rewardId: Schema.String.annotate({
    description: "Laurel's id of the reward.",
    examples: ["rwd_0mi8k3f2a4c92"],
  }),
  userId: UserId,
  type: Schema.Literals(["xp", "points", "badge"]).annotate({ description: "What was granted." }),
  amount: Schema.NullOr(Schema.Int).annotate({
    description: "How much was granted; null for a badge.",
    examples: [100],
  }),
  badgeId: Schema.NullOr(Schema.String).annotate({
    description: "The badge that was granted; null for xp and points.",
    examples: [null],
  }),
  duplicate: Schema.Boolean.annotate({
    description:
      "A reward with this `id` was there already: nothing changed, this is the first outcome.",
  }),
  xp: Earned,
  points: Earned,
  level: LevelChange,
  badges: Schema.Array(EarnedBadge).annotate({
    description:
      "The badges that the user got: the one that was granted, unless they had it, and those that it led to.",
  }),
}).annotate({
  identifier: "RewardOutcome",
  description: "What a reward did; durable.",
  examples: [rewardOutcome],
})

const revoked = (what: string) =>
  Schema.Struct({
    revoked: Schema.Int.annotate({ description: `The ${what} that were taken.`, examples: [50] }),
    total: Schema.Int.annotate({ description: "The balance afterwards.", examples: [1200] }),
  }).annotate({ description: `What became of the ${what}.` })

const missing = (what: string) =>
  Schema.Int.annotate({ description: `The ${what} that were missing.`, examples: [0] })

const undone = {
  userId: UserId,
  xp: revoked("xp"),
  points: revoked("points"),
  level: LevelChange,
  badges: Schema.Array(Schema.Struct({ id: BadgeId, name: BadgeName })).annotate({
    description:
      "The badges that were taken: those that it gave, and those for which too little is left.",
  }),
  quests: Schema.Array(QuestOutcome).annotate({
    description: "The quests of which it took something back, as they are now.",
  }),
  shortfall: Schema.Struct({ xp: missing("xp"), points: missing("points") }).annotate({
    identifier: "Shortfall",
    description: "What could not be taken back, since no balance goes below 0.",
  }),
}

export const EventRevocation = Schema.Struct({
  eventId: Schema.String.annotate({
    description: "The event that was taken back.",
    examples: ["evt_0mi8k3f2a4c92"],
  }),
  ...undone,
}).annotate({
  identifier: "EventRevocation",
  description: "What was taken back with an event; durable.",
  examples: [eventRevocation],
})

export const RewardRevocation = Schema.Struct({
  rewardId: Schema.String.annotate({
    description: "The reward that was taken back.",
    examples: ["rwd_0mi8k3f2a4c92"],
  }),
  ...undone,
}).annotate({
  identifier: "RewardRevocation",
  description: "What was taken back with a reward; durable.",
  examples: [rewardRevocation],
})
