/** The outcomes of revoking events and rewards. */
import { Schema } from "effect"
import { OwnBoost, ownBoost } from "../../domain/message/BoostMembers.ts"
import { furtherOutcome, LevelChange, Tier, Times } from "../../domain/message/FactMembers.ts"
import { BadgeId, BadgeKey, BadgeName, UserId } from "./Common.ts"
import { changedMetrics, QuestOutcome } from "./Events.ts"
import { eventRevocation, rewardRevocation } from "./examples/userExamples.ts"

const revoked = (what: string) =>
  Schema.Struct({
    revoked: Schema.Int.annotate({ description: `Amount of ${what} revoked.`, examples: [50] }),
    total: Schema.Int.annotate({ description: "Balance after this request.", examples: [1200] }),
  }).annotate({ description: `Effect on the ${what}.` })

const missing = (what: string) =>
  Schema.Int.annotate({ description: `Amount of ${what} missing.`, examples: [0] })

export const undone = {
  userId: UserId,
  xp: revoked("xp"),
  points: revoked("points"),
  currencies: Schema.optionalKey(
    Schema.Record(Schema.String, revoked("currency")).annotate({
      description: "Effect on further currencies, by key. Absent: none.",
      examples: [{ gems: { revoked: 5, total: 7 } }],
    }),
  ),
  freezes: Schema.optionalKey(
    Schema.Record(Schema.String, revoked("freezes")).annotate({
      description: "Effect on freezes, by the key of the streak. Absent: none.",
      examples: [{ daily: { revoked: 1, total: 0 } }],
    }),
  ),
  goals: furtherOutcome.goals,
  balances: furtherOutcome.balances,
  level: LevelChange,
  badges: Schema.Array(
    Schema.Struct({
      id: BadgeId,
      key: BadgeKey,
      name: BadgeName,
      tier: Schema.optionalKey(Tier),
      times: Schema.optionalKey(Times),
    }),
  ).annotate({
    description:
      "Badges revoked: those that it gave, and those whose target is no longer reached, or is reached less often.",
  }),
  boosts: Schema.optionalKey(
    Schema.Array(OwnBoost).annotate({
      description: "Personal boosts revoked, which count for no later event. Absent: none.",
      examples: [[ownBoost]],
    }),
  ),
  quests: Schema.Array(QuestOutcome).annotate({
    description: "Quests that lost progress, as they are now.",
  }),
  shortfall: Schema.Struct({
    xp: missing("xp"),
    points: missing("points"),
    currencies: Schema.optionalKey(
      Schema.Record(Schema.String, Schema.Int).annotate({
        description: "Missing amounts of further currencies, by key. Absent: none.",
        examples: [{ gems: 2 }],
      }),
    ),
    freezes: Schema.optionalKey(
      Schema.Record(Schema.String, Schema.Int).annotate({
        description: "Freezes that were used already, by the key of the streak. Absent: none.",
        examples: [{ daily: 1 }],
      }),
    ),
  }).annotate({
    identifier: "Shortfall",
    description: "Amounts that could not be revoked, since no balance goes below 0.",
  }),
  expired: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Int).annotate({
      description:
        "What had expired before, and so was not taken again, by currency. Absent: nothing.",
      examples: [{ coins: 20 }],
    }),
  ),
}

export const EventRevocation = Schema.Struct({
  eventId: Schema.String.annotate({
    description: "Laurel's id of the revoked event.",
    examples: ["evt_0mi8k3f2a4c92"],
  }),
  ...undone,
  metrics: changedMetrics("Metrics for which the event no longer counts"),
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
