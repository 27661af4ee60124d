import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { decideCloseWindows, openWindow } from "../../../src/domain/decide/CloseWindows.ts"
import { xpBoard } from "../../../src/domain/project/BoardDefinition.ts"
import { dayOf, type WindowKind, windowOfDay, zoneOf } from "../../../src/domain/values/Calendar.ts"
import { World } from "./World.ts"

const indexOf = (window: WindowKind, date: string) => windowOfDay(window, dayOf(date)!)

const close = (world: World, ...windows: ReadonlyArray<readonly [WindowKind, string]>) =>
  decideCloseWindows(
    world.project,
    {
      kind: "closeWindows",
      windows: windows.map(([window, date]) => ({
        window,
        index: indexOf(window, date),
        total: 3,
      })),
    },
    world.now,
  )

describe("Windows of the leaderboard", () => {
  it("are closed once they are over, with their bounds in the project's zone", () => {
    const world = new World("2026-10-25T23:00:00Z")
    world.settings({ timezone: "Europe/Berlin" })
    const facts = Result.getOrThrow(close(world, ["daily", "2026-10-25"], ["weekly", "2026-10-25"]))
    // The day on which summer time ended had 25 hours.
    expect(facts).toEqual([
      {
        kind: "leaderboard.window_closed",
        window: "weekly",
        index: indexOf("weekly", "2026-10-25"),
        startsAt: Date.parse("2026-10-18T22:00:00Z"),
        endsAt: Date.parse("2026-10-25T23:00:00Z"),
        total: 3,
      },
      {
        kind: "leaderboard.window_closed",
        window: "daily",
        index: indexOf("daily", "2026-10-25"),
        startsAt: Date.parse("2026-10-24T22:00:00Z"),
        endsAt: Date.parse("2026-10-25T23:00:00Z"),
        total: 3,
      },
    ])
  })

  it("are not closed a moment before their end", () => {
    const world = new World("2026-10-25T22:59:59.999Z")
    world.settings({ timezone: "Europe/Berlin" })
    expect(Result.isFailure(close(world, ["daily", "2026-10-25"]))).toBe(true)
    expect(Result.isSuccess(close(world, ["daily", "2026-10-24"]))).toBe(true)
  })

  it("are closed once, and in order", () => {
    const world = new World("2026-11-04T12:00:00Z")
    const facts = Result.getOrThrow(close(world, ["daily", "2026-11-03"], ["daily", "2026-11-01"]))
    expect(facts.map((fact) => "index" in fact && fact.index)).toEqual([
      indexOf("daily", "2026-11-01"),
      indexOf("daily", "2026-11-03"),
    ])
    world.define(...facts)
    expect(Result.isFailure(close(world, ["daily", "2026-11-03"]))).toBe(true)
    expect(Result.isFailure(close(world, ["daily", "2026-11-02"]))).toBe(true)
  })

  it("stay closed when the clock or the zone goes back: the next window is open", () => {
    const world = new World("2026-11-04T12:00:00Z")
    world.define(...Result.getOrThrow(close(world, ["daily", "2026-11-03"])))
    world.at("2026-11-02T12:00:00Z")
    const open = openWindow(world.project, xpBoard, zoneOf("UTC"), "daily", world.now)
    expect(open).toBe(indexOf("daily", "2026-11-04"))
  })
})

describe("Due times", () => {
  it("may move when a zone, a streak or the end of a quest changes, not otherwise", () => {
    const world = new World()
    const moved = () => {
      const before = world.project.dueSequence
      return (change: () => void) => {
        change()
        return world.project.dueSequence > before
      }
    }
    world.quest({})
    expect(moved()(() => world.settings({ name: "Shop" }))).toBe(false)
    expect(moved()(() => world.settings({ timezone: "Asia/Tokyo" }))).toBe(true)
    expect(moved()(() => world.streak())).toBe(false)
    const needs = [{ action: "TAP", target: 1 }]
    expect(moved()(() => world.streak({ needs }))).toBe(false)
    expect(moved()(() => world.streak({ needs, restDays: ["sunday"] }))).toBe(true)
    expect(moved()(() => world.streak({ needs, restDays: ["sunday"], endsAt: 1 }))).toBe(true)
    expect(moved()(() => world.quest({ title: "Another" }))).toBe(false)
    expect(moved()(() => world.quest({ title: "Another", endsAt: 1 }))).toBe(true)
    expect(moved()(() => world.quest({ endsAt: 1, recurrence: "daily" }))).toBe(true)
    expect(moved()(() => world.quest({ endsAt: 1, recurrence: "daily", set: "archived" }))).toBe(
      true,
    )
    expect(moved()(() => world.rule({}))).toBe(false)
  })
})
