/**
 * How many units of each item of an environment were sold and not refunded.
 *
 * `sold` counts durable records. `taken` also counts those that were appended and are not durable yet:
 * a decision on a purchase looks at it, so no two purchases take the same unit (`decide/Purchases.ts`).
 * The commits follow the appends in their order, so the latest appended record tells which durable ones
 * `taken` has already.
 */
import type { Fact, FactOf, JournalRecord } from "../../domain/record/Record.ts"

type SaleFact = FactOf<"item.purchased" | "item.refunded">

/** The units of each item, by its id. */
export type StoredSales = ReadonlyArray<readonly [itemId: string, units: number]>

export class Sales {
  readonly #sold = new Map<string, number>()
  readonly #taken = new Map<string, number>()
  /** The latest record that was counted when it was appended; 0: none, as during recovery. */
  #through = 0

  /** The units of all items, by durable records. */
  get sold(): ReadonlyMap<string, number> {
    return this.#sold
  }

  /** The units of an item, by all records that were appended. */
  readonly taken = (itemId: string): number => this.#taken.get(itemId) ?? 0

  /** Counts a record that was just appended. */
  readonly appended = ({ cause, facts, sequence }: JournalRecord): void => {
    if (cause.kind !== "purchase" && cause.kind !== "revocation") return
    for (const fact of facts) {
      if (!isSale(fact)) continue
      count(this.#taken, fact)
      this.#through = sequence
    }
  }

  /** Counts a fact of a durable record. */
  durable(fact: SaleFact, sequence: number): void {
    count(this.#sold, fact)
    if (sequence > this.#through) count(this.#taken, fact)
  }

  load(stored: StoredSales): void {
    for (const [itemId, units] of stored) {
      this.#sold.set(itemId, units)
      this.#taken.set(itemId, units)
    }
  }

  /** The value for the snapshot. */
  stored(): StoredSales {
    return [...this.#sold]
  }
}

const isSale = (fact: Fact): fact is SaleFact =>
  fact.kind === "item.purchased" || fact.kind === "item.refunded"

const count = (units: Map<string, number>, { itemId, kind }: SaleFact): void => {
  const after = (units.get(itemId) ?? 0) + (kind === "item.purchased" ? 1 : -1)
  if (after === 0) units.delete(itemId)
  else units.set(itemId, after)
}
