import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import { type ClockStep, EngineClock, sleepUnlessOpened } from "../../../src/engine/time/Clock.ts"
import { limits } from "../../../src/Limits.ts"
import { steppedClock } from "./steppedClock.ts"

const start = Date.parse("2026-11-22T12:00:00Z")
const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const stands = limits.clockJumpWaitMs

/**
 * A clock over a machine's clock that is `ahead` of noon; `latest`: the time of the newest record.
 */
const running = Effect.fnUntraced(function* ({
  latest,
  jumpMsMax = limits.clockJumpMsMax,
}: {
  readonly latest?: number
  readonly jumpMsMax?: number
} = {}) {
  yield* TestClock.setTime(start)
  const { clock, step } = yield* steppedClock
  const steps: Array<ClockStep> = []
  const engine = new EngineClock({
    clock,
    latest,
    jumpMsMax,
    onStep: (one) => steps.push(one),
  })
  return { now: engine.now, engine, step, steps }
})

describe("The engine's clock", () => {
  it.effect("follows the machine's clock while that is not set", () =>
    Effect.gen(function* () {
      const { now, steps } = yield* running()
      for (const passed of [0, 1, 999, hour, 40 * day]) {
        yield* TestClock.adjust(passed)
        expect(now()).toBe((yield* steppedClock).clock.currentTimeMillisUnsafe())
      }
      expect(steps).toEqual([])
    }),
  )

  it.effect("runs slower while the machine's clock is behind, until that has caught up", () =>
    Effect.gen(function* () {
      const { engine, now, step, steps } = yield* running()
      step(-hour)
      expect(now()).toBe(start)
      yield* TestClock.adjust(hour)
      expect(now()).toBe(start + limits.clockSlewRate * hour)
      expect(steps).toEqual([{ kind: "behind", behindMs: hour }])
      expect(engine.aheadMs).toBe(-limits.clockSlewRate * hour)
      yield* TestClock.adjust(9 * hour)
      expect(now()).toBe(start + 9 * hour)
      expect(engine.aheadMs).toBe(0)
      step(-hour)
      expect(now()).toBe(start + 9 * hour)
      expect(steps.length).toBe(2)
    }),
  )

  it.effect("does not report a clock that was set back by less than a second", () =>
    Effect.gen(function* () {
      const { now, step, steps } = yield* running()
      step(1 - limits.clockBehindLoggedMs)
      now()
      expect(steps).toEqual([])
      step(-1)
      now()
      expect(steps).toEqual([{ kind: "behind", behindMs: limits.clockBehindLoggedMs }])
    }),
  )

  it.effect("follows a small jump ahead at once, but not a larger one", () =>
    Effect.gen(function* () {
      const small = yield* running()
      small.step(limits.clockStepMs)
      expect(small.now()).toBe(start + limits.clockStepMs)
      const large = yield* running()
      large.step(limits.clockStepMs + 1)
      expect(large.now()).toBe(start)
      const aheadMs = limits.clockStepMs + 1
      expect(large.steps).toEqual([{ kind: "refused", aheadMs, untilAllowed: false }])
    }),
  )

  it.effect("ignores a single wrong reading, and continues to run", () =>
    Effect.gen(function* () {
      const { now, step, steps } = yield* running()
      step(365 * day)
      expect(now()).toBe(start)
      yield* TestClock.adjust(minute)
      expect(now()).toBe(start + minute)
      step(-365 * day)
      yield* TestClock.adjust(minute)
      expect(now()).toBe(start + 2 * minute)
      expect(steps.map(({ kind }) => kind)).toEqual(["refused", "withdrawn"])
    }),
  )

  it.effect("follows a jump ahead that has lasted, like that of a suspended machine", () =>
    Effect.gen(function* () {
      const { engine, now, step, steps } = yield* running()
      step(8 * hour)
      now()
      yield* TestClock.adjust(stands - 1)
      expect(now()).toBe(start + stands - 1)
      expect(engine.aheadMs).toBe(8 * hour)
      yield* TestClock.adjust(1)
      expect(now()).toBe(start + stands + 8 * hour)
      expect(steps).toEqual([
        { kind: "refused", aheadMs: 8 * hour, untilAllowed: false },
        { kind: "believed", aheadMs: 8 * hour },
      ])
    }),
  )

  it.effect("measures the time of each jump separately", () =>
    Effect.gen(function* () {
      const { now, step, steps } = yield* running()
      step(hour)
      now()
      yield* TestClock.adjust(stands - 1)
      step(hour)
      now()
      yield* TestClock.adjust(stands - 1)
      expect(now()).toBe(start + 2 * stands - 2)
      yield* TestClock.adjust(1)
      expect(now()).toBe(start + 2 * stands - 1 + 2 * hour)
      expect(steps.map(({ kind }) => kind)).toEqual(["refused", "refused", "believed"])
    }),
  )

  it.effect("never follows a jump beyond jumpMsMax, however long it lasts", () =>
    Effect.gen(function* () {
      for (const [jump, believed] of [
        [limits.clockJumpMsMax, true],
        [limits.clockJumpMsMax + 1, false],
      ] as const) {
        const { now, step, steps } = yield* running()
        step(jump)
        now()
        yield* TestClock.adjust(30 * minute)
        expect(now()).toBe(start + 30 * minute + (believed ? jump : 0))
        expect(steps[0]).toEqual({ kind: "refused", aheadMs: jump, untilAllowed: !believed })
      }
    }),
  )

  describe("at the start", () => {
    it.effect(
      "begins at the newest record if the machine's clock is behind it, and reports that",
      () =>
        Effect.gen(function* () {
          const { now, steps } = yield* running({ latest: start + hour })
          expect(now()).toBe(start + hour)
          expect(steps).toEqual([{ kind: "behind", behindMs: hour }])
          yield* TestClock.adjust(10 * hour)
          expect(now()).toBe(start + 10 * hour)
        }),
    )

    it.effect("follows the machine's clock up to jumpMsMax after the newest record", () =>
      Effect.gen(function* () {
        const allowed = yield* running({ latest: start - limits.clockJumpMsMax })
        expect([allowed.now(), allowed.steps]).toEqual([start, []])
        const latest = start - limits.clockJumpMsMax - 1
        const refused = yield* running({ latest })
        expect(refused.now()).toBe(latest)
        yield* TestClock.adjust(hour)
        expect(refused.now()).toBe(latest + hour)
        const aheadMs = limits.clockJumpMsMax + 1
        expect(refused.steps).toEqual([{ kind: "refused", aheadMs, untilAllowed: true }])
        const more = yield* running({ latest, jumpMsMax: limits.clockJumpMsMax + 1 })
        expect(more.now()).toBe(start)
      }),
    )
  })
})

describe("A sleep that a latch ends", () => {
  it.effect("does not continue inside the call that opens the latch", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      let isOver = false
      const over = Effect.sync(() => {
        isOver = true
      })
      const sleeper = yield* Effect.forkChild(
        Effect.andThen(sleepUnlessOpened(latch, minute), over),
        { startImmediately: true },
      )
      latch.openUnsafe()
      expect(isOver).toBe(false)
      yield* Fiber.join(sleeper)
      expect(isOver).toBe(true)
    }),
  )
})
