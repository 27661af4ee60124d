import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { seeds } from "./random.ts"
import { simulateTestClocks } from "./testClock.ts"

/** Runs in which a user was listed twice at a due time, and the second tick hid the next due time. */
const listedTwice = [4091362604, 542275397]

describe("The test clock of a sandbox", () => {
  for (const seed of [...listedTwice, ...seeds(3)]) {
    it.effect(
      `decides all in its time, over kills at any moment; again with LAUREL_TEST_SEED=${seed}`,
      () =>
        Effect.map(simulateTestClocks(seed, 40), ({ advances, kills }) => {
          expect(Math.min(advances, kills)).toBeGreaterThan(0)
        }),
    )
  }
})
