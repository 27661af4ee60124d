import { describe, expect, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { limitedInFile, smallBuckets } from "../limited.ts"
import { happened, simulateMixedBoards } from "./mixedBoards.ts"
import { seedsAfter } from "./random.ts"

limitedInFile(smallBuckets)

describe("Many leaderboards at once match a model, and pay each prize once, over crashes", () => {
  // In the last fixed run users leave the boards while a window with shares of its users closes.
  it.effect.each(seedsAfter([1, 2, 3, 4, 3764444653], 1))(
    "in a run of 70 steps; repeat it with LAUREL_TEST_SEED=%i",
    (seed) => simulateMixedBoards(seed, 70),
  )

  afterAll(() => {
    if (process.env.LAUREL_TEST_SEED !== undefined) return
    for (const [what, times] of Object.entries(happened)) {
      expect([what, times > 0]).toEqual([what, true])
    }
  })
})
