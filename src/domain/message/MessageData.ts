/** The schema of `data` for each kind of message. `MessageCatalogue.ts` has examples. */
import { Schema } from "effect"
import { windowMembers } from "./boardMembers.ts"
import { factMembers, granted, Reward } from "./FactMembers.ts"
import { goalContents } from "./GoalMembers.ts"
import { leagueContents } from "./LeagueMessages.ts"
import type { MessageKind } from "./MessageKind.ts"
import { MessageQuest } from "./MessageQuest.ts"
import { purchaseData } from "./PurchaseMessages.ts"

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
      "purchase",
      "revocation",
      "profile",
      "backfill",
      "start",
      "opening",
      "pause",
      "disqualify",
      "ranks",
      "join",
      "leave",
      "prize",
      "goal",
      "merge",
      "clock",
    ]).annotate({ description: "Kind of cause." }),
    id: Schema.NullOr(Schema.String).annotate({
      description:
        "The event, reward, spend or purchase that was sent or, for `revocation`, revoked.",
    }),
  }).annotate({
    identifier: "MessageCause",
    description:
      "The cause. `start`: a request that started a quest. `opening`: the balances that a user brought along. `pause`: a request that paused a streak. `disqualify`: a request that took a user off a leaderboard or out of the ranks of a league, or back. `ranks`: a check of the first ranks of a leaderboard. `join` and `leave`: requests that changed the user's team. `prize`: a closed window of a leaderboard. `goal`: a shared goal that is complete. `clock`: the passing of time.",
  }),
}

const quest = {
  ...sequence,
  quest: MessageQuest,
}

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
    ...factMembers["event.tracked"],
  }),
  "xp.earned": content({ ...user, ...factMembers["xp.earned"] }),
  "xp.revoked": content({ ...user, ...factMembers["xp.revoked"] }),
  "points.earned": content({ ...user, ...factMembers["points.earned"] }),
  "points.revoked": content({ ...user, ...factMembers["points.revoked"] }),
  "points.spent": content({
    ...user,
    spendId: text("Id of the spend, or of the purchase of an item."),
    ...factMembers["points.spent"],
    reason: textOrNull("The reason sent with the spend."),
  }),
  "points.refunded": content({
    ...user,
    spendId: text("The spend or the purchase that was revoked."),
    ...factMembers["points.refunded"],
  }),
  "currency.earned": content({ ...user, ...factMembers["currency.earned"] }),
  "currency.revoked": content({ ...user, ...factMembers["currency.revoked"] }),
  "currency.spent": content({
    ...user,
    spendId: text("Id of the spend, or of the purchase of an item."),
    ...factMembers["currency.spent"],
    reason: textOrNull("The reason sent with the spend."),
  }),
  "currency.refunded": content({
    ...user,
    spendId: text("The spend or the purchase that was revoked."),
    ...factMembers["currency.refunded"],
  }),
  "currency.expired": content({ ...user, ...factMembers["currency.expired"] }),
  "currency.expiring": content({ ...user, ...factMembers["currency.expiring"] }),
  "currency.level_changed": content({ ...user, ...factMembers["currency.level_changed"] }),
  "level.changed": content({
    ...user,
    ...factMembers["level.changed"],
    levels: Schema.Array(Schema.Int).annotate({
      description: "The levels gained; of more than 1,000, the highest.",
    }),
  }),
  "badge.earned": content({ ...user, ...factMembers["badge.earned"] }),
  "badge.revoked": content({ ...user, ...factMembers["badge.revoked"] }),
  "boost.earned": content({ ...user, ...factMembers["boost.earned"] }),
  "boost.revoked": content({ ...user, ...factMembers["boost.revoked"] }),
  "experiment.exposed": content({ ...user, ...factMembers["experiment.exposed"] }),
  "metric.changed": content({ ...user, ...factMembers["metric.changed"] }),
  "streak.extended": content({ ...user, ...factMembers["streak.extended"] }),
  "streak.broken": content({ ...user, ...factMembers["streak.broken"] }),
  "user.inactive": content({ ...user, ...factMembers["user.inactive"] }),
  "streak.at_risk": content({ ...user, ...factMembers["streak.at_risk"] }),
  "streak.paused": content({ ...user, ...factMembers["streak.paused"] }),
  "streak.repaired": content({ ...user, ...factMembers["streak.repaired"] }),
  "streak.repair_undone": content({ ...user, ...factMembers["streak.repair_undone"] }),
  "streak.milestone_reached": content({
    ...user,
    ...factMembers["streak.milestone_reached"],
  }),
  "streak.freezes_earned": content({ ...user, ...factMembers["streak.freezes_earned"] }),
  "streak.freezes_revoked": content({ ...user, ...factMembers["streak.freezes_revoked"] }),
  "quest.started": content({ ...user, ...factMembers["quest.started"] }),
  "quest.progressed": content({ ...user, ...factMembers["quest.progressed"] }),
  "quest.completed": content({ ...user, ...factMembers["quest.completed"] }),
  "quest.claimed": content({ ...user, ...factMembers["quest.claimed"] }),
  "quest.expired": content({ ...user, ...factMembers["quest.expired"] }),
  "quest.claim_lapsed": content({ ...user, ...factMembers["quest.claim_lapsed"] }),
  "quest.ending": content({ ...user, ...factMembers["quest.ending"] }),
  "quest.created": content(quest),
  "quest.updated": content(quest),
  "reward.granted": content({
    ...user,
    rewardId: text("Laurel's id of the reward."),
    ...granted,
    reason: textOrNull("The reason sent with the reward."),
    ...factMembers["reward.granted"],
  }),
  "reward.revoked": content({
    ...user,
    rewardId: text("Laurel's id of the reward."),
    ...factMembers["reward.revoked"],
  }),
  "leaderboard.disqualified": content({ ...user, ...factMembers["leaderboard.disqualified"] }),
  "leaderboard.team_disqualified": content({
    ...sequence,
    ...factMembers["team.left"],
    ...factMembers["leaderboard.disqualified"],
    disqualified: Schema.Boolean.annotate({
      description: "Whether the leaderboard lists the team no more, or again.",
    }),
  }),
  "leaderboard.rank_changed": content({ ...user, ...factMembers["leaderboard.rank_changed"] }),
  "item.purchased": content({ ...user, ...purchaseData.purchased }),
  "item.refunded": content({ ...user, ...purchaseData.refunded }),
  "leaderboard.window_closed": content({
    ...sequence,
    ...windowMembers,
    startsAt: time("Start of the window; of all time, of the leaderboard."),
    endsAt: time("End of the window; of all time, of the leaderboard."),
    total: count(
      "Number of users on its board. A user who is hidden, erased or merged at the close may count.",
    ),
  }),
  "team.joined": content({ ...user, ...factMembers["team.joined"] }),
  "team.left": content({ ...user, ...factMembers["team.left"] }),
  "team.deleted": content({ ...sequence, ...factMembers["team.left"] }),
  ...leagueContents(user, sequence),
  ...goalContents(user, sequence, Reward),
  "leaderboard.prize_won": content({ ...user, ...factMembers["leaderboard.prize_won"] }),
  "leaderboard.prizes_paid": content({
    ...sequence,
    ...windowMembers,
    winners: count("Number of users who got a prize."),
  }),
  "user.created": content(user),
  "user.opened": content({ ...user, ...factMembers["user.opened"] }),
  "user.deleted": content({ ...sequence, userId: user.userId }),
  "user.merged": content({ ...user, ...factMembers["user.merged"] }),
  "test_clock.advanced": content({
    ...sequence,
    advancedTo: time("The time to which the clock was advanced."),
  }),
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
