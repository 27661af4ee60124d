import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"
import { RunningClock } from "./RunningClock.ts"

let server: TestServer
const clock = new RunningClock("2026-11-03T12:00:00Z")
beforeAll(async () => {
  server = await startServer({ clock })
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `groups${places++}`)
const path = "/v1/leaderboards/cities"

const earn = (place: Place, userId: string, amount: number) =>
  place.post(`/v1/users/${userId}/rewards`, { type: "points", amount })

const move = (place: Place, userId: string, city: string | number | undefined) =>
  place.put(`/v1/users/${userId}`, { attributes: city === undefined ? {} : { city } })

const scores = { ada: 9, bob: 7, cyd: 7, dan: 5, eve: 3 } as const
const cities = { ada: "Rome", bob: "Berlin", cyd: "Berlin", dan: "Berlin", eve: undefined } as const

/** A leaderboard of points by the city, on which five users have scores. */
const placeWithCities = async (more: object = {}) => {
  const place = newPlace()
  for (const [userId, city] of Object.entries(cities)) await move(place, userId, city)
  const body = { key: "cities", name: "Cities", score: { currency: "points" }, groupBy: "city" }
  expect((await place.post("/v1/leaderboards", { ...body, ...more })).status).toBe(201)
  for (const [userId, amount] of Object.entries(scores)) await earn(place, userId, amount)
  return place
}

const rowsOf = async (place: Place, query = "") => {
  const { json } = await place.get(`${path}/entries${query}`)
  return json.entries.map((entry: Record<string, unknown>) => {
    const { group, groupRank, rank, userId } = entry
    return [rank, userId, group, groupRank]
  })
}

describe("A leaderboard with groups", () => {
  it("ranks users overall and in their groups", async () => {
    const place = await placeWithCities()
    expect(await rowsOf(place)).toEqual([
      [1, "ada", "Rome", 1],
      [2, "bob", "Berlin", 1],
      [2, "cyd", "Berlin", 1],
      [4, "dan", "Berlin", 3],
      [5, "eve", null, null],
    ])
    const { json } = await place.get(`${path}/entries?group=Berlin&limit=1&around=dan`)
    expect(json).toMatchObject({
      entries: [{ userId: "dan", rank: 4, groupRank: 3 }],
      total: 3,
      offset: 2,
      hasMore: false,
      me: { userId: "dan", groupRank: 3 },
    })
    expect(await rowsOf(place, "?group=Berlin&limit=2")).toEqual([
      [2, "bob", "Berlin", 1],
      [2, "cyd", "Berlin", 1],
    ])
    const elsewhere = (await place.get(`${path}/entries?group=Rome&around=dan`)).json
    expect(elsewhere).toMatchObject({ entries: [{ userId: "ada" }], total: 1, me: null })
    const unknown = (await place.get(`${path}/entries?group=Oslo`)).json
    expect(unknown).toMatchObject({ entries: [], total: 0, hasMore: false })
  })

  it("has the rank in the group in a look-up, and statistics of a group", async () => {
    const place = await placeWithCities({ ties: "first" })
    const { json } = await place.post(`${path}/lookup`, { users: ["dan", "cyd", "eve"] })
    expect(json.users).toMatchObject([
      { userId: "cyd", rankAmong: 1, entry: { rank: 3, group: "Berlin", groupRank: 2 } },
      { userId: "dan", rankAmong: 2, entry: { rank: 4, group: "Berlin", groupRank: 3 } },
      { userId: "eve", rankAmong: 3, entry: { rank: 5, group: null, groupRank: null } },
    ])
    const stats = (await place.get(`${path}/stats?group=Berlin`)).json
    expect(stats.participants).toBe(3)
    expect(stats.distribution.at(0)).toEqual({ percent: 0, score: 7 })
    expect(stats.distribution.at(-1)).toEqual({ percent: 100, score: 5 })
    expect((await place.get(`${path}/stats`)).json.participants).toBe(5)
  })

  it("moves the whole score with the attribute, but not in closed windows", async () => {
    const place = await placeWithCities()
    clock.set("2026-11-04T12:00:00Z")
    await earn(place, "bob", 1)
    await move(place, "bob", "Rome")
    await move(place, "eve", 7)
    expect(await rowsOf(place)).toEqual([
      [1, "ada", "Rome", 1],
      [2, "bob", "Rome", 2],
      [3, "cyd", "Berlin", 1],
      [4, "dan", "Berlin", 2],
      [5, "eve", "7", 1],
    ])
    expect(await rowsOf(place, "?window=daily&at=2026-11-03&group=Berlin")).toEqual([
      [2, "bob", "Berlin", 1],
      [2, "cyd", "Berlin", 1],
      [4, "dan", "Berlin", 3],
    ])
    expect(await rowsOf(place, "?window=daily")).toEqual([[1, "bob", "Rome", 1]])
    await move(place, "bob", undefined)
    expect(await rowsOf(place, "?window=daily")).toEqual([[1, "bob", null, null]])
  })

  it("follows an undo, merges, and users who are hidden, erased or disqualified", async () => {
    const place = await placeWithCities()
    clock.set("2026-11-05T12:00:00Z")
    const closed = "?window=daily&at=2026-11-04&group=Berlin"
    const { rewardId } = (await earn(place, "dan", 90)).json
    expect((await rowsOf(place, "?group=Berlin"))[0]).toEqual([1, "dan", "Berlin", 1])
    await place.delete(`/v1/users/dan/rewards/${rewardId}`)
    expect((await rowsOf(place, "?group=Berlin")).at(-1)).toEqual([4, "dan", "Berlin", 3])
    const before = await rowsOf(place, closed)
    expect(before).toHaveLength(3)
    await place.put("/v1/users/bob", { hidden: true })
    expect(await rowsOf(place, "?group=Berlin")).toEqual([
      [2, "cyd", "Berlin", 1],
      [3, "dan", "Berlin", 2],
    ])
    await place.put("/v1/users/bob", { hidden: false })
    await place.put(`${path}/entries/cyd`, { disqualified: true })
    expect(await rowsOf(place, "?group=Berlin")).toEqual([
      [2, "bob", "Berlin", 1],
      [3, "dan", "Berlin", 2],
    ])
    // Past windows lack both, and the ranks behind them move up.
    expect(await rowsOf(place, closed)).toEqual([[2, "dan", "Berlin", 1]])
    await place.post("/v1/users/dan/merge", { into: "ada" })
    expect(await rowsOf(place)).toEqual([
      [1, "ada", "Rome", 1],
      [2, "bob", "Berlin", 1],
      [3, "eve", null, null],
    ])
    await place.delete("/v1/users/bob")
    expect(await rowsOf(place, "?group=Berlin")).toEqual([])
  })

  it("lists its groups by name, in pages, in open and closed windows", async () => {
    clock.set("2026-11-06T12:00:00Z")
    const place = await placeWithCities()
    await move(place, "fay", "Aachen")
    const first = (await place.get(`${path}/groups?limit=1`)).json
    expect(first).toMatchObject({
      leaderboard: "cities",
      window: { kind: "all_time" },
      groups: [{ group: "Berlin", total: 3, leader: { userId: "bob", rank: 2, groupRank: 1 } }],
      hasMore: true,
      filling: false,
      closed: false,
    })
    // A user who comes before, and one who comes behind, between two pages.
    await earn(place, "fay", 1)
    await move(place, "gus", "Zürich")
    await earn(place, "gus", 2)
    const rest = (await place.get(`${path}/groups?cursor=${first.nextCursor}`)).json
    expect(rest).toMatchObject({
      groups: [
        { group: "Rome", total: 1, leader: { userId: "ada", rank: 1 } },
        { group: "Zürich", total: 1, leader: { userId: "gus", rank: 6 } },
      ],
      hasMore: false,
      nextCursor: null,
    })
    clock.set("2026-11-07T12:00:00Z")
    await move(place, "ada", "Berlin")
    await place.put(`${path}/entries/fay`, { disqualified: true })
    await place.put("/v1/users/bob", { hidden: true })
    const closed = (await place.get(`${path}/groups?window=daily&at=2026-11-06`)).json
    expect(closed.groups).toMatchObject([
      { group: "Berlin", total: 2, leader: { userId: "cyd", groupRank: 1 } },
      { group: "Rome", total: 1, leader: { userId: "ada" } },
      { group: "Zürich", total: 1, leader: { userId: "gus" } },
    ])
    expect(closed.closed).toBe(true)
    expect((await place.get(`${path}/groups?window=daily`)).json.groups).toEqual([])
    const other = `${path}/groups?window=daily&cursor=${first.nextCursor}`
    expect(faultsOf(await place.get(other))).toEqual([["query/cursor", "invalid_value"]])
    expect(faultsOf(await place.get("/v1/leaderboards/xp/groups"))).toEqual([
      ["path/id", "not_allowed"],
    ])
    for (const limit of [0, limits.pageMax + 1]) {
      const asked = await place.get(`${path}/groups?limit=${limit}`)
      expect(faultsOf(asked)).toEqual([["query/limit", "out_of_range"]])
    }
    const most = await place.get(`${path}/groups?limit=${limits.pageMax}`)
    expect(most.json.groups).toHaveLength(2)
  })

  it("of a streak has groups of those who have one", async () => {
    const place = newPlace()
    await move(place, "ada", "Rome")
    const streak = (await place.post("/v1/streaks", { name: "Days" })).json.key
    const body = { key: "cities", name: "Cities", score: { streak }, groupBy: "city" }
    await place.post("/v1/leaderboards", body)
    for (const userId of ["ada", "bob"]) {
      await place.post("/v1/events", { userId, action: "TAP" })
    }
    expect((await rowsOf(place)).toSorted()).toEqual([
      [1, "ada", "Rome", 1],
      [1, "bob", null, null],
    ])
  })

  it("keeps the groups at the close of windows of days", async () => {
    clock.set("2026-11-10T12:00:00Z")
    const place = await placeWithCities({ windows: [{ days: 2, anchor: "2026-11-10" }] })
    await move(place, "eve", "Oslo")
    clock.set("2026-11-11T23:59:00Z")
    await move(place, "dan", "Rome")
    const closing = [
      [1, "ada", "Rome", 1],
      [2, "bob", "Berlin", 1],
      [2, "cyd", "Berlin", 1],
      [4, "dan", "Rome", 2],
      [5, "eve", "Oslo", 1],
    ]
    expect(await rowsOf(place, "?window=days")).toEqual(closing)
    clock.set("2026-11-12T00:00:00Z")
    await earn(place, "dan", 1)
    await earn(place, "bob", 2)
    for (const userId of ["ada", "bob", "dan", "eve"]) await move(place, userId, "Bonn")
    expect(await rowsOf(place, "?window=days&at=2026-11-10")).toEqual(closing)
    expect(await rowsOf(place, "?window=days&at=2026-11-11&group=Rome")).toEqual([
      [1, "ada", "Rome", 1],
      [4, "dan", "Rome", 2],
    ])
    expect(await rowsOf(place, "?window=days")).toEqual([
      [1, "bob", "Bonn", 1],
      [2, "dan", "Bonn", 2],
    ])
  })

  it("keeps the groups of a window by the users' zones once it has ended everywhere", async () => {
    const place = newPlace()
    clock.set("2026-11-20T12:00:00Z")
    const body = { key: "cities", name: "Cities", score: { currency: "points" }, groupBy: "city" }
    const window = { days: 2, anchor: "2026-11-19" }
    await place.create("/v1/leaderboards", { ...body, windows: [window], timeZone: "user" })
    const join = async (userId: string, timezone: string, city: string) => {
      await place.put(`/v1/users/${userId}`, { timezone, attributes: { city } })
      await earn(place, userId, scores[userId as keyof typeof scores])
    }
    // It is the 21st there.
    await join("ada", "Pacific/Kiritimati", "Rome")
    await join("bob", "Pacific/Honolulu", "Berlin")
    await join("cyd", "UTC", "Berlin")
    const on = (day: string) => rowsOf(place, `?window=days&at=2026-11-${day}`)
    // The 20th is over for Cyd, but not for Bob.
    clock.set("2026-11-21T09:00:00Z")
    await move(place, "cyd", "Rome")
    const before = [
      [1, "bob", "Berlin", 1],
      [1, "cyd", "Rome", 1],
    ]
    expect(await on("20")).toEqual(before)
    clock.set("2026-11-21T12:00:00Z")
    await earn(place, "dan", 1)
    for (const userId of ["ada", "bob", "cyd"]) await move(place, userId, "Oslo")
    expect(await on("20")).toEqual(before)
    expect(await on("21")).toEqual([
      [1, "ada", "Oslo", 1],
      [2, "dan", null, null],
    ])
  })

  it("refuses groups of teams, of other leaderboards, and another attribute once it is published", async () => {
    const place = await placeWithCities()
    expect(faultsOf(await place.patch(path, { groupBy: "plan" }))).toEqual([
      ["/groupBy", "invalid_value"],
    ])
    expect(faultsOf(await place.patch("/v1/leaderboards/xp", { groupBy: "city" }))).toEqual([
      ["/groupBy", "invalid_value"],
    ])
    const teams = { entrants: "teams", teamKind: "club", groupBy: "city" }
    const cup = { name: "Cup", score: { currency: "points" }, ...teams }
    expect(faultsOf(await place.post("/v1/leaderboards", cup))).toEqual([
      ["/groupBy", "not_allowed"],
    ])
    await place.post("/v1/leaderboards", { name: "Plain", score: { currency: "points" } })
    for (const read of ["entries", "stats"]) {
      const asked = await place.get(`/v1/leaderboards/plain/${read}?group=Rome`)
      expect(faultsOf(asked)).toEqual([["query/group", "not_allowed"]])
    }
    const draft = { name: "Draft", score: { currency: "points" }, status: "draft" }
    const most = "a".repeat(limits.attributeNameCharactersMax)
    const created = await place.post("/v1/leaderboards", { ...draft, groupBy: most })
    expect([created.status, created.json.groupBy]).toEqual([201, most])
    const changed = (groupBy: string | null) => place.patch("/v1/leaderboards/draft", { groupBy })
    expect(faultsOf(await changed(`${most}a`))).toEqual([["/groupBy", "too_long"]])
    expect(faultsOf(await changed(""))).toEqual([["/groupBy", "too_short"]])
    expect((await changed(null)).json.groupBy).toBe(null)
    const longest = "ü".repeat(limits.attributeTextCharactersMax)
    await move(place, "dan", longest)
    const ask = (group: string) => place.get(`${path}/entries?group=${encodeURIComponent(group)}`)
    expect((await ask(longest)).json.entries).toMatchObject([{ userId: "dan", group: longest }])
    expect(faultsOf(await ask(`${longest}a`))).toEqual([["query/group", "too_long"]])
  })
})
