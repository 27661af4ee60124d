import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as MemoryStorage from "../../src/storage/MemoryStorage.ts"
import type { Entry } from "../../src/storage/Storage.ts"
import { Delivery } from "../../src/webhooks/Delivery.ts"
import { DeliveryStore } from "../../src/webhooks/DeliveryStore.ts"
import { pushEntries } from "../../src/webhooks/deliveryEntries.ts"

describe("The store of deliveries", () => {
  it.effect("knows the oldest record that a pending delivery of an endpoint needs", () =>
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
