/** What the store is told of deliveries: entries, and what they change in the numbers of an endpoint. */
import type { Entry } from "../storage/Storage.ts"
import { encodeValue } from "../storage/Values.ts"
import {
  attemptKey,
  type Delivery,
  type DeliveryStatus,
  deliveryKey,
  dueKey,
  encodeDelivery,
} from "./Delivery.ts"
import type { Tally } from "./DeliveryStore.ts"

export const jsonEntry = (table: Entry["table"], key: Uint8Array, value: unknown): Entry => ({
  table,
  key,
  value: encodeValue(JSON.stringify(value)),
})

const nothing = encodeValue("")

/** What must be written of a delivery, and what is to be found under its old keys no more. */
export const pushEntries = (entries: Array<Entry>, delivery: Delivery): void => {
  const { dueAt, endpoint, index, sequence, status, stored } = delivery
  if (stored !== undefined && stored.status !== status) {
    const key = deliveryKey(endpoint, stored.status, sequence, index)
    entries.push({ table: "deliveries", key, value: null })
  }
  if (stored?.status === "pending" && (status !== "pending" || stored.dueAt !== dueAt)) {
    const key = dueKey(endpoint, stored.dueAt, sequence, index)
    entries.push({ table: "due", key, value: null })
  }
  const value = encodeValue(encodeDelivery(delivery))
  entries.push({ table: "deliveries", key: deliveryKey(endpoint, status, sequence, index), value })
  if (status === "pending") {
    entries.push({ table: "due", key: dueKey(endpoint, dueAt, sequence, index), value: nothing })
  }
  for (const [number, result] of delivery.earlier) {
    entries.push(jsonEntry("attempts", attemptKey(delivery, number), result))
  }
  delivery.earlier = []
  delivery.stored = { status, dueAt }
}

/** The numbers as they are now. A flush may be of thousands of endpoints, and `structuredClone` would hold it up. */
export const copyOf = (tally: Tally): Tally => ({
  ...tally,
  stored: { ...tally.stored },
  ended: { ...tally.ended },
})

/** A delivery has gone from one status to another. */
export const count = (
  { ended, stored }: Tally,
  before: DeliveryStatus | undefined,
  after: DeliveryStatus,
): void => {
  if (before === after) return
  stored[after]++
  if (before !== undefined) stored[before]--
  if (after !== "pending") ended[after]++
}
