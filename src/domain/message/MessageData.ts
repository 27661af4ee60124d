/** The schema of `data` for each kind of message. */
import { Schema } from "effect"
import { questRecurrences, questStatuses } from "../project/Quest.ts"
import { windowKinds } from "../values/Calendar.ts"
import type { MessageKind } from "./MessageKind.ts"

const text = (description: string) => Schema.String.annotate({ description })
const textOrNull = (description: string) => Schema.NullOr(Schema.String).annotate({ description })
const count = (description: string) => Schema.Int.annotate({ description })
const time = (description: string) => Schema.String.annotate({ description, format: "date-time" })

const sequence = {
  sequence: count(
    "The number of the record that the message tells of. It grows with time: sort by it. Messages of one record share it.",
  ),
}

const user = {
  ...sequence,
  userId: text("The caller's own id of the user."),
  cause: Schema.Struct({
    kind: Schema.Literals([
      "event",
      "reward",
      "spend",
      "revocation",
      "profile",
      "backfill",
      "clock",
    ]).annotate({ description: "Kind of cause." }),
    id: Schema.NullOr(Schema.String).annotate({
      description: "The event, reward or spend that was sent or, for `revocation`, revoked.",
    }),
  }).annotate({
    identifier: "MessageCause",
    description: "The cause. `clock`: the passing of time.",
  }),
}

const change = (what: string) =>
  Schema.Struct({
    earned: count(`The ${what} earned; negative where they were revoked.`),
    total: count("Balance after this request."),
  }).annotate({ description: `The balance of ${what} and its change.` })
const outcome = {
  xp: change("xp"),
  points: change("points"),
  level: Schema.Struct({
    before: count("The level before."),
    after: count("The level after."),
  }).annotate({ description: "The level before and after." }),
}

export const Source = Schema.Struct({
  kind: Schema.Literals(["rule", "quest", "reward", "criteria"]).annotate({
    description: "Kind of source.",
  }),
  id: Schema.NullOr(Schema.String).annotate({
    description: "Id of the rule or quest; null for other kinds.",
  }),
}).annotate({
  identifier: "Source",
  examples: [{ kind: "rule", id: "rul_01a1fc1e64c07345932e273286b5ca30" }],
  description: "The source: a rule, a quest, a reward or, for a badge, its own criteria.",
})
const earned = {
  ...user,
  amount: count("The amount."),
  total: count("The running balance of the cause."),
  source: Source,
}
const revoked = {
  ...user,
  amount: count("The amount revoked."),
  total: count("The balance afterwards."),
}

const questName = {
  ...user,
  questId: text("Id of the quest."),
  title: text("Title of the quest."),
}

const quest = {
  ...sequence,
  quest: Schema.Struct({
    id: text("Id of the quest."),
    title: text("Title of the quest."),
    status: Schema.Literals(questStatuses).annotate({ description: "Status of the quest." }),
    reward: Schema.Struct({
      xp: count("Experience points."),
      points: count("Points."),
      badgeId: textOrNull("Id of a badge."),
    }).annotate({ description: "The quest's reward." }),
    recurrence: Schema.Literals(questRecurrences).annotate({
      description: "How often the quest starts again.",
    }),
    startsAt: Schema.NullOr(time("Start of the quest.")),
    endsAt: Schema.NullOr(time("End of the quest.")),
    createdAt: time("Time of creation."),
    updatedAt: time("Time of the last change."),
  }).annotate({
    identifier: "MessageQuest",
    description: "The quest afterwards; `GET /v1/quests/{id}` has all of it.",
  }),
}

const badge = { ...user, badgeId: text("Id of the badge."), name: text("Name of the badge.") }

const content = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct(fields).annotate({ description: "The content of the message." })

const data = {
  "event.tracked": content({
    ...user,
    eventId: text("Laurel's id of the event."),
    action: text("Action of the event."),
    occurredAt: time("Time of the event, as sent by the caller."),
    receivedAt: time("Time at which Laurel accepted it."),
    metadata: Schema.NullOr(Schema.Record(Schema.String, Schema.Json)).annotate({
      description: "The metadata sent with the event.",
    }),
    ...outcome,
  }),
  "xp.earned": content(earned),
  "xp.revoked": content(revoked),
  "points.earned": content(earned),
  "points.revoked": content(revoked),
  "points.spent": content({
    ...user,
    spendId: text("Id of the spend."),
    amount: count("The amount spent."),
    total: count("The balance afterwards."),
    reason: textOrNull("The reason sent with the spend."),
  }),
  "points.refunded": content({
    ...user,
    spendId: text("The spend that was revoked."),
    amount: count("The amount returned to the balance."),
    total: count("The balance afterwards."),
    shortfall: count("The part that was not returned: its points were revoked at their source."),
  }),
  "level.changed": content({
    ...user,
    from: count("The level before."),
    to: count("The level after; lower if xp were revoked."),
    levels: Schema.Array(Schema.Int).annotate({
      description: "The levels gained; of more than 1,000, the highest.",
    }),
  }),
  "badge.earned": content({ ...badge, source: Source }),
  "badge.revoked": content(badge),
  "streak.extended": content({
    ...user,
    key: text("The key of the streak."),
    current: count("Days in a row."),
    best: count("Longest run in days."),
  }),
  "streak.broken": content({
    ...user,
    key: text("The key of the streak."),
    length: count("Length of the streak in days."),
    best: count("Longest run in days."),
  }),
  "quest.started": content(questName),
  "quest.progressed": content({
    ...questName,
    step: text("The key of the step."),
    current: Schema.Finite.annotate({
      description: "Events counted for the step, or their sum, which may exceed the target.",
    }),
    target: count("The target of the step."),
    progress: Schema.Finite.annotate({
      description: "The completed share of the whole quest, 0 to 1.",
    }),
  }),
  "quest.completed": content({
    ...questName,
    times: count("The user's completions, this one included."),
  }),
  "quest.expired": content(questName),
  "quest.created": content(quest),
  "quest.updated": content(quest),
  "reward.granted": content({
    ...user,
    rewardId: text("Laurel's id of the reward."),
    type: Schema.Literals(["xp", "points", "badge"]).annotate({ description: "Kind of reward." }),
    amount: Schema.NullOr(Schema.Int).annotate({
      description: "Amount granted; null for a badge.",
    }),
    badgeId: textOrNull("Id of the badge granted; null for xp and points."),
    reason: textOrNull("The reason sent with the reward."),
    ...outcome,
  }),
  "reward.revoked": content({
    ...user,
    rewardId: text("Laurel's id of the reward."),
    ...outcome,
    shortfall: Schema.Struct({
      xp: count("Xp missing."),
      points: count("Points missing."),
    }).annotate({
      description: "The part already spent, which could not be revoked.",
    }),
  }),
  "leaderboard.window_closed": content({
    ...sequence,
    window: Schema.Literals(windowKinds).annotate({ description: "Kind of window." }),
    startsAt: time("Start of the window."),
    endsAt: time("End of the window."),
    total: count("Number of users on its board."),
  }),
  "user.created": content(user),
  "user.deleted": content({ ...sequence, userId: user.userId }),
  "webhook.disabled": content({
    ...sequence,
    webhookId: text("Id of the webhook."),
    description: textOrNull("The webhook's description for people."),
    reason: Schema.Literals(["gone", "failing"]).annotate({
      description: "`gone`: it answered 410. `failing`: only failures for five days.",
    }),
    disabledAt: time("Time at which it was disabled."),
  }),
  "webhook.test": content({ ...sequence, webhookId: text("Id of the webhook.") }),
} as const satisfies Record<MessageKind, Schema.Top>

export type MessageData = { readonly [Kind in MessageKind]: (typeof data)[Kind]["Type"] }

/** The schema of a whole message of a kind. */
export const messageSchema = <Kind extends MessageKind>(kind: Kind) =>
  Schema.Struct({
    id: text("The message's id, the same on every attempt, also in the header field `webhook-id`."),
    type: Schema.Literal(kind),
    timestamp: time("Time of the record."),
    project: text("The project's id."),
    environment: Schema.Literals(["sandbox", "production"]).annotate({
      description: "The environment.",
    }),
    data: data[kind],
  })
