/** The bytes of a user's purchases in a state (`UserCodec.ts`): the latest one, and units by item. */
import type { UserState } from "../../domain/user/User.ts"
import type { Names } from "./Names.ts"
import { bad, type Reader, writeName, writeNumber } from "./StateBytes.ts"

/** The tag of the section. */
export const purchaseTags = { purchases: 31 } as const

type Parts = Pick<UserState, "lastPurchase" | "purchases">

/** Writes the section. `begins` as in `UserCodec`. */
export const writePurchases = (
  { lastPurchase, purchases }: Parts,
  names: Names,
  begins: (tag: number, count: number) => boolean,
): void => {
  if (!begins(purchaseTags.purchases, purchases.size)) return
  writeNumber(lastPurchase)
  for (const [itemId, { periods, times }] of purchases) {
    writeName(itemId, names)
    writeNumber(times)
    writeNumber(periods.length)
    for (const [period, count] of periods) {
      writeNumber(period)
      writeNumber(count)
    }
  }
}

/** Reads the section into `state`; returns whether it is the one of purchases. */
export const readPurchases = (
  state: { -readonly [Part in keyof Parts]: Parts[Part] },
  tag: number,
  reader: Reader,
  count: number,
  names: Names,
): boolean => {
  if (tag !== purchaseTags.purchases) return false
  state.lastPurchase = reader.number()
  const purchases = new Map(
    Array.from({ length: count }, () => {
      const itemId = reader.name(names)
      const times = reader.number()
      const periods = Array.from(
        { length: reader.count() },
        () => [reader.number(), reader.number()] as const,
      )
      return [itemId, { times, periods }] as const
    }),
  )
  if (purchases.size < count) throw bad("an item occurs twice")
  state.purchases = purchases
  return true
}
