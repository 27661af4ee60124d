import { describe, it } from "@effect/vitest"
import { limitedInFile, smallBuckets } from "../limited.ts"
import { simulateBoards } from "./boards.ts"
import { seeds } from "./random.ts"

limitedInFile(smallBuckets)

describe("Leaderboards equal a sort of all users, now and for every past window", () => {
  it.effect.each(seeds(5))("in a run of 150 steps; repeat it with LAUREL_TEST_SEED=%i", (seed) =>
    simulateBoards(seed, 150),
  )
})
