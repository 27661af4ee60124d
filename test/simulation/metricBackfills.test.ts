import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { limitedInFile, smallBuckets } from "../limited.ts"
import { dieAtAppend, happened, simulateMetricBackfills } from "./metricBackfills.ts"
import { seeds, seedsAfter } from "./random.ts"

// An undo reads so few records that some values are recounted.
limitedInFile({ ...smallBuckets, metricUndoRecordsMax: 4, backfillTurnUsersMax: 1 })

describe("A backfill of a metric counts each event that stands once", () => {
  // In the first one a user begins with a time zone, and takes in a user with earlier events.
  it.effect.each(seedsAfter([272133808, 1, 2, 3], 3))(
    "whatever comes meanwhile; repeat it with LAUREL_TEST_SEED=%i",
    (seed) => simulateMetricBackfills(seed),
  )

  it("and the runs had all that they try", () => {
    if (process.env.LAUREL_TEST_SEED !== undefined) return
    for (const [what, times] of Object.entries(happened)) {
      expect([what, times > 0]).toEqual([what, true])
    }
  })

  it.effect.each(seeds(2))(
    "if the disk dies at any append during it; repeat it with LAUREL_TEST_SEED=%i",
    (seed) =>
      Effect.gen(function* () {
        let tried = 0
        for (let isOver = false; !isOver; tried++) {
          expect(tried).toBeLessThan(60)
          for (const kept of [false, true]) isOver = yield* dieAtAppend(seed, tried, kept)
        }
        expect(tried).toBeGreaterThan(4)
      }),
  )
})
