import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, isoTime, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `leagues${places++}`)

const divisions = [
  { key: "bronze", name: "Bronze", promote: 1, demote: 0 },
  { key: "silver", name: "Silver", promote: 1, demote: 1 },
  { key: "gold", name: "Gold", promote: 0, demote: 1 },
]
const cup = {
  key: "cup",
  name: "Cup",
  score: { currency: "xp" },
  divisions,
  cohortSize: 3,
  window: "daily",
}

const placeWithCup = async (more: object = {}) => {
  const place = newPlace()
  await place.create("/v1/leagues", { ...cup, ...more })
  return place
}

const earn = async (place: Place, userId: string, amount: number) =>
  (await place.post(`/v1/users/${userId}/rewards`, { type: "xp", amount })).json

const leagueOf = async (place: Place, userId: string) =>
  (await place.get(`/v1/users/${userId}/leagues/cup`)).json

const rowsOf = async (place: Place, userId: string) =>
  (await leagueOf(place, userId)).entries.map(
    ({ outcome, rank, score, userId }: Record<string, unknown>) => [rank, userId, score, outcome],
  )

const divisionOf = async (place: Place, userId: string): Promise<string> =>
  (await leagueOf(place, userId)).division.key

const dayMs = 86_400_000

/** The begin of the day in a number of days, by the time of the test clock; UTC. */
const dayIn = async (place: Place, days: number): Promise<number> => {
  const { now } = (await place.get("/v1/test-clock")).json
  return (Math.floor(Date.parse(now) / dayMs) + days) * dayMs
}

const advanceTo = async (place: Place, ms: number): Promise<void> => {
  const reply = await place.post("/v1/test-clock", { advanceTo: new Date(ms).toISOString() })
  expect([reply.status, reply.json.status]).toEqual([200, "ready"])
}

/** Until noon of the day in a number of days. */
const passDays = async (place: Place, days: number): Promise<void> =>
  advanceTo(place, (await dayIn(place, days)) + dayMs / 2)

describe("leagues", () => {
  it("are created with defaults, read and listed", async () => {
    const place = newPlace()
    const { key: _, cohortSize: __, window: ___, ...plain } = cup
    const { headers, json, status } = await place.post("/v1/leagues", plain)
    expect(status).toBe(201)
    expect(headers.location).toBe(`/v1/leagues/${json.id}`)
    expect(json).toEqual({
      id: expect.stringMatching(/^lga_[0-9a-f]{32}$/),
      key: "cup",
      name: "Cup",
      description: null,
      metadata: {},
      status: "active",
      startsAt: null,
      endsAt: null,
      segment: null,
      score: { currency: "xp" },
      divisions: divisions.map((division) => ({ ...division, icon: null })),
      cohortSize: 30,
      window: "weekly",
      graceMinutes: 0,
      rewards: [],
      version: 1,
      createdAt: expect.stringMatching(isoTime),
      updatedAt: json.createdAt,
    })
    expect((await place.get("/v1/leagues/cup")).json).toEqual(json)
    expect((await place.get("/v1/leagues")).json.leagues).toEqual([json])
  })

  it("give users places in cohorts of their size, in the order of the first scores", async () => {
    const place = await placeWithCup()
    const users = ["ada", "bob", "cyd", "dan"]
    for (const [index, userId] of users.entries()) await earn(place, userId, 10 * (index + 1))
    expect(await rowsOf(place, "ada")).toEqual([
      [1, "cyd", 30, "promoted"],
      [2, "bob", 20, "stayed"],
      [3, "ada", 10, "stayed"],
    ])
    expect(await rowsOf(place, "dan")).toEqual([[1, "dan", 40, "promoted"]])
    expect((await leagueOf(place, "dan")).cohort).toEqual({ id: "bronze-2", size: 1 })
    const { json } = await place.get("/v1/leagues/cup/cohorts?division=bronze&limit=1")
    expect(json.cohorts).toEqual([{ id: "bronze-1", division: "bronze", size: 3 }])
    const next = await place.get(
      `/v1/leagues/cup/cohorts?division=bronze&limit=1&cursor=${json.nextCursor}`,
    )
    expect(next.json).toMatchObject({ cohorts: [{ id: "bronze-2", size: 1 }], hasMore: false })
    expect((await place.get("/v1/leagues/cup/cohorts/bronze-2")).json).toMatchObject({
      size: 1,
      entries: [{ userId: "dan" }],
    })
    expect(problemOf(await place.get("/v1/leagues/cup/cohorts/bronze-3"))).toEqual([
      404,
      "cohort_not_found",
    ])
    expect(faultsOf(await place.get("/v1/leagues/cup/cohorts?division=iron"))).toEqual([
      ["query/division", "unknown_reference"],
    ])
  })

  it("never fill a cohort beyond its size when many join at once", async () => {
    const place = await placeWithCup()
    const users = Array.from({ length: 20 }, (_, index) => `u${index}`)
    await Promise.all(users.map((userId) => earn(place, userId, 1)))
    const { json } = await place.get("/v1/leagues/cup/cohorts?division=bronze&limit=100")
    expect(json.cohorts.map(({ size }: { size: number }) => size)).toEqual([3, 3, 3, 3, 3, 3, 2])
  })

  it("promote and demote at the close, before anybody comes back", async () => {
    const place = await placeWithCup()
    for (const userId of ["ada", "bob", "cyd"]) await earn(place, userId, 5)
    await earn(place, "ada", 1)
    await passDays(place, 1)
    for (const [userId, division, outcome, rank] of [
      ["ada", "silver", "promoted", 1],
      ["bob", "bronze", "stayed", 2],
      ["cyd", "bronze", "stayed", 3],
    ] as const) {
      const json = await leagueOf(place, userId)
      expect(json).toMatchObject({ division: { key: division }, cohort: null, score: 0 })
      expect(json.history).toMatchObject([
        { division: { key: "bronze" }, outcome, rank, of: 3, score: userId === "ada" ? 6 : 5 },
      ])
      const { facts } = (await place.get(`/v1/users/${userId}/history`)).json
      expect(facts[0]).toMatchObject({ kind: `league.${outcome}`, cause: { kind: "clock" } })
    }
    // Who has no score stays; a cohort of one in silver: ⌈1 · 1/3⌉ move up.
    await earn(place, "ada", 1)
    await passDays(place, 2)
    expect(await divisionOf(place, "ada")).toBe("gold")
    expect(await divisionOf(place, "bob")).toBe("bronze")
    // A full cohort of gold loses its last one.
    for (const userId of ["x", "y"]) {
      for (let day = 0; day < 2; day++) {
        await earn(place, userId, 1)
        await passDays(place, 1)
      }
      expect(await divisionOf(place, userId)).toBe("gold")
    }
    for (const [userId, score] of [
      ["ada", 3],
      ["x", 2],
      ["y", 1],
    ] as const) {
      await earn(place, userId, score)
    }
    await passDays(place, 1)
    expect(await divisionOf(place, "ada")).toBe("gold")
    expect(await divisionOf(place, "x")).toBe("gold")
    expect(await divisionOf(place, "y")).toBe("silver")
  })

  it("close one window after the other when a test clock passes several", async () => {
    const place = await placeWithCup()
    await earn(place, "ada", 5)
    await passDays(place, 3)
    expect((await leagueOf(place, "ada")).history).toHaveLength(1)
    for (let day = 0; day < 3; day++) {
      await earn(place, "ada", 5)
      await passDays(place, 1)
    }
    const { division, history } = await leagueOf(place, "ada")
    expect(division.key).toBe("gold")
    expect(history.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      "stayed",
      "stayed",
      "promoted",
      "promoted",
    ])
  })

  it("take late events until the grace ends, and keep what counts for the next window", async () => {
    const place = await placeWithCup({ graceMinutes: 60 })
    await place.post("/v1/rules", { action: "TAP", reward: { xp: 10 } })
    const midnight = await dayIn(place, 1)
    const tap = (userId: string, at: number) =>
      place.post("/v1/events", {
        userId,
        action: "TAP",
        occurredAt: new Date(at).toISOString(),
      })
    await earn(place, "ada", 5)
    await earn(place, "bob", 8)
    await advanceTo(place, midnight + 30 * 60_000)
    await tap("ada", midnight - 60_000)
    await tap("ada", midnight + 60_000)
    await tap("bob", midnight + 60_000)
    // Begins the new day without the day before: a late event does not lead back.
    await tap("cyd", midnight + 60_000)
    await tap("cyd", midnight - 60_000)
    expect(await leagueOf(place, "ada")).toMatchObject({ score: 15, nextScore: 10, rank: 1 })
    expect(await leagueOf(place, "cyd")).toMatchObject({ score: 10, cohort: { id: "bronze-1" } })
    await advanceTo(place, midnight + 61 * 60_000)
    expect(await leagueOf(place, "ada")).toMatchObject({
      division: { key: "silver" },
      cohort: { id: "silver-1" },
      score: 10,
      nextScore: 0,
      history: [{ score: 15, rank: 1, of: 2, outcome: "promoted" }],
    })
    expect(await leagueOf(place, "bob")).toMatchObject({
      division: { key: "bronze" },
      cohort: { id: "bronze-1", size: 2 },
      score: 10,
    })
    await tap("ada", midnight - 60_000)
    expect((await leagueOf(place, "ada")).score).toBe(10)
  })

  it("take an undone score back from an open window, and not from a closed one", async () => {
    const place = await placeWithCup()
    const { rewardId } = await earn(place, "ada", 5)
    const { rewardId: second } = await earn(place, "ada", 2)
    await place.delete(`/v1/users/ada/rewards/${second}`)
    expect(await rowsOf(place, "ada")).toEqual([[1, "ada", 5, "promoted"]])
    await passDays(place, 1)
    await place.delete(`/v1/users/ada/rewards/${rewardId}`)
    expect(await leagueOf(place, "ada")).toMatchObject({
      division: { key: "silver" },
      history: [{ score: 5, outcome: "promoted" }],
    })
    const { rewardId: third } = await earn(place, "ada", 3)
    await place.delete(`/v1/users/ada/rewards/${third}`)
    // The place stays, without a rank.
    expect(await leagueOf(place, "ada")).toMatchObject({ score: 0, rank: null })
    await passDays(place, 1)
    expect((await leagueOf(place, "ada")).history[0]).toMatchObject({
      rank: null,
      outcome: "stayed",
    })
  })

  it("rank no hidden user, and show none", async () => {
    const place = await placeWithCup()
    for (const [userId, score] of [
      ["ada", 9],
      ["bob", 5],
      ["cyd", 1],
    ] as const) {
      await earn(place, userId, score)
    }
    await place.put("/v1/users/ada", { hidden: true })
    await place.put("/v1/users/bob", { displayName: "Bob" })
    expect(await rowsOf(place, "bob")).toEqual([
      [1, "bob", 5, "promoted"],
      [2, "cyd", 1, "stayed"],
    ])
    expect((await leagueOf(place, "bob")).entries[0].displayName).toBe("Bob")
    expect(await leagueOf(place, "ada")).toMatchObject({ score: 9, rank: null })
    await passDays(place, 1)
    expect(await divisionOf(place, "ada")).toBe("bronze")
    expect(await divisionOf(place, "bob")).toBe("silver")
  })

  it("rank nobody who is disqualified until the close, and give the rank back before it", async () => {
    const place = await placeWithCup({
      rewards: [{ ranks: [1, 1], reward: { points: 100 } }],
    })
    for (const [userId, score] of Object.entries({ ada: 9, bob: 5, cyd: 1 })) {
      await earn(place, userId, score)
    }
    const disqualify = (userId: string, disqualified: boolean) =>
      place.put(`/v1/leagues/cup/members/${userId}`, { disqualified })
    const body = { league: "cup", userId: "ada", disqualified: true }
    const { json, status } = await disqualify("ada", true)
    expect([status, json]).toEqual([200, body])
    expect((await disqualify("ada", true)).json).toEqual(body)
    expect(await rowsOf(place, "bob")).toEqual([
      [1, "bob", 5, "promoted"],
      [2, "cyd", 1, "stayed"],
    ])
    await earn(place, "ada", 1)
    expect(await leagueOf(place, "ada")).toMatchObject({
      score: 10,
      rank: null,
      outcome: "stayed",
      disqualified: true,
    })
    const { entries } = (await place.get("/v1/leagues/cup/cohorts/bronze-1")).json
    expect(entries.at(-1)).toMatchObject({ userId: "ada", rank: null, disqualified: true })
    await disqualify("ada", false)
    expect(await leagueOf(place, "ada")).toMatchObject({ rank: 1, outcome: "promoted" })
    expect((await leagueOf(place, "ada")).disqualified).toBeUndefined()
    await disqualify("bob", true)
    await disqualify("ada", true)
    await passDays(place, 1)
    expect(await divisionOf(place, "ada")).toBe("bronze")
    expect(await divisionOf(place, "cyd")).toBe("silver")
    const points = async (userId: string) => (await place.get(`/v1/users/${userId}`)).json.points
    expect([await points("ada"), await points("cyd")]).toEqual([0, 100])
    // A merge makes both so; the closed window stays as it is.
    await place.post("/v1/users/bob/merge", { into: "cyd" })
    expect(await leagueOf(place, "cyd")).toMatchObject({
      division: { key: "silver" },
      disqualified: true,
    })
    await disqualify("ada", false)
    expect(await divisionOf(place, "ada")).toBe("bronze")
    const { facts } = (await place.get("/v1/users/ada/history")).json
    const told = facts.filter(({ kind }: { kind: string }) => kind === "league.disqualified")
    expect(told.map(({ disqualified }: { disqualified: boolean }) => disqualified)).toEqual([
      false,
      true,
      false,
      true,
    ])
    const off = { disqualified: true }
    expect(problemOf(await place.put("/v1/leagues/none/members/ada", off))).toEqual([
      404,
      "league_not_found",
    ])
    expect(problemOf(await place.put("/v1/leagues/cup/members/nobody", off))).toEqual([
      404,
      "user_not_found",
    ])
  })

  it("forget erased users, and add up merged ones, who keep their division", async () => {
    const place = await placeWithCup()
    await earn(place, "visitor", 4)
    await earn(place, "member", 3)
    await earn(place, "rival", 5)
    expect((await place.post("/v1/users/visitor/merge", { into: "member" })).status).toBe(200)
    expect(await rowsOf(place, "member")).toEqual([
      [1, "member", 7, "promoted"],
      [2, "rival", 5, "stayed"],
    ])
    expect((await leagueOf(place, "visitor")).score).toBe(7)
    await passDays(place, 1)
    expect(await divisionOf(place, "member")).toBe("silver")
    // A visitor from a higher division gives the score, not the division.
    await earn(place, "member", 1)
    await earn(place, "rival", 2)
    await place.post("/v1/users/member/merge", { into: "rival" })
    expect(await leagueOf(place, "rival")).toMatchObject({
      division: { key: "bronze" },
      score: 3,
    })
    // A user who never scored takes the division along.
    await passDays(place, 1)
    expect(await divisionOf(place, "rival")).toBe("silver")
    await place.put("/v1/users/late", { displayName: "Late" })
    await place.post("/v1/users/rival/merge", { into: "late" })
    expect(await divisionOf(place, "late")).toBe("silver")
    await earn(place, "late", 1)
    await earn(place, "one", 1)
    expect((await place.delete("/v1/users/late")).status).toBe(204)
    expect((await place.get("/v1/leagues/cup/cohorts?division=silver")).json.cohorts).toEqual([])
    await passDays(place, 1)
    expect(await divisionOf(place, "one")).toBe("silver")
  })

  it("show a user token the own cohort alone", async () => {
    const place = await placeWithCup()
    for (const userId of ["ada", "bob", "cyd", "dan"]) await earn(place, userId, 1)
    const environment = `prj_leagues${places - 1}:sandbox`
    const key = server.accounts.addKey("ada", {
      environment,
      kind: "user",
      scope: "user",
      userId: "ada",
    })
    const ask = (path: string) => server.call("GET", path, { key })
    expect((await ask("/v1/users/ada/leagues")).json.leagues).toMatchObject([{ league: "cup" }])
    const { json } = await ask("/v1/users/ada/leagues/cup")
    expect(json.entries.map(({ userId }: { userId: string }) => userId)).toEqual([
      "ada",
      "bob",
      "cyd",
    ])
    for (const path of [
      "/v1/users/dan/leagues",
      "/v1/users/dan/leagues/cup",
      "/v1/leagues/cup/cohorts?division=bronze",
      "/v1/leagues/cup/cohorts/bronze-2",
      "/v1/leagues/cup",
    ]) {
      expect([path, (await ask(path)).status]).toEqual([path, 403])
    }
  })

  it("count nothing while they are drafts or paused, close while paused, and end in the archive", async () => {
    const place = await placeWithCup({ status: "draft" })
    await earn(place, "ada", 5)
    expect(problemOf(await place.get("/v1/users/ada/leagues/cup"))).toEqual([
      404,
      "league_not_found",
    ])
    expect((await place.get("/v1/users/ada/leagues")).json.leagues).toEqual([])
    await place.patch("/v1/leagues/cup", { window: "daily", status: "active" })
    await earn(place, "ada", 2)
    await place.patch("/v1/leagues/cup", { status: "paused" })
    await earn(place, "ada", 7)
    await earn(place, "bob", 7)
    expect(await rowsOf(place, "ada")).toEqual([[1, "ada", 2, "promoted"]])
    await passDays(place, 1)
    expect(await divisionOf(place, "ada")).toBe("silver")
    await place.patch("/v1/leagues/cup", { status: "active" })
    await earn(place, "ada", 1)
    expect((await place.delete("/v1/leagues/cup")).status).toBe(204)
    await passDays(place, 1)
    const { facts } = (await place.get("/v1/users/ada/history?kind=league.promoted")).json
    expect(facts).toHaveLength(1)
  })

  it("refuse what they cannot do", async () => {
    const place = await placeWithCup()
    const faults = async (body: object) => faultsOf(await place.patch("/v1/leagues/cup", body))
    await place.post("/v1/currencies", { key: "gems", name: "Gems" })
    for (const [member, value] of [
      ["score", { currency: "gems" }],
      ["window", "weekly"],
      ["graceMinutes", 5],
      ["startsAt", "2036-12-01T00:00:00Z"],
    ] as const) {
      expect(await faults({ [member]: value })).toEqual([[`/${member}`, "invalid_value"]])
    }
    expect(await faults({ divisions: divisions.toReversed() })).toEqual([
      ["/divisions/0", "invalid_value"],
      ["/divisions/2", "invalid_value"],
    ])
    expect(await faults({ divisions: divisions.slice(0, 2) })).toEqual([
      ["/divisions/2", "invalid_value"],
    ])
    const more = [...divisions, { key: "ruby", name: "Ruby", promote: 0, demote: 3 }]
    expect((await place.patch("/v1/leagues/cup", { divisions: more })).status).toBe(200)
    const created = async (body: object) =>
      faultsOf(await place.post("/v1/leagues", { ...cup, key: "other", ...body }))
    expect(await created({ score: { currency: "rubies" } })).toEqual([
      ["/score/currency", "unknown_reference"],
    ])
    // Windows of days, and windows by the users' zones, are those of leaderboards.
    expect(await created({ window: { days: 7, anchor: "2026-11-02" } })).toEqual([
      ["/window", "invalid_value"],
    ])
    expect(await created({ timeZone: "user" })).toEqual([["/timeZone", "unknown_member"]])
    const [bronze] = divisions
    expect(await created({ divisions: [bronze, bronze] })).toEqual([
      ["/divisions/1/key", "duplicate"],
    ])
    expect(await created({ name: 5, divisions: [bronze, bronze] })).toEqual([
      ["/name", "invalid_type"],
      ["/divisions/1/key", "duplicate"],
    ])
    expect(await created({ cohortSize: 0, divisions: [bronze, bronze] })).toEqual([
      ["/cohortSize", "out_of_range"],
    ])
    expect(await created({ divisions: [{ ...bronze, promote: 2, demote: 2 }] })).toEqual([
      ["/divisions/0/demote", "invalid_value"],
    ])
    const rewarding = (reward: object) => faults({ rewards: [reward] })
    for (const [reward, expected] of [
      [{ reward: { points: 1 } }, ["/rewards/0/ranks", "missing"]],
      [{ ranks: [2, 1], reward: { points: 1 } }, ["/rewards/0/ranks/1", "out_of_range"]],
      [
        { ranks: [1, 1], division: "iron", reward: { points: 1 } },
        ["/rewards/0/division", "unknown_reference"],
      ],
      [
        { ranks: [1, 1], reward: { currencies: { rubies: 1 } } },
        ["/rewards/0/reward/currencies/rubies", "unknown_reference"],
      ],
    ] as const) {
      expect(await rewarding(reward)).toEqual([expected])
    }
    await place.patch("/v1/leagues/cup", {
      rewards: [{ ranks: [1, 1], reward: { currencies: { gems: 1 } } }],
    })
    expect(problemOf(await place.delete("/v1/currencies/gems"))).toEqual([409, "in_use"])
    await place.patch("/v1/leagues/cup", { rewards: null })
    expect((await place.delete("/v1/currencies/gems")).status).toBe(204)
    await place.post("/v1/currencies", { key: "coins", name: "Coins" })
    await place.create("/v1/leagues", { ...cup, key: "coins", score: { currency: "coins" } })
    expect(problemOf(await place.delete("/v1/currencies/coins"))).toEqual([409, "in_use"])
  })

  it("pay rewards at the close, and tell a user before what they would be", async () => {
    const rewards = [
      { ranks: [1, 1], reward: { points: 100 } },
      { division: "bronze", outcome: "promoted", reward: { points: 10 } },
      { division: "silver", ranks: [1, 3], reward: { points: 1_000 } },
    ]
    const place = await placeWithCup({ rewards })
    const all = (reward: object) => ({ xp: 0, points: 0, badgeId: null, ...reward })
    const shown = rewards.map((one) => ({ ...one, reward: all(one.reward) }))
    expect((await place.get("/v1/leagues/cup")).json.rewards).toEqual(shown)
    for (const [userId, score] of [
      ["ada", 9],
      ["bob", 5],
      ["cyd", 1],
    ] as const) {
      await earn(place, userId, score)
    }
    const won = [all({ points: 100 }), all({ points: 10 })]
    expect((await leagueOf(place, "ada")).rewards).toEqual(won)
    expect((await leagueOf(place, "bob")).rewards).toEqual([])
    await passDays(place, 1)
    const points = async (userId: string) => (await place.get(`/v1/users/${userId}`)).json.points
    expect([await points("ada"), await points("bob"), await points("cyd")]).toEqual([110, 0, 0])
    const { facts } = (await place.get("/v1/users/ada/history")).json
    const id = (await place.get("/v1/leagues/cup")).json.id
    const cause = { kind: "clock" }
    expect(facts.slice(0, 3)).toMatchObject([
      { kind: "points.earned", amount: 10, source: { kind: "league", id }, cause },
      { kind: "points.earned", amount: 100, source: { kind: "league", id }, cause },
      { kind: "league.promoted", rewards: won, cause },
    ])
  })

  it("pay what a window had when it closed to who comes back before the background does", async () => {
    const place = await placeWithCup({ rewards: [{ ranks: [1, 1], reward: { points: 5 } }] })
    const { rewardId } = await earn(place, "ada", 3)
    await passDays(place, 1)
    // An undo of what scored takes no reward back.
    await place.delete(`/v1/users/ada/rewards/${rewardId}`)
    expect((await place.get("/v1/users/ada")).json).toMatchObject({ xp: 0, points: 5 })
    await place.patch("/v1/leagues/cup", { rewards: null })
    await earn(place, "ada", 3)
    await passDays(place, 1)
    expect((await place.get("/v1/users/ada")).json).toMatchObject({ points: 5 })
  })

  it("rank by what events add to a metric that counts or sums, with its decimals", async () => {
    const place = newPlace()
    await place.post("/v1/metrics", {
      key: "distance",
      name: "Distance",
      aggregate: "sum",
      actions: ["RUN"],
      value: "km",
      decimals: 2,
    })
    await place.post("/v1/metrics", {
      key: "longest",
      name: "Longest",
      aggregate: "max",
      actions: ["RUN"],
      value: "km",
    })
    const ranked = (metric: string) => place.post("/v1/leagues", { ...cup, score: { metric } })
    expect(faultsOf(await ranked("longest"))).toEqual([["/score/metric", "not_allowed"]])
    expect(faultsOf(await ranked("shortest"))).toEqual([["/score/metric", "unknown_reference"]])
    const both = { ...cup, score: { metric: "distance", currency: "xp" } }
    expect(faultsOf(await place.post("/v1/leagues", both))).toEqual([["/score", "invalid_value"]])
    expect((await ranked("distance")).json).toMatchObject({ score: { metric: "distance" } })
    await dayIn(place, 1)
    const run = async (userId: string, km: number) =>
      (await place.post("/v1/events", { userId, action: "RUN", metadata: { km } })).json
    await run("ada", 1.25)
    const { eventId } = await run("bob", 7)
    await run("ada", 2.5)
    await place.delete(`/v1/users/bob/events/${eventId}`)
    await run("bob", 0.75)
    // Rewards add nothing to a metric.
    await earn(place, "bob", 100)
    expect(await rowsOf(place, "bob")).toEqual([
      [1, "ada", 3.75, "promoted"],
      [2, "bob", 0.75, "stayed"],
    ])
    await passDays(place, 1)
    expect((await leagueOf(place, "ada")).history).toMatchObject([
      { score: 3.75, rank: 1, outcome: "promoted" },
    ])
    const { facts } = (await place.get("/v1/users/ada/history?kind=league.promoted")).json
    expect(facts).toMatchObject([{ score: 3.75 }])
    expect(problemOf(await place.delete("/v1/metrics/distance"))).toEqual([409, "in_use"])
  })

  it("have limits", async () => {
    const place = newPlace()
    const create = async (body: object = {}) =>
      (await place.post("/v1/leagues", { ...cup, key: undefined, ...body })).status
    const many = (count: number) => ({
      divisions: Array.from({ length: count }, (_, index) => ({
        key: `d${index}`,
        name: "D",
        promote: 0,
        demote: 0,
      })),
    })
    const rewarding = (count: number) => ({
      rewards: Array(count).fill({ ranks: [1, 1], reward: { points: 1 } }),
    })
    const { leagueCohortSizeMax, leagueDivisionsMax, leagueGraceMinutesMax, leaguesMax } = limits
    for (const [body, status] of [
      [many(leagueDivisionsMax), 201],
      [many(leagueDivisionsMax + 1), 400],
      [many(0), 400],
      [{ cohortSize: leagueCohortSizeMax }, 201],
      [{ cohortSize: leagueCohortSizeMax + 1 }, 400],
      [{ cohortSize: limits.leagueCohortSizeMin, divisions: divisions.slice(0, 1) }, 201],
      [{ cohortSize: limits.leagueCohortSizeMin - 1 }, 400],
      [{ graceMinutes: leagueGraceMinutesMax }, 201],
      [{ graceMinutes: leagueGraceMinutesMax + 1 }, 400],
      [rewarding(limits.leagueRewardsMax), 201],
      [rewarding(limits.leagueRewardsMax + 1), 400],
    ] as const) {
      expect([JSON.stringify(body), await create(body)]).toEqual([JSON.stringify(body), status])
    }
    for (let made = 5; made < leaguesMax; made++) expect(await create()).toBe(201)
    expect(await create()).toBe(409)
  })
})
