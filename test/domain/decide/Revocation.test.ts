import { describe, expect, it } from "vitest"
import { dueAt } from "../../../src/domain/user/Progress.ts"
import { kindsOf, World } from "./World.ts"

const step = (key: string, action: string, target: number) => ({ key, action, where: [], target })

describe("Undoing an event", () => {
  it("takes back xp and points, and the level follows down", () => {
    const world = new World()
    world.rule({ reward: { xp: 150, points: 7 } })
    const first = world.track()
    world.track()
    const undone = world.undo(first)
    expect(kindsOf(undone)).toEqual([
      "rule.used",
      "xp.revoked",
      "windows.credited",
      "points.revoked",
      "level.changed",
      "event.revoked",
    ])
    expect(undone.reply).toMatchObject({
      xp: { earned: -150, total: 150 },
      points: { earned: -7, total: 7 },
      level: { before: 3, after: 2 },
      shortfall: { xp: 0, points: 0 },
      id: first.reply.eventId,
    })
    expect(world.user).toMatchObject({ xp: 150, points: 7 })
  })

  it("takes its xp out of the windows that are still open, and of no others", () => {
    const world = new World("2026-11-04T12:00:00Z")
    world.rule({ reward: { xp: 10 } })
    const first = world.track()
    world.at("2026-11-05T12:00:00Z")
    world.track()
    world.undo(first)
    expect(world.user?.windows).toMatchObject({
      daily: { xp: 10, xpBefore: 10 },
      weekly: { xp: 10 },
      monthly: { xp: 10 },
    })
  })

  it("restores the use of a limit", () => {
    const world = new World()
    world.rule({ reward: { xp: 10 }, limit: { times: 1, per: "day" } })
    const first = world.track()
    expect(world.track().reply.xp.earned).toBe(0)
    world.undo(first)
    expect(world.track().reply.xp.earned).toBe(10)
  })

  it("takes back a quest that it completed, with its reward; the last step is open again", () => {
    const world = new World()
    world.badge({ id: "medal" })
    world.quest({
      reward: { xp: 100, points: 1, badgeId: "medal" },
      steps: [step("taps", "TAP", 2), step("swipe", "SWIPE", 1)],
    })
    world.track("SWIPE")
    world.track()
    const last = world.track()
    const undone = world.undo(last)
    expect(undone.reply).toMatchObject({
      xp: { earned: -100, total: 0 },
      badgesRevoked: [{ id: "medal" }],
      quests: [{ questId: "qst_1", status: "in_progress", progress: 2 / 3 }],
    })
    expect(world.user?.quests.get("qst_1")).toMatchObject({
      steps: { taps: 1, swipe: 1 },
      completedAt: null,
      times: 0,
    })
    expect(world.user?.questsCompleted).toBe(0)
    expect(world.track().reply).toMatchObject({ xp: { earned: 100 }, badges: [{ id: "medal" }] })
  })

  it("revokes a step; a quest without remaining steps is not started", () => {
    const world = new World()
    world.quest({ steps: [step("taps", "TAP", 3)] })
    const first = world.track()
    const second = world.track()
    expect(world.undo(first).reply.quests[0]).toMatchObject({ status: "in_progress" })
    expect(world.undo(second).reply.quests[0]).toMatchObject({ status: "not_started" })
    expect(world.user?.quests.size).toBe(0)
  })

  it("leaves a quest completed that another event completed", () => {
    const world = new World()
    world.quest({ reward: { xp: 10 }, steps: [step("taps", "TAP", 2)] })
    const first = world.track()
    world.track()
    const undone = world.undo(first)
    expect(undone.reply).toMatchObject({ xp: { earned: 0, total: 10 }, quests: [] })
    expect(world.user).toMatchObject({ questsCompleted: 1 })
    expect(world.user?.quests.get("qst_1")).toMatchObject({ completedAt: world.now, times: 1 })
  })

  it("leaves nothing of a quest once all its events are undone, in whatever order", () => {
    const world = new World()
    world.quest({ steps: [step("taps", "TAP", 2), step("first tap", "TAP", 1)] })
    const first = world.track()
    const second = world.track()
    world.undo(first)
    expect(world.undo(second).reply.quests[0]).toMatchObject({ status: "not_started" })
    expect(world.user).toMatchObject({ questsCompleted: 0 })
    expect(world.user?.quests.size).toBe(0)
  })

  it("takes back a step of a quest that has expired, which does not expire again", () => {
    const world = new World()
    world.quest({ steps: [step("taps", "TAP", 3)], endsAt: world.now + 1000 })
    const first = world.track()
    const second = world.track()
    world.now += 1000
    expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["quest.expired"])
    expect(world.undo(first).reply.quests[0]).toMatchObject({ status: "expired", progress: 1 / 3 })
    expect(dueAt(world.user!, world.project, world.now)).toBe(Number.POSITIVE_INFINITY)
    expect(world.undo(second).reply.quests[0]).toMatchObject({ status: "not_started" })
    expect(world.user?.quests.size).toBe(0)
  })

  it("takes back a quest that was completed by hand, which can then be completed again", () => {
    const world = new World()
    world.quest({ reward: { xp: 10 } })
    world.undo(world.complete("qst_1"))
    expect(world.user?.quests.size).toBe(0)
    expect(world.complete("qst_1").reply).toMatchObject({
      xp: { earned: 10, total: 10 },
      quests: [{ alreadyCompleted: false }],
    })
  })

  it("takes back a completion in an earlier period and leaves the present one alone", () => {
    const world = new World()
    world.quest({ reward: { xp: 10 }, recurrence: "daily", steps: [step("taps", "TAP", 1)] })
    const first = world.track()
    world.at("2026-11-05T12:00:00Z")
    world.track()
    world.undo(first)
    expect(world.user).toMatchObject({ xp: 10, questsCompleted: 1 })
    expect(world.user?.quests.get("qst_1")).toMatchObject({ completedAt: world.now, times: 1 })
  })

  it("revokes the badges whose number falls below their target, whichever event reached it", () => {
    const world = new World()
    world.rule({ reward: { xp: 50 } })
    world.badge({ id: "xp", criteria: { kind: "xp", target: 100 } })
    world.badge({ id: "level", criteria: { kind: "level", target: 2 } })
    const count = { kind: "action_count", action: "TAP", where: [], target: 2 } as const
    world.badge({ id: "taps", criteria: count })
    const first = world.track()
    world.track()
    expect([...world.user!.badges.keys()]).toEqual(["taps", "xp", "level"])
    const { badgesRevoked } = world.undo(first).reply
    expect(badgesRevoked.map(({ id }) => id).sort()).toEqual(["level", "taps", "xp"])
    expect(world.track().reply.badges.map(({ id }) => id)).toEqual(["taps", "xp", "level"])
  })

  it("leaves a badge whose number is still high enough", () => {
    const world = new World()
    world.rule({ reward: { xp: 60 } })
    world.badge({ criteria: { kind: "xp", target: 50 } })
    const first = world.track()
    const second = world.track()
    expect(world.undo(first).reply.badgesRevoked).toEqual([])
    expect(world.undo(second).reply.badgesRevoked).toMatchObject([{ id: "bdg_1" }])
  })

  it("leaves a badge for which later events are enough", () => {
    const world = new World()
    const count = { kind: "action_count", action: "TAP", where: [], target: 2 } as const
    world.badge({ id: "taps", criteria: count })
    const taps = [world.track(), world.track(), world.track()]
    expect(world.undo(taps[0]!).reply.badgesRevoked).toEqual([])
    expect(world.undo(taps[2]!).reply.badgesRevoked).toMatchObject([{ id: "taps" }])
    expect(world.user?.badgeCounts.get("taps")).toBe(1)
  })

  it("takes back counts of a backfill, also from before the badge existed", () => {
    const world = new World()
    const old = [world.track(), world.track(), world.track("OTHER")]
    const where = [{ path: "easy", op: "exists", value: false }] as const
    const easy = world.track("TAP", { metadata: { easy: true } })
    world.badge({ criteria: { kind: "action_count", action: "TAP", where, target: 3 } })
    const { sequence: countedUpTo } = world.user!
    const counted = { badgeId: "bdg_1", counted: 2, countedUpTo, notify: false }
    world.do({ kind: "backfill", ...counted })
    const last = world.track()
    expect(last.reply.badges).toMatchObject([{ id: "bdg_1" }])
    for (const other of [old[2]!, easy]) expect(world.undo(other).reply.badgesRevoked).toEqual([])
    expect(world.user?.badgeCounts.get("bdg_1")).toBe(3)
    expect(world.undo(old[0]!).reply.badgesRevoked).toMatchObject([{ id: "bdg_1" }])
    world.undo(last)
    world.undo(old[1]!)
    expect(world.user?.badgeCounts.get("bdg_1")).toBe(0)
  })

  it("takes back nothing that a backfill found not to count, though it counted when it came", () => {
    const world = new World()
    const count = { kind: "action_count", where: [], target: 3 } as const
    const badge = world.badge({ criteria: { ...count, action: "TAP" } })
    const [tap, swipe] = [world.track("TAP"), world.track("SWIPE")]
    world.badge({ ...badge, criteria: { ...count, action: "SWIPE" } })
    world.track("SWIPE")
    const { sequence: countedUpTo } = world.user!
    // Two, which is what was counted for other reasons: nothing is noted, and so the first tap still counts.
    expect(
      world.do({ kind: "backfill", badgeId: "bdg_1", counted: 2, countedUpTo, notify: false })
        .facts,
    ).toEqual([])
    world.track("SWIPE")
    world.do({
      kind: "backfill",
      badgeId: "bdg_1",
      counted: 4,
      countedUpTo: world.user!.sequence,
      notify: false,
    })
    world.undo(tap)
    expect(world.user?.badgeCounts.get("bdg_1")).toBe(4)
    world.undo(swipe)
    expect(world.user?.badgeCounts.get("bdg_1")).toBe(3)
  })

  it("awards a badge again whose criteria are still met", () => {
    const world = new World()
    world.badge({ id: "rich", criteria: { kind: "xp", target: 100 } })
    const given = world.do({ kind: "reward", type: "badge", badgeId: "rich" })
    const xp = world.grant(100)
    const undone = world.undo(given)
    expect(kindsOf(undone)).toEqual(["badge.revoked", "badge.earned", "reward.revoked"])
    expect(undone.reply.badgesRevoked).toEqual([])
    expect(world.user?.badges.get("rich")).toEqual([{ tier: "", earnedAt: world.now, target: 100 }])
    expect(world.undo(xp).reply.badgesRevoked).toMatchObject([{ id: "rich" }])
  })

  it("awards no badge again that is archived, or 1 below its target", () => {
    for (const [set, amount] of [
      ["archived", 100],
      ["paused", 100],
      ["published", 99],
    ] as const) {
      const world = new World()
      const badge = world.badge({ criteria: { kind: "xp", target: 100 } })
      const given = world.do({ kind: "reward", type: "badge", badgeId: badge.id })
      world.grant(amount)
      world.badge({ ...badge, set })
      expect(world.undo(given).reply.badgesRevoked).toMatchObject([{ id: badge.id }])
      expect(world.user?.badges.size).toBe(0)
    }
  })

  it("leaves a badge whose target was raised since it was earned", () => {
    const world = new World()
    world.rule({ reward: { xp: 60 } })
    const badge = world.badge({ criteria: { kind: "xp", target: 50 } })
    world.track()
    const second = world.track()
    world.badge({ ...badge, criteria: { kind: "xp", target: 500 } })
    expect(world.undo(second).reply.badgesRevoked).toEqual([])
  })

  it("keeps streak days, the badges earned by them, a cooldown and the time of the event; all else is as it was", () => {
    const world = new World()
    world.streak({ needs: [{ action: "LEARN", target: 1 }] })
    world.badge({ id: "days", criteria: { kind: "streak", streak: "daily", target: 1 } })
    world.badge({ id: "gift" })
    world.badge({ id: "xp", criteria: { kind: "xp", target: 120 } })
    const counted = { kind: "action_count", action: "LEARN", where: [], target: 1 } as const
    world.badge({ id: "learner", criteria: counted })
    world.rule({ id: "gives", action: "LEARN", reward: { xp: 110, points: 3, badgeId: "gift" } })
    const limit = { times: 1, per: "day" } as const
    world.rule({ id: "limited", action: "LEARN", reward: { xp: 1 }, limit })
    world.rule({ id: "cools", action: "LEARN", reward: { points: 1 }, cooldownSeconds: 60 })
    world.quest({ id: "begun", reward: { xp: 0 }, steps: [step("learn", "LEARN", 2)] })
    world.quest({ id: "done", reward: { xp: 5 }, steps: [step("learn", "LEARN", 1)] })
    world.grant(10)
    const before = world.user!
    const event = world.track("LEARN")
    expect([...world.user!.badges.keys()].sort()).toEqual(["days", "gift", "learner", "xp"])
    world.undo(event)
    const { badgeCounts, badges, ruleUses, streaks, windows } = world.user!
    const { lastEventAt, sequence, scoreSequence, updatedAt } = world.user!
    expect(world.user).toEqual({
      ...before,
      ...{ lastEventAt, sequence, scoreSequence, updatedAt },
      ...{ badgeCounts, badges, ruleUses, streaks, windows },
    })
    expect([windows.daily.xp, badgeCounts.get("learner")]).toEqual([10, 0])
    expect([...badges.keys()]).toEqual(["days"])
    expect(streaks.get("daily")?.days).toHaveLength(1)
    const again = world.track("LEARN").reply
    expect(again).toMatchObject({ xp: { earned: 116 }, points: { earned: 3 }, streaks: [] })
  })
})

describe("Undoing a reward", () => {
  it("takes back xp, points or the badge that it gave", () => {
    const world = new World()
    world.badge({})
    const given = [
      world.grant(10),
      world.grant(3, "points"),
      world.do({ kind: "reward", type: "badge", badgeId: "bdg_1" }),
    ]
    const [xp, points, badge] = given.map((done) => world.undo(done))
    expect(kindsOf(xp!)).toContain("reward.revoked")
    expect(points!.reply.points).toEqual({ earned: -3, total: 0 })
    expect(badge!.reply.badgesRevoked).toMatchObject([{ id: "bdg_1" }])
    expect(world.user).toMatchObject({ xp: 0, points: 0 })
    expect(world.user?.badges.size).toBe(0)
  })

  it("leaves a badge that the user already had", () => {
    const world = new World()
    world.badge({})
    world.do({ kind: "reward", type: "badge", badgeId: "bdg_1" })
    const again = world.do({ kind: "reward", type: "badge", badgeId: "bdg_1" })
    expect(world.undo(again).reply.badgesRevoked).toEqual([])
    expect(world.user?.badges.size).toBe(1)
  })
})

describe("An undo is refused", () => {
  it("when the record is missing, another user's, or of the other kind", () => {
    const world = new World()
    const { record } = world.track()
    const { at, sequence } = record
    const undo = { kind: "revocation", of: "event", sequence, at } as const
    expect(world.refused(undo).code).toBe("event_not_found")
    expect(world.refused({ ...undo, at: at + 1 }, record).code).toBe("event_not_found")
    expect(world.refused({ ...undo, of: "reward" }, record).code).toBe("reward_not_found")
    const refusedOnce = { ...record, facts: [] }
    expect(world.refused(undo, refusedOnce).code).toBe("event_not_found")
  })
})

describe("The place in a tie after an undo", () => {
  it("is that of the latest record that gave xp and stands", () => {
    const world = new World()
    const [first, second, third] = [10, 20, 30].map((amount) => world.grant(amount).record.sequence)
    const score = () => [world.user!.xp, world.user!.scoreSequence]
    world.grant(5, "points")
    const [one, two, three] = [first, second, third].map((sequence) => ({
      record: world.records.find((record) => record.sequence === sequence)!,
    }))
    world.undo(two!)
    expect(score()).toEqual([40, third])
    world.undo(three!)
    expect(score()).toEqual([10, first])
    const { daily, monthly, weekly } = world.user!.windows
    for (const { sequence, xp } of [daily, monthly, weekly])
      expect([xp, sequence]).toEqual([10, first])
    world.undo(one!)
    expect(score()).toEqual([0, 0])
  })

  it("in a window is that of the latest record of that window", () => {
    const world = new World("2026-11-03T12:00:00Z")
    const tuesday = world.grant(10).record.sequence
    world.at("2026-11-04T12:00:00Z")
    world.undo(world.grant(20))
    const { daily, monthly, weekly } = world.user!.windows
    for (const { sequence, xp } of [daily, monthly, weekly]) {
      expect([xp, sequence]).toEqual([10, tuesday])
    }
    expect(daily.index).toBe(Date.parse("2026-11-03") / 86_400_000)
  })
})
