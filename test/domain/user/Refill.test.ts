/** Balances that grow with time. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { CurrencyChange } from "../../../src/domain/decide/CurrencyDefinitions.ts"
import { decideProject } from "../../../src/domain/decide/Project.ts"
import { applyUser } from "../../../src/domain/record/applyUser.ts"
import { balanceAt, refillTimes } from "../../../src/domain/user/Refill.ts"
import type { UserState } from "../../../src/domain/user/User.ts"
import { limits } from "../../../src/Limits.ts"
import { kindsOf, World } from "../decide/World.ts"

describe("A currency that refills", () => {
  const minute = 60_000
  const refill = { amount: 2, everyMinutes: 10 }
  /** A user of the beginning, with hearts that refill. */
  const withHearts = (max = 5) => {
    const world = new World()
    const { now } = world
    world.currency({ id: "cur_hearts", key: "hearts", max, refill, createdAt: now })
    world.do({ kind: "profile", change: { displayName: "Ada" } })
    return world
  }
  const heartsOf = ({ now, project, user }: World) => balanceAt(user, project, "hearts", now).amount
  const timesOf = (world: World) => refillTimes(world.user!, world.project, world.now)?.hearts

  it("adds its amount after each interval, up to the maximum, and no record is needed", () => {
    const world = withHearts()
    const start = world.now
    const seen = [0, 9.99, 10, 19.99, 20, 29.99, 30, 5_000].map((minutes) => {
      world.now = start + minutes * minute
      return heartsOf(world)
    })
    expect(seen).toEqual([0, 0, 2, 2, 4, 4, 5, 5])
    expect(world.records).toHaveLength(1)
    world.now = start + 12 * minute
    expect(timesOf(world)).toEqual({
      amount: 2,
      nextAt: start + 20 * minute,
      fullAt: start + 30 * minute,
    })
    world.now = start + 30 * minute
    expect(timesOf(world)).toEqual({ amount: 2, nextAt: null, fullAt: null })
  })

  it("waits while it is full, and from the moment of a spend", () => {
    const world = withHearts()
    world.now += 1_000 * minute
    const spent = world.spend({ hearts: 1 })
    expect(spent.facts).toMatchObject([
      { kind: "currency.refilled", currency: "hearts", amount: 5, total: 5 },
      { kind: "currency.spent", currency: "hearts", amount: 1, total: 4, since: world.now },
      { kind: "balances.settled", balances: { hearts: 4 } },
    ])
    world.now += 9 * minute
    expect(heartsOf(world)).toBe(4)
    // A second spend does not begin the wait anew.
    expect(kindsOf(world.spend({ hearts: 1 }))).not.toContain("currency.refilled")
    world.now += minute
    expect(heartsOf(world)).toBe(5)
    expect(timesOf(world)?.nextAt).toBeNull()
  })

  it("is spent as of now, and a refusal names the balance of now", () => {
    const world = withHearts()
    world.now += 10 * minute
    const refused = world.refused({ kind: "spend", currencies: { hearts: 3 } })
    expect(refused).toMatchObject({ code: "insufficient_balance", balances: { hearts: 2 } })
    world.now += 10 * minute
    expect(world.spend({ hearts: 3 }).reply.balances).toMatchObject({ hearts: 1 })
  })

  it("is credited up to the room of now, and an undo takes back what was credited", () => {
    const world = withHearts()
    world.now += 10 * minute
    const given = world.give({ hearts: 4 })
    expect(given.reply).toMatchObject({
      currencies: { hearts: { earned: 3, total: 5 } },
      capped: [{ currency: "hearts", amount: 1, by: "max" }],
      balances: { hearts: 5 },
    })
    world.now += 60 * minute
    expect(world.undo(given).reply).toMatchObject({
      currencies: { hearts: { earned: -3, total: 2 } },
      shortfall: { xp: 0, points: 0 },
    })
    expect(timesOf(world)?.nextAt).toBe(world.now + 10 * minute)
    world.now += 10 * minute
    expect(heartsOf(world)).toBe(4)
  })

  it("is refunded above the maximum, and then waits for nothing", () => {
    const world = withHearts()
    world.now += 30 * minute
    const spent = world.spend({ hearts: 4 })
    world.now += 20 * minute
    expect(world.refund(spent).reply.currencies).toEqual({
      hearts: { refunded: 4, total: 9, shortfall: 0 },
    })
    world.now += 20 * minute
    expect(heartsOf(world)).toBe(9)
  })

  it("does not count for the limit on earnings", () => {
    const world = withHearts(100)
    const earnLimit = { amount: 3, per: "day" } as const
    const { createdAt } = world.project.currencies.get("cur_hearts")!
    world.currency({ id: "cur_hearts", key: "hearts", max: 100, refill, earnLimit, createdAt })
    world.now += 30 * minute
    expect(world.give({ hearts: 5 }).reply.currencies).toEqual({ hearts: { earned: 3, total: 9 } })
  })

  it("is in segments and in the balances of every reply", () => {
    const world = withHearts()
    const conditions = [{ kind: "balance", currency: "hearts", op: "gte", value: 2 }] as const
    world.segment({ id: "seg_a", key: "lively", conditions })
    world.rule({ reward: { xp: 1 }, segment: "lively" })
    expect(world.track().reply).toMatchObject({ xp: { earned: 0 }, balances: { hearts: 0 } })
    world.now += 10 * minute
    expect(world.track().reply).toMatchObject({ xp: { earned: 1 }, balances: { hearts: 2 } })
    expect(world.user?.balances.size).toBe(0)
  })

  it("changes no balance by an edit, after which the wait begins anew, and a replay is the same", () => {
    const world = withHearts()
    const edit = (change: CurrencyChange) => {
      const command = { kind: "updateCurrency", currencyId: "hearts", change } as const
      world.define(...Result.getOrThrow(decideProject(world.project, command, world.now)))
    }
    const edits: ReadonlyArray<CurrencyChange> = [
      { refill: { everyMinutes: 1 } },
      { refill: { amount: 5 } },
      { max: 3 },
      { refill: null },
      { refill: { amount: 1, everyMinutes: 10 }, max: 20 },
    ]
    world.now += 19 * minute
    const balances = edits.map((change) => {
      const before = heartsOf(world)
      edit(change)
      expect(heartsOf(world)).toBe(before)
      world.now += 10 * minute - 1
      return [before, heartsOf(world)]
    })
    expect(balances).toEqual([
      [2, 5],
      [5, 5],
      [5, 5],
      [5, 5],
      [5, 5],
    ])
    world.now += 1
    expect(heartsOf(world)).toBe(6)
    world.spend({ hearts: 1 })
    let replayed: UserState | undefined
    for (const record of JSON.parse(JSON.stringify(world.records))) {
      replayed = applyUser(replayed, record)
    }
    expect(replayed).toEqual(world.user)
  })

  it("keeps the former values of the latest edits, and never adds more than it waited for", () => {
    const world = withHearts()
    const edit = (everyMinutes: number) => {
      const change = { refill: { everyMinutes } }
      const command = { kind: "updateCurrency", currencyId: "hearts", change } as const
      world.define(...Result.getOrThrow(decideProject(world.project, command, world.now)))
    }
    world.now += 10 * minute
    for (let edits = 1; edits <= limits.refillEditsMax; edits++) edit(100 + edits)
    expect(heartsOf(world)).toBe(2)
    edit(300)
    expect(world.project.currencies.get("cur_hearts")!.refillBefore).toHaveLength(
      limits.refillEditsMax,
    )
    expect(heartsOf(world)).toBe(0)
    world.now += 300 * minute
    expect(heartsOf(world)).toBe(2)
  })
})
