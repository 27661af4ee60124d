/**
 * Counts a user's events for a badge, reading the history backwards: a revoked event does not count, and in this
 * direction its revocation comes first.
 */
import type { Criterion } from "../project/Badge.ts"
import { compileWhere, type Where } from "../project/Condition.ts"
import type { JournalRecord } from "./Record.ts"

export class ActionCount {
  current = 0
  readonly #action: string
  readonly #where: Where
  /** Sequences of revoked events not read yet. */
  readonly #revoked = new Set<number>()

  constructor(criteria: Extract<Criterion, { readonly kind: "action_count" }>) {
    this.#action = criteria.action
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
    if (cause.action === this.#action && this.#where(cause.metadata)) this.current++
  }
}
