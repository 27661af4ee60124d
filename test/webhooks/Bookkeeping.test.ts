import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { limits } from "../../src/Limits.ts"
import * as MemoryStorage from "../../src/storage/MemoryStorage.ts"
import { nextTurn } from "../../src/storage/nextTurn.ts"
import { type Account, Bookkeeping } from "../../src/webhooks/Bookkeeping.ts"
import { Delivery } from "../../src/webhooks/Delivery.ts"
import { DeliveryStore, emptyTally } from "../../src/webhooks/DeliveryStore.ts"

const endpoint = 1

describe("Bookkeeping", () => {
  it.live(
    "writes numbers as of what it writes, not of what is counted while it makes the write",
    () =>
      Effect.gen(function* () {
        const memory = MemoryStorage.make()
        const store = new DeliveryStore(memory)
        let writes = 0
        const account: Account = { number: endpoint, tally: emptyTally() }
        const bookkeeping = new Bookkeeping({
          storage: {
            ...memory,
            writeEntries: (entries) =>
              // The process dies after the first write.
              Effect.suspend(() => (++writes === 1 ? memory.writeEntries(entries) : Effect.never)),
          },
          accountOf: (number) => (number === endpoint ? account : undefined),
          onWritten: () => {},
          onBroken: () => {},
          now: () => 0,
        })
        bookkeeping.begin(0, 0)
        yield* bookkeeping.run
        const count = 3 * limits.webhookFlushTurnDeliveries
        for (let sequence = 1; sequence <= count; sequence++) {
          const name = { endpoint, sequence, at: 0, index: 0 }
          bookkeeping.touch(new Delivery(name, "reward.granted", ""))
        }
        bookkeeping.passed(count, false)
        const flushed = yield* Effect.forkChild(bookkeeping.flushed, { startImmediately: true })
        yield* nextTurn
        expect(writes).toBe(0)
        account.tally.ended.dropped++
        bookkeeping.touchAccount(account)
        bookkeeping.passed(count + 1, false)
        yield* Fiber.join(flushed)
        const written = yield* store.tally(endpoint)
        expect([yield* store.cursor, written.stored.pending, written.ended.dropped]).toEqual([
          count,
          count,
          0,
        ])
        expect(account.tally).toMatchObject({ stored: { pending: count }, ended: { dropped: 1 } })
      }).pipe(Effect.scoped),
  )
})
