import { describe, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { limitedInFile, smallBuckets } from "../limited.ts"
import { simulate, simulated } from "./engine.ts"
import { seeds } from "./random.ts"

limitedInFile({ ...smallBuckets, teamChunkMax: 2 })

describe("The engine agrees with the naive model on every answer and every read", () => {
  const chosen = seeds(3)
  // A long run prints how much it did.
  if (process.env.LAUREL_TEST_RUNS !== undefined) {
    afterAll(() => {
      const { commands, runs } = simulated
      process.stderr.write(`${commands} commands in ${runs} runs; seeds: ${chosen.join(" ")}\n`)
    })
  }
  for (const seed of chosen) {
    it.effect(`in a run of 120 steps with crashes; repeat it with LAUREL_TEST_SEED=${seed}`, () =>
      simulate(seed, 120),
    )
  }
})
