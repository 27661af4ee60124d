/** What two users are together, in single cases. `test/simulation/united.test.ts` has random ones. */
import { describe, expect, it } from "vitest"
import { decideMerge } from "../../../src/domain/decide/Merge.ts"
import { newcomer, type UserState } from "../../../src/domain/user/User.ts"
import { limits } from "../../../src/Limits.ts"
import { kindsOf, World } from "./World.ts"

/** Two users under the same definitions. */
const pair = (define: (world: World) => void) => {
  const [member, visitor] = [new World(), new World()]
  for (const world of [member, visitor]) define(world)
  return { member, visitor }
}

describe("Badges of two users", () => {
  it("are earned at the merge if only both together reach the target, and pay once", () => {
    const reward = { xp: 7, points: 0, badgeId: null }
    const criteria = { kind: "action_count", action: "TAP", where: [], target: 3 } as const
    const { member, visitor } = pair((world) => world.badge({ id: "three", criteria, reward }))
    visitor.track()
    visitor.track()
    member.track()
    const { facts } = member.absorb(visitor, "visitor")
    expect(kindsOf({ facts })).toContain("badge.earned")
    expect(member.user!.xp).toBe(7)
    expect(kindsOf(member.track())).not.toContain("badge.earned")
  })

  it("that both were paid for are not paid again until both payments are undone", () => {
    const reward = { xp: 7, points: 0, badgeId: null }
    const criteria = { kind: "action_count", action: "TAP", where: [], target: 1 } as const
    const { member, visitor } = pair((world) => world.badge({ id: "one", criteria, reward }))
    const theirs = visitor.track()
    const own = member.track()
    member.absorb(visitor, "visitor")
    expect(member.user!.xp).toBe(14)
    expect(member.user!.badgesPaid.get("one")).toBe(2)
    member.undo(theirs)
    expect(member.user!.badges.has("one")).toBe(true)
    expect(kindsOf(member.track())).not.toContain("badge.paid")
    member.undo(own)
    expect([member.user!.xp, member.user!.badgesPaid.size]).toEqual([0, 0])
  })
})

describe("A repeatable badge of two users", () => {
  it("is earned and paid at each multiple of its target that both users reach together", () => {
    const reward = { xp: 7, points: 0, badgeId: null }
    const criteria = { kind: "action_count", action: "TAP", where: [], target: 2 } as const
    const { member, visitor } = pair((world) =>
      world.badge({ id: "two", criteria, reward, repeatable: true }),
    )
    for (const world of [visitor, member]) for (let n = 0; n < 3; n++) world.track()
    member.absorb(visitor, "visitor")
    expect(member.user!.badges.get("two")).toMatchObject([{ times: 3 }])
    expect(member.user!.xp).toBe(21)
    member.track()
    expect(member.user!.badges.get("two")).toMatchObject([{ times: 3 }])
    member.track()
    expect([member.user!.xp, member.user!.badgesPaid.get("two")]).toEqual([28, 4])
  })
})

describe("Quests of two users", () => {
  const steps = ["A", "B"].map((action) => ({ key: action, action, where: [], target: 1 }))
  const reward = { xp: 50, points: 0, badgeId: null }

  it("complete at the merge if only both together did all steps", () => {
    const { member, visitor } = pair((world) => world.quest({ id: "q", steps, reward }))
    visitor.track("A")
    member.track("B")
    expect(kindsOf(member.absorb(visitor, "visitor"))).toContain("quest.completed")
    expect(member.user).toMatchObject({ xp: 50, questsCompleted: 1 })
  })

  it("that both completed stay completed until both are undone", () => {
    const [step] = steps
    const { member, visitor } = pair((world) => world.quest({ id: "q", steps: [step!], reward }))
    const [theirs, own] = [visitor.track("A"), member.track("A")]
    member.absorb(visitor, "visitor")
    expect(member.user).toMatchObject({ xp: 100, questsCompleted: 2 })
    member.undo(own)
    expect(member.user!.quests.get("q")).toMatchObject({ completedAt: member.now, times: 1 })
    expect(member.user).toMatchObject({ xp: 50, questsCompleted: 1 })
    expect(kindsOf(member.track("A"))).not.toContain("quest.completed")
    member.undo(theirs)
    expect(member.user).toMatchObject({ xp: 0, questsCompleted: 0 })
  })

  it("that one of them has claimed are claimed, and both claims can be undone", () => {
    const [step] = steps
    const { member, visitor } = pair((world) =>
      world.quest({ id: "q", steps: [step!], reward, claim: "manual" }),
    )
    visitor.track("A")
    member.track("A")
    const claims = [visitor.complete("q"), member.complete("q")]
    member.absorb(visitor, "visitor")
    for (const claim of claims) {
      expect(member.user!.quests.get("q")).toMatchObject({ claim: "paid" })
      expect(kindsOf(member.complete("q"))).toContain("quest.repeated")
      member.undo(claim)
    }
    expect(member.user!.xp).toBe(0)
    expect(kindsOf(member.complete("q"))).toContain("quest.claimed")
  })
})

describe("Streaks of two users", () => {
  it("have the days of both, and pay what these reach", () => {
    const milestones = [{ target: 3, reward: { xp: 30, points: 0, badgeId: null } }]
    const { member, visitor } = pair((world) => world.streak({ milestones }))
    for (const day of ["02", "03"]) visitor.trackAt(`2026-11-${day}T12:00:00Z`)
    member.track()
    const { facts } = member.absorb(visitor, "visitor")
    const [streak] = member.user!.streaks.values()
    expect(streak).toMatchObject({ length: 3, best: 3, broken: false, paid: [3] })
    expect(kindsOf({ facts })).toContain("streak.milestone_reached")
    expect(member.user!.xp).toBe(30)
  })
})

describe("Limits of two users", () => {
  it("count what both used", () => {
    const { member, visitor } = pair((world) => {
      world.rule({ id: "r", reward: { xp: 1, points: 0 }, limit: { times: 3, per: "day" } })
      world.currency({ id: "cur_gems", key: "gems", earnLimit: { amount: 6, per: "day" } })
    })
    for (const world of [visitor, visitor, member]) world.track()
    for (const world of [visitor, member]) world.give({ gems: 3 })
    member.absorb(visitor, "visitor")
    expect(kindsOf(member.track())).toContain("rule.withheld")
    member.give({ gems: 1 })
    expect(member.user!.balances.get("gems")!.amount).toBe(6)
  })
})

describe("Scores of two users", () => {
  it("add up in open windows, and stay as they are in closed ones", () => {
    const { member, visitor } = pair((world) => world.rule({ reward: { xp: 10, points: 0 } }))
    visitor.track()
    member.track()
    const { daily, weekly } = member.user!.windows
    const index = daily.index
    for (const world of [visitor, member]) {
      world.at("2026-11-05T12:00:00Z")
      const closed = { kind: "leaderboard.window_closed", window: "daily", index } as const
      world.define({ ...closed, startsAt: 0, endsAt: 0, total: 2 })
    }
    visitor.track()
    const { record } = member.absorb(visitor, "visitor")
    expect(member.user!.windows.daily).toMatchObject({
      index: index + 1,
      xp: 10,
      sequence: record.sequence,
      indexBefore: index,
      xpBefore: 10,
    })
    expect(member.user!.windows.weekly).toMatchObject({ index: weekly.index, xp: 30 })
    expect(member.user!.scoreSequence).toBe(record.sequence)
  })
})

describe("A merge", () => {
  it("is refused beyond the largest balance, and changes nothing", () => {
    const { member, visitor } = pair(() => {})
    member.grant(1)
    visitor.grant(1)
    visitor.user = { ...visitor.user!, xp: limits.balanceMax }
    const state = { ...visitor.user!, id: "visitor" }
    const command = { kind: "absorb", from: "visitor", frozen: 9, state } as const
    expect(member.refused(command).code).toBe("balance_overflow")
    visitor.user = { ...visitor.user!, xp: limits.balanceMax - 1 }
    member.absorb(visitor, "visitor")
  })

  it("takes a frozen user in once", () => {
    const { member, visitor } = pair(() => {})
    member.grant(1)
    visitor.grant(1)
    const { record } = member.absorb(visitor, "visitor")
    expect(record.cause).toEqual({ kind: "absorb", from: "visitor", frozen: record.sequence - 1 })
    const frozen = record.sequence - 1
    const state = visitor.user!
    expect(member.refused({ kind: "absorb", from: "visitor", frozen, state }).code).toBe("conflict")
  })

  it("of users who already have merged ones is bounded by their sum", () => {
    const absorbed = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ userId: `v${n}`, frozen: 1, merged: 2 }))
    const from: UserState = { ...newcomer, id: "from", absorbed: absorbed(10) }
    const decide = (count: number) =>
      decideMerge(from, { kind: "merge", into: "into" }, () => ({
        ...newcomer,
        id: "into",
        absorbed: absorbed(count),
      }))
    expect(decide(limits.mergedUsersMax - 11)).toMatchObject({ _tag: "Success" })
    expect(decide(limits.mergedUsersMax - 10)).toMatchObject({
      failure: { code: "quota_exceeded" },
    })
  })
})
