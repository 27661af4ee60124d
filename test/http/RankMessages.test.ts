import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"
import { RunningClock } from "./RunningClock.ts"

let server: TestServer
let now = Date.parse("2026-11-03T12:00:00Z")
const clock = new RunningClock(new Date(now).toISOString())
beforeAll(async () => {
  server = await startServer({ clock })
})
afterAll(() => server.stop())

const board = { key: "top", name: "Top", score: { currency: "points" }, windows: ["all_time"] }
const path = "/v1/leaderboards/top"

let places = 0
const newPlace = async (more: object = { announceRanks: 2 }) => {
  const place = new Place(server, `told${places++}`)
  expect((await place.post("/v1/leaderboards", { ...board, ...more })).status).toBe(201)
  return place
}

const earn = (place: Place, userId: string, amount: number) =>
  place.post(`/v1/users/${userId}/rewards`, { type: "points", amount })

interface Told {
  readonly rank: number | null
  readonly previousRank: number | null
  readonly score: number | null
}

/** The messages of ranks to a user, oldest first. */
const toldTo = async (place: Place, userId: string) => {
  const query = "kind=leaderboard.rank_changed&limit=100"
  const { json } = await place.get(`/v1/users/${userId}/history?${query}`)
  return ((json.facts ?? []) as ReadonlyArray<Told>)
    .map(({ previousRank, rank, score }) => [previousRank, rank, score])
    .toReversed()
}

/** Lets checks of ranks come until users got these messages. */
const expectTold = async (
  place: Place,
  expected: Readonly<Record<string, ReadonlyArray<ReadonlyArray<number | null>>>>,
) => {
  const told = async () => {
    const all = Object.keys(expected).map(async (id) => [id, await toldTo(place, id)] as const)
    return Object.fromEntries(await Promise.all(all))
  }
  await vi.waitFor(
    async () => {
      now += limits.boardRanksLookMs
      clock.set(new Date(now).toISOString())
      expect(await told()).toEqual(expected)
    },
    { timeout: 30_000, interval: 20 },
  )
}

describe("A leaderboard that announces ranks", () => {
  it("tells users in the first places when they come, move and leave", async () => {
    const place = await newPlace()
    await earn(place, "ada", 5)
    await earn(place, "bob", 3)
    await earn(place, "cyd", 1)
    await expectTold(place, { ada: [[null, 1, 5]], bob: [[null, 2, 3]], cyd: [] })
    await earn(place, "cyd", 9)
    const first = {
      ada: [
        [null, 1, 5],
        [1, 2, 5],
      ],
      cyd: [[null, 1, 10]],
    }
    await expectTold(place, {
      ...first,
      bob: [
        [null, 2, 3],
        [2, null, 3],
      ],
    })
    const { json } = await place.get("/v1/users/cyd/history?kind=leaderboard.rank_changed")
    expect(json.facts[0]).toMatchObject({
      kind: "leaderboard.rank_changed",
      leaderboard: { key: "top" },
      window: "all_time",
      startsAt: null,
      endsAt: null,
      cause: { kind: "ranks" },
    })
  })

  it("skips users who are hidden or disqualified, and tells them that they have left", async () => {
    const place = await newPlace()
    for (const [userId, amount] of Object.entries({ ada: 9, bob: 7, cyd: 5, dan: 3 })) {
      await earn(place, userId, amount)
    }
    await expectTold(place, { ada: [[null, 1, 9]], bob: [[null, 2, 7]], cyd: [], dan: [] })
    await place.put("/v1/users/ada", { hidden: true })
    await place.put(`${path}/entries/bob`, { disqualified: true })
    await expectTold(place, {
      ada: [
        [null, 1, 9],
        [1, null, null],
      ],
      bob: [
        [null, 2, 7],
        [2, null, null],
      ],
      cyd: [[null, 1, 5]],
      dan: [[null, 2, 3]],
    })
  })

  it("tells nothing of a user who is erased, and of a merge only the user who stays", async () => {
    const place = await newPlace()
    await earn(place, "ada", 9)
    await earn(place, "bob", 7)
    await earn(place, "cyd", 5)
    await expectTold(place, { ada: [[null, 1, 9]], bob: [[null, 2, 7]], cyd: [] })
    await place.post("/v1/users/ada/merge", { into: "cyd" })
    // The history of both reads as one.
    await expectTold(place, {
      cyd: [
        [null, 1, 9],
        [null, 1, 14],
      ],
      bob: [[null, 2, 7]],
    })
    await place.delete("/v1/users/cyd")
    await expectTold(place, {
      bob: [
        [null, 2, 7],
        [2, 1, 7],
      ],
    })
  })

  it("announces as many rows as it asks for, also if more users share a rank", async () => {
    const place = await newPlace()
    for (const userId of ["ada", "bob", "cyd"]) await earn(place, userId, 5)
    await expectTold(place, { ada: [[null, 1, 5]], bob: [[null, 1, 5]], cyd: [] })
  })

  it("first announces the users in the first places, and stops without a message", async () => {
    const place = await newPlace({})
    await earn(place, "ada", 5)
    await earn(place, "bob", 3)
    await place.patch(path, { announceRanks: 1 })
    await expectTold(place, { ada: [[null, 1, 5]], bob: [] })
    await place.patch(path, { announceRanks: null })
    await earn(place, "bob", 9)
    await place.patch(path, { announceRanks: 2 })
    const ada = [
      [null, 1, 5],
      [null, 2, 5],
    ]
    await expectTold(place, { ada, bob: [[null, 1, 12]] })
    await place.patch(path, { announceRanks: 1 })
    await expectTold(place, { ada: [...ada, [2, null, 5]], bob: [[null, 1, 12]] })
  })

  it("has messages in each open window, and none of leaving when it closes", async () => {
    const place = await newPlace({ announceRanks: 1, windows: ["all_time", "daily"] })
    await earn(place, "ada", 5)
    await expectTold(place, {
      ada: [
        [null, 1, 5],
        [null, 1, 5],
      ],
    })
    now += 24 * 3_600_000
    clock.set(new Date(now).toISOString())
    await earn(place, "bob", 3)
    await expectTold(place, {
      ada: [
        [null, 1, 5],
        [null, 1, 5],
      ],
      bob: [[null, 1, 3]],
    })
  })

  it("has scores with decimals, and may have the lowest score first", async () => {
    const place = new Place(server, `told${places++}`)
    const lap = { name: "Lap", aggregate: "min", actions: ["LAP"], value: "seconds", decimals: 1 }
    await place.create("/v1/metrics", { key: "lap", ...lap })
    const score = { score: { metric: "lap" }, order: "asc", announceRanks: 5 }
    await place.create("/v1/leaderboards", { ...board, ...score })
    const run = (userId: string, seconds: number) =>
      place.post("/v1/events", { userId, action: "LAP", metadata: { seconds } })
    await run("ada", 61.5)
    await run("bob", 59.5)
    await expectTold(place, { ada: [[null, 2, 61.5]], bob: [[null, 1, 59.5]] })
  })

  it("takes 1 to 100 places, and ranks users", async () => {
    const place = await newPlace({ announceRanks: limits.boardRanksAnnouncedMax })
    expect((await place.get(path)).json.announceRanks).toBe(100)
    for (const announceRanks of [0, limits.boardRanksAnnouncedMax + 1]) {
      expect(faultsOf(await place.patch(path, { announceRanks }))).toEqual([
        ["/announceRanks", "out_of_range"],
      ])
    }
    const teams = { entrants: "teams", teamKind: "club", windows: ["weekly"], announceRanks: 3 }
    const cup = await place.post("/v1/leaderboards", { ...board, key: "cup", ...teams })
    expect(faultsOf(cup)).toEqual([["/announceRanks", "not_allowed"]])
  })
})
