import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../../src/Limits.ts"
import { Broken } from "../../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { makeBackground } from "../../../src/webhooks/endpoint/Background.ts"

const broken: Array<Broken> = []
const making = makeBackground((cause) => broken.push(cause))
const turns = Effect.repeat(yieldToEventLoop, { times: 5 })

describe("Background work", () => {
  it.effect("runs once under a key, and again when it has ended", () =>
    Effect.gen(function* () {
      const background = yield* making
      let runs = 0
      const work = Effect.andThen(
        Effect.sync(() => runs++),
        Effect.sleep(1_000),
      )
      for (const key of ["one", "one", "other"]) background(key, work)
      yield* turns
      expect(runs).toBe(2)
      yield* TestClock.adjust(1_000)
      yield* turns
      background("one", work)
      yield* turns
      expect(runs).toBe(3)
    }),
  )

  it.effect("restarts after a crash: pauses double up to a minute, and each crash is logged", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const collect = Logger.make((entry) => logged.push(Logger.formatLogFmt.log(entry)))
      const layer = Logger.layer([collect])
      const background = yield* Effect.provide(making, layer)
      let crashes = 0
      const work = Effect.sync(() => {
        crashes++
        throw new Error("a defect of the test")
      })
      background("job 7", work)
      yield* turns
      let at = 0
      for (let pause = limits.webhookRestartMs; at < 200_000; pause *= 2) {
        const step = Math.min(pause, limits.webhookRestartMsMax)
        const before = crashes
        yield* TestClock.adjust(step - 1)
        yield* turns
        expect(crashes).toBe(before)
        yield* TestClock.adjust(1)
        yield* turns
        expect(crashes).toBe(before + 1)
        at += step
      }
      expect(logged).toHaveLength(crashes)
      expect(logged[0]).toMatch(/crashed; restarting.*a defect of the test.*job 7/s)
    }),
  )

  it.effect("reports broken storage, and does not restart", () =>
    Effect.gen(function* () {
      const background = yield* making
      const cause = new Broken({ operation: "read", cause: new Error("of the test") })
      let runs = 0
      background(
        "broken",
        Effect.suspend(() => {
          runs++
          return Effect.fail(cause)
        }),
      )
      yield* turns
      yield* TestClock.adjust(limits.webhookRestartMsMax)
      yield* turns
      expect([runs, broken]).toEqual([1, [cause]])
    }),
  )
})
