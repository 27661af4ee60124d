import { describe, expect, it } from "vitest"
import { pointsEarned } from "../../../src/domain/user/User.ts"
import { limits } from "../../../src/Limits.ts"
import { kindsOf, World } from "./World.ts"

const spending = (amount: number) => ({ kind: "spend", amount }) as const

describe("Spending points", () => {
  it("takes them from the balance, to the last one, and leaves everything else", () => {
    const world = new World()
    world.grant(350)
    world.grant(10, "points")
    const before = world.user!
    const spent = world.spend(4)
    expect(kindsOf(spent)).toEqual(["points.spent"])
    expect(spent.reply).toMatchObject({ kind: "spend", amount: 4, total: 6, reason: null })
    const { lastSpend, points, pointsSpent, sequence, ...rest } = world.user!
    expect({ points, pointsSpent }).toEqual({ points: 6, pointsSpent: 4 })
    expect(lastSpend).toBe(sequence)
    expect({ ...before, ...rest }).toEqual(before)
    expect(world.spend(6).reply.total).toBe(0)
  })

  it("is refused where the balance is short, which names the balance, and for unknown users", () => {
    const world = new World()
    expect(world.refused(spending(1)).code).toBe("user_not_found")
    world.grant(3, "points")
    expect(world.refused(spending(4))).toMatchObject({
      code: "insufficient_points",
      balance: 3,
      detail: "The user has 3 points, 4 are needed.",
    })
    expect(world.refused(spending(Number.MAX_SAFE_INTEGER)).code).toBe("insufficient_points")
  })

  it("keeps a badge by points, and its progress: both count what was earned", () => {
    const world = new World()
    world.badge({ id: "rich", criteria: { kind: "points", target: 100 } })
    world.grant(60, "points")
    world.spend(60)
    expect(kindsOf(world.grant(40, "points"))).toContain("badge.earned")
    world.spend(40)
    const extra = world.grant(1, "points")
    expect(kindsOf(world.undo(extra))).not.toContain("badge.revoked")
    expect(world.user?.badges.has("rich")).toBe(true)
  })

  it("does not let spent and present points together leave the safe integers", () => {
    const world = new World()
    world.grant(1, "points")
    world.user = { ...world.user!, points: 1, pointsSpent: limits.balanceMax - 2 }
    const grant = (amount: number) => ({ kind: "reward", type: "points", amount }) as const
    expect(world.refused(grant(2)).code).toBe("balance_overflow")
    world.do(grant(1))
    expect(pointsEarned(world.user)).toBe(limits.balanceMax)
  })
})

describe("Revoking a spending", () => {
  it("returns the points, once", () => {
    const world = new World()
    world.grant(10, "points")
    const spent = world.spend(7)
    const refund = world.refund(spent)
    expect(kindsOf(refund)).toEqual(["points.refunded"])
    expect(refund.reply).toMatchObject({ kind: "refund", amount: 7, total: 10, shortfall: 0 })
    expect(world.user).toMatchObject({ points: 10, pointsSpent: 0 })
  })

  it("is refused for a record of another kind, and a reward is not undone as a spending", () => {
    const world = new World()
    const { record } = world.grant(10, "points")
    const { at, sequence } = record
    const command = { kind: "revocation", of: "spend", sequence, at } as const
    expect(world.refused(command, record).code).toBe("spend_not_found")
    expect(world.refused(command).code).toBe("spend_not_found")
    const spent = world.spend(1).record
    const undo = { kind: "revocation", of: "reward", sequence: spent.sequence, at } as const
    expect(world.refused(undo, spent).code).toBe("reward_not_found")
  })
})

describe("Spent points whose source is revoked", () => {
  it("are a shortfall: the balance stays at 0, and the spending has nothing to refund", () => {
    const world = new World()
    world.badge({ id: "rich", criteria: { kind: "points", target: 80 } })
    const given = world.grant(100, "points")
    const spent = world.spend(90)
    const undone = world.undo(given)
    expect(undone.reply).toMatchObject({
      points: { earned: -10, total: 0 },
      shortfall: { xp: 0, points: 90 },
      badgesRevoked: [{ id: "rich" }],
    })
    expect(world.user).toMatchObject({ points: 0, pointsSpent: 0 })
    expect(world.refund(spent).reply).toMatchObject({ amount: 0, total: 0, shortfall: 90 })
  })

  it("are no debt: points earned later are all there", () => {
    const world = new World()
    const given = world.grant(5, "points")
    world.spend(5)
    world.undo(given)
    world.grant(3, "points")
    expect(world.spend(3).reply.total).toBe(0)
  })

  it("come back as far as they were earned elsewhere", () => {
    const world = new World()
    const given = world.grant(5, "points")
    world.grant(5, "points")
    const spent = world.spend(8)
    expect(world.undo(given).reply).toMatchObject({ shortfall: { points: 3 } })
    expect(world.refund(spent).reply).toMatchObject({ amount: 5, total: 5, shortfall: 3 })
  })
})
