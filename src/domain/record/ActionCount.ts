/**
 * How many of a user's events count for a badge, from the user's history read backwards: an event that was
 * taken back does not count, and what takes it back comes before it in this direction.
 */
import type { Criterion } from "../project/Badge.ts"
import { compileWhere, type Where } from "../project/Condition.ts"
import type { JournalRecord } from "./Record.ts"

export class ActionCount {
  current = 0
  readonly #action: string
  readonly #where: Where
  /** Sequences of events that were taken back and not come to yet. */
  readonly #revoked = new Set<number>()

  constructor(criteria: Extract<Criterion, { readonly kind: "action_count" }>) {
    this.#action = criteria.action
    this.#where = compileWhere(criteria.where)
  }

  /** Whether events that were not come to yet were taken back. */
  get open(): boolean {
    return this.#revoked.size > 0
  }

  /** The next older record of the user's. */
  add({ cause, facts, sequence }: JournalRecord): void {
    if (cause.kind === "revocation" && cause.of === "event" && facts.length > 0) {
      this.#revoked.add(cause.sequence)
      return
    }
    if (cause.kind !== "event" || this.#revoked.delete(sequence)) return
    if (cause.action === this.#action && this.#where(cause.metadata)) this.current++
  }
}
