import { describe, expect, it, vi } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { CheckThread } from "../../src/accounts/CheckThread.ts"
import { limits } from "../../src/Limits.ts"
import { FakeWorker } from "../storage/FakeWorker.ts"

const check = "a question"
const outcome = "an answer"

const start = () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  const workers: Array<FakeWorker> = []
  const thread = new CheckThread<string, string>(FakeWorker.starting(workers))
  const fork = Effect.forkChild(Effect.exit(thread.check(check)), { startImmediately: true })
  return { fork, thread, workers }
}

const withRealTimers = Effect.ensuring(Effect.sync(() => vi.useRealTimers()))

describe("A thread that checks passkeys or passwords", () => {
  it.live(`has at most ${limits.checksMax} checks at a time; one more is refused`, () =>
    withRealTimers(
      Effect.gen(function* () {
        const { fork, thread, workers } = start()
        const fibers = yield* Effect.forEach(Array(limits.checksMax).fill(0), () => fork)
        expect(yield* Effect.flip(thread.check(check))).toMatchObject({
          code: "overloaded",
          retryAfterSeconds: 1,
        })
        expect(workers).toHaveLength(1)
        workers[0]!.answerAll(outcome)
        for (const fiber of fibers) {
          expect(yield* Fiber.join(fiber)).toEqual(Exit.succeed(outcome))
        }
        const next = yield* fork
        workers[0]!.answerAll(outcome)
        expect(yield* Fiber.join(next)).toEqual(Exit.succeed(outcome))
      }),
    ),
  )

  it.live("ends with a check that takes too long, and starts again with the next check", () =>
    withRealTimers(
      Effect.gen(function* () {
        const { fork, workers } = start()
        const stuck = yield* fork
        vi.advanceTimersByTime(limits.checkMs - 1)
        expect(workers[0]!.isEnded).toBe(false)
        vi.advanceTimersByTime(1)
        expect(workers[0]!.isEnded).toBe(true)
        expect(yield* Fiber.join(stuck)).toMatchObject({
          cause: { reasons: [{ error: { code: "overloaded" } }] },
        })
        const next = yield* fork
        expect(workers).toHaveLength(2)
        workers[1]!.answerAll(outcome)
        expect(yield* Fiber.join(next)).toEqual(Exit.succeed(outcome))
      }),
    ),
  )

  it.live("ends a minute after its last check", () =>
    withRealTimers(
      Effect.gen(function* () {
        const { fork, workers } = start()
        for (const pauseMs of [limits.checkThreadIdleMs - 1, 0]) {
          const fiber = yield* fork
          workers[0]!.answerAll(outcome)
          yield* Fiber.join(fiber)
          vi.advanceTimersByTime(pauseMs)
        }
        expect(workers).toHaveLength(1)
        expect(workers[0]!.isEnded).toBe(false)
        vi.advanceTimersByTime(limits.checkThreadIdleMs)
        expect(workers[0]!.isEnded).toBe(true)
      }),
    ),
  )

  it.live("fails the checks of a crash with a defect, and no later check", () =>
    withRealTimers(
      Effect.gen(function* () {
        const { fork, workers } = start()
        const fiber = yield* fork
        workers[0]!.emit("error", new Error("out of memory"))
        const exit = yield* Fiber.join(fiber)
        expect(Exit.hasDies(exit)).toBe(true)
        const next = yield* fork
        workers[1]!.answerAll(outcome)
        expect(yield* Fiber.join(next)).toEqual(Exit.succeed(outcome))
      }),
    ),
  )
})
