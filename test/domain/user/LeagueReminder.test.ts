/** The times and the contents of reminders before a window of a league ends. */
import { describe, expect, it } from "vitest"
import type { Reminders } from "../../../src/domain/project/Project.ts"
import type { Fact } from "../../../src/domain/record/Record.ts"
import { dueAt } from "../../../src/domain/user/Progress.ts"
import { limits } from "../../../src/Limits.ts"
import { World } from "../decide/World.ts"

const settings: Reminders = { hour: 10, inactiveDays: [], unless: null, leagueDays: 1 }

/** A user with a place in a window of a week that ends on Monday, 9 March 2026, and no event. */
const begin = (more: Partial<Reminders> = {}): World => {
  const world = new World("2026-03-04T12:00:00Z")
  world.settings({ reminders: { ...settings, ...more } })
  world.league({ window: "weekly" })
  world.grant(5)
  return world
}

const dueOf = (world: World): string | undefined => {
  const due = dueAt(world.user!, world.project, world.now)
  return Number.isFinite(due) ? new Date(due).toISOString() : undefined
}

/** The reminders of leagues that a tick decides at a time; none: nothing is due. */
const remindersAt = (world: World, time: string): ReadonlyArray<Fact> => {
  world.at(time)
  const isDue = dueAt(world.user!, world.project, world.now) <= world.now
  const facts = isDue ? world.do({ kind: "tick" }).record.facts : []
  return facts.filter(({ kind }) => kind === "league.closing")
}

describe("A reminder of a league", () => {
  it("comes once, at the hour of the user's clock before the window ends, with rank and outcome", () => {
    const world = begin()
    expect(dueOf(world)).toBe("2026-03-08T10:00:00.000Z")
    // In Tokyo the window ends at nine on Monday, so the hour comes for the last time on Sunday.
    world.do({ kind: "profile", change: { timezone: "Asia/Tokyo" } })
    expect(dueOf(world)).toBe("2026-03-08T01:00:00.000Z")
    // In Los Angeles it ends on Sunday afternoon, after a night whose clock skips an hour.
    world.do({ kind: "profile", change: { timezone: "America/Los_Angeles" } })
    expect(dueOf(world)).toBe("2026-03-08T17:00:00.000Z")
    world.standing = { rank: 3, of: 3, size: 4 }
    expect(remindersAt(world, "2026-03-08T17:00:00Z")).toEqual([
      {
        kind: "league.closing",
        leagueId: "lga_1",
        key: "k1",
        name: "A league",
        division: { index: 0, key: "bronze", name: "Bronze" },
        cohort: 1,
        window: expect.any(Number),
        startsAt: Date.parse("2026-03-02T00:00:00Z"),
        endsAt: Date.parse("2026-03-09T00:00:00Z"),
        score: 5,
        rank: 3,
        of: 3,
        size: 4,
        outcome: "stayed",
      },
    ])
    expect(dueOf(world)).toBeUndefined()
    expect(remindersAt(world, "2026-03-08T18:00:00Z")).toEqual([])
  })

  it.each([
    [0, { rank: 1, of: 3, size: 3 }, "promoted"],
    [1, { rank: 3, of: 3, size: 3 }, "demoted"],
    [1, { rank: 2, of: 3, size: 3 }, "stayed"],
    [1, { rank: null, of: 2, size: 3 }, "stayed"],
  ] as const)("in division %i with %j says: %s", (division, standing, outcome) => {
    const world = begin()
    for (let up = 0; up < division; up++) {
      world.at("2026-03-09T00:00:00Z")
      const { entry } = world.user!.leagues.get("lga_1")!
      world.closeLeague(world.league({ window: "weekly" }), entry!.window)
      world.do({ kind: "tick" })
      world.grant(5)
    }
    world.standing = standing
    const end = division === 0 ? "2026-03-08" : "2026-03-15"
    const { of, rank } = standing
    expect(remindersAt(world, `${end}T10:00:00Z`)).toMatchObject([{ rank, of, outcome }])
  })

  it("comes again for the next window", () => {
    const world = begin()
    expect(remindersAt(world, "2026-03-08T10:00:00Z")).toHaveLength(1)
    world.at("2026-03-09T00:00:00Z")
    const { entry } = world.user!.leagues.get("lga_1")!
    world.closeLeague(world.league({ window: "weekly" }), entry!.window)
    world.do({ kind: "tick" })
    expect(dueOf(world)).toBeUndefined()
    world.grant(5)
    expect(dueOf(world)).toBe("2026-03-15T10:00:00.000Z")
  })

  it("is sent no second time after an edit, and earlier with more days", () => {
    const world = begin({ leagueDays: 3 })
    expect(remindersAt(world, "2026-03-06T10:00:00Z")).toHaveLength(1)
    world.settings({ reminders: settings })
    expect(dueOf(world)).toBeUndefined()
  })

  it("is left out if the user has had an event since the hour, and comes at the next one", () => {
    const world = begin({ leagueDays: 2 })
    world.at("2026-03-07T10:30:00Z")
    expect(dueAt(world.user!, world.project, world.now)).toBeLessThanOrEqual(world.now)
    world.track()
    expect(dueOf(world)).toBe("2026-03-08T10:00:00.000Z")
    world.at("2026-03-08T10:30:00Z")
    world.track()
    expect(dueOf(world)).toBeUndefined()
  })

  it("comes late, until its lateness is too long", () => {
    const hour = Date.parse("2026-03-08T10:00:00Z")
    const latest = new Date(hour + limits.reminderLateMs - 1).toISOString()
    expect(remindersAt(begin(), latest)).toHaveLength(1)
    const after = new Date(hour + limits.reminderLateMs).toISOString()
    expect(remindersAt(begin(), after)).toEqual([])
  })

  it("counts to the end of the window and not of its grace, or to the end of the league", () => {
    const world = begin()
    world.league({ window: "weekly", graceMinutes: 720 })
    expect(dueOf(world)).toBe("2026-03-08T10:00:00.000Z")
    world.league({ window: "weekly", endsAt: Date.parse("2026-03-07T00:00:00Z") })
    expect(dueOf(world)).toBe("2026-03-06T10:00:00.000Z")
  })

  it("is not sent to a user who wants none, is hidden or disqualified, nor in a league that is not published", () => {
    const quiet = begin({ unless: "quiet" })
    quiet.attributes({ quiet: true })
    const hidden = begin()
    hidden.do({ kind: "profile", change: { hidden: true } })
    const disqualified = begin()
    const league = disqualified.project.leagues.get("lga_1")!.key
    disqualified.do({ kind: "disqualifyInLeague", league, disqualified: true })
    const paused = begin()
    paused.league({ window: "weekly", set: "paused" })
    for (const world of [quiet, hidden, disqualified, paused]) {
      expect(dueOf(world)).toBeUndefined()
    }
    disqualified.do({ kind: "disqualifyInLeague", league, disqualified: false })
    expect(dueOf(disqualified)).toBe("2026-03-08T10:00:00.000Z")
  })

  it("is not sent without its setting, nor to a user without a place", () => {
    const world = begin()
    world.settings({ reminders: { hour: 10, inactiveDays: [7], unless: null } })
    expect(dueOf(world)).toBeUndefined()
    const other = new World("2026-03-04T12:00:00Z")
    other.settings({ reminders: settings })
    other.league({ window: "weekly" })
    other.do({ kind: "profile", change: { displayName: "Ada" } })
    expect(dueOf(other)).toBeUndefined()
  })
})
