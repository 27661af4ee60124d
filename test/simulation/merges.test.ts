import { describe, expect, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { limitedInFile, smallBuckets } from "../limited.ts"
import { happened, simulateMerges } from "./merges.ts"
import { seedsAfter } from "./random.ts"

limitedInFile(smallBuckets)

describe("Merged users are one, with what happened to each, whatever fails", () => {
  it.effect.each(seedsAfter([1, 2, 3], 4))(
    "in a run of 200 steps; repeat it with LAUREL_TEST_SEED=%i",
    (seed) => simulateMerges(seed, 200),
  )

  afterAll(() => {
    if (process.env.LAUREL_TEST_SEED !== undefined) return
    for (const [what, times] of Object.entries(happened)) {
      expect([what, times > 0]).toEqual([what, true])
    }
  })
})
