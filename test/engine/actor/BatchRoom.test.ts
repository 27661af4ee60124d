import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import type { Engine } from "../../../src/engine/Engine.ts"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { limited } from "../../limited.ts"
import { sampleValue } from "../../metrics/exposition.ts"
import * as FaultyStorage from "../../storage/FaultyStorage.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { reward, sandbox, start, startInMemory } from "../fixture.ts"
import { makeFillableDisk } from "./fillableDisk.ts"

/** So few records may await a snapshot that a batch leaves no room for the next, in this test. */
const fewRecords = limited({ snapshotRecordsMax: 20, snapshotPendingRecordsMax: 30 })

const batch = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => reward(`${prefix}${n}`, 1))

/** Leaves no room: a snapshot is being written, and as many records as allowed await the next. */
const crowd = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  hold: { readonly reached: Effect.Effect<void> },
) {
  yield* fewRecords
  yield* engine.askUsers(sandbox, batch("a", 30))
  yield* hold.reached
  yield* engine.askUsers(sandbox, batch("more", 30))
})

const forked = <A, E>(ask: Effect.Effect<A, E>) => Effect.forkChild(ask, { startImmediately: true })

/** Advances the clock, and gives the work that then is due a turn of the event loop. */
const passing = Effect.andThen(TestClock.adjust(10), yieldToEventLoop)

describe("A batch", () => {
  it.effect("of new users waits for the snapshot that makes room, and is then applied whole", () =>
    Effect.gen(function* () {
      yield* fewRecords
      const { engine } = yield* startInMemory()
      const loader = (name: string) =>
        Effect.forEach(
          Array.from({ length: 25 }, (_, n) => batch(`${name}.${n}.`, 15)),
          (messages) => engine.askUsers(sandbox, messages),
        )
      const loaders = yield* forked(
        Effect.all(["a", "b", "c", "d"].map(loader), { concurrency: "unbounded" }),
      )
      while (loaders.pollUnsafe() === undefined) yield* passing
      const outcomes = (yield* Fiber.join(loaders)).flat(2)
      expect(outcomes.filter((outcome) => "_tag" in outcome)).toEqual([])
      expect(outcomes.length).toBe(4 * 25 * 15)
      expect((yield* engine.readCounts(sandbox)).users).toBe(outcomes.length)
    }),
  )

  it.effect("without room for too long is refused, and nothing of it is applied", () =>
    Effect.gen(function* () {
      const metrics = new Metrics()
      const faults = new FaultyStorage.Faults()
      const storage = FaultyStorage.make(MemoryStorage.make(), faults)
      const { engine } = yield* start(storage, { metrics })
      const hold = faults.hold("writeEntries")
      yield* crowd(engine, hold)
      const refused = yield* forked(Effect.flip(engine.askUsers(sandbox, batch("b", 1))))
      yield* TestClock.adjust(limits.batchRoomWaitMs - 1)
      expect(refused.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      expect(yield* Fiber.join(refused)).toMatchObject({ code: "overloaded", retryAfterSeconds: 1 })
      expect((yield* engine.readCounts(sandbox)).users).toBe(60)
      const count = sampleValue(metrics.text(), "laurel_mailbox_refusals_total", {
        code: "overloaded",
      })
      expect(count).toBe(1)
      yield* hold.release
    }),
  )

  it.effect("waits behind earlier batches, and is refused behind batchesWaitingMax of them", () =>
    Effect.gen(function* () {
      const faults = new FaultyStorage.Faults()
      const storage = FaultyStorage.make(MemoryStorage.make(), faults)
      const { engine } = yield* start(storage)
      const hold = faults.hold("writeEntries")
      yield* crowd(engine, hold)
      const order: Array<number> = []
      const waiting = yield* forked(
        Effect.forEach(
          Array.from({ length: limits.batchesWaitingMax }, (_, n) => n),
          (n) =>
            Effect.tap(engine.askUsers(sandbox, batch(`b${n}.`, 1)), () =>
              Effect.sync(() => order.push(n)),
            ),
          { concurrency: "unbounded" },
        ),
      )
      const beyond = yield* Effect.flip(engine.askUsers(sandbox, batch("c", 1)))
      expect(beyond.code).toBe("overloaded")
      yield* hold.release
      while (waiting.pollUnsafe() === undefined) yield* passing
      yield* Fiber.join(waiting)
      expect(order).toEqual(Array.from({ length: limits.batchesWaitingMax }, (_, n) => n))
    }),
  )

  it.effect("whose caller is interrupted gives its place to the next", () =>
    Effect.gen(function* () {
      const faults = new FaultyStorage.Faults()
      const storage = FaultyStorage.make(MemoryStorage.make(), faults)
      const { engine } = yield* start(storage)
      const hold = faults.hold("writeEntries")
      yield* crowd(engine, hold)
      const gone = yield* forked(engine.askUsers(sandbox, batch("b", 1)))
      const next = yield* forked(engine.askUsers(sandbox, batch("c", 1)))
      yield* Fiber.interrupt(gone)
      yield* hold.release
      while (next.pollUnsafe() === undefined) yield* passing
      yield* Fiber.join(next)
      expect(yield* engine.readUser(sandbox, "b0")).toBeUndefined()
    }),
  )

  it.effect("waits while too many bytes wait for the disk", () =>
    Effect.gen(function* () {
      const disk = yield* makeFillableDisk
      const metrics = new Metrics()
      const { engine } = yield* startInMemory(disk, { metrics })
      yield* Latch.close(disk.answers)
      const reason = "x".repeat(limits.metadataBytesMax)
      const large = (n: number) => ({
        userId: `l${n % 50}`,
        command: { kind: "event", action: "A", metadata: { reason } } as const,
      })
      const count = Math.ceil(limits.commitPendingBytesMax / limits.metadataBytesMax)
      const first = yield* forked(
        engine.askUsers(
          sandbox,
          Array.from({ length: count }, (_, n) => large(n)),
        ),
      )
      const isFull = () =>
        sampleValue(metrics.text(), "laurel_journal_lag_bytes") >= limits.commitPendingBytesMax
      // Its events are decided in many turns.
      while (!isFull()) yield* yieldToEventLoop
      const one = yield* Effect.flip(engine.askUser(sandbox, reward("u1", 1)))
      expect(one.code).toBe("overloaded")
      const next = yield* forked(engine.askUsers(sandbox, batch("b", 2)))
      expect(next.pollUnsafe()).toBeUndefined()
      yield* Latch.open(disk.answers)
      expect((yield* Fiber.join(next)).filter((outcome) => "_tag" in outcome)).toEqual([])
      yield* Fiber.join(first)
    }),
  )

  it.effect("waits while commandsUnansweredMax commands have no answer yet", () =>
    Effect.gen(function* () {
      const disk = yield* makeFillableDisk
      const metrics = new Metrics()
      const { engine } = yield* startInMemory(disk, { metrics })
      yield* Latch.close(disk.answers)
      const lag = () => sampleValue(metrics.text(), "laurel_journal_lag_records")
      const ofUser = (userId: string, count: number) => {
        const messages = Array.from({ length: count }, () => reward(userId, 1))
        return forked(engine.askUsers(sandbox, messages))
      }
      const users = limits.commandsUnansweredMax / limits.mailboxMessagesMax
      const all = yield* Effect.forEach(Array.from({ length: users }), (_, n) =>
        ofUser(`u${n}`, limits.mailboxMessagesMax - (n === 0 ? 1 : 0)),
      )
      all.push(yield* ofUser("last", 1))
      while (lag() < limits.commandsUnansweredMax) yield* yieldToEventLoop
      all.push(yield* ofUser("waits", 1))
      // A single command does not wait for room.
      const single = yield* forked(engine.askUser(sandbox, reward("single", 1)))
      while (lag() === limits.commandsUnansweredMax) yield* yieldToEventLoop
      for (let turn = 0; turn < 10; turn++) yield* yieldToEventLoop
      expect(lag()).toBe(limits.commandsUnansweredMax + 1)
      yield* Latch.open(disk.answers)
      for (const fiber of all) {
        expect((yield* Fiber.join(fiber)).filter((outcome) => "_tag" in outcome)).toEqual([])
      }
      yield* Fiber.join(single)
      expect((yield* engine.readUser(sandbox, "waits"))?.xp).toBe(1)
    }),
  )

  it.effect("that waits for room is interrupted at once, also in an uninterruptible region", () =>
    Effect.gen(function* () {
      const faults = new FaultyStorage.Faults()
      const { engine } = yield* start(FaultyStorage.make(MemoryStorage.make(), faults))
      const hold = faults.hold("writeEntries")
      yield* crowd(engine, hold)
      const keyed = engine.askUsers(sandbox, batch("b", 1))
      const waiting = yield* forked(Effect.uninterruptible(keyed))
      yield* Fiber.interrupt(waiting)
      // The next batch has its turn.
      const next = yield* forked(engine.askUsers(sandbox, batch("c", 1)))
      yield* hold.release
      yield* passing
      expect((yield* Fiber.join(next)).length).toBe(1)
      expect(yield* engine.readUser(sandbox, "b0")).toBeUndefined()
    }),
  )

  it.effect("is refused whole if the mailbox of one of its users has no room for it", () =>
    Effect.gen(function* () {
      const disk = yield* makeFillableDisk
      const { engine } = yield* startInMemory(disk)
      yield* Latch.close(disk.answers)
      const many = Array.from({ length: limits.mailboxMessagesMax - 1 }, () => reward("u1", 1))
      const first = yield* forked(engine.askUsers(sandbox, many))
      const both = [reward("u1", 1), reward("u2", 1)]
      expect((yield* Effect.flip(engine.askUsers(sandbox, both))).code).toBe("overloaded")
      const one = yield* forked(engine.askUsers(sandbox, [reward("u1", 1)]))
      yield* Latch.open(disk.answers)
      yield* Fiber.join(first)
      yield* Fiber.join(one)
      expect((yield* engine.readUser(sandbox, "u1"))?.xp).toBe(limits.mailboxMessagesMax)
      expect(yield* engine.readUser(sandbox, "u2")).toBeUndefined()
    }),
  )

  it.effect("is refused whole while the disk is full, and while the server shuts down", () =>
    Effect.gen(function* () {
      const disk = yield* makeFillableDisk
      const { close, engine } = yield* startInMemory(disk)
      disk.full = true
      const first = yield* forked(Effect.flip(engine.askUser(sandbox, reward("u1", 1))))
      yield* disk.refused
      const full = yield* Effect.flip(engine.askUsers(sandbox, batch("b", 3)))
      expect(full.code).toBe("storage_unavailable")
      disk.full = false
      yield* TestClock.adjust(limits.unavailableRetryMs)
      yield* Fiber.interrupt(first)
      yield* close()
      const ending = yield* Effect.flip(engine.askUsers(sandbox, batch("b", 3)))
      expect(ending.code).toBe("shutting_down")
    }),
  )
})
