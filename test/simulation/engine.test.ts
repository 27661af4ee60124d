import { describe, it } from "@effect/vitest"
import { simulate } from "./engine.ts"
import { seeds } from "./random.ts"

describe("The engine agrees with the naive model on every read", () => {
  for (const seed of seeds(20)) {
    it.effect(`in a run of 300 steps with crashes; again with LAUREL_TEST_SEED=${seed}`, () =>
      simulate(seed, 300),
    )
  }
})
