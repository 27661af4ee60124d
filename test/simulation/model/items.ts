/**
 * Items: the units that users buy. A unit counts for the limit of its buyer and for the stock until the
 * purchase is revoked; for the stock also after the buyer was erased.
 */
import type { Item } from "../../../src/domain/project/Item.ts"
import type { Cause, JournalRecord } from "../../../src/domain/record/Record.ts"
import { type LimitPeriod, limitPeriods } from "../../../src/domain/values/Periods.ts"
import type { Definitions } from "./Definitions.ts"
import { type Log, type Purchased, standing } from "./log.ts"
import { limitPeriod } from "./rules.ts"

export const itemNamed = ({ items }: Definitions, name: string): Item | undefined =>
  items.find(({ id, key }) => id === name || key === name)

const purchasesOf = (log: Log, itemId: string): ReadonlyArray<Purchased> =>
  log.flatMap((entry) =>
    entry.kind === "purchase" && entry.purchase?.itemId === itemId ? [entry.purchase] : [],
  )

/** The units that the user has bought and not given back. */
const unitsOf = (log: Log, itemId: string): ReadonlyArray<Purchased> =>
  standing(log).flatMap(({ purchase }) => (purchase?.itemId === itemId ? [purchase] : []))

/**
 * The period in which a purchase counts. After a move to the west that is never one before that of an
 * earlier purchase.
 */
export const periodOfPurchase = (
  log: Log,
  itemId: string,
  per: LimitPeriod,
  zone: string,
  now: number,
): string =>
  [...purchasesOf(log, itemId).map(({ periods }) => periods[per]), limitPeriod(per, zone, now)]
    .sort()
    .at(-1)!

/** How many units count for a limit now. */
export const boughtNow = (
  log: Log,
  itemId: string,
  per: LimitPeriod,
  zone: string,
  now: number,
): number => {
  const period = periodOfPurchase(log, itemId, per, zone, now)
  return unitsOf(log, itemId).filter(({ periods }) => periods[per] === period).length
}

export const purchaseOf = (log: Log, itemId: string, zone: string, now: number): Purchased => ({
  itemId,
  periods: Object.fromEntries(
    limitPeriods.map((per) => [per, periodOfPurchase(log, itemId, per, zone, now)] as const),
  ) as Purchased["periods"],
})

/** By item that the user ever bought: the units for each period of a limit. */
export const boughtItems = (log: Log, zone: string, now: number) => {
  const ids = log.flatMap((entry) => (entry.kind === "purchase" ? entry.purchase!.itemId : []))
  return [...new Set(ids)].map(
    (itemId) =>
      [itemId, limitPeriods.map((per) => boughtNow(log, itemId, per, zone, now))] as const,
  )
}

/** The sales of an environment, in the order of their records. */
export class Sales {
  readonly #sales: Array<{ readonly sequence: number; readonly itemId: string; by: 1 | -1 }> = []

  /** Takes a record of a user, with the items as they were. */
  take({ cause, facts, sequence }: JournalRecord, definitions: Definitions): void {
    if (facts.length === 0) return
    if (cause.kind === "purchase") {
      this.#sales.push({ sequence, itemId: itemNamed(definitions, cause.item)!.id, by: 1 })
    } else if (isRefund(cause)) {
      const sale = this.#sales.find((one) => one.sequence === cause.sequence)!
      this.#sales.push({ sequence, itemId: sale.itemId, by: -1 })
    }
  }

  /** The units that were sold and not refunded, by the records before one. */
  readonly before = (sequence: number, itemId: string): number =>
    this.#sales
      .filter((sale) => sale.sequence < sequence && sale.itemId === itemId)
      .reduce((sum, { by }) => sum + by, 0)
}

const isRefund = (cause: Cause): cause is Extract<Cause, { readonly kind: "revocation" }> =>
  cause.kind === "revocation" && cause.of === "purchase"
