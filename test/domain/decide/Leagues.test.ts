import { describe, expect, it } from "vitest"
import { outcomeOf } from "../../../src/domain/project/League.ts"
import { limits } from "../../../src/Limits.ts"
import { played } from "../played.ts"
import { kindsOf, World } from "./World.ts"

const dayMs = 86_400_000
const dayOf = (world: World): number => Math.floor(world.now / dayMs)

describe("The outcome of a rank", () => {
  const terms = {
    size: 30,
    divisions: [
      [5, 7],
      [5, 7],
      [5, 7],
    ],
  } as const
  /** How many of a cohort of `of` move up, stay and move down. */
  const moves = (division: number, of: number) => {
    const counts = { promoted: 0, stayed: 0, demoted: 0 }
    for (let rank = 1; rank <= of; rank++) counts[outcomeOf(terms, division, rank, of)]++
    return [counts.promoted, counts.stayed, counts.demoted]
  }

  it("moves the numbers of a full cohort, and shares of a smaller or a larger one", () => {
    expect(moves(1, 30)).toEqual([5, 18, 7])
    expect(moves(1, 15)).toEqual([3, 9, 3])
    expect(moves(1, 4)).toEqual([1, 3, 0])
    expect(moves(1, 1)).toEqual([1, 0, 0])
    expect(moves(1, 60)).toEqual([10, 36, 14])
  })

  it("moves nobody out at both ends, and nobody without a rank", () => {
    expect(moves(0, 30)).toEqual([5, 25, 0])
    expect(moves(2, 30)).toEqual([0, 23, 7])
    expect(outcomeOf(terms, 1, null, 30)).toBe("stayed")
  })

  it("demotes none of those who move up", () => {
    const all = {
      size: 2,
      divisions: [
        [0, 0],
        [1, 2],
        [0, 0],
      ],
    } as const
    expect([1, 2].map((rank) => outcomeOf(all, 1, rank, 2))).toEqual(["promoted", "demoted"])
    expect(outcomeOf(all, 1, 1, 1)).toBe("promoted")
  })
})

describe("A league", () => {
  it("gives a place with the first score, and none to users without one", () => {
    const world = new World()
    world.league()
    expect(kindsOf(world.do({ kind: "profile", change: { displayName: "Ada" } }))).toEqual([
      "user.created",
      "user.updated",
    ])
    const kinds = kindsOf(world.grant(5))
    expect(kinds).toContain("league.joined")
    expect(kinds.indexOf("league.scored")).toBe(kinds.indexOf("league.joined") + 1)
    expect(kindsOf(world.grant(5))).not.toContain("league.joined")
    expect(world.user!.leagues.get("lga_1")?.entry).toMatchObject({ score: 10, cohort: 1 })
  })

  it("settles a closed window before the next command of the user decides anything", () => {
    const world = new World()
    const league = world.league()
    world.grant(5)
    const today = dayOf(world)
    world.now += dayMs
    // From the end on, and until the window is closed, the next score waits.
    world.grant(3)
    expect(world.user!.leagues.get("lga_1")).toMatchObject({
      division: 0,
      entry: { window: today, score: 5 },
      waiting: [{ window: today + 1, score: 3 }],
    })
    world.closeLeague(league, today)
    const scored = world.grant(1)
    expect(kindsOf(scored)).not.toContain("league.promoted")
    const { cause, facts } = world.records.at(-2)!
    expect(cause).toEqual({ kind: "tick" })
    expect(facts).toMatchObject([
      { kind: "league.promoted", window: today, score: 5, rank: 1, of: 1, to: { key: "silver" } },
      { kind: "league.joined", window: today + 1, division: { key: "silver" } },
    ])
    expect(world.user!.leagues.get("lga_1")).toMatchObject({
      division: 1,
      entry: { window: today + 1, score: 4 },
      waiting: [],
      results: [{ window: today, outcome: "promoted" }],
    })
    expect(world.refused({ kind: "tick" }).code).toBe("conflict")
  })

  it("pays its rewards by rank, division and outcome in the record that settles, and scores none", () => {
    const world = new World()
    const reward = (points: number, xp = 0) => ({ xp, points, badgeId: null })
    const league = world.league({
      rewards: [
        { division: null, ranks: [1, 2], outcome: null, reward: reward(100) },
        { division: "bronze", ranks: null, outcome: "promoted", reward: reward(10, 7) },
        { division: "bronze", ranks: [1, 1], outcome: "stayed", reward: reward(1_000) },
        { division: "silver", ranks: [1, 1], outcome: null, reward: reward(1_000) },
      ],
    })
    world.grant(5)
    const close = (rank: number | null) => {
      const today = dayOf(world)
      world.now += dayMs
      world.ranked = { rank, of: 3 }
      world.closeLeague(league, today)
      return world.do({ kind: "tick" })
    }
    const settled = close(1)
    expect(settled.facts).toMatchObject([
      { kind: "league.promoted", rewards: [reward(100), reward(10, 7)] },
      { kind: "points.earned", amount: 100, source: { leagueId: "lga_1" } },
      { kind: "xp.earned", amount: 7, source: { leagueId: "lga_1" } },
      { kind: "points.earned", amount: 10, total: 110, source: { leagueId: "lga_1" } },
    ])
    expect(world.user).toMatchObject({ xp: 12, points: 110 })
    expect(world.user!.leagues.get("lga_1")).toMatchObject({ entry: null, division: 1 })
    world.grant(5)
    expect(kindsOf(close(3))).toEqual(["league.demoted"])
    world.grant(5)
    expect(kindsOf(close(null))).toEqual(["league.stayed"])
    expect(world.user).toMatchObject({ points: 110 })
  })

  it("pays no reward that would exceed the largest balance, and settles all the same", () => {
    const world = new World()
    const reward = { xp: 0, points: 2, badgeId: null }
    const league = world.league({
      rewards: [{ division: null, ranks: [1, 1], outcome: null, reward }],
    })
    world.grant(limits.balanceMax - 1, "points")
    world.grant(5)
    const today = dayOf(world)
    world.now += dayMs
    world.closeLeague(league, today)
    const { facts } = world.do({ kind: "tick" })
    expect(facts).toMatchObject([{ kind: "league.promoted" }])
    expect(facts[0]).not.toHaveProperty("rewards")
    expect(world.user!.points).toBe(limits.balanceMax - 1)
  })

  it("settles each window once, in the order of the days", () => {
    const world = played()
    const outcomes = world.records
      .flatMap(kindsOf)
      .filter((kind) => /league\.(promoted|stayed|demoted)/.test(kind))
    expect(outcomes).toEqual(["league.promoted", "league.stayed", "league.demoted"])
    expect(world.user!.leagues.get("lga_1")).toMatchObject({ division: 0, entry: null })
  })

  it("tells in an erasure which rank of a closed window is free for nobody", () => {
    const world = new World()
    const league = world.league()
    world.grant(5)
    const today = dayOf(world)
    world.now += dayMs
    world.closeLeague(league, today)
    const { facts } = world.do({ kind: "erasure" })
    const seat = { leagueId: "lga_1", window: today, division: 0, cohort: 1, rank: 1 }
    expect(facts).toMatchObject([{ kind: "user.deleted", seats: [seat] }])
  })
})
