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
    kind: Schema.Literals(["event", "reward", "revocation", "profile", "backfill", "clock"]),
    id: Schema.NullOr(Schema.String).annotate({
      description: "The event or reward that was sent or, for `revocation`, taken back.",
    }),
  }).annotate({ description: "Why it happened. `clock`: time has passed." }),
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
  amount: count("How much."),
  total: count("The balance after all that the cause did so far."),
  source,
}
const revoked = {
  ...user,
  amount: count("How much was taken back."),
  total: count("Balance afterwards."),
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
    startsAt: Schema.NullOr(time("When it starts.")),
    endsAt: Schema.NullOr(time("When it ends.")),
    createdAt: time("When it was created."),
    updatedAt: time("When it was last changed."),
  }).annotate({ description: "The quest afterwards; `GET /v1/quests/{id}` has all of it." }),
}

const badge = { ...user, badgeId: Schema.String, name: Schema.String }

const data = {
  "event.tracked": Schema.Struct({
    ...user,
    eventId: Schema.String,
    action: Schema.String,
    occurredAt: time("When it occurred, as the caller said."),
    receivedAt: time("When Laurel took it."),
    metadata: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)).annotate({
      description: "What the caller sent with it.",
    }),
    ...outcome,
  }),
  "xp.earned": Schema.Struct(earned),
  "xp.revoked": Schema.Struct(revoked),
  "points.earned": Schema.Struct(earned),
  "points.revoked": Schema.Struct(revoked),
  "level.changed": Schema.Struct({
    ...user,
    from: count("The level before."),
    to: count("The level after; lower where xp were taken back."),
    levels: Schema.Array(Schema.Int).annotate({
      description: "Each level that was gained; of more than 1,000, the highest.",
    }),
  }),
  "badge.earned": Schema.Struct({ ...badge, source }),
  "badge.revoked": Schema.Struct(badge),
  "streak.extended": Schema.Struct({
    ...user,
    key: text("Which streak."),
    current: count("Days in a row."),
    best: count("Longest run in days."),
  }),
  "streak.broken": Schema.Struct({
    ...user,
    key: text("Which streak."),
    length: count("Length of the streak in days."),
    best: count("Longest run in days."),
  }),
  "quest.started": Schema.Struct(questName),
  "quest.progressed": Schema.Struct({
    ...questName,
    step: text("The key of the step."),
    current: count("How many events have counted for the step."),
    target: count("How many it needs."),
    progress: Schema.Finite.annotate({
      description: "The share of the whole quest that is done, 0 to 1.",
    }),
  }),
  "quest.completed": Schema.Struct({
    ...questName,
    times: count("How often the user has completed it, with this."),
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
      description: "What could not be taken back, because it was spent.",
    }),
  }),
  "leaderboard.window_closed": Schema.Struct({
    ...sequence,
    window: Schema.Literals(windowKinds),
    startsAt: time("When the window began."),
    endsAt: time("When it ended."),
    total: count("How many users were on its board."),
  }),
  "user.created": Schema.Struct(user),
  "user.deleted": Schema.Struct({ ...sequence, userId: user.userId }),
  "webhook.disabled": Schema.Struct({
    ...sequence,
    webhookId: Schema.String,
    description: Schema.NullOr(Schema.String),
    reason: Schema.Literals(["gone", "failing"]).annotate({
      description: "`gone`: it answered 410. `failing`: nothing else than failures for five days.",
    }),
    disabledAt: time("When it was disabled."),
  }),
  "webhook.test": Schema.Struct({ ...sequence, webhookId: Schema.String }),
} as const satisfies Record<MessageKind, Schema.Top>

export type MessageData = { readonly [Kind in MessageKind]: (typeof data)[Kind]["Type"] }

/** The schema of a whole message of a kind. */
export const messageSchema = <Kind extends MessageKind>(kind: Kind) =>
  Schema.Struct({
    id: text("The same however often it is sent: also in the header field `webhook-id`."),
    type: Schema.Literal(kind),
    timestamp: time("When it happened."),
    project: Schema.String,
    environment: Schema.Literals(["sandbox", "production"]),
    data: data[kind],
  })
