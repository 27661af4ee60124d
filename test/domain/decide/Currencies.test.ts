/** Currencies besides xp and points: definitions, credits, spends, undo. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { CurrencyChange } from "../../../src/domain/decide/CurrencyDefinitions.ts"
import { decideProject } from "../../../src/domain/decide/Project.ts"
import type { EventReply } from "../../../src/domain/message/UserReply.ts"
import type { Currency } from "../../../src/domain/project/Currency.ts"
import { emptyProject } from "../../../src/domain/project/Project.ts"
import { applyUser } from "../../../src/domain/record/applyUser.ts"
import type { JournalRecord } from "../../../src/domain/record/Record.ts"
import type { UserState } from "../../../src/domain/user/User.ts"
import { limits } from "../../../src/Limits.ts"
import { boostWith, currencyWith, withFacts } from "../definitions.ts"
import { kindsOf, World } from "./World.ts"

const withGems = (max: number | null = null): World => {
  const world = new World()
  world.currency({ id: "cur_gems", key: "gems", max })
  world.currency({ id: "cur_hearts", key: "hearts" })
  return world
}

const balancesOf = (user: UserState | undefined) => Object.fromEntries(user?.balances ?? [])

describe("A reward of further currencies", () => {
  it("is credited by a grant, a rule and a quest, and replies have all balances", () => {
    const world = withGems()
    world.rule({ reward: { xp: 5, currencies: { gems: 2, hearts: 1 } } })
    world.quest({
      reward: { currencies: { gems: 10 } },
      steps: [{ key: "taps", action: "TAP", where: [], target: 2 }],
    })
    expect(world.track().reply).toMatchObject({
      xp: { earned: 5, total: 5 },
      currencies: { gems: { earned: 2, total: 2 }, hearts: { earned: 1, total: 1 } },
      balances: { xp: 5, points: 0, gems: 2, hearts: 1 },
    })
    expect(world.track().reply.currencies).toEqual({
      gems: { earned: 12, total: 14 },
      hearts: { earned: 1, total: 2 },
    })
    expect(world.give({ gems: 1 }).reply.balances).toMatchObject({ gems: 15 })
  })

  it("is multiplied by a number of the event", () => {
    const world = withGems()
    const multiplier = { path: "n", min: 0, max: 10 }
    world.rule({ reward: { currencies: { gems: 2 } }, multiplier })
    expect(world.track("TAP", { metadata: { n: 2.75 } }).reply.currencies).toEqual({
      gems: { earned: 5, total: 5 },
    })
    expect(kindsOf(world.track("TAP", { metadata: { n: 0.4 } }))).not.toContain("currency.earned")
  })

  it("adds nothing to the record and the state of a user who gets none", () => {
    const world = withGems()
    const { record, reply } = world.grant(5)
    expect(JSON.stringify(record)).not.toMatch(/balances|currenc/)
    expect(Object.keys(reply)).not.toContain("balances")
    expect(world.user?.balances.size).toBe(0)
  })

  it("is refused in a grant if a currency is unknown or archived, and then nothing is given", () => {
    const world = withGems()
    world.currency({ id: "cur_gems", key: "gems", set: "archived" })
    for (const key of ["gems", "none", "constructor"]) {
      const reward = { xp: 1, currencies: { [key]: 1 } }
      expect(world.refused({ kind: "reward", reward }).code).toBe("currency_not_found")
    }
    expect(world.user).toBeUndefined()
  })

  it("is refused where the balance and what was spent would leave the safe integers", () => {
    const world = withGems()
    world.give({ gems: 1 })
    const balances = new Map([["gems", { amount: 1, spent: limits.balanceMax - 2 }]])
    world.user = { ...world.user!, balances }
    const give = (gems: number) => ({ kind: "reward", reward: { currencies: { gems } } }) as const
    expect(world.refused(give(2)).code).toBe("balance_overflow")
    expect(world.do(give(1)).reply.balances).toMatchObject({ gems: 2 })
  })
})

describe("The maximum of a currency", () => {
  it("cuts a credit to it, reports the rest, and an undo takes back what was credited", () => {
    const world = withGems(10)
    world.give({ gems: 7 })
    const cut = world.give({ gems: 5 })
    expect(cut.reply).toMatchObject({
      currencies: { gems: { earned: 3, total: 10 } },
      capped: [{ currency: "gems", amount: 2, by: "max" }],
    })
    const full = world.give({ gems: 1 })
    expect(full.reply.currencies).toBeUndefined()
    expect(full.reply.capped).toEqual([{ currency: "gems", amount: 1, by: "max" }])
    expect(world.undo(full).reply).toMatchObject({ balances: { gems: 10 } })
    expect(world.undo(cut).reply).toMatchObject({
      currencies: { gems: { earned: -3, total: 7 } },
      shortfall: { xp: 0, points: 0 },
    })
  })

  it("of xp and points cuts these, and levels and badges follow the credited amount", () => {
    const world = withGems()
    const { currencies } = world.project
    for (const [key, max] of [["xp", 120] as const, ["points", 3] as const]) {
      const currency = { ...currencies.get(`cur_${key}`)!, max }
      world.define({ kind: "currency.updated", currency })
    }
    world.rule({ reward: { xp: 100, points: 2 } })
    world.track()
    const { reply } = world.track()
    expect(reply).toMatchObject({
      xp: { earned: 20, total: 120 },
      points: { earned: 1, total: 3 },
      capped: [
        { currency: "xp", amount: 80, by: "max" },
        { currency: "points", amount: 1, by: "max" },
      ],
    })
    expect(world.user?.windows.daily.xp).toBe(120)
  })

  it("that cuts all of a reward leaves the use of the rule, also for a limit that is set later", () => {
    const world = withGems(5)
    world.give({ gems: 5 })
    const rule = { id: "rul_a", reward: { currencies: { gems: 1 } } }
    world.rule(rule)
    const cut = world.track()
    expect(cut.reply.currencies).toBeUndefined()
    const command = { kind: "updateRule", ruleId: "rul_a" } as const
    const change = { limit: { times: 1, per: "month" }, reward: { xp: 1 } } as const
    world.now += 1
    world.define(
      ...Result.getOrThrow(decideProject(world.project, { ...command, change }, world.now)),
    )
    expect(world.track().reply.xp.earned).toBe(0)
    world.undo(cut)
    expect(world.track().reply.xp.earned).toBe(1)
  })

  it("that is lowered leaves balances, refunds may exceed it, and a replay gives the same state", () => {
    const world = withGems(10)
    world.give({ gems: 9 })
    const spent = world.spend({ gems: 4 })
    world.currency({ id: "cur_gems", key: "gems", max: 3 })
    expect(world.give({ gems: 1 }).reply.capped).toHaveLength(1)
    expect(world.refund(spent).reply).toMatchObject({
      currencies: { gems: { refunded: 4, total: 9, shortfall: 0 } },
    })
    const read: ReadonlyArray<JournalRecord> = JSON.parse(JSON.stringify(world.records))
    let replayed: UserState | undefined
    for (const record of read) replayed = applyUser(replayed, record)
    expect(replayed).toEqual(world.user)
  })
})

describe("The limit on what a user earns of a currency", () => {
  const limited = (per: "day" | "week" | "month", amount: number, max: number | null = null) => {
    const world = new World()
    world.currency({ id: "cur_gems", key: "gems", max, earnLimit: { amount, per } })
    world.rule({ reward: { currencies: { gems: 4 } } })
    return world
  }
  const gemsOf = ({ reply }: { readonly reply: Pick<EventReply, "currencies"> }) =>
    reply.currencies?.gems?.earned ?? 0

  it("cuts first, then the maximum, and the reply has both rests", () => {
    const world = limited("day", 10, 8)
    expect([gemsOf(world.track()), gemsOf(world.track())]).toEqual([4, 4])
    const { reply } = world.give({ gems: 5 })
    expect(reply.currencies).toBeUndefined()
    expect(reply.capped).toEqual([
      { currency: "gems", amount: 3, by: "earnLimit" },
      { currency: "gems", amount: 2, by: "max" },
    ])
    // What the maximum cut does not count.
    world.spend({ gems: 8 })
    expect(gemsOf(world.track())).toBe(2)
    expect(gemsOf(world.track())).toBe(0)
  })

  it("comes after multipliers and boosts", () => {
    const world = limited("day", 10)
    const boost = boostWith({ currencies: ["gems"], factor: 3 })
    world.define({ kind: "boost.created", boost })
    const { facts, reply } = world.track()
    expect(reply).toMatchObject({
      currencies: { gems: { earned: 10, total: 10 } },
      capped: [{ currency: "gems", amount: 2, by: "earnLimit" }],
      boosts: [{ key: "k1", factor: 3 }],
    })
    expect(facts).toContainEqual(expect.objectContaining({ kind: "currency.earned", amount: 10 }))
  })

  it("counts days, weeks and months of the user's calendar in which the event occurred", () => {
    for (const [per, times, earned] of [
      [
        "day",
        ["2026-11-03T22:59:59.999Z", "2026-11-03T23:00:00Z", "2026-11-04T22:59:59Z"],
        [4, 4, 0],
      ],
      [
        "week",
        ["2026-11-01T22:59:59.999Z", "2026-11-01T23:00:00Z", "2026-11-04T00:00:00Z"],
        [4, 4, 0],
      ],
      [
        "month",
        ["2026-10-31T22:59:59.999Z", "2026-10-31T23:00:00Z", "2026-11-04T00:00:00Z"],
        [4, 4, 0],
      ],
    ] as const) {
      const world = limited(per, 4)
      world.at("2026-11-05T00:00:00Z")
      world.do({ kind: "profile", change: { timezone: "Europe/Berlin" } })
      // The time zone counts also for what occurred before.
      expect([per, ...times.map((time) => gemsOf(world.trackAt(time)))]).toEqual([per, ...earned])
    }
  })

  it("has room again after an undo, of what was credited and not of what was asked", () => {
    const world = limited("day", 6)
    const first = world.track()
    const second = world.track()
    expect([gemsOf(first), gemsOf(second), gemsOf(world.track())]).toEqual([4, 2, 0])
    world.undo(second)
    expect(gemsOf(world.track())).toBe(2)
    world.undo(first)
    expect([gemsOf(world.track()), gemsOf(world.track())]).toEqual([4, 0])
    let replayed: UserState | undefined
    for (const record of JSON.parse(JSON.stringify(world.records))) {
      replayed = applyUser(replayed, record)
    }
    expect(replayed).toEqual(world.user)
  })

  it("has room again although the amount was spent, and then the shortfall is reported", () => {
    const world = limited("day", 4)
    const first = world.track()
    world.spend({ gems: 4 })
    expect(world.undo(first).reply.shortfall.currencies).toEqual({ gems: 4 })
    expect(gemsOf(world.track())).toBe(4)
  })

  it("of xp cuts what counts for levels and boards", () => {
    const world = new World()
    const earnLimit = { amount: 120, per: "day" } as const
    const currency = { ...world.project.currencies.get("cur_xp")!, earnLimit }
    world.define({ kind: "currency.updated", currency })
    world.rule({ reward: { xp: 100 } })
    world.track()
    const { reply } = world.track()
    expect(reply.xp).toEqual({ earned: 20, total: 120 })
    expect(world.user?.windows.daily.xp).toBe(120)
    expect(world.user?.balances.size).toBe(0)
  })

  it("counts the credits of a period that the state has dropped, also after an undo", () => {
    const world = limited("day", 4)
    const day = 86_400_000
    const first = world.track()
    const at = (daysAgo: number) =>
      gemsOf(world.track("TAP", { occurredAt: world.now - daysAgo * day, imported: true }))
    const kept = limits.earnPeriodsMax
    for (let ago = 1; ago < kept; ago++) expect(at(ago)).toBe(4)
    expect(world.user!.earnings.get("gems")).toHaveLength(kept)
    expect(at(kept)).toBe(4)
    expect(world.user!.earnings.get("gems")).toHaveLength(kept)
    for (const ago of [0, kept - 1, kept]) expect(at(ago)).toBe(0)
    world.now += kept * day
    for (let ago = 0; ago < kept; ago++) expect(at(ago)).toBe(4)
    expect(at(kept)).toBe(0)
    world.undo(first)
    expect([at(kept), at(kept)]).toEqual([4, 0])
  })

  it("counts from when it is set, and anew from when its period changes", () => {
    const world = limited("day", 4)
    const set = (earnLimit: Currency["earnLimit"]) =>
      world.currency({ id: "cur_gems", key: "gems", earnLimit })
    set(null)
    expect(gemsOf(world.track())).toBe(4)
    set({ amount: 4, per: "day" })
    expect([gemsOf(world.track()), gemsOf(world.track())]).toEqual([4, 0])
    set({ amount: 5, per: "day" })
    expect(gemsOf(world.track())).toBe(1)
    set({ amount: 5, per: "week" })
    expect([gemsOf(world.track()), gemsOf(world.track())]).toEqual([4, 1])
    expect(world.user?.balances.get("gems")?.amount).toBe(14)
  })
})

describe("A spend of several currencies", () => {
  it("takes all of them, and its refund returns all of them", () => {
    const world = withGems()
    world.grant(5, "points")
    world.give({ gems: 5, hearts: 1 })
    const spent = world.spend({ gems: 3, points: 2 }, { reason: "Hat" })
    expect(spent.reply).toMatchObject({
      amount: 2,
      total: 3,
      currencies: { gems: { spent: 3, total: 2 } },
      balances: { xp: 0, points: 3, gems: 2, hearts: 1 },
      reason: "Hat",
    })
    expect(world.refund(spent).reply).toMatchObject({
      amount: 2,
      total: 5,
      currencies: { gems: { refunded: 3, total: 5, shortfall: 0 } },
    })
    expect(balancesOf(world.user)).toEqual({
      gems: { amount: 5, spent: 0 },
      hearts: { amount: 1, spent: 0 },
    })
  })

  it("takes nothing if one balance is short, a currency is unknown or cannot be spent", () => {
    const world = withGems()
    world.currency({ id: "cur_fame", key: "fame", spendable: false })
    world.give({ gems: 5, fame: 5 })
    const before = world.user
    const refused = (currencies: Record<string, number>) =>
      world.refused({ kind: "spend", currencies })
    expect(refused({ gems: 5, hearts: 1 })).toMatchObject({
      code: "insufficient_balance",
      balances: { hearts: 0 },
    })
    expect(refused({ gems: 6, points: 1, hearts: 1 })).toMatchObject({
      code: "insufficient_balance",
      balances: { gems: 5, points: 0, hearts: 0 },
      detail:
        "The user has 5 gems, 6 are needed. The user has 0 points, 1 are needed. The user has 0 hearts, 1 are needed.",
    })
    expect(refused({ gems: 6, none: 1 }).code).toBe("currency_not_found")
    expect(refused({ gems: 1, none: 1 }).code).toBe("currency_not_found")
    expect(refused({ gems: 1, fame: 1 }).code).toBe("currency_not_spendable")
    expect(refused({ xp: 1 }).code).toBe("currency_not_spendable")
    expect(world.user).toBe(before)
  })

  it("after an undo of what was earned has a shortfall, in either order", () => {
    const world = withGems()
    const given = world.give({ gems: 5 })
    world.give({ gems: 2 })
    const spent = world.spend({ gems: 6 })
    expect(world.undo(given).reply).toMatchObject({
      currencies: { gems: { earned: -1, total: 0 } },
      shortfall: { xp: 0, points: 0, currencies: { gems: 4 } },
    })
    expect(world.refund(spent).reply.currencies).toEqual({
      gems: { refunded: 2, total: 2, shortfall: 4 },
    })
    expect(balancesOf(world.user)).toEqual({ gems: { amount: 2, spent: 0 } })
  })

  it("is refunded after the currency was archived", () => {
    const world = withGems()
    world.give({ gems: 5 })
    const spent = world.spend({ gems: 5 })
    world.currency({ id: "cur_gems", key: "gems", set: "archived" })
    const { reply } = world.refund(spent)
    expect(reply.currencies).toEqual({ gems: { refunded: 5, total: 5, shortfall: 0 } })
    expect(reply.balances).toEqual({ xp: 0, points: 0 })
  })
})

describe("Currencies of a project", () => {
  const create = (id: string, more: object = {}) =>
    ({
      kind: "createCurrency",
      currency: { id, name: "Gems", spendable: true, max: null, ...more },
    }) as const
  const codeOf = (decided: Result.Result<unknown, { readonly code: string }>) =>
    Result.isFailure(decided) ? decided.failure.code : "accepted"

  it("always has xp and points, which cannot be archived", () => {
    for (const currencyId of ["xp", "points", "cur_xp"]) {
      const command = { kind: "deleteCurrency", currencyId } as const
      expect(codeOf(decideProject(emptyProject, command, 0))).toBe("in_use")
      const change = { status: "archived" } as const
      const update = { kind: "updateCurrency", currencyId, change } as const
      expect(codeOf(decideProject(emptyProject, update, 0))).toBe("in_use")
    }
    expect(codeOf(decideProject(emptyProject, create("cur_1", { key: "xp" }), 0))).toBe("key_taken")
    const spendable = (currencyId: string, is: boolean) =>
      codeOf(
        decideProject(
          emptyProject,
          { kind: "updateCurrency", currencyId, change: { spendable: is } },
          0,
        ),
      )
    expect(spendable("xp", true)).toBe("invalid_request")
    expect(spendable("points", false)).toBe("invalid_request")
    expect(spendable("xp", false)).toBe("accepted")
  })

  it("are up to the limit, archived ones apart, and their keys are never free again", () => {
    const many = Array.from({ length: limits.currenciesMax - 3 }, (_, n) => ({
      kind: "currency.created" as const,
      currency: currencyWith({ id: `cur_${n}`, key: `c${n}` }),
    }))
    const nearly = withFacts(emptyProject, many, 1, 0)
    expect(codeOf(decideProject(nearly, create("cur_last"), 0))).toBe("accepted")
    const full = withFacts(
      nearly,
      [{ kind: "currency.created", currency: currencyWith({ id: "cur_last", key: "last" }) }],
      2,
      0,
    )
    expect(codeOf(decideProject(full, create("cur_more"), 0))).toBe("quota_exceeded")
    const archived = Array.from({ length: limits.archivedCurrenciesMax }, (_, n) => ({
      kind: "currency.created" as const,
      currency: currencyWith({ id: `cur_a${n}`, key: `a${n}`, set: "archived" }),
    }))
    const old = withFacts(emptyProject, archived, 1, 0)
    expect(old.currencies.size).toBe(limits.archivedCurrenciesMax + 2)
    expect(codeOf(decideProject(old, create("cur_more"), 0))).toBe("quota_exceeded")
    const less = withFacts(emptyProject, archived.slice(1), 1, 0)
    expect(codeOf(decideProject(less, create("cur_more"), 0))).toBe("accepted")
    expect(codeOf(decideProject(less, create("cur_more", { key: "a1" }), 0))).toBe("key_taken")
  })

  it("cannot be archived while rules or quests pay it, and unknown ones cannot be paid", () => {
    const world = withGems()
    world.rule({ id: "rul_a", reward: { currencies: { gems: 1 } } })
    world.quest({ id: "qst_a", reward: { currencies: { hearts: 1 } } })
    for (const currencyId of ["gems", "hearts"]) {
      const command = { kind: "deleteCurrency", currencyId } as const
      expect(codeOf(decideProject(world.project, command, 0))).toBe("in_use")
    }
    const patch = (currencyPatch: Record<string, number | null>) =>
      decideProject(
        world.project,
        { kind: "updateRule", ruleId: "rul_a", change: { reward: { currencyPatch } } },
        0,
      )
    const refused = Result.getOrThrow(Result.flip(patch({ none: 1 })))
    expect(refused.errors).toMatchObject([
      { pointer: "/reward/currencies/none", code: "unknown_reference" },
    ])
    const [fact] = Result.getOrThrow(patch({ gems: null, hearts: 4 }))
    expect(fact).toMatchObject({ rule: { reward: { currencies: { hearts: 4 } } } })
    expect(codeOf(patch({ gems: null }))).toBe("invalid_request")
  })

  it("cannot be archived while a boost that is not archived multiplies it", () => {
    const world = withGems()
    const boost = boostWith({ currencies: ["xp", "gems"] })
    world.define({ kind: "boost.created", boost })
    const command = { kind: "deleteCurrency", currencyId: "gems" } as const
    expect(codeOf(decideProject(world.project, command, 0))).toBe("in_use")
    world.define({ kind: "boost.updated", boost: { ...boost, set: "archived" } })
    expect(codeOf(decideProject(world.project, command, 0))).toBe("accepted")
  })

  it("have a limit on earnings whose members are merged, and that needs both", () => {
    const world = withGems()
    const patch = (change: CurrencyChange) =>
      decideProject(world.project, { kind: "updateCurrency", currencyId: "gems", change }, 0)
    const half = Result.getOrThrow(Result.flip(patch({ earnLimit: { amount: 5 } })))
    expect(half.errors).toEqual([
      { pointer: "/earnLimit/per", code: "missing", detail: "is required" },
    ])
    world.currency({ id: "cur_gems", key: "gems", earnLimit: { amount: 5, per: "day" } })
    const limitAfter = (change: CurrencyChange) => {
      const [fact] = Result.getOrThrow(patch(change))
      return fact?.kind === "currency.updated" ? fact.currency.earnLimit : undefined
    }
    expect(limitAfter({ earnLimit: { per: "month" } })).toEqual({ amount: 5, per: "month" })
    expect(limitAfter({ name: "Jewels" })).toEqual({ amount: 5, per: "day" })
    expect(limitAfter({ earnLimit: null })).toBeNull()
  })

  it("refill up to a maximum, which has a limit, and xp and points never do", () => {
    const refill = { amount: 1, everyMinutes: 5 }
    const make = (more: object) => decideProject(emptyProject, create("cur_1", more), 0)
    const faultOf = (more: object) => Result.getOrThrow(Result.flip(make(more))).errors
    expect(faultOf({ refill })).toMatchObject([{ pointer: "/max", code: "missing" }])
    expect(codeOf(make({ refill, max: limits.refillMaxMax }))).toBe("accepted")
    expect(faultOf({ refill, max: limits.refillMaxMax + 1 })).toMatchObject([
      { pointer: "/max", code: "out_of_range" },
    ])
    const change = { refill, max: 5 }
    for (const currencyId of ["xp", "points"]) {
      const command = { kind: "updateCurrency", currencyId, change } as const
      const refused = Result.getOrThrow(Result.flip(decideProject(emptyProject, command, 0)))
      expect(refused.errors).toMatchObject([{ pointer: "/refill", code: "not_allowed" }])
    }
  })

  it("have pending days only if they can be spent", () => {
    const pending = (spendable: boolean) =>
      decideProject(emptyProject, create("cur_1", { spendable, pendingDays: 3 }), 0)
    expect(codeOf(pending(true))).toBe("accepted")
    const refused = Result.getOrThrow(Result.flip(pending(false)))
    expect(refused.errors).toMatchObject([{ pointer: "/pendingDays", code: "not_allowed" }])
    const change = { pendingDays: 3 }
    const of = (currencyId: string) =>
      decideProject(emptyProject, { kind: "updateCurrency", currencyId, change }, 0)
    expect([codeOf(of("xp")), codeOf(of("points"))]).toEqual(["invalid_request", "accepted"])
  })

  it("cannot be archived while a segment that is not archived asks for its balance", () => {
    const world = withGems()
    const conditions = [{ kind: "balance", currency: "gems", op: "gt", value: 0 }] as const
    world.segment({ id: "seg_a", conditions })
    const command = { kind: "deleteCurrency", currencyId: "gems" } as const
    expect(codeOf(decideProject(world.project, command, 0))).toBe("in_use")
    world.segment({ id: "seg_a", conditions, set: "archived" })
    expect(codeOf(decideProject(world.project, command, 0))).toBe("accepted")
  })
})
