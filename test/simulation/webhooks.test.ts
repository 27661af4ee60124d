import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { seeds } from "./random.ts"
import { simulateWebhooks } from "./webhooks.ts"

describe("Webhooks lose no message and repeat none that succeeded, whenever the process is killed", () => {
  for (const seed of seeds(2)) {
    it.effect(`in a run of 60 steps; repeat it with LAUREL_TEST_SEED=${seed}`, () =>
      Effect.gen(function* () {
        expect(yield* simulateWebhooks(seed, 60)).toBeGreaterThan(0)
      }),
    )
  }
})
