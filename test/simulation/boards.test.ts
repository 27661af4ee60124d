import { describe, it } from "@effect/vitest"
import { simulateBoards } from "./boards.ts"
import { seeds } from "./random.ts"

describe("Leaderboards agree with a sort of all users, now and for every window that is over", () => {
  it.effect.each(seeds(5))("in a run of 150 steps; again with LAUREL_TEST_SEED=%i", (seed) =>
    simulateBoards(seed, 150),
  )
})
