/** Levels of currencies and what they pay, against the naive model. */
import assert from "node:assert/strict"
import { describe, it } from "vitest"
import { currencyWith, levelWith, ruleWith } from "../domain/definitions.ts"
import { step } from "./currencyRun.ts"
import { DomainRun } from "./DomainRun.ts"
import { historyAddsUp, replayEqualsLive, undoneToNothing } from "./properties.ts"
import { seeds } from "./random.ts"

const begin = (seed: number): DomainRun => {
  const run = new DomainRun(seed)
  const { random } = run
  const reward = { points: 3, currencies: { gems: random.pick([0, 3]) } }
  const table = [
    levelWith("bronze", 6, { reward }),
    levelWith("silver", 12, { reward: { xp: 5 } }),
    levelWith("gold", 25, { reward }),
  ]
  const of = random.pick(["earned", "balance"] as const)
  const gems = currencyWith({ id: "cur_gems", levels: { of, table } })
  run.define({ kind: "currency.created", currency: gems })
  const pays = { points: 2, currencies: { gems: 4 } }
  run.define({ kind: "rule.created", rule: ruleWith({ id: "rul_1", action: "TAP", reward: pays }) })
  return run
}

const play = (seed: number): DomainRun => {
  const run = begin(seed)
  for (let index = 0; index < 150; index++) {
    try {
      step(run)
    } catch (error) {
      throw new Error(`In step ${index} of seed ${seed}`, { cause: error })
    }
  }
  return run
}

describe("Levels of currencies agree with the naive model", () => {
  for (const seed of seeds(6)) {
    it(`in a run of 150 steps, after which all can be undone; repeat it with LAUREL_TEST_SEED=${seed}`, () => {
      const run = play(seed)
      replayEqualsLive(run)
      historyAddsUp(run)
      undoneToNothing(run)
      replayEqualsLive(run)
    })
  }

  it("in runs in which levels pay, are lost and reached again, and payments are undone", () => {
    const happened = new Set<string>()
    for (let seed = 1; seed <= 4; seed++) {
      for (const { facts } of play(seed).journal) {
        for (const fact of facts) {
          if (fact.kind === "level.paid") happened.add(fact.by === undefined ? "undone" : "paid")
        }
      }
    }
    assert.deepEqual([...happened].sort(), ["paid", "undone"])
  })
})
