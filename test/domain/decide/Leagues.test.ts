import { describe, expect, it } from "vitest"
import { outcomeOf } from "../../../src/domain/project/League.ts"
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
    const { facts } = world.grant(1)
    expect(facts.slice(0, 2)).toMatchObject([
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
