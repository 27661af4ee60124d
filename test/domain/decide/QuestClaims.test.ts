/** Quests that a user starts by request, and quests that pay when they are claimed. */
import { describe, expect, it } from "vitest"
import { dueAt, questProgress } from "../../../src/domain/user/Progress.ts"
import { boostWith } from "../definitions.ts"
import { kindsOf, World } from "./World.ts"

const step = (key: string, action: string, target: number) => ({ key, action, where: [], target })
const taps = { reward: { xp: 100 }, steps: [step("taps", "TAP", 2)] }

const worldWith = (quest: Parameters<World["quest"]>[0]) => {
  const world = new World()
  world.quest({ ...taps, ...quest })
  return world
}
const complete = (questId: string) =>
  ({ kind: "event", action: "QUEST_COMPLETE", metadata: { questId } }) as const
const start = { kind: "start", questId: "qst_1" } as const
const progressIn = (world: World) => questProgress(world.user!, world.project, world.now)[0]
const stateIn = (world: World) => world.user?.quests.get("qst_1")

describe("A quest with claim: manual", () => {
  it("loses its reward with the period that ends unclaimed, by the clock or by the next event", () => {
    for (const byClock of [true, false]) {
      const world = worldWith({ claim: "manual", recurrence: "daily" })
      world.track()
      world.track()
      expect(new Date(dueAt(world.user!, world.project, world.now)).toISOString()).toBe(
        "2026-11-05T00:00:00.000Z",
      )
      world.at("2026-11-05T00:00:00Z")
      if (byClock) {
        expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["quest.claim_lapsed"])
        expect(dueAt(world.user!, world.project, world.now)).toBe(Number.POSITIVE_INFINITY)
        expect(world.refused({ kind: "tick" }).code).toBe("conflict")
      }
      const next = kindsOf(world.track())
      expect(next.includes("quest.claim_lapsed")).toBe(!byClock)
      expect(stateIn(world)).toMatchObject({ times: 1, completedAt: null })
      world.track()
      expect(world.complete("qst_1").reply.xp.earned).toBe(100)
      world.at("2026-11-06T12:00:00Z")
      expect(world.refused({ kind: "tick" }).code).toBe("conflict")
    }
  })

  it("can be claimed after its end, and not once it is archived", () => {
    const endsAt = Date.parse("2026-11-05T00:00:00Z")
    const world = worldWith({ claim: "manual", endsAt })
    world.track()
    world.track()
    expect(dueAt(world.user!, world.project, world.now)).toBe(Number.POSITIVE_INFINITY)
    world.at("2026-11-06T00:00:00Z")
    expect(world.refused({ kind: "tick" }).code).toBe("conflict")
    expect(progressIn(world)).toMatchObject({ claimable: true })
    world.quest({ ...taps, claim: "manual", endsAt, set: "archived" })
    expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["quest.claim_lapsed"])
  })

  it("is completed by its steps, pays when it is claimed, and pays once", () => {
    const world = worldWith({ claim: "manual" })
    world.track()
    const last = world.track()
    expect(last.reply).toMatchObject({
      xp: { earned: 0, total: 0 },
      quests: [{ status: "completed", progress: 1, alreadyCompleted: false, claimable: true }],
    })
    expect(progressIn(world)).toMatchObject({ status: "completed", claimable: true })
    expect(world.user?.questsCompleted).toBe(1)
    const claimed = world.complete("qst_1")
    expect(kindsOf(claimed)).toEqual([
      "quest.claimed",
      "xp.earned",
      "windows.credited",
      "level.changed",
      "event.tracked",
    ])
    expect(claimed.reply).toMatchObject({ xp: { earned: 100 }, quests: [{ status: "completed" }] })
    expect(claimed.reply.quests[0]).not.toHaveProperty("claimable")
    expect(progressIn(world)).not.toHaveProperty("claimable")
    expect(world.complete("qst_1").reply).toMatchObject({
      xp: { earned: 0, total: 100 },
      quests: [{ alreadyCompleted: true }],
    })
  })

  it("can be claimed again after the undo of the claim", () => {
    const world = worldWith({ claim: "manual" })
    world.track()
    world.track()
    const claimed = world.complete("qst_1")
    expect(world.undo(claimed).reply).toMatchObject({
      xp: { earned: -100, total: 0 },
      quests: [{ status: "completed", progress: 1, claimable: true }],
    })
    expect(world.user?.questsCompleted).toBe(1)
    expect(world.complete("qst_1").reply.xp).toEqual({ earned: 100, total: 100 })
  })

  it("keeps what a claim paid if the completing event is undone, and does not pay again", () => {
    const world = worldWith({ claim: "manual" })
    world.track()
    const last = world.track()
    const claimed = world.complete("qst_1")
    expect(world.undo(last).reply).toMatchObject({
      xp: { earned: 0, total: 100 },
      quests: [{ status: "in_progress", progress: 0.5 }],
    })
    expect(world.refused(complete("qst_1")).code).toBe("quest_incomplete")
    const again = world.track()
    expect(again.reply).toMatchObject({ xp: { earned: 0 }, quests: [{ status: "completed" }] })
    expect(again.reply.quests[0]).not.toHaveProperty("claimable")
    expect(world.complete("qst_1").reply.quests[0]).toMatchObject({ alreadyCompleted: true })
    // Now the claim is undone: it can be made again.
    expect(world.undo(claimed).reply).toMatchObject({ xp: { total: 0 } })
    expect(world.complete("qst_1").reply.xp).toEqual({ earned: 100, total: 100 })
  })

  it("remembers a paid claim of a quest whose events are all undone", () => {
    const world = worldWith({ claim: "manual" })
    const events = [world.track(), world.track()]
    const claimed = world.complete("qst_1")
    for (const event of events) world.undo(event)
    expect(stateIn(world)).toMatchObject({ startedAt: null, times: 0, claim: "paid" })
    expect(progressIn(world)).toMatchObject({ status: "not_started" })
    // A changed definition does not pay a second time either.
    world.quest({ ...taps, claim: "auto" })
    world.track()
    expect(world.track().reply).toMatchObject({ xp: { earned: 0, total: 100 } })
    expect(world.undo(claimed).reply).toMatchObject({
      xp: { earned: -100, total: 0 },
      quests: [{ claimable: true }],
    })
  })

  it("loses a completion that waits to be claimed with the event that completed it", () => {
    const world = worldWith({ claim: "manual" })
    world.track()
    const last = world.track()
    world.undo(last)
    expect(stateIn(world)).not.toHaveProperty("claim")
    expect(world.refused(complete("qst_1")).code).toBe("quest_incomplete")
    expect(world.track().reply.quests).toMatchObject([{ claimable: true }])
  })

  it("can be claimed after its end, but not while it is paused or archived", () => {
    const endsAt = Date.parse("2026-11-04T13:00:00Z")
    const world = worldWith({ claim: "manual", endsAt })
    world.track()
    world.track()
    world.quest({ ...taps, claim: "manual", endsAt, set: "paused" })
    expect(world.refused(complete("qst_1")).code).toBe("quest_not_active")
    expect(progressIn(world)).not.toHaveProperty("claimable")
    world.quest({ ...taps, claim: "manual", endsAt, set: "archived" })
    expect(world.refused(complete("qst_1")).code).toBe("quest_not_active")
    world.quest({ ...taps, claim: "manual", endsAt })
    world.now = endsAt
    expect(dueAt(world.user!, world.project, world.now)).toBe(Number.POSITIVE_INFINITY)
    expect(progressIn(world)).toMatchObject({ status: "completed", claimable: true })
    expect(world.complete("qst_1").reply.xp.earned).toBe(100)
  })

  it("loses what is not claimed until its period ends", () => {
    const world = worldWith({ claim: "manual", recurrence: "daily" })
    world.track()
    world.track()
    world.at("2026-11-05T00:00:00Z")
    expect(progressIn(world)).toMatchObject({ status: "not_started" })
    expect(world.refused(complete("qst_1")).code).toBe("quest_incomplete")
    const late = { ...complete("qst_1"), occurredAt: Date.parse("2026-11-04T23:59:59Z") }
    expect(world.refused(late).code).toBe("quest_not_active")
    world.track()
    world.track()
    const claimed = world.complete("qst_1")
    expect(claimed.reply.xp).toEqual({ earned: 100, total: 100 })
    // The undo in a later period takes the payment, and the later period stays as it is.
    world.at("2026-11-06T00:00:00Z")
    world.track()
    expect(world.undo(claimed).reply).toMatchObject({ xp: { total: 0 }, quests: [] })
    expect(progressIn(world)).toMatchObject({ status: "in_progress" })
  })

  it("multiplies the payment by the boosts of the claim", () => {
    const world = worldWith({ claim: "manual" })
    world.track()
    world.track()
    world.define({ kind: "boost.created", boost: boostWith({ currencies: ["xp"], factor: 2 }) })
    expect(world.complete("qst_1").reply.xp.earned).toBe(200)
  })

  it("opens what requires it with its completion, and asks nothing again when it is claimed", () => {
    const world = worldWith({ claim: "manual", segment: "pros" })
    world.segment({
      id: "seg_pros",
      key: "pros",
      conditions: [{ kind: "attribute", attribute: "plan", op: "eq", value: "pro" }],
    })
    world.quest({ id: "qst_2", key: "then", prerequisites: ["k1"] })
    world.attributes({ plan: "pro" })
    world.track()
    world.track()
    expect(world.complete("qst_2").reply.quests[0]).toMatchObject({ status: "completed" })
    world.attributes({ plan: "free" })
    expect(world.complete("qst_1").reply.xp.earned).toBe(100)
  })

  it("without steps is completed and paid by one event", () => {
    const world = worldWith({ claim: "manual", steps: [] })
    const done = world.complete("qst_1")
    expect(done.reply).toMatchObject({ xp: { earned: 100 }, quests: [{ status: "completed" }] })
    expect(done.reply.quests[0]).not.toHaveProperty("claimable")
    expect(world.undo(done).reply).toMatchObject({ xp: { total: 0 } })
    expect(stateIn(world)).toBeUndefined()
  })
})

describe("A quest with optIn", () => {
  it("counts only events that occurred after its start", () => {
    const world = worldWith({ optIn: true })
    expect(world.track().reply.quests).toEqual([])
    expect(kindsOf(world.do(start))).toEqual(["quest.started"])
    expect(progressIn(world)).toMatchObject({ status: "in_progress" })
    expect(world.track("TAP", { occurredAt: world.now - 1 }).reply.quests).toEqual([])
    expect(world.track("TAP", { occurredAt: world.now }).reply.quests).toHaveLength(1)
    expect(world.track().reply).toMatchObject({
      xp: { earned: 100 },
      quests: [{ status: "completed" }],
    })
  })

  it("is started once a period: a repeat changes nothing, also after the completion", () => {
    const world = worldWith({ optIn: true, recurrence: "daily" })
    expect(kindsOf(world.do({ kind: "start", questId: "k1" }))).toEqual([
      "user.created",
      "quest.started",
    ])
    expect(world.do(start).facts).toEqual([])
    world.track()
    world.track()
    expect(world.do(start).facts).toEqual([])
    world.at("2026-11-05T12:00:00Z")
    expect(world.track().reply.quests).toEqual([])
    expect(kindsOf(world.do(start))).toEqual(["quest.started"])
    expect(world.track().reply.quests).toMatchObject([{ status: "in_progress" }])
    world.at("2026-11-06T12:00:00Z")
    expect(kindsOf(world.do({ kind: "tick" }))).toEqual(["quest.expired"])
    expect(progressIn(world)).toMatchObject({ status: "not_started" })
  })

  it("stays started when its progress or its completion is undone", () => {
    const world = worldWith({ optIn: true })
    world.do(start)
    const first = world.track()
    expect(world.undo(first).reply.quests).toMatchObject([{ status: "in_progress", progress: 0 }])
    world.track()
    const last = world.track()
    expect(world.undo(last).reply.quests).toMatchObject([{ status: "in_progress" }])
    expect(world.track().reply).toMatchObject({ xp: { earned: 100, total: 100 } })
  })

  it("is not completed by hand before its start", () => {
    const world = worldWith({ optIn: true, steps: [] })
    expect(world.refused(complete("qst_1")).code).toBe("quest_locked")
    world.do(start)
    const early = { ...complete("qst_1"), occurredAt: world.now - 1 }
    expect(world.refused(early).code).toBe("quest_locked")
    expect(world.complete("qst_1").reply.xp.earned).toBe(100)
  })

  it("is not started while it is not open to the user", () => {
    const world = worldWith({ optIn: true, prerequisites: ["first"] })
    world.quest({ id: "qst_2", key: "first" })
    expect(world.refused(start).code).toBe("quest_locked")
    expect(world.refused({ kind: "start", questId: "none" }).code).toBe("quest_not_found")
    expect(world.refused({ kind: "start", questId: "first" }).code).toBe("conflict")
    for (const set of ["draft", "paused", "archived"] as const) {
      world.quest({ ...taps, optIn: true, set })
      expect(world.refused(start).code).toBe("quest_not_active")
    }
    world.quest({ ...taps, optIn: true, segment: "pros" })
    world.segment({
      id: "seg_pros",
      key: "pros",
      conditions: [{ kind: "attribute", attribute: "plan", op: "eq", value: "pro" }],
    })
    expect(world.refused(start).code).toBe("quest_locked")
    world.attributes({ plan: "pro" })
    expect(kindsOf(world.do(start))).toEqual(["quest.started"])
  })

  it("lets users go on who began before it had optIn", () => {
    const world = worldWith({})
    world.track()
    world.quest({ ...taps, optIn: true })
    expect(world.track().reply.xp.earned).toBe(100)
  })
})
