import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { continueWith, exitOf } from "../../src/storage/exitOf.ts"

const doubled = (value: number) => Exit.succeed(2 * value)

describe("A continuation", () => {
  it("ends at once if its value is an exit", () => {
    expect(exitOf(continueWith(Effect.succeed(2), doubled))).toEqual(Exit.succeed(4))
    expect(exitOf(continueWith(Effect.succeed(2), Effect.fail))).toEqual(Exit.fail(2))
  })

  it.effect("waits for a value that needs a fiber", () =>
    Effect.gen(function* () {
      const later = continueWith(
        Effect.sync(() => 2),
        doubled,
      )
      expect(exitOf(later)).toBeUndefined()
      expect(yield* later).toBe(4)
    }),
  )

  it.effect("is the failure if there is no value", () =>
    Effect.gen(function* () {
      const failed = continueWith(Effect.fail("gone"), doubled)
      expect(yield* Effect.exit(failed)).toEqual(Exit.fail("gone"))
    }),
  )
})
