/**
 * Counts a user's events for a badge, or sums a number of theirs, reading the history backwards: a revoked event does not count, and in this
 * direction its revocation comes first.
 */
import { amountOf, plusAmount } from "../project/Amount.ts"
import type { CountingCriterion } from "../project/Badge.ts"
import { compileWhere, type Where } from "../project/Condition.ts"
import type { JournalRecord } from "./Record.ts"

export class ActionCount {
  current = 0
  readonly #criteria: CountingCriterion
  readonly #where: Where
  /** Sequences of revoked events not read yet. */
  readonly #revoked = new Set<number>()

  constructor(criteria: CountingCriterion) {
    this.#criteria = criteria
    this.#where = compileWhere(criteria.where)
  }

  /** Whether revoked events remain to be read. */
  get open(): boolean {
    return this.#revoked.size > 0
  }

  /** Counts the user's next older record. */
  add({ cause, facts, sequence }: JournalRecord): void {
    if (cause.kind === "revocation" && cause.of === "event" && facts.length > 0) {
      this.#revoked.add(cause.sequence)
      return
    }
    if (cause.kind !== "event" || this.#revoked.delete(sequence)) return
    if (cause.action !== this.#criteria.action || !this.#where(cause.metadata)) return
    this.plus(amountOf(this.#criteria, cause.metadata))
  }

  plus(amount: number): void {
    this.current = plusAmount(this.#criteria, this.current, amount)
  }
}
