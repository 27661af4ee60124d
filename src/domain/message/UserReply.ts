/**
 * The reply to a user's command. It derives only from the record, so a duplicate gets the first
 * outcome, even years later; `Repeat` tells how the duplicate relates to the first.
 */
import type { Repeat } from "../decide/Repeat.ts"
import type { AppliedBoost } from "../project/Boost.ts"
import type { Badge, Gives } from "../project/Definition.ts"
import {
  decidedAt,
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
import type { MembersOf } from "./FactMembers.ts"

export interface QuestChange extends Omit<QuestRef, "period"> {
  readonly status: "not_started" | "in_progress" | "completed" | "expired"
  /** The completed share, 0 to 1. */
  readonly progress: number
  readonly alreadyCompleted: boolean
}

/**
 * `duplicate`: an earlier command with the same id made the record, and the reply is its outcome.
 * Otherwise nothing differs, and nothing is revoked.
 */
interface Repeated extends Repeat {
  readonly duplicate: boolean
}

/** The outcome of a record, in the terms of the API. Times are epoch milliseconds. */
interface Outcome extends MembersOf<"event.tracked"> {
  readonly userId: string
  readonly badges: ReadonlyArray<{
    readonly id: string
    readonly key: string
    readonly name: string
    readonly earnedAt: number
  }>
  readonly badgesRevoked: ReadonlyArray<Pick<Badge, "id" | "key" | "name">>
  readonly quests: ReadonlyArray<QuestChange>
  readonly streaks: ReadonlyArray<MembersOf<"streak.extended">>
}

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
  const { badgeId, points, xp } = reward
  const parts: ReadonlyArray<readonly ["xp" | "points" | "badge", number | null]> = [
    ...(xp > 0 ? [["xp", xp] as const] : []),
    ...(points > 0 ? [["points", points] as const] : []),
    ...(badgeId === null ? [] : [["badge", null] as const]),
  ]
  const [type, amount] = parts.length === 1 ? parts[0]! : [null, null]
  return { reward, type, amount, badgeId }
}

export interface RevocationReply extends Outcome, Undone {
  readonly kind: "revocation"
  readonly of: "event" | "reward"
  /** The id of the revoked event or reward. */
  readonly id: string
}

type Undone = Pick<MembersOf<"event.revoked">, "shortfall">

export interface SpendReply extends MembersOf<"points.spent">, Repeated {
  readonly kind: "spend"
  readonly userId: string
  readonly spendId: string
  readonly reason: string | null
}

/** The reply to the revocation of a spend. */
export interface RefundReply extends MembersOf<"points.refunded"> {
  readonly kind: "refund"
  readonly userId: string
  readonly spendId: string
}

/** The reply to a command without an outcome of its own. */
export interface DoneReply {
  readonly kind: "done"
  /** The server's time of the record, epoch milliseconds. */
  readonly at: number
  readonly userId: string
  readonly badges: Outcome["badges"]
}

export type UserReply =
  | EventReply
  | RewardReply
  | SpendReply
  | RevocationReply
  | RefundReply
  | DoneReply

/** The kind of reply that a command gets. */
export type ReplyTo<Command extends UserCommand> = Command extends TrackedEvent
  ? EventReply
  : Command extends GrantedReward
    ? RewardReply
    : Command extends Spending
      ? SpendReply
      : Command extends Revocation<"spend">
        ? RefundReply
        : Command extends Revocation
          ? RevocationReply
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
  const points = record.facts[0]
  if (points?.kind === "points.spent" && cause.kind === "spend") {
    const { amount, total } = points
    const { reason = null } = cause
    const spendId = recordId("spd", record)
    const { userId } = subject
    return { kind: "spend", ...repeated(repeat), userId, spendId, amount, total, reason }
  }
  if (points?.kind === "points.refunded" && cause.kind === "revocation") {
    const { amount, shortfall, total } = points
    const spendId = recordId("spd", cause)
    return { kind: "refund", userId: subject.userId, spendId, amount, total, shortfall }
  }
  const outcome = outcomeOf(record, subject.userId)
  switch (cause.kind) {
    case "event": {
      const receivedAt = decidedAt(record)
      // Nearly all replies are of this kind, and a literal is faster than a spread.
      return {
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
        eventId: recordId("evt", record),
        action: cause.action,
        occurredAt: cause.occurredAt ?? receivedAt,
        receivedAt,
        matched: isMatched(record),
        boosts: boostsOf(record),
        withheld: withheldOf(record),
      }
    }
    case "reward": {
      const rewardId = recordId("rwd", record)
      return { kind: "reward", ...repeated(repeat), ...outcome, rewardId, ...grantedOf(cause) }
    }
    case "revocation": {
      if (cause.of === "spend") throw new Error(`Record ${record.sequence} refunds nothing`)
      const id = recordId(revocablePrefix[cause.of], cause)
      return { kind: "revocation", ...outcome, of: cause.of, id, shortfall: shortfallOf(record) }
    }
    default:
      return { kind: "done", at: record.at, userId: subject.userId, badges: outcome.badges }
  }
}

const repeated = (repeat: Repeat | undefined): Repeated =>
  repeat === undefined
    ? { duplicate: false, differs: nothing, revoked: false }
    : { duplicate: true, ...repeat }

/** The badges, quests and streaks that a record changed. */
interface Achievements {
  badges: Outcome["badges"]
  badgesRevoked: Outcome["badgesRevoked"]
  streaks: Outcome["streaks"]
  quests: Map<string, QuestChange> | undefined
}

const outcomeOf = (record: JournalRecord, userId: string): Outcome => {
  let xpEarned = 0
  let pointsEarned = 0
  let xp = 0
  let points = 0
  let before: number | undefined
  let after = 1
  const achieved: Achievements = {
    badges: nothing,
    badgesRevoked: nothing,
    streaks: nothing,
    quests: undefined,
  }
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
        break
      case "points.revoked":
        pointsEarned -= fact.amount
        break
      case "level.changed":
        before = fact.from
        break
      case "event.tracked":
      case "reward.granted":
      case "event.revoked":
      case "reward.revoked":
        ;({ xp, points, level: after } = fact)
        break
      default:
        achieve(achieved, fact, decidedAt(record))
    }
  }
  const { badges, badgesRevoked, quests, streaks } = achieved
  return {
    userId,
    xp: { earned: xpEarned, total: xp },
    points: { earned: pointsEarned, total: points },
    level: { before: before ?? after, after },
    badges,
    // A badge that was revoked and earned again in the same record does not count as revoked.
    badgesRevoked:
      badgesRevoked.length === 0
        ? badgesRevoked
        : badgesRevoked.filter(({ id }) => badges.every((badge) => badge.id !== id)),
    quests: quests === undefined ? nothing : [...quests.values()],
    streaks,
  }
}

const achieve = (
  achieved: Achievements,
  fact: JournalRecord["facts"][number],
  at: number,
): void => {
  switch (fact.kind) {
    case "badge.earned": {
      const badge = { id: fact.badgeId, key: fact.key, name: fact.name, earnedAt: at }
      achieved.badges = added(achieved.badges, badge)
      break
    }
    case "badge.revoked": {
      const badge = { id: fact.badgeId, key: fact.key, name: fact.name }
      achieved.badgesRevoked = added(achieved.badgesRevoked, badge)
      break
    }
    case "streak.extended": {
      const { current, key, streak } = fact
      achieved.streaks = added(achieved.streaks, { key, current, best: streak.best })
      break
    }
    case "quest.progressed":
      achieved.quests = changed(achieved.quests, fact, "in_progress", fact.progress)
      break
    case "quest.completed":
      achieved.quests = changed(achieved.quests, fact, "completed", 1)
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

/** The shared empty list. */
const nothing: ReadonlyArray<never> = []

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
): Map<string, QuestChange> => {
  const changes = quests ?? new Map<string, QuestChange>()
  changes.delete(questId)
  return changes.set(questId, { questId, key, title, status, progress, alreadyCompleted })
}

/**
 * Whether an active definition named the action of an event when it was decided. The last fact of
 * the record says so.
 */
export const isMatched = ({ facts }: JournalRecord): boolean => {
  const sum = facts.at(-1)
  return sum?.kind !== "event.tracked" || sum.matched !== false
}

/** Each boost once: xp and points may have the same boosts. */
const boostsOf = ({ facts }: JournalRecord): EventReply["boosts"] => {
  let boosts: EventReply["boosts"] = nothing
  for (const fact of facts) {
    if (fact.kind !== "xp.earned" && fact.kind !== "points.earned") continue
    for (const boost of fact.boosts ?? nothing) {
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

const shortfallOf = (record: JournalRecord): RevocationReply["shortfall"] => {
  for (const fact of record.facts) {
    if (fact.kind === "event.revoked" || fact.kind === "reward.revoked") return fact.shortfall
  }
  return { xp: 0, points: 0 }
}
