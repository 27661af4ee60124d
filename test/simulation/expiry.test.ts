/**
 * Amounts that end, against the naive model: credits of all ages, spends, refunds and undos in any
 * order, journeys and edits of the currency, with few other definitions, so that these meet often.
 */
import assert from "node:assert/strict"
import { describe, it } from "vitest"
import type { Fact, JournalRecord, UserCommand } from "../../src/domain/record/Record.ts"
import { currencyWith, ruleWith } from "../domain/definitions.ts"
import { randomCurrencyEdit, zones } from "./commands.ts"
import { DomainRun } from "./DomainRun.ts"
import { historyAddsUp, replayEqualsLive, undoneToNothing } from "./properties.ts"
import { seeds } from "./random.ts"

const user = "ada"
const hour = 3_600_000
const day = 24 * hour

const begin = (seed: number): DomainRun => {
  const run = new DomainRun(seed)
  const gems = currencyWith({ id: "cur_gems", key: "gems", expiry: { afterDays: 3 } })
  run.define({ kind: "currency.created", currency: { ...gems, hadExpiry: true } })
  const reward = { points: 2, currencies: { gems: 4 } }
  run.define({ kind: "rule.created", rule: ruleWith({ id: "rul_1", action: "TAP", reward }) })
  return run
}

const undoOf = ({ at, cause, sequence }: JournalRecord): UserCommand | undefined =>
  cause.kind === "event" || cause.kind === "reward" || cause.kind === "spend"
    ? { kind: "revocation", of: cause.kind, sequence, at }
    : undefined

const commandOf = ({ now, random, records }: DomainRun): UserCommand | undefined => {
  switch (random.integer(0, 9)) {
    case 0:
    case 1:
      return { kind: "event", action: random.pick(["TAP", "TAP", "OTHER"]), occurredAt: now }
    case 2:
      return { kind: "event", action: "TAP", occurredAt: now - random.integer(0, 12) * day }
    case 3:
      return { kind: "reward", reward: { points: 1, currencies: { gems: random.integer(1, 9) } } }
    case 4:
    case 5:
      return { kind: "spend", currencies: { gems: random.integer(1, 9) } }
    case 6:
      return { kind: "spend", amount: random.integer(1, 4) }
    case 7:
      return { kind: "profile", change: { timezone: random.pick(zones) } }
    default:
      return records.length === 0 ? undefined : undoOf(random.pick(records))
  }
}

const step = (run: DomainRun): void => {
  const { random } = run
  const kind = random.next()
  if (kind < 0.06) run.define(...randomCurrencyEdit(run))
  else if (kind < 0.3) {
    run.now += random.pick([1, hour, 9 * hour, day, day, 3 * day, 8 * day])
    run.compare(user)
    if (random.chance(0.5) && run.users.has(user)) run.command(user, { kind: "tick" })
  } else {
    const command = commandOf(run)
    if (command?.kind === "profile") run.now++
    if (command !== undefined) run.command(user, command)
  }
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
