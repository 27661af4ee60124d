import { describe, expect, it } from "vitest"
import { daysOf, lastDayOf } from "../../../src/domain/user/ActiveDays.ts"
import { dateOf } from "../../../src/domain/values/Calendar.ts"
import { kindsOf, World } from "./World.ts"

const shown = ({ user }: World) => {
  const activity = user?.activity ?? null
  return (
    activity && {
      first: dateOf(activity.firstDay),
      last: dateOf(lastDayOf(activity)),
      days: daysOf(activity).map((day) => dateOf(day).slice(5)),
    }
  )
}

/** An event of imported history. */
const imported = (world: World, occurredAt: string) =>
  world.track("TAP", { occurredAt: Date.parse(occurredAt), imported: true })

describe("Active days", () => {
  it("are those of events, whether or not a definition names the action, and of no rewards", () => {
    const world = new World("2026-11-04T12:00:00Z")
    world.grant(5)
    expect(shown(world)).toBeNull()
    world.at("2026-11-05T12:00:00Z")
    world.track("UNKNOWN")
    world.at("2026-11-07T12:00:00Z")
    world.track()
    world.trackAt("2026-11-06T23:59:59Z")
    const days = ["11-05", "11-06", "11-07"]
    expect(shown(world)).toEqual({ first: "2026-11-05", last: "2026-11-07", days })
  })

  it("are those of the user's zone at the decision, and stay when the zone changes", () => {
    const world = new World("2026-11-04T20:00:00Z")
    world.settings({ timezone: "Asia/Tokyo" })
    const { facts } = world.track()
    expect(facts.at(-1)).toMatchObject({ kind: "event.tracked", day: 20_762 })
    expect(shown(world)?.days).toEqual(["11-05"])
    world.do({ kind: "profile", change: { timezone: "America/Los_Angeles" } })
    const { facts: later } = world.track()
    expect(later.at(-1)).not.toHaveProperty("day")
    expect(shown(world)?.days).toEqual(["11-04", "11-05"])
  })

  it("lose a day with its only event, and keep it while another event of the day stands", () => {
    const world = new World("2026-11-04T12:00:00Z")
    const first = world.track()
    world.at("2026-11-06T12:00:00Z")
    const one = world.track()
    world.at("2026-11-09T12:00:00Z")
    // A late event of the same day.
    const other = world.trackAt("2026-11-06T01:00:00Z")
    world.track()
    expect(kindsOf(world.undo(one))).not.toContain("activity.reverted")
    expect(shown(world)?.days).toEqual(["11-04", "11-06", "11-09"])
    expect(kindsOf(world.undo(other))).toContain("activity.reverted")
    expect(shown(world)?.days).toEqual(["11-04", "11-09"])
    world.undo(first)
    expect(shown(world)).toEqual({ first: "2026-11-09", last: "2026-11-09", days: ["11-09"] })
  })

  it("are none after the undo of all events, and begin anew with the next", () => {
    const world = new World("2026-11-04T12:00:00Z")
    world.undo(world.track())
    expect(shown(world)).toBeNull()
    world.track()
    expect(shown(world)?.first).toBe("2026-11-04")
  })

  it("find the next first day in the history, also when it is older than all that is kept", () => {
    const world = new World("2026-11-04T12:00:00Z")
    world.track()
    const oldest = imported(world, "2020-01-05T12:00:00Z")
    imported(world, "2021-03-01T12:00:00Z")
    expect(shown(world)).toEqual({ first: "2020-01-05", last: "2026-11-04", days: ["11-04"] })
    world.undo(oldest)
    expect(shown(world)?.first).toBe("2021-03-01")
  })

  it("are read from the whole history when only older ones than those kept are left", () => {
    const world = new World("2026-11-04T12:00:00Z")
    imported(world, "2019-01-05T12:00:00Z")
    imported(world, "2021-03-01T12:00:00Z")
    imported(world, "2021-03-09T12:00:00Z")
    const latest = world.track()
    world.undo(latest)
    expect(shown(world)).toEqual({
      first: "2019-01-05",
      last: "2021-03-09",
      days: ["03-01", "03-09"],
    })
  })

  it("of two users become those of both, and an undo afterwards sees the history of both", () => {
    const [into, from] = [new World("2026-11-04T12:00:00Z"), new World("2026-11-02T12:00:00Z")]
    into.track()
    from.track()
    into.at("2026-11-05T12:00:00Z")
    into.absorb(from, "visitor")
    expect(shown(into)?.days).toEqual(["11-02", "11-04"])
    expect(shown(into)?.first).toBe("2026-11-02")
  })
})
