/** Badges that a user earns at each multiple of a target. */
import { describe, expect, it } from "vitest"
import type { Badge } from "../../../src/domain/project/Definition.ts"
import { badgeProgress } from "../../../src/domain/user/Progress.ts"
import { limits } from "../../../src/Limits.ts"
import { kindsOf, World } from "./World.ts"

const gives = { xp: 10, points: 0, badgeId: null }
const counting = (target: number): Badge["criteria"] => ({
  kind: "action_count",
  action: "TAP",
  where: [],
  target,
})
const summing = (target: number): Badge["criteria"] => ({
  kind: "action_sum",
  action: "RUN",
  where: [],
  sumPath: "km",
  target,
})
const worldWith = (badge: Partial<Badge>) => {
  const world = new World()
  world.badge({ repeatable: true, reward: gives, ...badge })
  return world
}
const run = (world: World, km: number) => world.track("RUN", { metadata: { km } })
const heldIn = (world: World) => world.user?.badges.get("bdg_1")?.[0]?.times
const paidIn = (world: World) => world.user?.badgesPaid.get("bdg_1")
const xpIn = (world: World) => world.user?.xp

describe("A repeatable badge", () => {
  it("is earned and pays at each multiple of its target", () => {
    const world = worldWith({ criteria: counting(2) })
    world.track()
    expect(world.track().reply).toMatchObject({
      xp: { earned: 10 },
      badges: [{ id: "bdg_1", times: 1 }],
    })
    const { earnedAt } = world.user!.badges.get("bdg_1")![0]!
    world.now += 1000
    expect(world.track().reply.badges).toEqual([])
    expect(world.track().reply).toMatchObject({
      xp: { earned: 10, total: 20 },
      badges: [{ times: 2, earnedAt: world.now }],
    })
    expect(world.user?.badges.get("bdg_1")).toEqual([{ tier: "", earnedAt, target: 2, times: 2 }])
  })

  it("pays its whole count with one event that passes several multiples", () => {
    const world = worldWith({ criteria: summing(10) })
    const done = run(world, 34.5)
    expect(kindsOf(done).filter((kind) => kind.startsWith("badge."))).toEqual([
      "badge.counted",
      "badge.earned",
      "badge.paid",
    ])
    expect(done.reply).toMatchObject({ xp: { earned: 30 }, badges: [{ times: 3 }] })
    const [progress] = badgeProgress(world.user!, world.project, world.now)
    expect(progress).toMatchObject({ current: 4.5, target: 10, times: 3 })
  })

  it("is earned by the total of a metric, once a command, whatever it pays", () => {
    const world = worldWith({
      criteria: { kind: "metric", metric: "taps", target: 2 },
      reward: { ...gives, xp: 500 },
    })
    world.metric({ key: "taps" })
    world.badge({ id: "rich", criteria: { kind: "xp", target: 1000 }, reward: gives })
    for (let time = 0; time < 3; time++) world.track()
    const done = world.track()
    expect(done.reply).toMatchObject({ xp: { earned: 510, total: 1010 } })
    expect(done.reply.badges.map(({ id }) => id)).toEqual(["bdg_1", "rich"])
    expect(heldIn(world)).toBe(2)
  })

  it("takes back what the undone event paid, and pays it again when it is earned again", () => {
    const world = worldWith({ criteria: summing(10) })
    run(world, 12)
    const second = run(world, 20)
    expect([heldIn(world), paidIn(world), xpIn(world)]).toEqual([3, 3, 30])
    expect(world.undo(second).reply).toMatchObject({
      xp: { earned: -20, total: 10 },
      badgesRevoked: [{ id: "bdg_1", times: 1 }],
    })
    expect([heldIn(world), paidIn(world)]).toEqual([1, 1])
    expect(run(world, 20).reply).toMatchObject({ xp: { earned: 20, total: 30 } })
    expect([heldIn(world), paidIn(world)]).toEqual([3, 3])
  })

  it("keeps the payment of another event when it is lost, and does not pay it again", () => {
    const world = worldWith({ criteria: counting(2) })
    const first = world.track()
    world.track()
    expect(world.undo(first).reply).toMatchObject({
      xp: { earned: 0, total: 10 },
      badgesRevoked: [{ id: "bdg_1", times: 0 }],
    })
    expect(world.user?.badges.size).toBe(0)
    expect(world.track().reply).toMatchObject({ xp: { earned: 0 }, badges: [{ times: 1 }] })
    world.track()
    expect(world.track().reply).toMatchObject({ xp: { earned: 10, total: 20 } })
  })

  it("does not pay a repetition again that an edit gave a reward since", () => {
    const world = worldWith({ criteria: counting(2), reward: { ...gives, xp: 0 } })
    const first = world.track()
    world.track()
    world.badge({ repeatable: true, criteria: counting(2), reward: gives })
    world.undo(first)
    expect(world.track().reply).toMatchObject({ xp: { earned: 0 }, badges: [{ times: 1 }] })
    world.track()
    expect(world.track().reply.xp.earned).toBe(10)
  })

  it("neither pays nor takes by an edit of its target; a backfill gives what lies behind", () => {
    const world = worldWith({ criteria: counting(5) })
    for (let time = 0; time < 6; time++) world.track()
    expect(heldIn(world)).toBe(1)
    world.badge({ repeatable: true, criteria: counting(2), reward: gives })
    expect(world.track().reply.badges).toEqual([])
    expect(world.track().reply).toMatchObject({ xp: { earned: 10 }, badges: [{ times: 2 }] })
    const command = { kind: "backfill", badgeId: "bdg_1", notify: false } as const
    world.do({ ...command, counted: 8, countedUpTo: world.user!.sequence })
    expect([heldIn(world), xpIn(world)]).toEqual([4, 40])
    expect(world.do({ ...command, counted: 8, countedUpTo: world.user!.sequence }).facts).toEqual(
      [],
    )
    world.badge({ repeatable: true, criteria: counting(100), reward: gives })
    world.track()
    expect(heldIn(world)).toBe(4)
  })

  it("is given by its criteria alone", () => {
    const world = worldWith({ criteria: counting(2) })
    const grant = { kind: "reward", type: "badge", badgeId: "bdg_1" } as const
    expect(world.refused(grant).code).toBe("badge_not_active")
    world.rule({ action: "SWIPE", reward: { xp: 1, badgeId: "bdg_1" } })
    expect(world.track("SWIPE").reply).toMatchObject({ xp: { earned: 1 }, badges: [] })
  })

  it("counts while it is paused, and is earned at the multiples after the pause", () => {
    const world = worldWith({ criteria: counting(2) })
    world.badge({ repeatable: true, criteria: counting(2), reward: gives, set: "paused" })
    world.track()
    world.track()
    world.badge({ repeatable: true, criteria: counting(2), reward: gives })
    world.track()
    expect(world.track().reply.badges).toMatchObject([{ times: 1 }])
  })

  it(`is earned at most ${limits.badgeTimesMax} times`, () => {
    const world = worldWith({ criteria: summing(1), reward: { ...gives, xp: 1 } })
    expect(run(world, limits.badgeTimesMax - 1).reply.badges).toMatchObject([
      { times: limits.badgeTimesMax - 1 },
    ])
    expect(run(world, 7).reply).toMatchObject({
      xp: { earned: 1, total: limits.badgeTimesMax },
      badges: [{ times: limits.badgeTimesMax }],
    })
    expect(run(world, 7).reply.badges).toEqual([])
  })
})
