import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { FeedEntry } from "../../../src/engine/commit/Feed.ts"
import { limits } from "../../../src/Limits.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { Delivery } from "../../../src/webhooks/store/Delivery.ts"
import {
  cursorKey,
  DeliveryStore,
  emptyStats,
  reachedKey,
} from "../../../src/webhooks/store/DeliveryStore.ts"
import {
  type Account,
  DeliveryWriter,
  jsonEntry,
} from "../../../src/webhooks/store/DeliveryWriter.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"

const endpoint = 1

/** A bookkeeping of one endpoint; `expand` makes a delivery of a record, which waits in memory. */
const running = Effect.fnUntraced(function* (now: () => number) {
  const { begin, ...made } = yield* starting(now)
  yield* begin(0, 0)
  return made
})

/** The same, which `begin` lets begin on what the store has. */
const starting = Effect.fnUntraced(function* (now: () => number) {
  const memory = MemoryStorage.make()
  const account: Account = { number: endpoint, stats: emptyStats() }
  const writer = new DeliveryWriter({
    storage: memory,
    onBroken: () => {},
    now,
  })
  const begin = Effect.fnUntraced(function* (cursor: number, reached: number) {
    const entries = [jsonEntry("outbox", cursorKey, cursor)]
    entries.push(jsonEntry("outbox", reachedKey, reached))
    if (reached > 0) yield* memory.writeEntries(entries)
    writer.open(account)
    writer.begin(cursor, reached, 0)
    yield* writer.run
  })
  const entry = new FeedEntry({} as FeedEntry["record"], 1)
  const expand = (sequence: number, atOnce: boolean) => {
    const delivery = new Delivery({ endpoint, sequence, at: 0, index: 0 }, "xp.earned", "")
    Object.assign(delivery, { expandedAt: 0, entry })
    writer.touch(delivery)
    writer.passed(sequence, atOnce)
    return delivery
  }
  return { account, begin, writer, expand, store: new DeliveryStore(memory) }
})

describe("DeliveryWriter", () => {
  it.live("writes the counts of the deliveries that it writes, without later changes", () =>
    Effect.gen(function* () {
      const memory = MemoryStorage.make()
      const store = new DeliveryStore(memory)
      let writes = 0
      const account: Account = { number: endpoint, stats: emptyStats() }
      const writer = new DeliveryWriter({
        storage: {
          ...memory,
          writeEntries: (entries) =>
            // The process dies after the first write.
            Effect.suspend(() => (++writes === 1 ? memory.writeEntries(entries) : Effect.never)),
        },
        onBroken: () => {},
        now: () => 0,
      })
      writer.open(account)
      writer.begin(0, 0, 0)
      yield* writer.run
      const count = 3 * limits.webhookFlushTurnDeliveries
      for (let sequence = 1; sequence <= count; sequence++) {
        const name = { endpoint, sequence, at: 0, index: 0 }
        writer.touch(new Delivery(name, "reward.granted", ""))
      }
      writer.passed(count, false)
      const flushed = yield* Effect.forkChild(writer.flushed, { startImmediately: true })
      while (account.stats.stored.pending === 0) yield* yieldToEventLoop
      expect(writes).toBe(0)
      account.stats.ended.dropped++
      writer.touchAccount(account)
      writer.passed(count + 1, false)
      yield* Fiber.join(flushed)
      const written = yield* store.stats(endpoint)
      expect([yield* store.cursor, written.stored.pending, written.ended.dropped]).toEqual([
        count,
        count,
        0,
      ])
      expect(account.stats).toMatchObject({ stored: { pending: count }, ended: { dropped: 1 } })
    }).pipe(Effect.scoped),
  )

  it.live("counts no pending delivery of an endpoint that is deleted at any time", () =>
    Effect.gen(function* () {
      const account: Account = { number: endpoint, stats: emptyStats() }
      const writer = new DeliveryWriter({
        storage: MemoryStorage.make(),
        onBroken: () => {},
        now: () => 0,
      })
      writer.open(account)
      writer.begin(0, 0, 0)
      yield* writer.run
      let sequence = 0
      const touch = (count: number) => {
        for (let more = 0; more < count; more++) {
          const name = { endpoint, sequence: ++sequence, at: 0, index: 0 }
          writer.touch(new Delivery(name, "reward.granted", ""))
        }
        writer.passed(sequence, false)
      }
      touch(3)
      yield* writer.flushed
      expect(writer.pending).toBe(3)
      touch(3 * limits.webhookFlushTurnDeliveries)
      const flushed = yield* Effect.forkChild(writer.flushed, { startImmediately: true })
      while (writer.pending === 3) yield* yieldToEventLoop
      expect(writer.pending).toBeLessThan(sequence)
      writer.forget(account)
      expect(writer.pending).toBe(0)
      yield* Fiber.join(flushed)
      touch(3)
      yield* writer.flushed
      expect(writer.pending).toBe(0)
    }).pipe(Effect.scoped),
  )

  it.live("defers new deliveries in memory for a while, with the cursor before the oldest", () =>
    Effect.gen(function* () {
      let now = 0
      const { account, writer, expand, store } = yield* running(() => now)
      const [first, second, third] = [1, 2, 3].map((sequence) => expand(sequence, false))
      const end = (delivery: Delivery) => {
        delivery.record({ at: 0, durationMs: 1, status: 204, error: null, body: "" })
        Object.assign(delivery, { status: "succeeded", entry: undefined })
        writer.touch(delivery)
      }
      const found = Effect.gen(function* () {
        const { stored } = yield* store.stats(endpoint)
        return [yield* store.cursor, yield* store.reached, stored.pending, stored.succeeded]
      })
      // What has ended is written, beyond the cursor.
      end(second!)
      yield* writer.settledFlushed
      expect([yield* found, writer.oldestDeferred]).toEqual([[undefined, 3, 0, 1], 1])
      end(first!)
      yield* writer.settledFlushed
      expect([yield* found, writer.oldestDeferred]).toEqual([[2, 3, 0, 2], 3])
      // One millisecond less than the while, and the while.
      now = limits.webhookDeferMs - 1
      writer.touchAccount(account)
      yield* writer.settledFlushed
      expect(yield* found).toEqual([2, 3, 0, 2])
      now = limits.webhookDeferMs
      writer.touchAccount(account)
      yield* writer.settledFlushed
      expect([yield* found, writer.oldestDeferred]).toEqual([[3, 3, 1, 2], undefined])
      end(third!)
      yield* writer.flushed
      expect(yield* found).toEqual([3, 3, 0, 3])
    }).pipe(Effect.scoped),
  )

  it.live("writes the deliveries of a record only after all of them are made", () =>
    Effect.gen(function* () {
      const memory = MemoryStorage.make()
      const store = new DeliveryStore(memory)
      const account: Account = { number: endpoint, stats: emptyStats() }
      /**
       * After each write: the newest record of which a delivery is there, and how far it says to
       * have come.
       */
      const writes: Array<{ readonly newest: number; readonly reached: number }> = []
      const writer = new DeliveryWriter({
        storage: {
          ...memory,
          writeEntries: (entries) =>
            Effect.tap(memory.writeEntries(entries), () =>
              Effect.gen(function* () {
                const [newest] = yield* store.newest(endpoint, undefined, undefined, 1)
                const [cursor = 0, reached = 0] = [yield* store.cursor, yield* store.reached]
                writes.push({ newest: newest!.sequence, reached: Math.max(cursor, reached) })
              }),
            ),
        },
        onBroken: () => {},
        now: () => 0,
      })
      writer.open(account)
      writer.begin(0, 0, 0)
      yield* writer.run
      const make = (sequence: number, index: number) =>
        writer.touch(new Delivery({ endpoint, sequence, at: 0, index }, "xp.earned", ""))
      make(1, 0)
      writer.passed(1, false)
      // It waits for more, or for its time.
      yield* yieldToEventLoop
      // The one that is too many to wait is in the middle of a record.
      for (let index = 0; index <= limits.webhookFlushDeliveries; index++) make(2, index)
      writer.passed(2, false)
      yield* writer.flushed
      expect(writes.length).toBeGreaterThan(0)
      for (const { newest, reached } of writes) expect(newest).toBeLessThanOrEqual(reached)
    }).pipe(Effect.scoped),
  )

  it.live("keeps `reached` until the cursor has passed it", () =>
    Effect.gen(function* () {
      const { begin, writer, expand, store } = yield* starting(() => 0)
      yield* begin(2, 10)
      expand(3, false)
      yield* writer.settledFlushed
      expect([yield* store.cursor, yield* store.reached]).toEqual([2, 10])
      expand(12, false)
      yield* writer.settledFlushed
      expect([yield* store.cursor, yield* store.reached]).toEqual([2, 12])
    }).pipe(Effect.scoped),
  )

  it.live("keeps the cursor before the oldest unwritten delivery, for any order of changes", () =>
    Effect.gen(function* () {
      const { writer, expand, store } = yield* running(() => 0)
      const first = expand(1, false)
      expand(2, false)
      yield* writer.settledFlushed
      // Somebody asks for the first one again while it waits.
      writer.touch(first)
      yield* writer.settledFlushed
      const found = yield* store.find(endpoint, { sequence: 1, index: 0 })
      expect([yield* store.cursor, found?.status]).toEqual([1, "pending"])
    }).pipe(Effect.scoped),
  )

  it.live("writes deferred deliveries on request, or before a record that must not run twice", () =>
    Effect.gen(function* () {
      const { account, writer, expand, store } = yield* running(() => 0)
      expand(1, false)
      yield* writer.flushed
      expect(yield* store.cursor).toBe(1)
      expand(2, true)
      yield* writer.settledFlushed
      expect([yield* store.cursor, account.stats.stored.pending]).toEqual([2, 2])
    }).pipe(Effect.scoped),
  )
})
