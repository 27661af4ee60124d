/** Purchases and refunds of several users, against the naive model. */
import assert from "node:assert/strict"
import { describe, it } from "vitest"
import type { ProjectFact, UserCommand } from "../../src/domain/record/Record.ts"
import { currencyWith, itemWith, ruleWith, segmentWith } from "../domain/definitions.ts"
import { zones } from "./commands.ts"
import { DomainRun } from "./DomainRun.ts"
import { isNamed } from "./model/repeats.ts"
import { historyAddsUp, replayEqualsLive, undoneToNothing } from "./properties.ts"
import { seeds } from "./random.ts"

const users = ["ada", "bob", "cyd"]
const hour = 3_600_000
const day = 24 * hour

/** Items with a stock, limits of all kinds, a segment and a sale that ends, and credits that end. */
const begin = (seed: number): DomainRun => {
  const run = new DomainRun(seed)
  const { now, random } = run
  const gems = currencyWith({ id: "cur_gems", key: "gems", expiry: { afterDays: 3 } })
  run.define({ kind: "currency.created", currency: { ...gems, hadExpiry: true } })
  run.define({ kind: "currency.created", currency: currencyWith({ id: "cur_ore", key: "ore" }) })
  const reward = { points: 2, currencies: { gems: 4, ore: 1 } }
  run.define({ kind: "rule.created", rule: ruleWith({ id: "rul_1", action: "TAP", reward }) })
  run.define({ kind: "segment.created", segment: segmentWith({ key: "pros" }) })
  const items = [
    { price: { gems: 3 }, stock: 3 },
    { price: { gems: 2, points: 1 }, reward: { xp: 7, points: 0, badgeId: null } },
    {
      price: { points: 1 },
      reward: { xp: 0, points: 0, badgeId: null, currencies: { gems: 2 } },
      limit: { times: 2, per: random.pick(["hour", "day", "week", "month"] as const) },
      stock: 20,
    },
    { price: { ore: 1 }, segment: "pros", limit: { times: 3, per: "ever" as const } },
    { price: { points: 2, ore: 1 }, endsAt: now + random.integer(1, 20) * day },
  ]
  for (const [index, item] of items.entries()) {
    run.define({ kind: "item.created", item: itemWith({ id: `itm_${index}`, ...item }) })
  }
  return run
}

/** Another stock, limit, price, segment, period or status. The stock may be below what was sold. */
const edit = ({ now, project, random }: DomainRun): ProjectFact => {
  const item = random.pick([...project.items.values()])
  const keys = Object.keys(item.price)
  const change = random.pick([
    { stock: random.pick([null, 0, 1, 4]) },
    {
      limit: random.pick([
        null,
        { times: 1, per: "day" as const },
        { times: 4, per: "ever" as const },
      ]),
    },
    { price: Object.fromEntries(keys.map((key) => [key, random.integer(1, 5)])) },
    { segment: random.pick([null, "pros"]) },
    { startsAt: random.pick([null, now + day]), endsAt: null },
    { set: random.pick(["published", "published", "paused"] as const) },
  ])
  return { kind: "item.updated", item: { ...item, ...change, updatedAt: now } }
}

const commandOf = ({ now, project, random, records }: DomainRun, userId: string): UserCommand => {
  const kind = random.next()
  if (kind < 0.2) {
    return { kind: "event", action: "TAP", occurredAt: now - random.pick([0, 0, 2 * day]) }
  }
  if (kind < 0.25) return { kind: "reward", reward: { currencies: { gems: 5 } } }
  if (kind < 0.3) return { kind: "spend", currencies: { gems: random.integer(1, 4) } }
  if (kind < 0.65) {
    const names = [...project.items.values()].map(({ id, key }) => random.pick([id, key]))
    return { kind: "purchase", item: random.pick([...names, ...names, "none"]) }
  }
  if (kind < 0.7) {
    return { kind: "profile", change: { attributes: { plan: random.pick(["pro", "free"]) } } }
  }
  if (kind < 0.72) return { kind: "profile", change: { timezone: random.pick(zones) } }
  if (kind < 0.73) return { kind: "erasure" }
  const own = records.filter(
    ({ cause, subject }) => subject.actor === "user" && subject.userId === userId && isNamed(cause),
  )
  if (own.length === 0) return { kind: "event", action: "TAP" }
  const bought = own.filter(({ cause }) => cause.kind === "purchase")
  const { at, cause, sequence } = random.pick(
    bought.length > 0 && random.chance(0.5) ? bought : own,
  )
  assert(isNamed(cause))
  return { kind: "revocation", of: cause.kind, sequence, at }
}

const step = (run: DomainRun): void => {
  const { random } = run
  const kind = random.next()
  if (kind < 0.08) run.define(edit(run))
  else if (kind < 0.2) {
    run.now += random.pick([1, hour, 9 * hour, day, day, 3 * day, 8 * day])
    for (const userId of users) {
      run.compare(userId)
      if (random.chance(0.3) && run.users.has(userId)) run.command(userId, { kind: "tick" })
    }
  } else {
    const userId = random.pick(users)
    const command = commandOf(run, userId)
    if (command.kind === "profile") run.now++
    run.command(userId, command)
  }
}

const play = (seed: number): DomainRun => {
  const run = begin(seed)
  for (let index = 0; index < 160; index++) {
    try {
      step(run)
    } catch (error) {
      throw new Error(`In step ${index} of seed ${seed}`, { cause: error })
    }
  }
  return run
}

describe("Purchases agree with the naive model", () => {
  for (const seed of seeds(4)) {
    it(`in a run of 160 steps, after which all can be undone; repeat it with LAUREL_TEST_SEED=${seed}`, () => {
      const run = play(seed)
      replayEqualsLive(run)
      historyAddsUp(run)
      undoneToNothing(run)
      replayEqualsLive(run)
      historyAddsUp(run)
    })
  }

  it("in runs in which all of it happens", () => {
    const happened = new Set<string>()
    for (let seed = 1; seed <= 6; seed++) {
      const run = play(seed)
      for (const code of run.refusals) happened.add(code)
      for (const { facts } of run.journal) {
        const isRefund = facts.some(({ kind }) => kind === "item.refunded")
        for (const fact of facts) {
          happened.add(fact.kind)
          if (!isRefund) continue
          if (fact.kind === "currency.refunded" && fact.lots !== undefined) happened.add("lots")
          if (fact.kind === "currency.refunded" && fact.shortfall > 0) happened.add("short price")
          if (fact.kind === "item.refunded" && fact.shortfall.xp + fact.shortfall.points > 0)
            happened.add("short reward")
        }
      }
    }
    const expected = [
      ...["item_not_found", "item_not_active", "not_in_segment", "limit_reached", "sold_out"],
      ...["insufficient_balance", "purchase_not_found", "user_not_found"],
      ...["item.purchased", "item.refunded", "user.deleted", "lots", "short price"],
    ]
    for (const what of expected) assert(happened.has(what), what)
  })
})
