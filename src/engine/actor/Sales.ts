/**
 * How many units of each item of an environment were sold and not refunded.
 *
 * A unit stays sold when its buyer is erased. The units of erased users are counted apart, too, so the
 * units that the users have and these add up to `sold` (`archive/check/UserCheck.ts`). A record of an
 * erased user leaves its unit in the journal (`domain/record/Remains.ts`).
 *
 * `sold` counts durable records. `taken` also counts those that were appended and are not durable yet:
 * a decision on a purchase looks at it, so no two purchases take the same unit (`decide/Purchases.ts`).
 * The commits follow the appends in their order, so the latest appended record tells which durable ones
 * `taken` has already.
 */
import type { Fact, FactOf, JournalRecord } from "../../domain/record/Record.ts"
import type { Remains } from "../../domain/record/Remains.ts"

type SaleFact = FactOf<"item.purchased" | "item.refunded">

/** The units of each item, by its id, and those of erased users among them; absent: none. */
export type StoredSales = ReadonlyArray<readonly [itemId: string, units: number, gone?: number]>

export class Sales {
  readonly #sold = new Map<string, number>()
  readonly #taken = new Map<string, number>()
  readonly #gone = new Map<string, number>()
  /** The latest record that was counted when it was appended; 0: none, as during recovery. */
  #through = 0

  /** The units of all items, by durable records. */
  get sold(): ReadonlyMap<string, number> {
    return this.#sold
  }

  /** The units of erased users, by durable records. */
  get gone(): ReadonlyMap<string, number> {
    return this.#gone
  }

  /** The units of an item, by all records that were appended. */
  readonly taken = (itemId: string): number => this.#taken.get(itemId) ?? 0

  /** Counts a record that was just appended. */
  readonly appended = ({ cause, facts, sequence }: JournalRecord): void => {
    if (cause.kind !== "purchase" && cause.kind !== "revocation") return
    for (const fact of facts) {
      if (!isSale(fact)) continue
      count(this.#taken, fact.itemId, unitsOf(fact))
      this.#through = sequence
    }
  }

  /** Counts a fact of a durable record. */
  durable(fact: SaleFact, sequence: number): void {
    count(this.#sold, fact.itemId, unitsOf(fact))
    if (sequence > this.#through) count(this.#taken, fact.itemId, unitsOf(fact))
  }

  /** A durable record erased a user who had these units. */
  erased(units: FactOf<"user.deleted">["units"] = []): void {
    for (const [itemId, bought] of units) count(this.#gone, itemId, bought)
  }

  /** Counts what an erased record left. */
  left([itemId, units]: NonNullable<Remains["sold"]>): void {
    for (const each of [this.#sold, this.#taken, this.#gone]) count(each, itemId, units)
  }

  load(stored: StoredSales): void {
    for (const [itemId, units, gone = 0] of stored) {
      count(this.#sold, itemId, units)
      count(this.#taken, itemId, units)
      count(this.#gone, itemId, gone)
    }
  }

  /** The value for the snapshot. */
  stored(): StoredSales {
    return Array.from(this.#sold, ([itemId, units]) => {
      const gone = this.#gone.get(itemId)
      return gone === undefined ? [itemId, units] : [itemId, units, gone]
    })
  }
}

const isSale = (fact: Fact): fact is SaleFact =>
  fact.kind === "item.purchased" || fact.kind === "item.refunded"

const unitsOf = ({ kind }: SaleFact): 1 | -1 => (kind === "item.purchased" ? 1 : -1)

const count = (counts: Map<string, number>, itemId: string, units: number): void => {
  const after = (counts.get(itemId) ?? 0) + units
  if (after === 0) counts.delete(itemId)
  else counts.set(itemId, after)
}
