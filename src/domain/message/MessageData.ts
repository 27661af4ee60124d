/** The schema of `data` for each kind of message. */
import { Schema } from "effect"
import { questRecurrences, questStatuses } from "../project/Quest.ts"
import { windowKinds } from "../values/Calendar.ts"
import type { MessageKind } from "./MessageKind.ts"

const text = (description: string) => Schema.String.annotate({ description })
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
    ]),
    id: Schema.NullOr(Schema.String).annotate({
      description: "The event, reward or spend that was sent or, for `revocation`, revoked.",
    }),
  }).annotate({ description: "The cause. `clock`: the passing of time." }),
}

const change = (what: string) =>
  Schema.Struct({
    earned: count(`The ${what} that were given; negative where they were taken back.`),
    total: count("Balance after this request."),
  })
const outcome = {
  xp: change("xp"),
  points: change("points"),
  level: Schema.Struct({ before: Schema.Int, after: Schema.Int }),
}

const source = Schema.Struct({
  kind: Schema.Literals(["rule", "quest", "reward", "criteria"]),
  id: Schema.NullOr(Schema.String),
}).annotate({
  description: "The source: a rule, a quest, a reward or, for a badge, its own criteria.",
})
const earned = {
  ...user,
  amount: count("The amount."),
  total: count("The running balance of the cause."),
  source,
}
const revoked = {
  ...user,
  amount: count("The amount revoked."),
  total: count("The balance afterwards."),
}

const questName = {
  ...user,
  questId: Schema.String,
  title: Schema.String,
}

const quest = {
  ...sequence,
  quest: Schema.Struct({
    id: Schema.String,
    title: Schema.String,
    status: Schema.Literals(questStatuses),
    reward: Schema.Struct({
      xp: Schema.Int,
      points: Schema.Int,
      badgeId: Schema.NullOr(Schema.String),
    }),
    recurrence: Schema.Literals(questRecurrences),
    startsAt: Schema.NullOr(time("Start of the quest.")),
    endsAt: Schema.NullOr(time("End of the quest.")),
    createdAt: time("Time of creation."),
    updatedAt: time("Time of the last change."),
  }).annotate({ description: "The quest afterwards; `GET /v1/quests/{id}` has all of it." }),
}

const badge = { ...user, badgeId: Schema.String, name: Schema.String }

const data = {
  "event.tracked": Schema.Struct({
    ...user,
    eventId: Schema.String,
    action: Schema.String,
    occurredAt: time("Time of the event, as sent by the caller."),
    receivedAt: time("Time at which Laurel accepted it."),
    metadata: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)).annotate({
      description: "The metadata sent with the event.",
    }),
    ...outcome,
  }),
  "xp.earned": Schema.Struct(earned),
  "xp.revoked": Schema.Struct(revoked),
  "points.earned": Schema.Struct(earned),
  "points.revoked": Schema.Struct(revoked),
  "points.spent": Schema.Struct({
    ...user,
    spendId: Schema.String,
    amount: count("The amount spent."),
    total: count("The balance afterwards."),
    reason: Schema.NullOr(Schema.String),
  }),
  "points.refunded": Schema.Struct({
    ...user,
    spendId: text("The spend that was revoked."),
    amount: count("The amount returned to the balance."),
    total: count("The balance afterwards."),
    shortfall: count("The part that was not returned: its points were revoked at their source."),
  }),
  "level.changed": Schema.Struct({
    ...user,
    from: count("The level before."),
    to: count("The level after; lower if xp were revoked."),
    levels: Schema.Array(Schema.Int).annotate({
      description: "The levels gained; of more than 1,000, the highest.",
    }),
  }),
  "badge.earned": Schema.Struct({ ...badge, source }),
  "badge.revoked": Schema.Struct(badge),
  "streak.extended": Schema.Struct({
    ...user,
    key: text("The key of the streak."),
    current: count("Days in a row."),
    best: count("Longest run in days."),
  }),
  "streak.broken": Schema.Struct({
    ...user,
    key: text("The key of the streak."),
    length: count("Length of the streak in days."),
    best: count("Longest run in days."),
  }),
  "quest.started": Schema.Struct(questName),
  "quest.progressed": Schema.Struct({
    ...questName,
    step: text("The key of the step."),
    current: count("Events counted for the step."),
    target: count("The target of the step."),
    progress: Schema.Finite.annotate({
      description: "The completed share of the whole quest, 0 to 1.",
    }),
  }),
  "quest.completed": Schema.Struct({
    ...questName,
    times: count("The user's completions, this one included."),
  }),
  "quest.expired": Schema.Struct(questName),
  "quest.created": Schema.Struct(quest),
  "quest.updated": Schema.Struct(quest),
  "reward.granted": Schema.Struct({
    ...user,
    rewardId: Schema.String,
    type: Schema.Literals(["xp", "points", "badge"]),
    amount: Schema.NullOr(Schema.Int),
    badgeId: Schema.NullOr(Schema.String),
    reason: Schema.NullOr(Schema.String),
    ...outcome,
  }),
  "reward.revoked": Schema.Struct({
    ...user,
    rewardId: Schema.String,
    ...outcome,
    shortfall: Schema.Struct({ xp: Schema.Int, points: Schema.Int }).annotate({
      description: "The part already spent, which could not be revoked.",
    }),
  }),
  "leaderboard.window_closed": Schema.Struct({
    ...sequence,
    window: Schema.Literals(windowKinds),
    startsAt: time("Start of the window."),
    endsAt: time("End of the window."),
    total: count("Number of users on its board."),
  }),
  "user.created": Schema.Struct(user),
  "user.deleted": Schema.Struct({ ...sequence, userId: user.userId }),
  "webhook.disabled": Schema.Struct({
    ...sequence,
    webhookId: Schema.String,
    description: Schema.NullOr(Schema.String),
    reason: Schema.Literals(["gone", "failing"]).annotate({
      description: "`gone`: it answered 410. `failing`: only failures for five days.",
    }),
    disabledAt: time("Time at which it was disabled."),
  }),
  "webhook.test": Schema.Struct({ ...sequence, webhookId: Schema.String }),
} as const satisfies Record<MessageKind, Schema.Top>

export type MessageData = { readonly [Kind in MessageKind]: (typeof data)[Kind]["Type"] }

/** The schema of a whole message of a kind. */
export const messageSchema = <Kind extends MessageKind>(kind: Kind) =>
  Schema.Struct({
    id: text("The same on every attempt, also in the header field `webhook-id`."),
    type: Schema.Literal(kind),
    timestamp: time("Time of the record."),
    project: Schema.String,
    environment: Schema.Literals(["sandbox", "production"]),
    data: data[kind],
  })
