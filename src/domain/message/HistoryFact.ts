/**
 * A user's history: the facts of each record with their cause, in the terms of the API. It omits
 * facts of bookkeeping (`windows.credited`, `rule.used`, `badge.counted`), whose effect balances,
 * boards and progress show.
 */
import type { Fact, FactOf, JournalRecord, QuestRef } from "../record/Record.ts"
import type { Profile } from "../user/User.ts"
import { recordId, revocablePrefix } from "../values/Ids.ts"
import { isoTime } from "../values/isoTime.ts"
import type { Metadata } from "../values/Metadata.ts"
import { showSource } from "./Message.ts"
import { type EventReply, type RevocationReply, type RewardReply, replyOf } from "./UserReply.ts"

export const historyKinds = [
  "event.tracked",
  "event.revoked",
  "reward.granted",
  "reward.revoked",
  "xp.earned",
  "xp.revoked",
  "points.earned",
  "points.revoked",
  "points.spent",
  "points.refunded",
  "level.changed",
  "badge.earned",
  "badge.revoked",
  "quest.started",
  "quest.progressed",
  "quest.completed",
  "quest.repeated",
  "quest.reverted",
  "quest.expired",
  "streak.extended",
  "streak.counted",
  "streak.broken",
  "user.created",
  "user.updated",
] as const satisfies ReadonlyArray<Fact["kind"]>
export type HistoryKind = (typeof historyKinds)[number]

interface Change {
  readonly earned: number
  readonly total: number
}

interface Outcome {
  readonly xp: Change
  readonly points: Change
  readonly level: { readonly before: number; readonly after: number }
}

interface Undone extends Outcome {
  readonly shortfall: { readonly xp: number; readonly points: number }
}

type Source = ReturnType<typeof showSource>

interface Balance {
  readonly amount: number
  readonly total: number
}

interface Quest {
  readonly questId: string
  readonly title: string
}

interface Streak {
  readonly key: string
  readonly current: number
  readonly best: number
}

/** For each kind of fact: the members that a history shows. */
interface Members {
  readonly "event.tracked": Outcome
  readonly "event.revoked": Undone
  readonly "reward.granted": Outcome
  readonly "reward.revoked": Undone
  readonly "xp.earned": Balance & { readonly source: Source }
  readonly "xp.revoked": Balance
  readonly "points.earned": Balance & { readonly source: Source }
  readonly "points.revoked": Balance
  readonly "points.spent": Balance
  readonly "points.refunded": Balance & { readonly shortfall: number }
  readonly "level.changed": { readonly from: number; readonly to: number }
  readonly "badge.earned": {
    readonly badgeId: string
    readonly name: string
    readonly source: Source
  }
  readonly "badge.revoked": { readonly badgeId: string; readonly name: string }
  readonly "quest.started": Quest
  readonly "quest.progressed": Quest & {
    readonly step: string
    readonly current: number
    readonly target: number
    readonly progress: number
  }
  readonly "quest.completed": Quest & { readonly times: number }
  readonly "quest.repeated": Quest
  readonly "quest.reverted": Quest & {
    readonly status: "not_started" | "in_progress"
    readonly progress: number
  }
  readonly "quest.expired": Quest
  readonly "streak.extended": Streak
  readonly "streak.counted": Streak
  readonly "streak.broken": {
    readonly key: string
    readonly length: number
    readonly best: number
  }
  readonly "user.created": object
  readonly "user.updated": { readonly profile: Profile }
}

/** The cause of a record. Times are ISO 8601. `id` is the id of the caller. */
export type HistoryCause =
  | {
      readonly kind: "event"
      readonly eventId: string
      readonly id: string | null
      readonly action: string
      readonly occurredAt: string
      readonly metadata: Metadata | null
      readonly imported: boolean
    }
  | {
      readonly kind: "reward"
      readonly rewardId: string
      readonly id: string | null
      readonly type: "xp" | "points" | "badge"
      readonly amount: number | null
      readonly badgeId: string | null
      readonly reason: string | null
    }
  | {
      readonly kind: "spend"
      readonly spendId: string
      readonly id: string | null
      readonly amount: number
      readonly reason: string | null
    }
  | {
      readonly kind: "revocation"
      readonly eventId: string | null
      readonly rewardId: string | null
      readonly spendId: string | null
    }
  | { readonly kind: "backfill"; readonly badgeId: string }
  | { readonly kind: "profile" | "clock" }

export type HistoryFact = {
  [Kind in HistoryKind]: {
    readonly kind: Kind
    /** The time of the decision, ISO 8601. */
    readonly at: string
    readonly sequence: number
  } & Members[Kind] & { readonly cause: HistoryCause }
}[HistoryKind]

const shown: ReadonlySet<string> = new Set(historyKinds)

/** Whether a history shows the fact. */
export const isShown = (fact: Fact): fact is FactOf<HistoryKind> => shown.has(fact.kind)

/** The form of `fact` in a history. `fact` is a fact of `record`, and `isShown` holds for it. */
export const historyFact = (record: JournalRecord, fact: FactOf<HistoryKind>): HistoryFact =>
  ({
    kind: fact.kind,
    at: isoTime(record.at),
    sequence: record.sequence,
    ...membersOf(record, fact),
    cause: causeOf(record),
  }) as HistoryFact

const membersOf = (record: JournalRecord, fact: FactOf<HistoryKind>): Members[HistoryKind] => {
  switch (fact.kind) {
    case "event.tracked":
    case "reward.granted": {
      const { level, points, xp } = replyOf(record, false) as EventReply | RewardReply
      return { xp, points, level }
    }
    case "event.revoked":
    case "reward.revoked": {
      const { level, points, shortfall, xp } = replyOf(record, false) as RevocationReply
      return { xp, points, level, shortfall }
    }
    case "xp.earned":
    case "points.earned":
      return { amount: fact.amount, total: fact.total, source: showSource(fact.source) }
    case "xp.revoked":
    case "points.revoked":
    case "points.spent":
      return { amount: fact.amount, total: fact.total }
    case "points.refunded":
      return { amount: fact.amount, total: fact.total, shortfall: fact.shortfall }
    case "level.changed":
      return { from: fact.from, to: fact.to }
    case "badge.earned":
      return { badgeId: fact.badgeId, name: fact.name, source: showSource(fact.source) }
    case "badge.revoked":
      return { badgeId: fact.badgeId, name: fact.name }
    case "quest.started":
    case "quest.repeated":
    case "quest.expired":
      return questOf(fact)
    case "quest.progressed": {
      const { current, progress, step, target } = fact
      return { ...questOf(fact), step, current, target, progress }
    }
    case "quest.completed":
      return { ...questOf(fact), times: fact.times }
    case "quest.reverted":
      return { ...questOf(fact), status: fact.to, progress: fact.progress }
    case "streak.extended":
    case "streak.counted":
      return { key: fact.key, current: fact.current, best: fact.streak.best }
    case "streak.broken":
      return { key: fact.key, length: fact.length, best: fact.streak.best }
    case "user.created":
      return {}
    case "user.updated":
      return { profile: fact.profile }
  }
}

const questOf = ({ questId, title }: QuestRef): Quest => ({ questId, title })

const causeOf = (record: JournalRecord): HistoryCause => {
  const { at, cause } = record
  switch (cause.kind) {
    case "event": {
      const { action, id = null, imported = false, metadata = null } = cause
      const eventId = recordId("evt", record)
      const occurredAt = isoTime(cause.occurredAt ?? at)
      return { kind: "event", eventId, id, action, occurredAt, metadata, imported }
    }
    case "reward": {
      const { id = null, reason = null, type } = cause
      const amount = cause.type === "badge" ? null : cause.amount
      const badgeId = cause.type === "badge" ? cause.badgeId : null
      const rewardId = recordId("rwd", record)
      return { kind: "reward", rewardId, id, type, amount, badgeId, reason }
    }
    case "spend": {
      const { amount, id = null, reason = null } = cause
      return { kind: "spend", spendId: recordId("spd", record), id, amount, reason }
    }
    case "revocation": {
      const idIf = (of: typeof cause.of) =>
        cause.of === of ? recordId(revocablePrefix[of], cause) : null
      const [eventId, rewardId, spendId] = [idIf("event"), idIf("reward"), idIf("spend")]
      return { kind: "revocation", eventId, rewardId, spendId }
    }
    case "backfill":
      return { kind: "backfill", badgeId: cause.badgeId }
    case "tick":
      return { kind: "clock" }
    case "profile":
      return { kind: "profile" }
    default:
      throw new Error(`Record ${record.sequence} shows nothing in a history`)
  }
}
