import { describe, it } from "@effect/vitest"
import { simulate } from "./engine.ts"
import { seeds } from "./random.ts"

describe("The engine agrees with the naive model on every answer and every read", () => {
  for (const seed of seeds(5)) {
    it.effect(`in a run of 120 steps with crashes; again with LAUREL_TEST_SEED=${seed}`, () =>
      simulate(seed, 120),
    )
  }
})
