/**
 * Counts a user's events for a badge, or sums a number of their metadata. It reads the history
 * backwards, so the revocation of an event comes before the event, which then does not count.
 */
import {
  amountOf,
  type Badge,
  type CountingCriterion,
  compileWhere,
  isOpenAt,
  plusAmount,
  type Where,
} from "../project/Definition.ts"
import {
  decidedAt,
  type Fact,
  type FactOf,
  type JournalRecord,
  type TrackedEvent,
} from "./Record.ts"

/** The segments of an event or a reward: those that the decision asked for and the user was in. */
export const heldSegments = ({ facts }: JournalRecord): ReadonlyArray<string> => {
  const isSummary = (fact: Fact) => fact.kind === "event.tracked" || fact.kind === "reward.granted"
  const summary = facts.find(isSummary) as FactOf<"event.tracked"> | undefined
  return summary?.segments ?? []
}

/** A badge that counts, and the period and the segment of its events. */
export interface CountedBadge extends Pick<Badge, "set" | "startsAt" | "endsAt" | "segment"> {
  readonly criteria: CountingCriterion
}

export class ActionCount {
  current = 0
  readonly #badge: CountedBadge
  readonly #where: Where
  /** The sequences of revoked events that were not read yet. */
  readonly #revoked = new Set<number>()

  constructor(badge: CountedBadge) {
    this.#badge = badge
    this.#where = compileWhere(badge.criteria.where)
  }

  /** Whether revoked events remain to be read. */
  get open(): boolean {
    return this.#revoked.size > 0
  }

  /** Adds the user's next older record. */
  add(record: JournalRecord): void {
    const { cause, facts, sequence } = record
    if (cause.kind === "revocation" && cause.of === "event" && facts.length > 0) {
      this.#revoked.add(cause.sequence)
      return
    }
    if (cause.kind !== "event" || this.#revoked.delete(sequence)) return
    if (!countsFor(this.#badge, cause, record) || !this.#where(cause.metadata)) return
    this.plus(amountOf(this.#badge.criteria, cause.metadata))
  }

  plus(amount: number): void {
    this.current = plusAmount(this.#badge.criteria, this.current, amount)
  }
}

/**
 * Whether the event of `record` has the badge's action, occurred in its period, and is that of a
 * member of its segment, as the record says. So an event from before any definition asked for the
 * segment does not count.
 */
export const countsFor = (
  badge: CountedBadge,
  event: TrackedEvent,
  record: JournalRecord,
): boolean => {
  const { criteria, segment } = badge
  if (criteria.action !== event.action) return false
  const at = decidedAt(record)
  if (!isOpenAt(badge, Math.min(event.occurredAt ?? at, at))) return false
  return segment === null || heldSegments(record).includes(segment)
}
