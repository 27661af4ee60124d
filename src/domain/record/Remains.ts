/**
 * What is left of a record when its user is erased: the unit of an item that it sold or took back.
 * The sale stays (`engine/actor/Sales.ts`), and names no user. A journal that is folded into a
 * snapshot from before the erasure counts it from here.
 */
import type { JournalRecord } from "./Record.ts"

export interface Remains {
  readonly environment: string
  /** 1: one unit was sold. -1: one was refunded. */
  readonly sold: readonly [itemId: string, units: 1 | -1]
}

export const remainsOf = ({ facts, subject }: JournalRecord): Remains | undefined => {
  if (subject.actor === "directory") return undefined
  for (const fact of facts) {
    if (fact.kind !== "item.purchased" && fact.kind !== "item.refunded") continue
    const units = fact.kind === "item.purchased" ? 1 : -1
    return { environment: subject.environment, sold: [fact.itemId, units] }
  }
  return undefined
}
