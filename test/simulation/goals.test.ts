import { describe, expect, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { limitedInFile, smallBuckets } from "../limited.ts"
import { happened, simulateGoals } from "./goals.ts"
import { seedsAfter } from "./random.ts"

limitedInFile(smallBuckets)

describe("Each record says of shared goals what a model says, over crashes", () => {
  it.effect.each(seedsAfter([1, 2, 3, 8, 9, 12, 14], 2))(
    "in a run of 150 steps; repeat it with LAUREL_TEST_SEED=%i",
    (seed) => simulateGoals(seed, 150),
  )

  afterAll(() => {
    if (process.env.LAUREL_TEST_SEED !== undefined) return
    for (const [what, times] of Object.entries(happened)) {
      expect([what, times > 0]).toEqual([what, true])
    }
  })
})
