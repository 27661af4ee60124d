/** The entries that write deliveries to the store. */
import type { Entry } from "../../storage/Storage.ts"
import { encodeValue } from "../../storage/Values.ts"
import { attemptKey, type Delivery, deliveryKey, dueKey, encodeDelivery } from "./Delivery.ts"

export const jsonEntry = (table: Entry["table"], key: Uint8Array, value: unknown): Entry => ({
  table,
  key,
  value: encodeValue(JSON.stringify(value)),
})

export const byEndpoint = (
  deliveries: Iterable<Delivery>,
): ReadonlyMap<number, ReadonlyArray<Delivery>> => {
  const groups = new Map<number, Array<Delivery>>()
  for (const delivery of deliveries) {
    const group = groups.get(delivery.endpoint)
    if (group === undefined) groups.set(delivery.endpoint, [delivery])
    else group.push(delivery)
  }
  return groups
}

const nothing = encodeValue("")

/**
 * Adds the entries that write a delivery and remove its old keys. The caller writes and updates the blocks of succeeded
 * ones (`SucceededLog.ts`).
 */
export const pushEntries = (entries: Array<Entry>, delivery: Delivery): void => {
  const { dueAt, endpoint, index, sequence, status, stored } = delivery
  if (stored !== undefined && stored.status !== status && stored.status !== "succeeded") {
    const key = deliveryKey(endpoint, stored.status, sequence, index)
    entries.push({ table: "deliveries", key, value: null })
  }
  if (stored?.status === "pending" && (status !== "pending" || stored.dueAt !== dueAt)) {
    const key = dueKey(endpoint, stored.dueAt, sequence, index)
    entries.push({ table: "due", key, value: null })
  }
  if (status !== "succeeded") {
    const key = deliveryKey(endpoint, status, sequence, index)
    entries.push({ table: "deliveries", key, value: encodeValue(encodeDelivery(delivery)) })
  }
  if (status === "pending") {
    entries.push({ table: "due", key: dueKey(endpoint, dueAt, sequence, index), value: nothing })
  }
  for (const [number, result] of delivery.earlier) {
    entries.push(jsonEntry("attempts", attemptKey(delivery, number), result))
  }
  if (delivery.earlier.length > 0) delivery.earlier = []
  delivery.stored = { status, dueAt }
}
