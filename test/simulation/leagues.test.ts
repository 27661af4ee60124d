import { describe, expect, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { limitedInFile, smallBuckets } from "../limited.ts"
import { happened, happenedLate, simulateLeagues } from "./leagues.ts"
import { seedsAfter } from "./random.ts"

// A close of a few users takes several writes.
limitedInFile({ ...smallBuckets, leagueSettledMax: 2 })

describe("Each record says of a league what a model says, over crashes", () => {
  it.effect.each(seedsAfter([1, 2, 3, 4, 14, 18], 3))(
    "in a run of 150 steps; repeat it with LAUREL_TEST_SEED=%i",
    (seed) => simulateLeagues(seed, 150),
  )

  it.effect.each(seedsAfter([1], 1))(
    "although some users cannot be settled, in a run of 150 steps; repeat it with LAUREL_TEST_SEED=%i",
    (seed) => simulateLeagues(seed, 150, true),
  )

  afterAll(() => {
    if (process.env.LAUREL_TEST_SEED !== undefined) return
    for (const [what, times] of Object.entries(happened)) {
      expect([what, times > 0]).toEqual([what, true])
    }
    expect(happenedLate.closedWithout).toBeGreaterThan(0)
  })
})
