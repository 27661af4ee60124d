import { describe, expect, it } from "vitest"
import type { Fact } from "../../../src/domain/record/Record.ts"
import { dayOf, windowOfDay } from "../../../src/domain/values/Calendar.ts"
import { World } from "./World.ts"

const credit = ({ facts }: { readonly facts: ReadonlyArray<Fact> }) =>
  facts.find((fact) => fact.kind === "windows.credited")

const windows = (date: string) => {
  const day = dayOf(date)!
  return { daily: day, weekly: windowOfDay("weekly", day), monthly: windowOfDay("monthly", day) }
}

const tapWorld = (now?: string) => {
  const world = new World(now)
  world.rule({ reward: { xp: 10 } })
  return world
}

describe("Earned xp counts", () => {
  it("for the day, the week and the month of the project's zone", () => {
    const world = tapWorld("2026-11-01T03:30:00Z")
    world.settings({ timezone: "America/New_York" })
    expect(credit(world.track())).toEqual({
      kind: "windows.credited",
      amount: 10,
      ...windows("2026-10-31"),
    })
    expect(world.user?.windows.monthly).toMatchObject({
      index: windows("2026-10-31").monthly,
      xp: 10,
    })
  })

  it("once for all that an event earns; nothing earned, nothing counted", () => {
    const world = tapWorld()
    world.rule({ id: "rul_2", reward: { xp: 5 } })
    expect(credit(world.track())).toMatchObject({ amount: 15 })
    expect(credit(world.track("OTHER"))).toBeUndefined()
  })

  it("late only for those windows in which it arrives too", () => {
    const world = tapWorld("2026-11-04T12:00:00Z")
    const { weekly, monthly } = windows("2026-11-04")
    expect(credit(world.trackAt("2026-11-03T12:00:00Z"))).toEqual({
      kind: "windows.credited",
      amount: 10,
      weekly,
      monthly,
    })
    expect(credit(world.trackAt("2026-11-01T12:00:00Z"))).toEqual({
      kind: "windows.credited",
      amount: 10,
      monthly,
    })
    expect(credit(world.trackAt("2026-10-31T12:00:00Z"))).toBeUndefined()
  })

  it("for the present day also when the caller's clock is a little ahead of midnight", () => {
    const world = tapWorld("2026-11-04T23:58:00Z")
    expect(credit(world.trackAt("2026-11-05T00:01:00Z"))).toMatchObject(windows("2026-11-04"))
  })

  it("for the window after those that are closed, when a change of zone turns the day back", () => {
    const world = tapWorld("2026-11-04T12:00:00Z")
    world.settings({ timezone: "Pacific/Kiritimati" })
    const { daily } = windows("2026-11-04")
    const times = { startsAt: 0, endsAt: 0, total: 1 }
    world.define({ kind: "leaderboard.window_closed", window: "daily", index: daily, ...times })
    world.settings({ timezone: "Pacific/Pago_Pago" })
    expect(credit(world.track())).toMatchObject({ daily: daily + 1 })
    world.at("2026-11-05T12:00:00Z")
    expect(credit(world.track())).toMatchObject({ daily: daily + 1 })
  })

  it("never for a window before one that it counted for already, whatever the zone does", () => {
    const world = tapWorld("2026-11-04T12:00:00Z")
    const { daily } = windows("2026-11-04")
    world.settings({ timezone: "Pacific/Kiritimati" })
    expect(credit(world.track())).toMatchObject({ daily: daily + 1 })
    world.settings({ timezone: "Pacific/Pago_Pago" })
    const back = world.track()
    expect(credit(back)).toMatchObject({ daily: daily + 1 })
    world.undo(back)
    expect(world.user?.windows.daily).toMatchObject({ index: daily + 1, xp: 10, sequenceBefore: 0 })
  })
})

describe("A user's windows", () => {
  it("hold the latest of each kind and the one before", () => {
    const world = tapWorld("2026-11-04T12:00:00Z")
    world.track()
    world.track()
    world.at("2026-11-06T12:00:00Z")
    world.track()
    const before = windows("2026-11-04").daily
    expect(world.user?.windows.daily).toMatchObject({
      index: before + 2,
      xp: 10,
      indexBefore: before,
      xpBefore: 20,
    })
    expect(world.user?.windows.weekly).toMatchObject({ xp: 30 })
  })
})
