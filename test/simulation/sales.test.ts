import { describe, expect, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { limitedInFile, smallBuckets } from "../limited.ts"
import { seedsAfter } from "./random.ts"
import { happened, simulateSales } from "./sales.ts"

limitedInFile(smallBuckets)

describe("Each unit is sold once, over crashes, merges, erasures and restores", () => {
  it.effect.each(seedsAfter([1, 2, 3], 4))(
    "in a run of 150 steps; repeat it with LAUREL_TEST_SEED=%i",
    (seed) => simulateSales(seed, 150),
  )

  afterAll(() => {
    if (process.env.LAUREL_TEST_SEED !== undefined) return
    for (const [what, times] of Object.entries(happened)) {
      expect([what, times > 0]).toEqual([what, true])
    }
  })
})
