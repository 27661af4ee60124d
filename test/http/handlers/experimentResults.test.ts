/** How often a sample ratio is called a mismatch by chance alone. */
import { describe, expect, it } from "vitest"
import type { ExperimentTally } from "../../../src/domain/user/ExperimentTally.ts"
import { noSample } from "../../../src/domain/values/statistics.ts"
import { shownResults } from "../../../src/http/handlers/experimentResults.ts"
import { experimentWith } from "../../domain/definitions.ts"

/** The results of an experiment whose first variant has the weight 1 and so many users. */
const resultsOf = (weight: number, few: number, many: number) => {
  const experiment = experimentWith({
    variants: [
      { key: "few", weight: 1 },
      { key: "many", weight },
    ],
  })
  const sizes = new Map([
    ["few", few],
    ["many", many],
  ])
  const of = (key: string) => ({ exposed: sizes.get(key)!, sample: noSample })
  const tally = { experiment, mixed: 0, of } as unknown as ExperimentTally
  return shownResults(
    experiment,
    { retentionDays: 7 },
    { result: tally, countedAt: 0, counting: false },
    0,
  )
}

/** The probability that users who are divided by the weights are called a mismatch. */
const alarmOf = (weight: number, users: number): number => {
  const share = 1 / (1 + weight)
  let log = users * Math.log1p(-share)
  let alarm = 0
  for (let few = 0; few <= users; few++) {
    if (few > 0) log += Math.log((users - few + 1) / few) + Math.log(share) - Math.log1p(-share)
    const chance = Math.exp(log)
    if (few > users * share && chance < 1e-9) break
    if (chance < 1e-9) continue
    if (resultsOf(weight, few, users - few).sampleRatio!.mismatch) alarm += chance
  }
  return alarm
}

describe("A mismatch of the sample ratio", () => {
  it.each([
    [1, [1, 2, 5, 20, 70, 1_000]],
    [9, [1, 2, 5, 20, 50, 99, 100, 2_000]],
    [99, [1, 2, 5, 70, 300, 999, 1_000, 20_000]],
    [999, [1, 5, 70, 1_000, 10_000]],
  ])(
    "of weights 1 to %i is called by chance in two of a thousand experiments at most",
    (weight, all) => {
      for (const users of all) {
        const alarm = alarmOf(weight, users)
        expect([users, alarm, alarm < 0.0021]).toEqual([users, alarm, true])
      }
    },
  )

  it.each([
    [1, 400, 550],
    [9, 40, 760],
    [99, 2, 2_500],
  ])("of weights 1 to %i is called with %i and %i users", (weight, few, many) => {
    const { sampleRatio, warnings } = resultsOf(weight, few, many)
    expect(sampleRatio!.mismatch).toBe(true)
    expect(warnings).toContain("sample_ratio_mismatch")
  })
})
