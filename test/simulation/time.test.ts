import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { seeds } from "./random.ts"
import { simulateTime } from "./time.ts"

describe("An engine on a machine whose clock is set back and ahead", () => {
  for (const seed of seeds(3)) {
    it.effect(
      `keeps its records in order, its answers a day, and nothing longer; again with LAUREL_TEST_SEED=${seed}`,
      () =>
        Effect.map(simulateTime(seed, 60), ({ keys, records }) => {
          expect(records).toBeGreaterThan(keys / 2)
        }),
    )
  }
})
