import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { limitedInFile, smallBuckets } from "../limited.ts"
import { happened, simulateMerges } from "./merges.ts"
import { seeds } from "./random.ts"

limitedInFile(smallBuckets)

describe("Merged users are one, with what happened to each, whatever fails", () => {
  it.effect.each(seeds(6))("in a run of 200 steps; repeat it with LAUREL_TEST_SEED=%i", (seed) =>
    Effect.map(simulateMerges(seed, 200), () => {
      expect(Math.min(...Object.values(happened))).toBeGreaterThan(0)
    }),
  )
})
