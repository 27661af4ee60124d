import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { PageShares } from "../../../src/dashboard/request/PageShares.ts"
import { limits } from "../../../src/Limits.ts"

/** Pages that are made until the gate opens, and the outcome of one more. */
const start = Effect.gen(function* () {
  const gate = yield* Deferred.make<void>()
  const shares = new PageShares()
  const slow = (account: string, environment?: string) =>
    Effect.forkChild(shares.hold(account, environment, Deferred.await(gate)), {
      startImmediately: true,
    })
  const outcome = (account: string, environment?: string) =>
    Effect.match(shares.hold(account, environment, Effect.succeed("made")), {
      onFailure: ({ code }) => code,
      onSuccess: (made) => made,
    })
  return { gate, slow, outcome }
})

describe("Slow pages", () => {
  it.effect(`of one account are at most ${limits.pagesPerAccountMax}; others have theirs`, () =>
    Effect.gen(function* () {
      const { gate, outcome, slow } = yield* start
      const fibers = []
      for (let count = 0; count < limits.pagesPerAccountMax; count++) {
        expect(yield* outcome("ada", `env${count}`)).toBe("made")
        fibers.push(yield* slow("ada", `env${count}`))
      }
      expect(yield* outcome("ada", "another")).toBe("overloaded")
      expect(yield* outcome("bob", "another")).toBe("made")
      yield* Deferred.succeed(gate, undefined)
      for (const fiber of fibers) yield* Fiber.join(fiber)
      expect(yield* outcome("ada", "another")).toBe("made")
    }),
  )

  it.effect(`of one environment are at most ${limits.pagesPerEnvironmentMax}`, () =>
    Effect.gen(function* () {
      const { outcome, slow } = yield* start
      for (let count = 0; count < limits.pagesPerEnvironmentMax; count++) {
        expect(yield* outcome(`account${count}`, "shop")).toBe("made")
        yield* slow(`account${count}`, "shop")
      }
      expect(yield* outcome("ada", "shop")).toBe("overloaded")
      expect(yield* outcome("ada", "bank")).toBe("made")
    }),
  )

  it.effect(`of all leave ${limits.pagesReservedForSignIn} places to those who sign in`, () =>
    Effect.gen(function* () {
      const { outcome, slow } = yield* start
      const most = limits.pagesConcurrentMax - limits.pagesReservedForSignIn
      for (let count = 0; count < most; count++) {
        expect(yield* outcome(`account${count}`)).toBe("made")
        yield* slow(`account${count}`, `env${count}`)
      }
      expect(yield* outcome("ada")).toBe("overloaded")
    }),
  )
})
