/**
 * A user's history: the facts of each record with their cause, in the terms of the API. It omits
 * facts of bookkeeping (`windows.credited`, `league.scored`, `rule.used`, `badge.counted`, `badge.paid`,
 * `level.paid`, `activity.reverted`, `reminders.followed`), whose effect balances, boards and progress show. `FactMembers.ts` has the members of each kind.
 */
import { Schema } from "effect"
import { unscaled } from "../project/Metric.ts"
import type { ClosedPlace } from "../project/Payout.ts"
import { heldSegments } from "../record/ActionCount.ts"
import type { Source } from "../record/BalanceFact.ts"
import type { DivisionRef } from "../record/LeagueFact.ts"
import {
  decidedAt,
  type FactOf,
  type JournalRecord,
  type QuestRef,
  spentBy,
} from "../record/Record.ts"
import { dateOf } from "../values/Calendar.ts"
import { recordId, revocablePrefix } from "../values/Ids.ts"
import { isoTime, isoTimeOrNull } from "../values/isoTime.ts"
import { rankWon, text } from "./boardMembers.ts"
import { factMembers, granted, type MembersOf, type ShownKind } from "./FactMembers.ts"
import { furtherOf, showExposed, showOwnBoost } from "./Further.ts"
import {
  contributionMembers,
  goalOf,
  goalRef,
  newsMembers,
  rewardedMembers,
} from "./GoalMembers.ts"
import type { PurchaseRefundReply, PurchaseReply } from "./PurchaseReply.ts"
import { repairMembers } from "./SpendReply.ts"
import {
  type EventReply,
  grantedOf,
  openedMembers,
  type RevocationReply,
  type RewardReply,
  replyOf,
  shownMetric,
} from "./UserReply.ts"

const CallersId = Schema.NullOr(Schema.String).annotate({
  description: "Your id; null: none.",
  examples: ["lesson-7-user-42"],
})
const EventId = text("Laurel's id of the event.", "evt_0mi8k3f2a4c92")
const RewardId = text("Laurel's id of the reward.", "rwd_0mi8k3f2a4c92")
const SpendId = text("Laurel's id of the spend.", "spd_0mi8k3f2a4c92")
const PurchaseId = text("Laurel's id of the purchase.", "pur_0mi8k3f2a4c92")
const { badgeId: BadgeId } = factMembers["badge.earned"]

/** The cause of a record. */
export const HistoryCause = Schema.Union([
  Schema.Struct({
    kind: Schema.Literal("event"),
    eventId: EventId,
    id: CallersId,
    action: Schema.String.annotate({
      description: "Action of the user.",
      examples: ["LESSON_DONE"],
    }),
    occurredAt: Schema.String.annotate({
      description: "ISO 8601, UTC, with milliseconds.",
      format: "date-time",
      examples: ["2026-11-01T09:30:00.000Z"],
    }),
    metadata: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)).annotate({
      description: "The event's metadata.",
      examples: [{ lesson: "intro-7", score: 93 }],
    }),
    imported: Schema.Boolean.annotate({
      description: "Whether the event was imported.",
      examples: [false],
    }),
    segments: Schema.Array(Schema.String).annotate({
      description:
        "The keys of the segments that the user was in before the event, of those that the definitions of the event named.",
      examples: [["active-learners"]],
    }),
  }).annotate({ identifier: "CauseEvent" }),
  Schema.Struct({
    kind: Schema.Literal("reward"),
    rewardId: RewardId,
    id: CallersId,
    ...granted,
    reason: Schema.NullOr(Schema.String).annotate({
      description: "The reason sent with the reward.",
      examples: ["Welcome back"],
    }),
  }).annotate({ identifier: "CauseReward" }),
  Schema.Struct({
    kind: Schema.Literal("spend"),
    spendId: SpendId,
    id: CallersId,
    amount: Schema.Int.annotate({ description: "Points spent.", examples: [120] }),
    currencies: Schema.optionalKey(
      Schema.Record(Schema.String, Schema.Int).annotate({
        description: "Amounts spent by currency, if sent so; points included. Absent: only points.",
        examples: [{ gems: 3, points: 120 }],
      }),
    ),
    reason: Schema.NullOr(Schema.String).annotate({
      description: "The reason sent with the spend.",
      examples: ["Streak freeze"],
    }),
  }).annotate({ identifier: "CauseSpend" }),
  Schema.Struct({
    kind: Schema.Literal("purchase"),
    purchaseId: PurchaseId,
    id: CallersId,
    item: text("The id or key of the item, as it was sent.", "streak-freeze"),
  }).annotate({ identifier: "CausePurchase" }),
  Schema.Struct({
    kind: Schema.Literal("revocation"),
    eventId: Schema.NullOr(EventId).annotate({ description: "Id of the revoked event." }),
    rewardId: Schema.NullOr(RewardId).annotate({ description: "Id of the revoked reward." }),
    spendId: Schema.NullOr(SpendId).annotate({ description: "Id of the revoked spend." }),
    purchaseId: Schema.NullOr(PurchaseId).annotate({
      description: "Id of the revoked purchase.",
    }),
  }).annotate({ identifier: "CauseRevocation" }),
  Schema.Struct({ kind: Schema.Literal("backfill"), badgeId: BadgeId }).annotate({
    identifier: "CauseBackfill",
    description: "A backfill awarded the badge.",
  }),
  Schema.Struct({ kind: Schema.Literal("prize"), ...rankWon }).annotate({
    identifier: "CausePrize",
    description: "A closed window of a leaderboard paid its prizes.",
  }),
  Schema.Struct({ kind: Schema.Literal("goal"), ...goalRef }).annotate({
    identifier: "CauseGoal",
    description: "A shared goal that is complete paid its reward.",
  }),
  Schema.Struct({
    kind: Schema.Literals([
      "profile",
      "start",
      "opening",
      "pause",
      "disqualify",
      "ranks",
      "join",
      "leave",
      "merge",
      "clock",
    ]).annotate({ description: "The other cause." }),
  }).annotate({
    identifier: "CauseOther",
    description:
      "`profile`: a change of the profile. `start`: a request that started a quest. `opening`: the balances that the user brought along. `pause`: a request that paused a streak. `disqualify`: a request that took the user off a leaderboard or out of the ranks of a league, or back. `ranks`: a check of the first ranks of a leaderboard. `join` and `leave`: requests that changed the user's team. `merge`: another user was merged into this one. `clock`: the passage of time, or the recount of a metric in the background.",
  }),
])

type CauseType = typeof HistoryCause.Type

export type HistoryFact = {
  [Kind in ShownKind]: {
    readonly kind: Kind
    /** The time of the decision, ISO 8601. */
    readonly at: string
    readonly sequence: number
  } & MembersOf<Kind> & { readonly cause: CauseType }
}[ShownKind]

/** The form of `fact` in a history. `fact` is a fact of `record`, and `isShown` holds for it. */
export const historyFact = (record: JournalRecord, fact: FactOf<ShownKind>): HistoryFact =>
  ({
    kind: fact.kind,
    at: isoTime(decidedAt(record)),
    sequence: record.sequence,
    ...membersOf(record, fact),
    cause: causeOf(record),
  }) as HistoryFact

/** The members of a fact of `record` that `isShown`. */
export const membersOf = (record: JournalRecord, fact: FactOf<ShownKind>): MembersOf<ShownKind> => {
  if ("questId" in fact) return questMembers(fact)
  if (isOfLeague(fact)) return leagueMembers(fact)
  if ("goalId" in fact) return goalMembers(fact)
  if ("boardId" in fact) return boardMembers(fact)
  switch (fact.kind) {
    case "event.tracked":
    case "reward.granted":
    case "event.revoked":
    case "reward.revoked":
    case "item.purchased":
    case "item.refunded":
      return summaryMembers(record, fact.kind)
    case "xp.earned":
    case "points.earned":
      return earnedMembers(fact)
    case "xp.revoked":
    case "points.revoked":
    case "points.spent":
      return { amount: fact.amount, total: fact.total }
    case "points.refunded":
      return { amount: fact.amount, total: fact.total, shortfall: fact.shortfall }
    case "currency.earned":
    case "currency.refilled":
    case "currency.revoked":
    case "currency.spent":
    case "currency.refunded":
    case "currency.expired":
    case "currency.expiring":
    case "currency.capped":
    case "currency.level_changed":
      return currencyMembers(fact)
    case "level.changed":
      return { from: fact.from, to: fact.to }
    case "badge.earned":
      return { ...badgeOf(fact), source: showSource(fact.source) }
    case "badge.revoked":
      return badgeOf(fact)
    case "boost.earned":
      return { ...showOwnBoost(fact), source: showSource(fact.source) }
    case "boost.revoked":
      return showOwnBoost(fact)
    case "experiment.exposed":
      return showExposed(fact)
    case "leaderboard.prize_won":
      return { ...rankOf(record), reward: fact.reward }
    case "metric.changed":
      return shownMetric(fact)
    case "streak.extended":
    case "streak.counted":
    case "streak.broken":
    case "streak.at_risk":
    case "streak.paused":
    case "streak.repaired":
    case "streak.repair_undone":
    case "streak.milestone_reached":
    case "streak.milestone_revoked":
    case "streak.freezes_earned":
    case "streak.freezes_revoked":
    case "streak.freezes_capped":
      return streakMembers(fact)
    case "team.joined":
    case "team.left":
    case "user.created":
    case "user.opened":
    case "user.updated":
    case "user.merged":
    case "user.inactive":
      return userMembers(fact)
  }
}

const questMembers = (
  fact: Extract<FactOf<ShownKind>, { readonly questId: string }>,
): MembersOf<ShownKind> => {
  switch (fact.kind) {
    case "quest.started":
    case "quest.claimed":
    case "quest.repeated":
    case "quest.expired":
    case "quest.claim_lapsed":
      return questOf(fact)
    case "quest.ending":
      return { ...questOf(fact), endsAt: isoTime(fact.endsAt), progress: fact.progress }
    case "quest.progressed": {
      const { current, progress, step, target } = fact
      return { ...questOf(fact), step, current, target, progress }
    }
    case "quest.completed":
      return { ...questOf(fact), times: fact.times, ...claimableOf(fact) }
    case "quest.claim_revoked":
      return { ...questOf(fact), ...claimableOf(fact) }
    case "quest.reverted":
      return {
        ...questOf(fact),
        status: fact.to,
        progress: fact.progress,
      } as MembersOf<"quest.reverted">
  }
}

const goalMembers = (
  fact: Extract<FactOf<ShownKind>, { readonly goalId: string }>,
): MembersOf<ShownKind> => {
  if (fact.kind === "goal.contributed") return contributionMembers(fact)
  return fact.kind === "goal.rewarded" ? rewardedMembers(fact) : newsMembers(fact)
}

type ShownLeague = Extract<FactOf<ShownKind>, { readonly kind: `league.${string}` }>

const isOfLeague = (fact: FactOf<ShownKind>): fact is ShownLeague => fact.kind.startsWith("league.")

const leagueMembers = (fact: ShownLeague): MembersOf<ShownKind> => {
  if (fact.kind === "league.disqualified") {
    const { disqualified, key, leagueId, name } = fact
    return { leagueId, key, name, disqualified }
  }
  const { cohort, division, endsAt, key, leagueId, name, startsAt } = fact
  const place = {
    leagueId,
    key,
    name,
    division: divisionMembers(division),
    cohort,
    startsAt: isoTime(startsAt),
    endsAt: isoTime(endsAt),
  }
  if (fact.kind === "league.joined") return place
  const { decimals = 0, of, rank } = fact
  const score = unscaled(fact.score, decimals)
  if (fact.kind === "league.closing") {
    return { ...place, score, rank, of, size: fact.size, outcome: fact.outcome }
  }
  const { rewards = [], to } = fact
  return { ...place, to: divisionMembers(to), score, rank, of, rewards }
}

const divisionMembers = ({ key, name }: DivisionRef) => ({ key, name })

const userMembers = (
  fact: FactOf<
    | "team.joined"
    | "team.left"
    | "user.created"
    | "user.opened"
    | "user.updated"
    | "user.merged"
    | "user.inactive"
  >,
): MembersOf<ShownKind> => {
  switch (fact.kind) {
    case "team.joined":
    case "team.left": {
      const { name, teamId, teamKind } = fact
      return { teamId, teamKind, name }
    }
    case "user.created":
      return {}
    case "user.opened":
      return openedMembers(fact)
    case "user.updated":
      return { profile: fact.profile }
    case "user.merged":
      return { from: fact.from, gained: fact.gained, totals: fact.totals }
    case "user.inactive":
      return { days: fact.days, lastDay: dateOf(fact.lastDay) }
  }
}

const undoneMembers = (
  reply: RevocationReply | PurchaseRefundReply,
): MembersOf<"event.revoked"> => {
  const { expired, level, points, shortfall, xp } = reply
  const lost = expired !== undefined && { expired }
  return { xp, points, level, ...furtherOf(reply), shortfall, ...lost }
}

/** The members of the last fact of a record, which sums it up. */
const summaryMembers = (record: JournalRecord, kind: SummaryKind): MembersOf<SummaryKind> => {
  switch (kind) {
    case "event.tracked":
    case "reward.granted": {
      const reply = replyOf(record) as EventReply | RewardReply
      return { xp: reply.xp, points: reply.points, level: reply.level, ...furtherOf(reply) }
    }
    case "event.revoked":
    case "reward.revoked":
      return undoneMembers(replyOf(record) as RevocationReply)
    default:
      return itemMembers(record)
  }
}

type SummaryKind =
  | "event.tracked"
  | "reward.granted"
  | "event.revoked"
  | "reward.revoked"
  | "item.purchased"
  | "item.refunded"

const itemMembers = (record: JournalRecord): MembersOf<"item.purchased" | "item.refunded"> => {
  const reply = replyOf(record) as PurchaseReply | PurchaseRefundReply
  const { itemId, key, level, name, points, xp } = reply
  const outcome = { xp, points, level, ...furtherOf(reply) }
  return reply.kind === "purchase"
    ? { itemId, key, name, price: reply.price, ...outcome }
    : { itemId, key, name, price: reply.price, ...undoneMembers(reply) }
}

const badgeOf = ({
  badgeId,
  key,
  name,
  tier,
  times,
}: FactOf<"badge.earned" | "badge.revoked">) => ({
  badgeId,
  key,
  name,
  ...(tier !== undefined && { tier }),
  ...(times !== undefined && { times }),
})

const earnedMembers = ({
  amount,
  boosts,
  lastDay,
  source,
  spendableAt,
  total,
}: FactOf<"xp.earned" | "points.earned" | "currency.earned">) => ({
  amount,
  total,
  source: showSource(source),
  ...(boosts !== undefined && { boosts }),
  ...(spendableAt !== undefined && { spendableAt: isoTime(spendableAt) }),
  ...(lastDay !== undefined && { lastDay: dateOf(lastDay) }),
})

const currencyMembers = (
  fact: Extract<FactOf<ShownKind>, { readonly currency: string }>,
): MembersOf<ShownKind> => {
  switch (fact.kind) {
    case "currency.earned": {
      return { currency: fact.currency, ...earnedMembers(fact) }
    }
    case "currency.refilled":
    case "currency.revoked":
    case "currency.spent":
    case "currency.expired":
      return { currency: fact.currency, amount: fact.amount, total: fact.total }
    case "currency.refunded": {
      const { amount, currency, shortfall, total } = fact
      return { currency, amount, total, shortfall }
    }
    case "currency.expiring": {
      const endings = fact.endings.map(([at, amount]) => ({ amount, expiresAt: isoTime(at) }))
      const amount = endings.reduce((sum, one) => sum + one.amount, 0)
      return { currency: fact.currency, amount, expiresAt: endings[0]!.expiresAt, endings }
    }
    case "currency.level_changed":
      return { currency: fact.currency, from: fact.from, to: fact.to }
    case "currency.capped": {
      const { amount, by, currency, source } = fact
      return { currency, amount, by, source: showSource(source) }
    }
  }
}

const claimableOf = ({ claimable }: { readonly claimable?: true }) =>
  claimable === true && { claimable }

const streakMembers = (
  fact: Extract<FactOf<ShownKind>, { readonly kind: `streak.${string}` }>,
): MembersOf<ShownKind> => {
  switch (fact.kind) {
    case "streak.extended":
    case "streak.counted":
      return { key: fact.key, current: fact.current, best: fact.streak.best }
    case "streak.broken":
      return { key: fact.key, length: fact.length, best: fact.streak.best }
    case "streak.paused": {
      const { current, from, key, to } = fact
      return { key, from: dateOf(from), to: dateOf(to), current }
    }
    case "streak.repaired":
    case "streak.repair_undone":
      return repairMembers(fact)
    case "streak.at_risk": {
      const { current, endsAt, freezes, key } = fact
      return { key, current, freezes, endsAt: isoTime(endsAt) }
    }
    case "streak.milestone_reached":
    case "streak.milestone_revoked": {
      const { key, name, streakId, target } = fact
      return { streakId, key, name, target }
    }
    case "streak.freezes_earned":
    case "streak.freezes_capped": {
      const { amount, key, source, total } = fact
      return { key, amount, total, source: showSource(source) }
    }
    case "streak.freezes_revoked":
      return { key: fact.key, amount: fact.amount, total: fact.total }
  }
}

const boardMembers = (
  fact: FactOf<"leaderboard.disqualified" | "leaderboard.rank_changed">,
): MembersOf<ShownKind> => {
  if (fact.kind === "leaderboard.disqualified") {
    const { boardId: id, disqualified, key } = fact
    return { leaderboard: { id, key }, disqualified }
  }
  const { previousRank, rank, score } = fact
  return { ...showPlace(fact), rank, previousRank, score }
}

/** The rank that a payment is for. */
const rankOf = ({ cause, sequence }: JournalRecord) => {
  if (cause.kind !== "payment" || cause.prize === undefined)
    throw new Error(`Record ${sequence} pays no prize`)
  const { rank, team: _, ...place } = cause.prize
  return { ...showPlace(place), rank }
}

/** A closed window of a leaderboard. */
export const showPlace = ({ boardId, endsAt, key, startsAt, window }: ClosedPlace) => ({
  leaderboard: { id: boardId, key },
  window,
  startsAt: isoTimeOrNull(startsAt),
  endsAt: isoTimeOrNull(endsAt),
})

const questOf = ({ key, questId, title }: QuestRef) => ({ questId, key, title })

const showSource = (source: Source): MembersOf<"xp.earned">["source"] => {
  if (typeof source === "string") return { kind: source, id: null }
  if ("ruleId" in source) return { kind: "rule", id: source.ruleId }
  if ("streakId" in source) return { kind: "streak", id: source.streakId }
  if ("currencyId" in source) return { kind: "level", id: source.currencyId }
  if ("boardId" in source) return { kind: "leaderboard", id: source.boardId }
  if ("leagueId" in source) return { kind: "league", id: source.leagueId }
  if ("itemId" in source) return { kind: "item", id: source.itemId }
  if ("goalId" in source) return { kind: "goal", id: source.goalId }
  return "badgeId" in source
    ? { kind: "badge", id: source.badgeId }
    : { kind: "quest", id: source.questId }
}

const causeOf = (record: JournalRecord): CauseType => {
  const { cause } = record
  switch (cause.kind) {
    case "event": {
      const { action, id = null, imported = false, metadata = null } = cause
      const eventId = recordId("evt", record)
      const occurredAt = isoTime(cause.occurredAt ?? decidedAt(record))
      const segments = heldSegments(record)
      return { kind: "event", eventId, id, action, occurredAt, metadata, imported, segments }
    }
    case "reward": {
      const { id = null, reason = null } = cause
      return { kind: "reward", rewardId: recordId("rwd", record), id, ...grantedOf(cause), reason }
    }
    case "spend": {
      const { id = null, reason = null } = cause
      const { points: amount = 0 } = spentBy(cause)
      const parts = "currencies" in cause && { currencies: cause.currencies }
      return { kind: "spend", spendId: recordId("spd", record), id, amount, ...parts, reason }
    }
    case "purchase": {
      const { id = null, item } = cause
      return { kind: "purchase", purchaseId: recordId("pur", record), id, item }
    }
    case "revocation": {
      const idIf = (of: typeof cause.of) =>
        cause.of === of ? recordId(revocablePrefix[of], cause) : null
      const [eventId, rewardId, spendId] = [idIf("event"), idIf("reward"), idIf("spend")]
      return { kind: "revocation", eventId, rewardId, spendId, purchaseId: idIf("purchase") }
    }
    case "backfill":
      return { kind: "backfill", badgeId: cause.badgeId }
    case "payment":
      if (cause.goal !== undefined) return { kind: "goal", ...goalOf(record) }
      return { kind: "prize", ...rankOf(record) }
    case "tick":
      return { kind: "clock" }
    case "profile":
    case "start":
    case "opening":
    case "pause":
    case "disqualify":
    case "ranks":
    case "join":
    case "leave":
      return { kind: cause.kind }
    case "disqualifyInLeague":
      return { kind: "disqualify" }
    case "absorb":
      return { kind: "merge" }
    default:
      throw new Error(`Record ${record.sequence} shows nothing in a history`)
  }
}
