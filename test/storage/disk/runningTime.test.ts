import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../../src/Limits.ts"
import { timeoutOfRunning } from "../../../src/storage/disk/Deadline.ts"

const step = limits.runningStepMs

/** The virtual clock; `standStill` is time that passes while no timer fires. */
const stoppable = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  let still = 0n
  const stopped: Clock.Clock = Object.create(clock, {
    monotonicTimeNanosUnsafe: { value: () => clock.monotonicTimeNanosUnsafe() + still },
  })
  const standStill = (ms: number): void => {
    still += BigInt(ms) * 1_000_000n
  }
  return { stopped, standStill }
})

/** Waits for something that never comes, for `ms` of running time. */
const waiting = (clock: Clock.Clock, ms: number) =>
  Effect.forkChild(
    Effect.provideService(
      timeoutOfRunning(Effect.never, ms, () => Effect.succeed("over")),
      Clock.Clock,
      clock,
    ),
    { startImmediately: true },
  )

describe("A timeout of running time", () => {
  it.effect("ends at its time, and not a millisecond earlier", () =>
    Effect.gen(function* () {
      const { stopped } = yield* stoppable
      const fiber = yield* waiting(stopped, 2.5 * step)
      yield* TestClock.adjust(2.5 * step - 1)
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      expect(yield* Fiber.join(fiber)).toBe("over")
    }),
  )

  it.effect("does not count a step in which the process was suspended", () =>
    Effect.gen(function* () {
      const { standStill, stopped } = yield* stoppable
      const fiber = yield* waiting(stopped, 3 * step)
      yield* TestClock.adjust(2.5 * step)
      standStill(100 * step)
      yield* TestClock.adjust(1.5 * step - 1)
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      expect(yield* Fiber.join(fiber)).toBe("over")
    }),
  )

  it.effect("counts a step that was late by less than a step", () =>
    Effect.gen(function* () {
      const { standStill, stopped } = yield* stoppable
      const late = yield* waiting(stopped, step)
      standStill(step - 1)
      yield* TestClock.adjust(step)
      expect(yield* Fiber.join(late)).toBe("over")
    }),
  )

  it.effect("returns a result that arrived while the process was suspended", () =>
    Effect.gen(function* () {
      const { standStill, stopped } = yield* stoppable
      const answer = yield* Effect.forkChild(Effect.as(Effect.sleep(1.5 * step), "answered"), {
        startImmediately: true,
      })
      const fiber = yield* Effect.forkChild(
        Effect.provideService(
          timeoutOfRunning(Fiber.join(answer), step, () => Effect.succeed("over")),
          Clock.Clock,
          stopped,
        ),
        { startImmediately: true },
      )
      standStill(step)
      yield* TestClock.adjust(2 * step)
      expect(yield* Fiber.join(fiber)).toBe("answered")
    }),
  )
})
