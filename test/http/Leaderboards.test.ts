import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, isoTime, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"
import { RunningClock } from "./RunningClock.ts"

let server: TestServer
const clock = new RunningClock("2026-11-03T12:00:00Z")
beforeAll(async () => {
  server = await startServer({ clock })
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `boards${places++}`)
const gems = { name: "Gem hunters", score: { currency: "gems" } }

const placeWithGems = async () => {
  const place = newPlace()
  await place.post("/v1/currencies", { key: "gems", name: "Gems" })
  return place
}

const earn = async (place: Place, userId: string, amount: number, more: object = {}) =>
  (
    await place.post(`/v1/users/${userId}/rewards`, {
      reward: { currencies: { gems: amount }, ...more },
    })
  ).json

const rowsOf = async (place: Place, query = "") =>
  (await place.get(`/v1/leaderboards/gem-hunters/entries${query}`)).json.entries.map(
    ({ rank, score, userId }: Record<string, unknown>) => [rank, userId, score],
  )

/** Reads the entries until the board is filled. */
const filled = async (place: Place, key = "gem-hunters") => {
  for (;;) {
    const { json } = await place.get(`/v1/leaderboards/${key}/entries`)
    if (!json.filling) return json
  }
}

describe("leaderboards", () => {
  it("are created with defaults, read and listed behind the leaderboard xp", async () => {
    const place = await placeWithGems()
    const { headers, json, status } = await place.post("/v1/leaderboards", gems)
    expect(status).toBe(201)
    expect(headers.location).toBe(`/v1/leaderboards/${json.id}`)
    expect(json).toEqual({
      id: expect.stringMatching(/^ldb_[0-9a-f]{32}$/),
      key: "gem-hunters",
      name: "Gem hunters",
      description: null,
      metadata: {},
      status: "active",
      startsAt: null,
      endsAt: null,
      score: { currency: "gems" },
      entrants: "users",
      teamKind: null,
      windows: ["all_time", "daily", "weekly", "monthly"],
      timeZone: "project",
      order: "desc",
      ties: "shared",
      segment: null,
      attributes: [],
      groupBy: null,
      prizes: [],
      keepWindows: null,
      graceMinutes: 0,
      announceRanks: null,
      version: 1,
      createdAt: expect.stringMatching(isoTime),
      updatedAt: json.createdAt,
    })
    expect((await place.get("/v1/leaderboards/gem-hunters")).json).toEqual(json)
    const { leaderboards, total } = (await place.get("/v1/leaderboards")).json
    expect(leaderboards.map(({ key }: { key: string }) => key)).toEqual(["xp", "gem-hunters"])
    expect(total).toBe(2)
  })

  it("list at once what users ever earned, spent and expired amounts too", async () => {
    const place = await placeWithGems()
    await earn(place, "ada", 5)
    await earn(place, "bob", 9)
    await place.post("/v1/users/bob/spends", { currencies: { gems: 8 } })
    await place.post("/v1/leaderboards", gems)
    await filled(place)
    expect(await rowsOf(place)).toEqual([
      [1, "bob", 9],
      [2, "ada", 5],
    ])
    // What was earned before counts in no window.
    expect(await rowsOf(place, "?window=weekly")).toEqual([])
    await earn(place, "ada", 4)
    await earn(place, "cyd", 1)
    expect(await rowsOf(place)).toEqual([
      [1, "bob", 9],
      [1, "ada", 9],
      [3, "cyd", 1],
    ])
    expect(await rowsOf(place, "?window=weekly")).toEqual([
      [1, "ada", 4],
      [2, "cyd", 1],
    ])
  })

  it("list users who move in with opening balances", async () => {
    const place = await placeWithGems()
    await place.post("/v1/leaderboards", gems)
    await filled(place)
    const opening = { balances: { gems: 4 }, earned: { gems: 11 } }
    expect((await place.put("/v1/users/ada/opening", opening)).status).toBeLessThan(300)
    expect(await rowsOf(place)).toEqual([[1, "ada", 11]])
    expect(await rowsOf(place, "?window=weekly")).toEqual([])
  })

  it("follow an undo, hidden users, merges and erasures", async () => {
    const place = await placeWithGems()
    await place.post("/v1/leaderboards", gems)
    await earn(place, "ada", 5)
    const { rewardId } = await earn(place, "ada", 7)
    await earn(place, "bob", 6)
    await earn(place, "cyd", 2)
    expect(await rowsOf(place, "?window=daily&limit=1")).toEqual([[1, "ada", 12]])
    expect((await place.delete(`/v1/users/ada/rewards/${rewardId}`)).status).toBe(200)
    for (const query of ["", "?window=daily", "?window=monthly"]) {
      expect(await rowsOf(place, query)).toEqual([
        [1, "bob", 6],
        [2, "ada", 5],
        [3, "cyd", 2],
      ])
    }
    await place.put("/v1/users/bob", { hidden: true })
    expect((await rowsOf(place))[0]).toEqual([1, "ada", 5])
    await place.put("/v1/users/bob", { hidden: false })
    expect((await rowsOf(place))[0]).toEqual([1, "bob", 6])
    expect((await place.post("/v1/users/cyd/merge", { into: "ada" })).status).toBe(200)
    for (const query of ["", "?window=weekly"]) {
      expect(await rowsOf(place, query)).toEqual([
        [1, "ada", 7],
        [2, "bob", 6],
      ])
    }
    await place.delete("/v1/users/bob")
    expect(await rowsOf(place)).toEqual([[1, "ada", 7]])
  })

  it("with the lowest score first rank by it, in every window", async () => {
    const place = await placeWithGems()
    await place.post("/v1/leaderboards", { ...gems, order: "asc" })
    for (const [userId, amount] of [
      ["ada", 5],
      ["bob", 2],
      ["cyd", 5],
    ] as const) {
      await earn(place, userId, amount)
    }
    for (const query of ["", "?window=daily"]) {
      expect(await rowsOf(place, query)).toEqual([
        [1, "bob", 2],
        [2, "ada", 5],
        [2, "cyd", 5],
      ])
    }
  })

  it("give equal scores ranks of their own, in any window, if their ties say so", async () => {
    const place = await placeWithGems()
    await place.post("/v1/leaderboards", { ...gems, ties: "first" })
    for (const userId of ["bob", "ada", "cyd"]) await earn(place, userId, 5)
    await earn(place, "dan", 1)
    const ranks = async (query: string) =>
      (await rowsOf(place, query)).map(([rank, userId]: ReadonlyArray<unknown>) => [rank, userId])
    const own = [
      [1, "bob"],
      [2, "ada"],
      [3, "cyd"],
      [4, "dan"],
    ]
    expect(await ranks("")).toEqual(own)
    expect(await ranks("?window=weekly")).toEqual(own)
    const path = "/v1/leaderboards/gem-hunters"
    const { users } = (await place.post(`${path}/lookup`, { users: ["cyd", "ada"] })).json
    expect(users).toMatchObject([
      { userId: "ada", rankAmong: 1, entry: { rank: 2 } },
      { userId: "cyd", rankAmong: 2, entry: { rank: 3 } },
    ])
    expect((await place.patch(path, { ties: null })).json.ties).toBe("shared")
    expect((await ranks("")).map(([rank]: ReadonlyArray<unknown>) => rank)).toEqual([1, 1, 1, 4])
  })

  it("count members of their segment only, and who leaves keeps the entry", async () => {
    const place = await placeWithGems()
    await earn(place, "ada", 50)
    await place.put("/v1/users/ada", { attributes: { plan: "pro" } })
    await place.post("/v1/segments", {
      key: "pro",
      name: "Pro",
      conditions: [{ kind: "attribute", attribute: "plan", op: "eq", value: "pro" }],
    })
    await place.post("/v1/leaderboards", { ...gems, segment: "pro" })
    await earn(place, "ada", 3)
    await earn(place, "bob", 4)
    await place.put("/v1/users/ada", { attributes: { plan: "free" } })
    await earn(place, "ada", 8)
    expect(await rowsOf(place)).toEqual([[1, "ada", 3]])
    expect(await rowsOf(place, "?window=weekly")).toEqual([[1, "ada", 3]])
    expect(problemOf(await place.delete("/v1/segments/pro"))).toEqual([409, "in_use"])
  })

  it("count nothing while they are drafts or paused, or outside of their period", async () => {
    const place = await placeWithGems()
    const change = async (body: object) =>
      (await place.patch("/v1/leaderboards/gem-hunters", body)).json
    await place.post("/v1/leaderboards", { ...gems, status: "draft" })
    await earn(place, "ada", 2)
    expect(await rowsOf(place)).toEqual([])
    expect(await change({ windows: ["all_time", "daily"], status: "active" })).toMatchObject({
      status: "active",
      windows: ["all_time", "daily"],
    })
    await filled(place)
    expect(await rowsOf(place)).toEqual([[1, "ada", 2]])
    await change({ status: "paused" })
    const { rewardId } = await earn(place, "ada", 30)
    expect(await rowsOf(place)).toEqual([[1, "ada", 2]])
    await change({ status: "active" })
    await earn(place, "ada", 1)
    expect(await rowsOf(place)).toEqual([[1, "ada", 3]])
    // What was missed is not taken back.
    await place.delete(`/v1/users/ada/rewards/${rewardId}`)
    expect(await rowsOf(place)).toEqual([[1, "ada", 3]])
    await place.call("POST", "/v1/leaderboards/gem-hunters/close")
    await earn(place, "ada", 9)
    expect(await rowsOf(place)).toEqual([[1, "ada", 3]])
    const season = { key: "season", name: "Season", score: { currency: "gems" } }
    await place.post("/v1/leaderboards", { ...season, startsAt: "2026-11-03T13:00:00Z" })
    await earn(place, "ada", 1)
    const entriesOf = async () => (await place.get("/v1/leaderboards/season/entries")).json.entries
    expect(await entriesOf()).toEqual([])
    clock.set("2026-11-03T13:00:00Z")
    await earn(place, "ada", 5)
    expect(await entriesOf()).toMatchObject([{ userId: "ada", score: 5 }])
  })

  it("close their windows, which stay readable, with the ranks of the window before", async () => {
    const place = await placeWithGems()
    await place.post("/v1/leaderboards", gems)
    await earn(place, "ada", 3)
    await earn(place, "bob", 1)
    clock.set("2026-11-04T12:00:00Z")
    await earn(place, "bob", 7)
    const { json } = await place.get("/v1/leaderboards/gem-hunters/entries?window=daily&around=ada")
    expect(json).toMatchObject({
      leaderboard: "gem-hunters",
      window: { kind: "daily", startsAt: "2026-11-04T00:00:00.000Z" },
      entries: [{ rank: 1, userId: "bob", score: 7, previousRank: 2 }],
      total: 1,
      me: null,
    })
    expect(await rowsOf(place, "?window=daily&at=2026-11-03")).toEqual([
      [1, "ada", 3],
      [2, "bob", 1],
    ])
  })

  it("show the attributes that they name, and look friends up", async () => {
    const place = await placeWithGems()
    await place.post("/v1/leaderboards", { ...gems, attributes: ["plan", "constructor"] })
    await place.put("/v1/users/ada", {
      displayName: "Ada",
      attributes: { city: "Berlin", plan: "pro" },
    })
    for (const [userId, amount] of [
      ["ada", 5],
      ["bob", 9],
      ["cyd", 5],
      ["dan", 7],
    ] as const) {
      await earn(place, userId, amount)
    }
    const ada = {
      rank: 3,
      userId: "ada",
      displayName: "Ada",
      attributes: { plan: "pro" },
      score: 5,
      previousRank: null,
      prizes: [],
    }
    const path = "/v1/leaderboards/gem-hunters"
    expect((await place.get(`${path}/entries?around=ada&limit=1`)).json.entries).toEqual([ada])
    const { json, status } = await place.post(`${path}/lookup`, {
      users: ["cyd", "nobody", "ada", "bob", "ada"],
      window: "weekly",
    })
    expect(status).toBe(200)
    expect(json).toMatchObject({
      leaderboard: "gem-hunters",
      window: { kind: "weekly" },
      users: [
        { userId: "bob", rankAmong: 1, entry: { rank: 1 } },
        { userId: "ada", rankAmong: 2, entry: ada },
        { userId: "cyd", rankAmong: 2, entry: { rank: 3 } },
        { userId: "nobody", rankAmong: null, entry: null },
      ],
      total: 4,
    })
    const stats = (await place.get(`${path}/stats`)).json
    expect(stats.participants).toBe(4)
    expect(stats.distribution).toEqual(
      [0, 1, 5, 10, 25, 50, 75, 90, 100].map((percent, index) => ({
        percent,
        score: [9, 9, 9, 9, 9, 7, 5, 5, 5][index],
      })),
    )
  })

  it("refuse what they cannot do", async () => {
    const place = await placeWithGems()
    await place.post("/v1/leaderboards", { ...gems, windows: ["all_time", "daily"] })
    const path = "/v1/leaderboards/gem-hunters"
    const faults = async (body: object) => faultsOf(await place.patch(path, body))
    for (const [member, value] of [
      ["score", { currency: "xp" }],
      ["windows", ["weekly"]],
      ["order", "asc"],
      ["startsAt", "2026-12-01T00:00:00Z"],
    ] as const) {
      expect(await faults({ [member]: value })).toEqual([[`/${member}`, "invalid_value"]])
    }
    const created = async (body: object) =>
      faultsOf(await place.post("/v1/leaderboards", { ...gems, key: "other", ...body }))
    expect(await created({ score: { currency: "rubies" } })).toEqual([
      ["/score/currency", "unknown_reference"],
    ])
    await place.post("/v1/currencies", {
      key: "hearts",
      name: "Hearts",
      max: 5,
      refill: { amount: 1, everyMinutes: 30 },
    })
    expect(await created({ score: { currency: "hearts" } })).toEqual([
      ["/score/currency", "not_allowed"],
    ])
    expect(
      faultsOf(
        await place.patch("/v1/currencies/gems", {
          max: 5,
          refill: { amount: 1, everyMinutes: 30 },
        }),
      ),
    ).toEqual([expect.arrayContaining(["/refill", "not_allowed"])])
    expect(problemOf(await place.delete("/v1/currencies/gems"))).toEqual([409, "in_use"])
    expect(await created({ windows: [] })).toEqual([["/windows", "too_short"]])
    // Faults of form come with those of meaning, unless these rest on a member with a fault of form.
    const prizes = [{ window: "daily", ranks: [3, 1], reward: { points: 1 } }]
    expect(await created({ name: 5, windows: ["weekly"], teamKind: "club", prizes })).toEqual([
      ["/name", "invalid_type"],
      ["/teamKind", "not_allowed"],
      ["/prizes/0/window", "invalid_value"],
      ["/prizes/0/ranks/1", "out_of_range"],
    ])
    expect(await created({ windows: ["hourly"], entrants: 7, teamKind: "club", prizes })).toEqual([
      ["/entrants", "invalid_value"],
      ["/windows/0", "invalid_value"],
    ])
    expect(faultsOf(await place.get(`${path}/entries?window=weekly`))).toEqual([
      ["query/window", "invalid_value"],
    ])
    expect(faultsOf(await place.get(`${path}/entries?around=a&offset=1`))).toEqual([
      ["query/offset", "invalid_value"],
    ])
    const users = (count: number) => ({
      users: Array.from({ length: count }, (_, index) => `u${index}`),
    })
    expect((await place.post(`${path}/lookup`, users(limits.boardLookupMax))).status).toBe(200)
    expect((await place.post(`${path}/lookup`, users(limits.boardLookupMax + 1))).status).toBe(400)
    expect((await place.get("/v1/leaderboards/none/entries")).status).toBe(404)
    expect((await place.delete(path)).status).toBe(204)
    expect((await place.get(`${path}/entries`)).status).toBe(404)
    expect((await place.get(path)).json.status).toBe("archived")
  })

  it("have the board xp, whose status and scores cannot change", async () => {
    const place = newPlace()
    await place.post("/v1/users/ada/rewards", { type: "xp", amount: 10 })
    const { json } = await place.get("/v1/leaderboards/xp/entries?window=daily")
    expect(json.entries).toMatchObject([{ rank: 1, userId: "ada", score: 10 }])
    expect((await place.patch("/v1/leaderboards/xp", { name: "Score" })).json.name).toBe("Score")
    for (const status of ["paused", "archived"]) {
      expect(problemOf(await place.patch("/v1/leaderboards/xp", { status }))).toEqual([
        409,
        "in_use",
      ])
    }
    expect(problemOf(await place.delete("/v1/leaderboards/xp"))).toEqual([409, "in_use"])
    expect((await place.patch("/v1/leaderboards/xp", { order: "asc" })).status).toBe(400)
    expect(
      (await place.patch("/v1/leaderboards/xp", { endsAt: "2026-12-01T00:00:00Z" })).status,
    ).toBe(400)
  })

  it("pay prizes by rank when a window closes, once, and say so in the history", async () => {
    const place = await placeWithGems()
    const badge = { name: "Champion", criteria: { kind: "manual" } }
    const { id: badgeId } = (await place.post("/v1/badges", badge)).json
    const prizes = [
      { window: "daily", ranks: [1, 1], reward: { points: 100, badgeId } },
      { window: "daily", percent: 50, reward: { currencies: { gems: 10 } } },
      { window: "weekly", ranks: [1, 3], reward: { xp: 7 } },
    ]
    const { json } = await place.post("/v1/leaderboards", { ...gems, prizes })
    expect(json.prizes[1]).toEqual({
      window: "daily",
      percent: 50,
      reward: { xp: 0, points: 0, badgeId: null, currencies: { gems: 10 } },
    })
    await earn(place, "ada", 9)
    await earn(place, "bob", 5)
    await earn(place, "cyd", 5)
    await place.post("/v1/test-clock", { advanceTo: "2026-11-05T00:00:00Z" })
    const balancesOf = async (userId: string) =>
      (await place.get(`/v1/users/${userId}`)).json.balances
    expect(await balancesOf("ada")).toEqual({ xp: 0, points: 100, gems: 19 })
    // Half of three users is rounded up to two, and a third one has the same rank.
    expect(await balancesOf("bob")).toEqual({ xp: 0, points: 0, gems: 15 })
    expect(await balancesOf("cyd")).toEqual({ xp: 0, points: 0, gems: 15 })
    const kinds = "leaderboard.prize_won"
    const { facts } = (await place.get(`/v1/users/ada/history?kind=${kinds}`)).json
    const won = {
      leaderboard: { id: json.id, key: "gem-hunters" },
      window: "daily",
      startsAt: expect.stringMatching(/^2026-11-.*T00:00/),
      endsAt: expect.stringMatching(/^2026-11-.*T00:00/),
      rank: 1,
    }
    expect(facts).toHaveLength(2)
    expect(facts[1]).toMatchObject({
      kind: "leaderboard.prize_won",
      ...won,
      reward: { points: 100, badgeId },
      cause: { kind: "prize", ...won },
    })
    // What was won counts on no leaderboard, and an undo of the score keeps the prize.
    expect(await rowsOf(place, "?window=weekly")).toEqual([
      [1, "ada", 9],
      [2, "bob", 5],
      [2, "cyd", 5],
    ])
    await filled(place)
    expect(await rowsOf(place)).toEqual(await rowsOf(place, "?window=weekly"))
  })

  it("keep as many past windows as they ask for, up to a limit", async () => {
    const place = await placeWithGems()
    const most = limits.boardWindowsKeptMax
    await place.post("/v1/leaderboards", { ...gems, keepWindows: 2 })
    const path = "/v1/leaderboards/gem-hunters"
    await earn(place, "ada", 9)
    const readable = async (date: string) =>
      (await place.get(`${path}/entries?window=daily&at=${date}`)).status
    const now = Date.parse(
      (await place.post("/v1/test-clock", { advanceTo: "2026-12-24T12:00:00Z" })).json.now,
    )
    expect(new Date(now).toISOString().slice(0, 10)).toBe("2026-12-24")
    expect([await readable("2026-12-22"), await readable("2026-12-21")]).toEqual([200, 400])
    expect((await place.patch(path, { keepWindows: most })).json.keepWindows).toBe(most)
    expect(await readable("2026-12-21")).toBe(200)
    for (const keepWindows of [0, most + 1]) {
      expect(faultsOf(await place.patch(path, { keepWindows }))).toEqual([
        ["/keepWindows", "out_of_range"],
      ])
    }
    expect((await place.patch(path, { keepWindows: null })).json.keepWindows).toBeNull()
    expect([await readable("2026-11-23"), await readable("2026-11-22")]).toEqual([200, 400])
  })

  it("rank in windows of so many days, which close, pay and stay readable", async () => {
    const place = await placeWithGems()
    const path = "/v1/leaderboards/gem-hunters"
    const windows = ["all_time", { days: 14, anchor: "2027-01-04" }]
    const prizes = [{ window: "days", ranks: [1, 1], reward: { points: 7 } }]
    await place.post("/v1/leaderboards", { ...gems, windows, prizes, keepWindows: 3 })
    expect((await place.get(path)).json.windows).toEqual(windows)
    await earn(place, "ada", 5)
    const present = (await place.get(`${path}/entries?window=days`)).json
    expect(present.window).toEqual({
      kind: "days",
      startsAt: "2026-10-26T00:00:00.000Z",
      endsAt: "2026-11-09T00:00:00.000Z",
    })
    await place.post("/v1/test-clock", { advanceTo: "2026-11-08T23:59:00Z" })
    await earn(place, "bob", 3)
    await place.post("/v1/test-clock", { advanceTo: "2026-11-09T00:00:00Z" })
    await earn(place, "bob", 9)
    expect(await rowsOf(place, "?window=days")).toEqual([[1, "bob", 9]])
    expect(await rowsOf(place, "?window=days&at=2026-11-08")).toEqual([
      [1, "ada", 5],
      [2, "bob", 3],
    ])
    const [entry] = (await place.get(`${path}/entries?window=days`)).json.entries
    expect(entry.previousRank).toBe(2)
    expect((await place.get("/v1/users/ada")).json.points).toBe(7)
    const looked = await place.post(`${path}/lookup`, { users: ["ada", "bob"], window: "days" })
    expect(looked.json.users.map(({ rankAmong }: { rankAmong: number }) => rankAmong)).toEqual([
      1,
      null,
    ])
    const { participants } = (await place.get(`${path}/stats?window=days&at=2026-11-01`)).json
    expect(participants).toBe(2)
    const facts = (await place.get("/v1/users/ada/history")).json.facts
    const won = facts.find(({ kind }: { kind: string }) => kind === "leaderboard.prize_won")
    expect(won.cause).toMatchObject({
      window: "days",
      startsAt: "2026-10-26T00:00:00.000Z",
      endsAt: "2026-11-09T00:00:00.000Z",
      rank: 1,
    })
    const old = await place.get(`${path}/entries?window=days&at=2026-09-20`)
    expect(faultsOf(old)).toEqual([["query/at", "out_of_range"]])
    expect(faultsOf(await place.get(`${path}/entries?window=weekly`))).toEqual([
      ["query/window", "invalid_value"],
    ])
    const change = { windows: [{ days: 7, anchor: "2027-01-04" }] }
    expect(faultsOf(await place.patch(path, change))).toEqual([["/windows", "invalid_value"]])
  })

  it("follow the calendar of each user, and close once a window has ended everywhere", async () => {
    const place = await placeWithGems()
    const path = "/v1/leaderboards/gem-hunters"
    const windows = ["weekly"]
    const prizes = [{ window: "weekly", ranks: [1, 1], reward: { points: 7 } }]
    await place.post("/v1/leaderboards", { ...gems, windows, timeZone: "user", prizes })
    expect((await place.get(path)).json.timeZone).toBe("user")
    await place.put("/v1/users/kiri", { timezone: "Pacific/Kiritimati" })
    await place.put("/v1/users/pago", { timezone: "Pacific/Pago_Pago" })
    // Monday in Kiritimati, Sunday in UTC and in Pago Pago.
    await place.post("/v1/test-clock", { advanceTo: "2026-11-08T12:00:00Z" })
    await earn(place, "kiri", 5)
    await earn(place, "utc", 4)
    expect(await rowsOf(place)).toEqual([[1, "utc", 4]])
    const next = (await place.get(`${path}/entries?at=2026-11-09`)).json
    expect(next.window).toEqual({
      kind: "weekly",
      startsAt: "2026-11-08T10:00:00.000Z",
      endsAt: "2026-11-16T12:00:00.000Z",
    })
    expect(next.entries.map(({ userId }: { userId: string }) => userId)).toEqual(["kiri"])
    expect(faultsOf(await place.get(`${path}/entries?at=2026-11-16`))).toEqual([
      ["query/at", "out_of_range"],
    ])
    // Monday in UTC, still Sunday in Pago Pago. A move to the west brings Kiri to the week before.
    await place.post("/v1/test-clock", { advanceTo: "2026-11-09T09:00:00Z" })
    const { rewardId } = await earn(place, "pago", 3)
    await place.put("/v1/users/kiri", { timezone: "Pacific/Pago_Pago" })
    await earn(place, "kiri", 1)
    expect(await rowsOf(place, "?at=2026-11-08")).toEqual([
      [1, "utc", 4],
      [2, "pago", 3],
      [3, "kiri", 1],
    ])
    expect(await rowsOf(place)).toEqual([[1, "kiri", 5]])
    await place.delete(`/v1/users/pago/rewards/${rewardId}`)
    const open = (await place.get(`${path}/entries?at=2026-11-08`)).json
    expect([open.closed, open.total]).toEqual([false, 2])
    await place.post("/v1/test-clock", { advanceTo: "2026-11-09T12:00:00Z" })
    const closed = (await place.get(`${path}/entries?at=2026-11-08`)).json
    expect([closed.closed, closed.total]).toEqual([true, 2])
    expect((await place.get("/v1/users/utc")).json.points).toBe(7)
  })

  it("refuse the calendar of each user for days, for teams and after they were published", async () => {
    const place = await placeWithGems()
    const create = (more: object) =>
      place.post("/v1/leaderboards", { ...gems, timeZone: "user", ...more })
    expect(faultsOf(await create({}))).toEqual([["/windows", "not_allowed"]])
    const teams = { entrants: "teams", teamKind: "club", windows: ["weekly"] }
    expect(faultsOf(await create(teams))).toEqual([["/timeZone", "not_allowed"]])
    expect((await create({ windows: ["weekly"] })).status).toBe(201)
    const change = { timeZone: "project" }
    expect(faultsOf(await place.patch("/v1/leaderboards/gem-hunters", change))).toEqual([
      ["/timeZone", "invalid_value"],
    ])
  })

  it("refuse windows of days that are too short, too long, twice there or without an anchor", async () => {
    const place = await placeWithGems()
    const { boardWindowDaysMax: most, boardWindowDaysMin: least } = limits
    const anchor = "2026-01-05"
    const faultsFor = async (...windows: ReadonlyArray<unknown>) => {
      const reply = await place.post("/v1/leaderboards", { ...gems, windows })
      return reply.status === 201 ? [] : faultsOf(reply)
    }
    expect(
      await faultsFor({ days: least - 1 }, "yearly", {
        days: most + 1,
        anchor: "2026-02-30",
        to: 1,
      }),
    ).toEqual([
      ["/windows/2/to", "unknown_member"],
      ["/windows/0/days", "out_of_range"],
      ["/windows/0/anchor", "missing"],
      ["/windows/1", "invalid_value"],
      ["/windows/2/days", "out_of_range"],
      ["/windows/2/anchor", "invalid_format"],
    ])
    expect(await faultsFor({ days: 7, anchor }, { days: 14, anchor })).toEqual([
      ["/windows/1", "duplicate"],
    ])
    const prizes = [{ window: "days", ranks: [1, 1], reward: { points: 1 } }]
    expect(faultsOf(await place.post("/v1/leaderboards", { ...gems, prizes }))).toEqual([
      ["/prizes/0/window", "invalid_value"],
    ])
    for (const days of [least, most]) {
      const name = `Of ${days} days`
      const reply = await place.post("/v1/leaderboards", {
        ...gems,
        name,
        windows: [{ days, anchor }],
      })
      expect(reply.status).toBe(201)
    }
  })

  it("refuse prizes that cannot be paid, and archiving what they pay", async () => {
    const place = await placeWithGems()
    const weekly = { window: "weekly", ranks: [1, 3], reward: { points: 1 } }
    await place.post("/v1/leaderboards", { ...gems, windows: ["weekly"] })
    const path = "/v1/leaderboards/gem-hunters"
    const faults = async (...prizes: ReadonlyArray<object>) =>
      faultsOf(await place.patch(path, { prizes }))
    expect(await faults({ ...weekly, window: "daily" })).toEqual([
      ["/prizes/0/window", "invalid_value"],
    ])
    expect(await faults({ ...weekly, window: "all_time" })).toEqual([
      ["/prizes/0/window", "invalid_value"],
    ])
    expect(await faults({ ...weekly, ranks: [3, 1] })).toEqual([
      ["/prizes/0/ranks/1", "out_of_range"],
    ])
    const { ranks: _, ...anyRank } = weekly
    expect(await faults(anyRank)).toEqual([["/prizes/0/ranks", "missing"]])
    expect(await faults({ ...weekly, percent: 5 })).toEqual([
      ["/prizes/0/percent", "unknown_member"],
    ])
    for (const percent of [0, 101]) {
      expect(await faults({ ...anyRank, percent })).toEqual([["/prizes/0/percent", "out_of_range"]])
    }
    const last = limits.boardPrizeRankMax
    expect(await faults({ ...weekly, ranks: [1, last + 1] })).toEqual([
      ["/prizes/0/ranks/1", "out_of_range"],
    ])
    expect(await faults({ ...weekly, reward: { currencies: { rubies: 1 } } })).toEqual([
      ["/prizes/0/reward/currencies/rubies", "unknown_reference"],
    ])
    const many = (count: number) => Array.from({ length: count }, () => weekly)
    expect(await faults(...many(limits.boardPrizesMax + 1))).toEqual([["/prizes", "too_long"]])
    const most = [...many(limits.boardPrizesMax - 1), { ...weekly, ranks: [1, last] }]
    expect((await place.patch(path, { prizes: most })).status).toBe(200)
    await place.post("/v1/currencies", { key: "stars", name: "Stars" })
    const stars = { ...weekly, reward: { currencies: { stars: 1 } } }
    expect((await place.patch("/v1/leaderboards/xp", { prizes: [stars] })).status).toBe(200)
    expect(problemOf(await place.delete("/v1/currencies/stars"))).toEqual([409, "in_use"])
    expect((await place.patch("/v1/leaderboards/xp", { prizes: null })).json.prizes).toEqual([])
    expect((await place.delete("/v1/currencies/stars")).status).toBe(204)
  })

  it("are up to their limits, of one currency and in all", async () => {
    const place = newPlace()
    const currencies = 6
    for (let n = 0; n < currencies; n++) {
      await place.post("/v1/currencies", { key: `c${n}`, name: `C${n}` })
    }
    const create = async (currency: string) =>
      (await place.post("/v1/leaderboards", { name: "Board", score: { currency } })).status
    for (let n = 0; n < limits.boardsOfCurrencyMax; n++) expect(await create("c0")).toBe(201)
    expect(await create("c0")).toBe(409)
    // With the board xp.
    let boards = 1 + limits.boardsOfCurrencyMax
    for (let n = 1; boards < limits.boardsMax; n = (n % (currencies - 1)) + 1) {
      expect(await create(`c${n}`)).toBe(201)
      boards++
    }
    expect(await create("xp")).toBe(409)
  })
})
