/**
 * The reply to a user's command. It derives only from the record, so a duplicate gets the first
 * outcome, even years later; `Repeat` tells how the duplicate relates to the first.
 */
import type { Repeat } from "../decide/Repeat.ts"
import type { AppliedBoost } from "../project/Boost.ts"
import type { Gives } from "../project/Definition.ts"
import { unscaled } from "../project/Metric.ts"
import { gaveAt } from "../record/EventDay.ts"
import type { Merge } from "../record/MergeRecord.ts"
import type { Opening } from "../record/Opening.ts"
import type { Purchase } from "../record/Purchase.ts"
import {
  decidedAt,
  type FactOf,
  type GrantedReward,
  givenBy,
  type JournalRecord,
  type QuestRef,
  type Revocation,
  type Spending,
  type TrackedEvent,
  type UserCommand,
  type WithheldReason,
} from "../record/Record.ts"
import { recordId, revocablePrefix } from "../values/Ids.ts"
import { isoTime } from "../values/isoTime.ts"
import type { MembersOf } from "./FactMembers.ts"
import {
  type FurtherChange,
  furtherAfter,
  furtherOf,
  showOwnBoost,
  withLevel,
  withPending,
} from "./Further.ts"
import { isOfGoal, withGoal } from "./GoalMembers.ts"
import type { Outcome, QuestChange, Undone } from "./Outcome.ts"
import {
  boughtOf,
  type PurchaseRefundReply,
  type PurchaseReply,
  returnedOf,
} from "./PurchaseReply.ts"
import {
  allBalances,
  type RefundReply,
  type Repeated,
  refundOf,
  type SpendReply,
  spendOf,
} from "./SpendReply.ts"

export interface EventReply extends Outcome, Repeated {
  readonly kind: "event"
  readonly eventId: string
  readonly action: string
  readonly occurredAt: number
  readonly receivedAt: number
  /** Whether an active definition named the action when the event was decided. */
  readonly matched: boolean
  /** The boosts that multiplied what the event earned. */
  readonly boosts: ReadonlyArray<AppliedBoost>
  /** The rules that matched but gave no reward. */
  readonly withheld: ReadonlyArray<{ readonly ruleId: string; readonly reason: WithheldReason }>
}

export interface RewardReply extends Outcome, Repeated, Granted {
  readonly kind: "reward"
  readonly rewardId: string
}

/** A granted reward. `type` and `amount` are null for a reward of several parts. */
export interface Granted {
  readonly reward: Gives
  readonly type: "xp" | "points" | "badge" | null
  readonly amount: number | null
  readonly badgeId: string | null
}

export const grantedOf = (cause: GrantedReward): Granted => {
  const reward = givenBy(cause)
  const { badgeId, boost, currencies, freezes, points, xp } = reward
  const parts: ReadonlyArray<readonly ["xp" | "points" | "badge", number | null]> = [
    ...(xp > 0 ? [["xp", xp] as const] : []),
    ...(points > 0 ? [["points", points] as const] : []),
    ...(badgeId === null ? [] : [["badge", null] as const]),
  ]
  const isOne =
    parts.length === 1 && boost === undefined && currencies === undefined && freezes === undefined
  const [type, amount] = isOne ? parts[0]! : [null, null]
  return { reward, type, amount, badgeId }
}

export interface RevocationReply extends Outcome, Undone {
  readonly kind: "revocation"
  readonly of: "event" | "reward"
  /** The id of the revoked event or reward. */
  readonly id: string
}

/** The reply to a merge, the same to each repeat. */
export interface MergeReply {
  readonly kind: "merge"
  readonly from: string
  readonly into: string
  /** Epoch milliseconds. */
  readonly mergedAt: number
}

/** The reply to a command without an outcome of its own. */
export interface DoneReply {
  readonly kind: "done"
  /** The server's time of the record, epoch milliseconds. */
  readonly at: number
  readonly userId: string
  readonly badges: Outcome["badges"]
}

export interface OpeningReply extends Repeated {
  readonly kind: "opening"
  readonly userId: string
  /** The sequence of the record. */
  readonly sequence: number
  readonly opened: MembersOf<"user.opened">
}

export type UserReply =
  | EventReply
  | RewardReply
  | SpendReply
  | RevocationReply
  | RefundReply
  | PurchaseReply
  | PurchaseRefundReply
  | MergeReply
  | OpeningReply
  | DoneReply

/** The kind of reply that a command gets. */
export type ReplyTo<Command extends UserCommand> = Command extends TrackedEvent
  ? EventReply
  : Command extends GrantedReward
    ? RewardReply
    : Command extends Spending
      ? SpendReply
      : Command extends Purchase
        ? PurchaseReply
        : Command extends Revocation<"spend">
          ? RefundReply
          : Command extends Revocation<"purchase">
            ? PurchaseRefundReply
            : Command extends Revocation
              ? RevocationReply
              : Command extends Merge
                ? MergeReply
                : Command extends Opening
                  ? OpeningReply
                  : DoneReply

/**
 * The reply to the command that caused `record`, a record of a user, or to a `repeat` of that
 * command.
 */
export const replyOf = (record: JournalRecord, repeat?: Repeat): UserReply => {
  const { cause, subject } = record
  if (subject.actor !== "user" || cause.kind === "request") {
    throw new Error(`Record ${record.sequence} answers no command of a user`)
  }
  const { userId } = subject
  if (cause.kind === "spend") {
    const { reason = null } = cause
    return { kind: "spend", ...repeated(repeat), userId, ...spendOf(record), reason }
  }
  if (cause.kind === "revocation" && cause.of === "spend") {
    return { kind: "refund", userId, ...refundOf(record, recordId("spd", cause)) }
  }
  if (cause.kind === "mergeEnd") {
    return { kind: "merge", from: userId, into: cause.into, mergedAt: decidedAt(record) }
  }
  const outcome = outcomeOf(record, userId)
  switch (cause.kind) {
    case "event": {
      const receivedAt = decidedAt(record)
      // Nearly all replies are of this kind, and a literal is faster than a spread.
      const reply: EventReply = {
        kind: "event",
        duplicate: repeat !== undefined,
        differs: repeat?.differs ?? nothing,
        revoked: repeat?.revoked ?? false,
        userId: outcome.userId,
        xp: outcome.xp,
        points: outcome.points,
        level: outcome.level,
        badges: outcome.badges,
        badgesRevoked: outcome.badgesRevoked,
        quests: outcome.quests,
        streaks: outcome.streaks,
        metrics: outcome.metrics,
        boostsRevoked: outcome.boostsRevoked,
        eventId: recordId("evt", record),
        action: cause.action,
        occurredAt: cause.occurredAt ?? receivedAt,
        receivedAt,
        matched: isMatched(record),
        boosts: boostsOf(record),
        withheld: withheldOf(record),
      }
      const further = furtherOf(outcome)
      return further === undefined ? reply : { ...reply, ...further }
    }
    case "reward": {
      const rewardId = recordId("rwd", record)
      return { kind: "reward", ...repeated(repeat), ...outcome, rewardId, ...grantedOf(cause) }
    }
    case "purchase": {
      const purchaseId = recordId("pur", record)
      return { kind: "purchase", ...repeated(repeat), ...outcome, purchaseId, ...boughtOf(record) }
    }
    case "revocation":
      return undoneReply(record, cause, outcome)
    case "opening":
      return {
        kind: "opening",
        ...repeated(repeat),
        userId,
        sequence: record.sequence,
        opened: openedMembers(record.facts.find((fact) => fact.kind === "user.opened")!),
      }
    default:
      return { kind: "done", at: record.at, userId, badges: outcome.badges }
  }
}

const undoneReply = (
  record: JournalRecord,
  cause: Revocation,
  outcome: Outcome,
): RevocationReply | PurchaseRefundReply => {
  const lost = shortfallOf(record)
  if (cause.of === "purchase") {
    const id = recordId("pur", cause)
    return { kind: "revocation", ...outcome, of: "purchase", id, ...lost, ...returnedOf(record) }
  }
  const of = cause.of === "event" ? "event" : "reward"
  return { kind: "revocation", ...outcome, of, id: recordId(revocablePrefix[of], cause), ...lost }
}

const repeated = (repeat: Repeat | undefined): Repeated =>
  repeat === undefined
    ? { duplicate: false, differs: nothing, revoked: false }
    : { duplicate: true, ...repeat }

/** The shared empty list. */
const nothing: ReadonlyArray<never> = []

/** The badges, quests, streaks and metrics that a record changed. */
interface Achievements {
  badges: Outcome["badges"]
  badgesRevoked: Outcome["badgesRevoked"]
  streaks: Outcome["streaks"]
  metrics: Outcome["metrics"]
  boostsRevoked: Outcome["boostsRevoked"]
  quests: Map<string, QuestChange> | undefined
}

const noAchievements: Achievements = {
  badges: nothing,
  badgesRevoked: nothing,
  streaks: nothing,
  metrics: nothing,
  boostsRevoked: nothing,
  quests: undefined,
}

const outcomeOf = (record: JournalRecord, userId: string): Outcome => {
  let xpEarned = 0
  let pointsEarned = 0
  let xp = 0
  let points = 0
  let before: number | undefined
  let after = 1
  let further: FurtherChange | undefined
  const achieved: Achievements = { ...noAchievements }
  for (const fact of record.facts) {
    switch (fact.kind) {
      case "xp.earned":
        xpEarned += fact.amount
        break
      case "xp.revoked":
        xpEarned -= fact.amount
        break
      case "points.earned":
        pointsEarned += fact.amount
        if (fact.spendableAt !== undefined) further = withPending(further, fact, fact.spendableAt)
        break
      case "points.revoked":
        pointsEarned -= fact.amount
        break
      case "currency.earned":
      case "currency.revoked":
      case "currency.capped":
        further = withCurrency(further, fact)
        break
      case "boost.earned":
      case "experiment.exposed":
      case "streak.freezes_earned":
      case "streak.freezes_revoked":
      case "streak.freezes_capped":
        further = furtherAfter(further, fact)
        break
      case "level.changed":
        before = fact.from
        break
      case "currency.level_changed":
        further = withLevel(further, fact)
        break
      case "event.tracked":
      case "reward.granted":
      case "event.revoked":
      case "reward.revoked":
      case "item.purchased":
      case "item.refunded":
        ;({ xp, points, level: after } = fact)
        if (fact.balances !== undefined) further = { ...further, balances: allBalances(fact) }
        break
      default:
        if (isOfGoal(fact)) further = { ...further, goals: withGoal(further?.goals, fact) }
        else achieve(achieved, fact, gaveAt(record))
    }
  }
  const { badges, badgesRevoked, boostsRevoked, metrics, quests, streaks } = achieved
  return {
    userId,
    xp: { earned: xpEarned, total: xp },
    points: { earned: pointsEarned, total: points },
    ...further,
    level: { before: before ?? after, after },
    badges,
    badgesRevoked: badgesRevoked.length === 0 ? badgesRevoked : notEarned(badgesRevoked, badges),
    quests: quests === undefined ? nothing : [...quests.values()],
    streaks,
    metrics,
    boostsRevoked,
  }
}

const withCurrency = (
  before: FurtherChange | undefined,
  fact: Parameters<typeof furtherAfter>[1],
): FurtherChange => {
  const further = furtherAfter(before, fact)
  return fact.kind === "currency.earned" && fact.spendableAt !== undefined
    ? withPending(further, fact, fact.spendableAt)
    : further
}

/** A badge that was revoked and earned again in the same record does not count as revoked. */
const notEarned = (
  revoked: Outcome["badgesRevoked"],
  earned: Outcome["badges"],
): Outcome["badgesRevoked"] =>
  revoked.filter(({ id, tier }) =>
    earned.every((badge) => badge.id !== id || badge.tier?.key !== tier?.key),
  )

const achieve = (
  achieved: Achievements,
  fact: JournalRecord["facts"][number],
  at: number,
): void => {
  switch (fact.kind) {
    case "badge.earned": {
      achieved.badges = added(achieved.badges, { ...shownBadge(fact), earnedAt: at })
      break
    }
    case "badge.revoked": {
      achieved.badgesRevoked = added(achieved.badgesRevoked, shownBadge(fact))
      break
    }
    case "streak.extended": {
      const { current, key, streak } = fact
      achieved.streaks = added(achieved.streaks, { key, current, best: streak.best })
      break
    }
    case "boost.revoked":
      achieved.boostsRevoked = added(achieved.boostsRevoked, showOwnBoost(fact))
      break
    case "metric.changed":
      achieved.metrics = added(achieved.metrics, shownMetric(fact))
      break
    case "quest.progressed":
      achieved.quests = changed(achieved.quests, fact, "in_progress", fact.progress)
      break
    case "quest.completed":
      achieved.quests = changed(achieved.quests, fact, "completed", 1, false, fact.claimable)
      break
    case "quest.claimed":
      achieved.quests = changed(achieved.quests, fact, "completed", 1)
      break
    case "quest.claim_revoked":
      if (fact.claimable !== true) break
      achieved.quests = changed(achieved.quests, fact, "completed", 1, false, fact.claimable)
      break
    case "quest.repeated":
      achieved.quests = changed(achieved.quests, fact, "completed", 1, true)
      break
    case "quest.reverted":
      // Only the counts of the quest changed.
      if (fact.to === "completed") break
      achieved.quests = changed(achieved.quests, fact, fact.to, fact.progress)
      break
  }
}

const shownBadge = ({
  badgeId: id,
  key,
  name,
  tier,
  times,
}: FactOf<"badge.earned" | "badge.revoked">) => {
  if (times !== undefined) return { id, key, name, times }
  return tier === undefined ? { id, key, name } : { id, key, name, tier }
}

/** What opening balances set, as it was then. */
export const openedMembers = ({
  badges,
  balances,
  level,
  points,
  streaks,
  xp,
}: FactOf<"user.opened">): MembersOf<"user.opened"> => {
  const further = Object.entries(balances).map(([key, { amount }]) => [key, amount])
  return {
    balances: { xp, points, ...Object.fromEntries(further) },
    level,
    streaks: Object.entries(streaks).map(([key, { best, broken, length }]) => ({
      key,
      current: broken ? 0 : length,
      best,
    })),
    badges: badges.map(({ earnedAt, ...badge }) => ({ ...badge, earnedAt: isoTime(earnedAt) })),
  }
}

/** The number is 0 or null where no event is left. */
export const shownMetric = ({ decimals, key, total }: FactOf<"metric.changed">) => ({
  key,
  total: unscaled(total, decimals),
})

/**
 * The list plus `entry`. A list that is not the shared empty one grows in place: a record may have
 * thousands of facts.
 */
const added = <A>(list: ReadonlyArray<A>, one: A): ReadonlyArray<A> => {
  if (list === nothing) return [one]
  ;(list as Array<A>).push(one)
  return list
}

/** One entry per quest, in the order of the last changes in the record. */
const changed = (
  quests: Map<string, QuestChange> | undefined,
  { key, questId, title }: QuestRef,
  status: QuestChange["status"],
  progress: number,
  alreadyCompleted = false,
  claimable?: true,
): Map<string, QuestChange> => {
  const changes = quests ?? new Map<string, QuestChange>()
  changes.delete(questId)
  const change = { questId, key, title, status, progress, alreadyCompleted }
  return changes.set(questId, claimable === undefined ? change : { ...change, claimable })
}

/**
 * Whether an active definition named the action of an event when it was decided. The last fact of
 * the record says so.
 */
export const isMatched = ({ facts }: JournalRecord): boolean => {
  const sum = facts.at(-1)
  return sum?.kind !== "event.tracked" || sum.matched !== false
}

/** Each boost once: several currencies may have the same boosts. */
const boostsOf = ({ facts }: JournalRecord): EventReply["boosts"] => {
  let boosts: EventReply["boosts"] = nothing
  for (const fact of facts) {
    if (!("boosts" in fact) || fact.boosts === undefined) continue
    for (const boost of fact.boosts) {
      if (boosts.every(({ key }) => key !== boost.key)) boosts = added(boosts, boost)
    }
  }
  return boosts
}

const withheldOf = ({ facts }: JournalRecord): EventReply["withheld"] => {
  let withheld: EventReply["withheld"] = nothing
  for (const fact of facts) {
    if (fact.kind !== "rule.withheld") continue
    withheld = added(withheld, { ruleId: fact.ruleId, reason: fact.reason })
  }
  return withheld
}

const shortfallOf = (record: JournalRecord): Undone => {
  for (const fact of record.facts) {
    const isSum = fact.kind === "reward.revoked" || fact.kind === "item.refunded"
    if (fact.kind !== "event.revoked" && !isSum) continue
    const { expired, shortfall } = fact
    return expired === undefined ? { shortfall } : { shortfall, expired }
  }
  return { shortfall: { xp: 0, points: 0 } }
}
