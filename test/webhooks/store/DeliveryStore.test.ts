import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Entry } from "../../../src/storage/Storage.ts"
import { Delivery } from "../../../src/webhooks/store/Delivery.ts"
import { DeliveryStore } from "../../../src/webhooks/store/DeliveryStore.ts"
import { pushEntries } from "../../../src/webhooks/store/DeliveryWriter.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"

describe("The store of deliveries", () => {
  it.effect("lists deliveries of any status, newest first; of one record, the last first", () =>
    Effect.gen(function* () {
      const storage = MemoryStorage.make()
      const entries: Array<Entry> = []
      const statuses = ["pending", "failed", "dropped", "pending"] as const
      for (const [index, status] of statuses.entries()) {
        for (const sequence of [3, 4]) {
          const name = { endpoint: 1, sequence, at: 0, index }
          const delivery = new Delivery(name, "xp.earned", "")
          delivery.status = status
          pushEntries(entries, delivery)
        }
      }
      yield* storage.writeEntries(entries)
      const found = yield* new DeliveryStore(storage).newest(1, undefined, undefined, 6)
      expect(found.map(({ index, sequence }) => `${sequence}.${index}`)).toEqual([
        "4.3",
        "4.2",
        "4.1",
        "4.0",
        "3.3",
        "3.2",
      ])
    }),
  )

  it.effect("finds the oldest record that a pending delivery of an endpoint needs", () =>
    Effect.gen(function* () {
      const storage = MemoryStorage.make()
      const store = new DeliveryStore(storage)
      const entries: Array<Entry> = []
      for (const [endpoint, sequence, status] of [
        [1, 7, "failed"],
        [1, 12, "pending"],
        [1, 9, "pending"],
        [2, 8, "pending"],
        [3, 6, "dropped"],
      ] as const) {
        const delivery = new Delivery({ endpoint, sequence, at: 0, index: 0 }, "xp.earned", "")
        delivery.status = status
        pushEntries(entries, delivery)
      }
      yield* storage.writeEntries(entries)
      const oldest = yield* Effect.forEach([1, 2, 3, 4], (endpoint) =>
        store.oldestPending(endpoint),
      )
      expect(oldest).toEqual([9, 8, undefined, undefined])
    }),
  )
})
