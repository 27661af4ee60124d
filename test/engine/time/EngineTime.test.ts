/** The times of records when the machine's clock is set, also between two runs. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { readLatestTime } from "../../../src/engine/time/Clock.ts"
import { limits } from "../../../src/Limits.ts"
import { Unavailable } from "../../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, recordsOf, reward, rule, sandbox, startInMemory } from "../fixture.ts"
import { steppedClock } from "./steppedClock.ts"

const start = Date.parse("2026-11-22T12:00:00Z")
const hour = 3_600_000
const year = 365 * 24 * hour
const seldom = { snapshotIntervalMs: hour, clockCheckMs: hour }

/** Engines that run one after another over one state, on a machine whose clock is set. */
const machine = Effect.gen(function* () {
  yield* TestClock.setTime(start)
  const { clock, step } = yield* steppedClock
  const state = new MemoryStorage.MemoryState()
  const boot = Effect.suspend(() => startInMemory({ state }, seldom)).pipe(
    Effect.provideService(Clock.Clock, clock),
  )
  const times = () => recordsOf(state).map(({ at }) => at - start)
  return { boot, state, step, times }
})

describe("A caller", () => {
  it.effect("does not wait longer for a full disk if the machine's clock was set back", () =>
    Effect.gen(function* () {
      const { clock, step } = yield* steppedClock
      const onAppend = () =>
        Effect.fail(new Unavailable({ operation: "append", reason: "disk_full" }))
      const { engine } = yield* startInMemory({ onAppend }, seldom).pipe(
        Effect.provideService(Clock.Clock, clock),
      )
      const asked = yield* Effect.forkChild(Effect.flip(engine.askUser(sandbox, reward("u1", 1))), {
        startImmediately: true,
      })
      for (let turn = 0; turn < 10; turn++) yield* yieldToEventLoop
      yield* TestClock.adjust(limits.unavailableRetryMs)
      step(-hour)
      yield* TestClock.adjust(limits.stalledAnswerMs)
      expect((yield* Fiber.join(asked)).code).toBe("storage_unavailable")
    }),
  )
})

describe("Records", () => {
  for (const how of [undefined, "kill"] as const) {
    it.effect(
      `are in the order of their times after ${how === "kill" ? "a crash" : "an orderly end"} and a clock that was set back`,
      () =>
        Effect.gen(function* () {
          const { boot, step, times } = yield* machine
          const first = yield* boot
          yield* TestClock.adjust(hour)
          yield* first.engine.askUser(sandbox, reward("u1", 1))
          yield* first.close(how)
          step(-hour)
          const second = yield* boot
          yield* second.engine.askUser(sandbox, reward("u1", 1))
          yield* TestClock.adjust(hour)
          yield* second.engine.askUser(sandbox, reward("u1", 1))
          expect(times()).toEqual([hour, hour, hour + limits.clockSlewRate * hour])
          expect(second.broken).toEqual([])
        }),
    )
  }

  it.effect("that are all in the snapshot still set the time of the next run", () =>
    Effect.gen(function* () {
      const { boot, step } = yield* machine
      const first = yield* boot
      yield* first.engine.askUser(sandbox, reward("u1", 1))
      yield* TestClock.adjust(10 * hour)
      yield* first.engine.askUser(sandbox, reward("u1", 1))
      yield* first.close()
      step(-20 * hour)
      const second = yield* boot
      expect(second.engine.now()).toBe(start + 10 * hour)
    }),
  )

  it.effect("do not have the time of a reading a year ahead, during or after it", () =>
    Effect.gen(function* () {
      const { boot, step, times } = yield* machine
      const { engine } = yield* boot
      yield* engine.askUser(sandbox, reward("u1", 1))
      step(year)
      yield* engine.askUser(sandbox, reward("u1", 1))
      yield* TestClock.adjust(2 * hour)
      yield* engine.askUser(sandbox, reward("u1", 1))
      step(-year)
      yield* TestClock.adjust(hour)
      yield* engine.askUser(sandbox, reward("u1", 1))
      expect(times()).toEqual([0, 0, 2 * hour, 3 * hour])
    }),
  )

  it.effect("have the true time of callers' events while the machine's clock is wrong", () =>
    Effect.gen(function* () {
      const { boot, step } = yield* machine
      const { engine } = yield* boot
      yield* engine.askProject(sandbox, rule("TAP", 1))
      for (const ms of [year, -year, -year]) {
        step(ms)
        const tapped = event("u1", "TAP", { occurredAt: start })
        expect((yield* engine.askUser(sandbox, tapped)).reply.xp.earned).toBe(1)
      }
    }),
  )
})

describe("The newest time of the data", () => {
  it.effect("is that of the last record that was not erased, or of the snapshot", () =>
    Effect.gen(function* () {
      const { boot, state } = yield* machine
      const { close, engine } = yield* boot
      yield* TestClock.adjust(hour)
      yield* engine.askUser(sandbox, reward("u1", 1))
      yield* TestClock.adjust(hour)
      yield* engine.askUser(sandbox, reward("u2", 1))
      yield* engine.askUser(sandbox, reward("u2", 1))
      yield* close("kill")
      const storage = MemoryStorage.make({ state })
      const newest = (markedAt: number) => readLatestTime(storage, markedAt, year)
      const sequences = state.records.map(({ sequence }) => sequence)
      expect(yield* newest(0)).toBe(start + 2 * hour)
      yield* storage.eraseRecords(sequences.slice(-2))
      expect(yield* newest(0)).toBe(start + hour)
      expect(yield* newest(start + 3 * hour)).toBe(start + 3 * hour)
      yield* storage.eraseRecords(sequences)
      expect(yield* newest(0)).toBeUndefined()
      expect(yield* newest(start + hour)).toBe(start + hour)
    }),
  )
})
