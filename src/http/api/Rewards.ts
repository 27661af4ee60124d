/** Shapes of rewards granted by hand, and of revocations. */
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
      description: "Reason, kept in the user's history.",
      examples: ["Welcome back"],
    }),
  ),
  id: Schema.optionalKey(EventKey),
}

const amount = integer(1, limits.amountMax).annotate({
  description: "Amount to grant.",
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
      description: "Laurel's id of an active badge.",
      examples: [badgeId],
    }),
    ...about,
  }).annotate({ identifier: "BadgeGrant" }),
]).annotate({
  identifier: "RewardGrant",
  description: "A grant of xp, points or a badge.",
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
  type: Schema.Literals(["xp", "points", "badge"]).annotate({ description: "Kind of reward." }),
  amount: Schema.NullOr(Schema.Int).annotate({
    description: "Amount granted; null for a badge.",
    examples: [100],
  }),
  badgeId: Schema.NullOr(Schema.String).annotate({
    description: "Id of the badge granted; null for xp and points.",
    examples: [null],
  }),
  duplicate: Schema.Boolean.annotate({
    description:
      "Whether an earlier reward has this `id`. Nothing changed then, and the first outcome is returned.",
  }),
  xp: Earned,
  points: Earned,
  level: LevelChange,
  badges: Schema.Array(EarnedBadge).annotate({
    description:
      "Badges that the user earned: the granted one, unless the user had it, and any that followed.",
  }),
}).annotate({
  identifier: "RewardOutcome",
  description: "The durable outcome of a reward.",
  examples: [rewardOutcome],
})

const revoked = (what: string) =>
  Schema.Struct({
    revoked: Schema.Int.annotate({ description: `Amount of ${what} revoked.`, examples: [50] }),
    total: Schema.Int.annotate({ description: "Balance after this request.", examples: [1200] }),
  }).annotate({ description: `Effect on the ${what}.` })

const missing = (what: string) =>
  Schema.Int.annotate({ description: `Amount of ${what} missing.`, examples: [0] })

const undone = {
  userId: UserId,
  xp: revoked("xp"),
  points: revoked("points"),
  level: LevelChange,
  badges: Schema.Array(Schema.Struct({ id: BadgeId, name: BadgeName })).annotate({
    description: "Badges revoked: those that it gave, and those whose target is no longer reached.",
  }),
  quests: Schema.Array(QuestOutcome).annotate({
    description: "Quests that lost progress, as they are now.",
  }),
  shortfall: Schema.Struct({ xp: missing("xp"), points: missing("points") }).annotate({
    identifier: "Shortfall",
    description: "Amounts that could not be revoked, since no balance goes below 0.",
  }),
}

export const EventRevocation = Schema.Struct({
  eventId: Schema.String.annotate({
    description: "Laurel's id of the revoked event.",
    examples: ["evt_0mi8k3f2a4c92"],
  }),
  ...undone,
}).annotate({
  identifier: "EventRevocation",
  description: "The durable outcome of revoking an event.",
  examples: [eventRevocation],
})

export const RewardRevocation = Schema.Struct({
  rewardId: Schema.String.annotate({
    description: "Laurel's id of the revoked reward.",
    examples: ["rwd_0mi8k3f2a4c92"],
  }),
  ...undone,
}).annotate({
  identifier: "RewardRevocation",
  description: "The durable outcome of revoking a reward.",
  examples: [rewardRevocation],
})
