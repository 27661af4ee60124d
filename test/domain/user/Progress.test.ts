import { describe, expect, it } from "vitest"
import type { Badge } from "../../../src/domain/project/Definition.ts"
import {
  badgeProgress,
  badgesOf,
  questProgress,
  streakProgress,
} from "../../../src/domain/user/Progress.ts"
import { World } from "../decide/World.ts"

const step = (key: string, action: string, target: number) => ({ key, action, where: [], target })

const quests = (world: World) => questProgress(world.user!, world.project, world.now)
const streaks = (world: World) => streakProgress(world.user!, world.project, world.now)
const badges = (world: World) => badgeProgress(world.user!, world.project, world.now)

describe("Progress towards badges", () => {
  it("shows the number of each criterion, at most the target", () => {
    const world = new World()
    world.badge({ id: "xp", name: "Xp", criteria: { kind: "xp", target: 100 } })
    world.badge({ id: "level", criteria: { kind: "level", target: 9 } })
    world.badge({ id: "points", criteria: { kind: "points", target: 10 } })
    world.badge({
      id: "taps",
      criteria: { kind: "action_count", action: "TAP", where: [], target: 3 },
    })
    world.badge({ id: "quests", criteria: { kind: "quest_count", target: 2 } })
    world.badge({ id: "streak", criteria: { kind: "streak", streak: null, target: 5 } })
    world.badge({ id: "manual", criteria: { kind: "manual" } })
    world.quest({ id: "q" })
    world.streak()
    world.grant(99)
    world.grant(4, "points")
    world.track("TAP")
    world.complete("q")
    const shown = (id: string) => badges(world).find((badge) => badge.id === id)
    const open = (id: string) => ({ ...shown(id), name: undefined })
    expect(open("xp")).toMatchObject({ current: 99, target: 100, earnedAt: null })
    expect(open("level")).toMatchObject({ current: 1, target: 9, earnedAt: null })
    expect(open("points")).toMatchObject({ current: 4, target: 10, earnedAt: null })
    expect(open("taps")).toMatchObject({ current: 1, target: 3, earnedAt: null })
    expect(open("quests")).toMatchObject({ current: 1, target: 2, earnedAt: null })
    expect(open("streak")).toMatchObject({ current: 1, target: 5, earnedAt: null })
    expect(open("manual")).toMatchObject({ current: 0, target: 1, earnedAt: null })
    world.grant(1_000)
    expect(shown("xp")).toEqual({
      id: "xp",
      key: "xp",
      name: "Xp",
      current: 100,
      target: 100,
      earnedAt: world.now,
    })
    world.do({ kind: "reward", type: "badge", badgeId: "manual" })
    expect(shown("manual")).toMatchObject({ current: 1, target: 1, earnedAt: world.now })
  })

  it("hides secret and archived badges until they are earned", () => {
    const world = new World()
    const secret = world.badge({ id: "secret", secret: true })
    const old = world.badge({ id: "old" })
    world.badge({ id: "plain" })
    world.track()
    const ids = () => badges(world).map(({ id }) => id)
    expect(ids()).toEqual(["old", "plain"])
    world.do({ kind: "reward", type: "badge", badgeId: "old" })
    world.do({ kind: "reward", type: "badge", badgeId: "secret" })
    world.badge({ ...old, set: "archived" })
    expect(ids()).toEqual(["secret", "plain", "old"])
    const held = ({ id, key, name }: Badge) => ({
      id,
      key,
      name,
      description: null,
      icon: null,
      earnedAt: world.now,
    })
    expect(badgesOf(world.user!, world.project)).toEqual([held(secret), held(old)])
  })
})

describe("Progress in quests", () => {
  it("goes from not started to completed, step by step", () => {
    const world = new World()
    world.quest({ id: "q", title: "Q", steps: [step("a", "TAP", 2), step("b", "SWIPE", 1)] })
    world.track("OTHER")
    const expected = (status: string, a: number, b: number, completedAt: number | null) => [
      {
        questId: "q",
        key: "q",
        title: "Q",
        status,
        steps: [
          { key: "a", current: a, target: 2 },
          { key: "b", current: b, target: 1 },
        ],
        periodEndsAt: null,
        completedAt,
      },
    ]
    expect(quests(world)).toEqual(expected("not_started", 0, 0, null))
    world.track("SWIPE")
    expect(quests(world)).toEqual(expected("in_progress", 0, 1, null))
    world.track()
    const last = world.track()
    expect(quests(world)).toEqual(expected("completed", 2, 1, world.now))
    world.undo(last)
    expect(quests(world)).toEqual(expected("in_progress", 1, 1, null))
  })

  it("never shows more than a lowered target, nor removed steps", () => {
    const world = new World()
    const made = world.quest({ steps: [step("a", "TAP", 5), step("b", "SWIPE", 1)] })
    for (let tap = 0; tap < 4; tap++) world.track()
    world.quest({ ...made, steps: [step("a", "TAP", 2), step("c", "SPIN", 1)] })
    expect(quests(world)[0]?.steps).toEqual([
      { key: "a", current: 2, target: 2 },
      { key: "c", current: 0, target: 1 },
    ])
  })

  it("expires at the quest's end, before any record says so, and stays completed after it", () => {
    const world = new World("2026-11-04T12:00:00Z")
    const endsAt = Date.parse("2026-11-05T00:00:00Z")
    world.quest({ id: "open", steps: [step("a", "TAP", 2)], endsAt })
    world.quest({ id: "done", endsAt })
    world.quest({ id: "never", steps: [step("a", "SWIPE", 1)], endsAt })
    world.track()
    world.complete("done")
    const statuses = () => quests(world).map(({ questId, status }) => [questId, status])
    world.at("2026-11-04T23:59:59.999Z")
    expect(statuses()).toEqual([
      ["open", "in_progress"],
      ["done", "completed"],
      ["never", "not_started"],
    ])
    expect(quests(world)[0]?.periodEndsAt).toBe(endsAt)
    world.at("2026-11-05T00:00:00Z")
    const over = [
      ["open", "expired"],
      ["done", "completed"],
    ]
    expect(statuses()).toEqual(over)
    world.do({ kind: "tick" })
    expect(statuses()).toEqual(over)
  })

  it("restarts with each period of a recurring quest, in the project's zone", () => {
    const world = new World("2026-11-04T22:30:00Z")
    world.settings({ timezone: "Europe/Berlin" })
    world.quest({ id: "daily", recurrence: "daily", steps: [step("a", "TAP", 2)] })
    world.quest({ id: "weekly", recurrence: "weekly" })
    world.track()
    world.complete("weekly")
    const of = (id: string) => quests(world).find(({ questId }) => questId === id)
    expect(of("daily")).toMatchObject({
      status: "in_progress",
      steps: [{ current: 1 }],
      periodEndsAt: Date.parse("2026-11-04T23:00:00Z"),
    })
    expect(of("weekly")).toMatchObject({
      status: "completed",
      periodEndsAt: Date.parse("2026-11-08T23:00:00Z"),
    })
    world.at("2026-11-04T23:00:00Z")
    expect(of("daily")).toMatchObject({
      status: "not_started",
      steps: [{ current: 0 }],
      completedAt: null,
      periodEndsAt: Date.parse("2026-11-05T23:00:00Z"),
    })
    expect(of("weekly")).toMatchObject({ status: "completed" })
    world.at("2026-11-09T00:00:00+01:00")
    expect(of("weekly")).toMatchObject({ status: "not_started", completedAt: null })
  })

  it("ends a period with the quest where that is earlier", () => {
    const world = new World("2026-11-04T12:00:00Z")
    const endsAt = Date.parse("2026-11-04T18:00:00Z")
    world.quest({ recurrence: "monthly", endsAt })
    world.track()
    expect(quests(world)[0]?.periodEndsAt).toBe(endsAt)
  })

  it("shows paused and archived quests only to users who started them", () => {
    const world = new World()
    const begun = world.quest({ id: "begun", steps: [step("a", "TAP", 2)] })
    const untouched = world.quest({ id: "untouched" })
    const done = world.quest({ id: "done" })
    world.quest({ id: "draft", set: "draft" })
    world.track()
    world.complete("done")
    for (const quest of [begun, untouched, done]) world.quest({ ...quest, set: "paused" })
    const statuses = () => quests(world).map(({ questId, status }) => [questId, status])
    expect(statuses()).toEqual([
      ["begun", "in_progress"],
      ["done", "completed"],
    ])
    for (const quest of [begun, untouched, done]) world.quest({ ...quest, set: "archived" })
    expect(statuses()).toEqual([
      ["begun", "expired"],
      ["done", "completed"],
    ])
    expect(quests(world)[0]?.periodEndsAt).toBeNull()
  })
})

describe("Streaks", () => {
  const daily = (freezes: number) => ({
    needs: [{ action: "TAP", target: 1 }],
    freezes: { initial: freezes, max: 2, everyDays: null },
  })

  it("show their initial freezes before the first day", () => {
    const world = new World()
    world.streak(daily(1))
    world.track("OTHER")
    expect(streaks(world)).toEqual([
      { key: "daily", current: 0, best: 0, lastDay: null, freezes: 1 },
    ])
  })

  it("count as of now: a missed day takes a freeze, then breaks them, before any record says so", () => {
    const world = new World("2026-11-04T12:00:00Z")
    world.streak(daily(1))
    world.track()
    world.at("2026-11-05T12:00:00Z")
    world.track()
    const shown = { key: "daily", best: 2, lastDay: "2026-11-05" }
    expect(streaks(world)).toEqual([{ ...shown, current: 2, freezes: 1 }])
    world.at("2026-11-06T23:59:59Z")
    expect(streaks(world)).toEqual([{ ...shown, current: 2, freezes: 1 }])
    world.at("2026-11-07T00:00:00Z")
    expect(streaks(world)).toEqual([{ ...shown, current: 2, freezes: 0 }])
    world.at("2026-11-08T00:00:00Z")
    expect(streaks(world)).toEqual([{ ...shown, current: 0, freezes: 0 }])
    world.do({ kind: "tick" })
    expect(streaks(world)).toEqual([{ ...shown, current: 0, freezes: 0 }])
  })

  it("count the days of the user's own zone", () => {
    const world = new World("2026-11-04T20:00:00Z")
    world.streak(daily(0))
    world.do({ kind: "profile", change: { timezone: "Asia/Tokyo" } })
    world.track()
    expect(streaks(world)[0]).toMatchObject({ current: 1, lastDay: "2026-11-05" })
    world.at("2026-11-06T14:59:59Z")
    expect(streaks(world)[0]).toMatchObject({ current: 1 })
    world.at("2026-11-06T15:00:00Z")
    expect(streaks(world)[0]).toMatchObject({ current: 0 })
  })
})
