import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { compositeKey } from "../../src/storage/Keys.ts"
import { storageContract } from "./contract.ts"
import * as FaultyStorage from "./FaultyStorage.ts"
import * as MemoryStorage from "./MemoryStorage.ts"
import { expectRecords, numbered } from "./records.ts"

storageContract(
  "FaultyStorage without faults",
  Effect.sync(() => {
    const state = new MemoryStorage.MemoryState()
    return {
      open: Effect.sync(() =>
        FaultyStorage.make(MemoryStorage.make({ state }), new FaultyStorage.Faults()),
      ),
    }
  }),
)

const faulty = () => {
  const faults = new FaultyStorage.Faults()
  return { faults, store: FaultyStorage.make(MemoryStorage.make(), faults) }
}

describe("FaultyStorage", () => {
  it.effect("fails as often as planned, in the planned order, and counts the calls", () =>
    Effect.gen(function* () {
      const { faults, store } = faulty()
      faults.fail("append", { error: "Unavailable", times: 2 })
      faults.fail("append", { error: "Broken" })
      const tags: Array<string> = []
      for (let call = 0; call < 3; call++) {
        tags.push((yield* Effect.flip(store.append(numbered(1, 1))))._tag)
      }
      expect(tags).toEqual(["Unavailable", "Unavailable", "Broken"])
      yield* expectRecords(store, 1, 0)
      yield* store.append(numbered(1, 1))
      yield* expectRecords(store, 1, 1)
      expect(faults.calls("append")).toBe(4)
      expect(faults.calls("prune")).toBe(0)
    }),
  )

  it.effect("can lose the answer of a completed call", () =>
    Effect.gen(function* () {
      const { faults, store } = faulty()
      faults.fail("append", { error: "Broken", when: "after" })
      yield* Effect.flip(store.append(numbered(1, 1)))
      yield* expectRecords(store, 1, 1)
    }),
  )

  it.effect("holds a call until it is released", () =>
    Effect.gen(function* () {
      const { faults, store } = faulty()
      const hold = faults.hold("append")
      const append = yield* Effect.forkChild(store.append(numbered(1, 1)))
      yield* hold.reached
      yield* expectRecords(store, 1, 0)
      yield* hold.release
      yield* Fiber.join(append)
      yield* expectRecords(store, 1, 1)
    }),
  )

  it.effect("delays a call by the clock", () =>
    Effect.gen(function* () {
      const { faults, store } = faulty()
      faults.delay("append", 200)
      const append = yield* Effect.forkChild(store.append(numbered(1, 1)), {
        startImmediately: true,
      })
      yield* TestClock.adjust(199)
      yield* expectRecords(store, 1, 0)
      yield* TestClock.adjust(1)
      yield* Fiber.join(append)
      yield* expectRecords(store, 1, 1)
    }),
  )

  it.effect("fails reading too", () =>
    Effect.gen(function* () {
      const { faults, store } = faulty()
      const key = compositeKey("a")
      faults.fail("readEntry", { error: "Broken" })
      faults.fail("readRecords", { error: "Broken" })
      faults.fail("readEntries", { error: "Broken" })
      faults.fail("readBlocks", { error: "Broken" })
      expect((yield* Effect.flip(store.readEntry("userIds", key)))._tag).toBe("Broken")
      expect((yield* Effect.flip(Stream.runDrain(store.readRecords(1))))._tag).toBe("Broken")
      const range = { table: "userIds", from: key, until: compositeKey("b") } as const
      expect((yield* Effect.flip(Stream.runDrain(store.readEntries(range))))._tag).toBe("Broken")
      expect((yield* Effect.flip(Stream.runDrain(store.readBlocks(range))))._tag).toBe("Broken")
      expect(yield* store.readEntry("userIds", key)).toBeUndefined()
    }),
  )
})
