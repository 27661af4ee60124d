/** Amounts that end, against the naive model. */
import assert from "node:assert/strict"
import { describe, it } from "vitest"
import type { Fact } from "../../src/domain/record/Record.ts"
import { currencyWith, ruleWith } from "../domain/definitions.ts"
import { step } from "./currencyRun.ts"
import { DomainRun } from "./DomainRun.ts"
import { historyAddsUp, replayEqualsLive, undoneToNothing } from "./properties.ts"
import { seeds } from "./random.ts"

const begin = (seed: number): DomainRun => {
  const run = new DomainRun(seed)
  const gems = currencyWith({ id: "cur_gems", key: "gems", expiry: { afterDays: 3 } })
  run.define({ kind: "currency.created", currency: { ...gems, hadExpiry: true } })
  const reward = { points: 2, currencies: { gems: 4 } }
  run.define({ kind: "rule.created", rule: ruleWith({ id: "rul_1", action: "TAP", reward }) })
  return run
}

describe("Amounts that end agree with the naive model", () => {
  for (const seed of seeds(6)) {
    it(`in a run of 200 steps, after which all can be undone; repeat it with LAUREL_TEST_SEED=${seed}`, () => {
      const run = begin(seed)
      for (let index = 0; index < 200; index++) {
        try {
          step(run)
        } catch (error) {
          throw new Error(`In step ${index} of seed ${seed}`, { cause: error })
        }
      }
      replayEqualsLive(run)
      historyAddsUp(run)
      undoneToNothing(run)
      replayEqualsLive(run)
    })
  }

  it("in runs in which all of it happens", () => {
    const happened = new Set<string>()
    const note = (fact: Fact): void => {
      happened.add(fact.kind)
      if (fact.kind === "currency.refunded" && fact.lots !== undefined)
        happened.add("refunded lots")
      if (fact.kind === "event.revoked" && fact.expired !== undefined)
        happened.add("expired undone")
    }
    for (let seed = 1; seed <= 3; seed++) {
      const run = begin(seed)
      for (let index = 0; index < 200; index++) step(run)
      for (const { facts } of run.journal) facts.forEach(note)
    }
    for (const kind of ["currency.expired", "currency.kept", "refunded lots", "expired undone"]) {
      assert(happened.has(kind), kind)
    }
  })
})
