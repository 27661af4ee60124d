/** What each mechanic did over HTTP: replies, tables, faults and access. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { mechanicNouns } from "../../src/domain/user/MechanicTally.ts"
import { limits } from "../../src/Limits.ts"
import { faultsOf, isoTime, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

// biome-ignore lint/suspicious/noExplicitAny: a reply is JSON
type Json = any

let places = 0
const newPlace = () => new Place(server, `mechanics${places++}`)

const today = () => new Date().toISOString().slice(0, 10)

/** A definition of each kind, and three users. */
const makeOneOfEach = async (place: Place) => {
  await place.post("/v1/rules", { key: "tap", action: "TAP", reward: { xp: 5, points: 3 } })
  const tiers = [
    { key: "one", name: "One", target: 1 },
    { key: "two", name: "Two", target: 2 },
  ]
  await place.post("/v1/badges", {
    ...{ key: "taps", name: "Taps", tiers, criteria: { kind: "action_count", action: "TAP" } },
  })
  const step = (key: string, action: string, target: number) => ({ key, action, target })
  await place.post("/v1/quests", {
    ...{ key: "both", title: "Tap, then swipe", reward: { xp: 2 } },
    steps: [step("tap", "TAP", 2), step("swipe", "SWIPE", 1)],
  })
  await place.post("/v1/quests", {
    ...{ key: "today", title: "Today", recurrence: "daily", reward: { xp: 1 } },
    steps: [step("swipe", "SWIPE", 1)],
  })
  await place.post("/v1/streaks", {
    ...{ key: "daily", name: "Daily, of any action", every: "day" },
    milestones: [
      { target: 1, reward: { xp: 1 } },
      { target: 7, reward: { xp: 9 } },
    ],
  })
  await place.post("/v1/leaderboards", {
    key: "points",
    name: "Points",
    score: { currency: "points" },
  })
  await place.post("/v1/leagues", {
    ...{ key: "weekly", name: "Weekly", score: { currency: "xp" } },
    divisions: [
      { key: "low", name: "Low", promote: 1, demote: 0 },
      { key: "high", name: "High", promote: 0, demote: 1 },
    ],
  })
  await place.post("/v1/boosts", { key: "double", name: "Double", currencies: ["xp"], factor: 2 })
  await place.create("/v1/items", {
    ...{ key: "hat", name: "Hat", price: { points: 1 }, reward: { xp: 1 } },
  })
  for (const [userId, actions] of [
    ["ada", ["TAP", "TAP", "SWIPE"]],
    ["bob", ["TAP"]],
    ["cyd", ["LOOK"]],
  ] as const) {
    for (const action of actions) await place.track(userId, action)
  }
  const { status } = await place.post("/v1/users/ada/purchases", { item: "hat" })
  expect(status).toBe(200)
}

describe("The list of mechanics", () => {
  it("has each kind, with users, shares and completions", async () => {
    const place = newPlace()
    await makeOneOfEach(place)
    const { json, status } = await place.get("/v1/analytics/mechanics?sort=name&days=1")
    expect([status, json.from, json.to, json.allUsers]).toEqual([200, today(), today(), 3])
    expect(json.countedAt).toMatch(isoTime)
    const shown = Object.fromEntries(
      json.mechanics.map((one: Json) => [
        `${one.kind} ${one.key}`,
        [one.users, one.share, one.rarity, one.completed, one.completions, one.xp],
      ]),
    )
    expect(shown).toEqual({
      "rule tap": [2, 0.6667, "common", null, 3, 30],
      "quest both": [2, 0.6667, "common", 1, 1, 4],
      "quest today": [1, 0.3333, "uncommon", 1, 1, 2],
      "badge taps": [2, 0.6667, "common", 2, 3, 0],
      "streak daily": [3, 1, "common", null, 3, 3],
      "leaderboard points": [2, 0.6667, "common", null, null, null],
      "leaderboard xp": [3, 1, "common", null, null, null],
      "league weekly": [3, 1, "common", null, 3, 0],
      "boost double": [null, null, null, null, 4, null],
      "item hat": [1, 0.3333, "uncommon", 1, 1, 1],
    })
    expect(json.total).toBe(10)
  })

  it("is sorted, cut and of one kind on request, without drafts and archived definitions", async () => {
    const place = newPlace()
    await place.post("/v1/rules", { key: "tap", action: "TAP", reward: { xp: 5 } })
    await place.post("/v1/rules", { key: "swipe", action: "SWIPE", reward: { xp: 50 } })
    await place.post("/v1/rules", { key: "old", action: "OLD", reward: { xp: 5 } })
    await place.delete("/v1/rules/old")
    await place.post("/v1/quests", {
      key: "draft",
      title: "Draft",
      status: "draft",
      reward: { xp: 1 },
    })
    for (const action of ["TAP", "TAP", "SWIPE"]) await place.track("ada", action)
    const keys = async (query: string) => {
      const { json } = await place.get(`/v1/analytics/mechanics?${query}`)
      return [json.total, json.mechanics.map(({ key }: { key: string }) => key)]
    }
    expect(await keys("kind=rule&sort=completions")).toEqual([2, ["tap", "swipe"]])
    expect(await keys("kind=rule&sort=xp")).toEqual([2, ["swipe", "tap"]])
    expect(await keys("kind=rule&sort=xp&limit=1")).toEqual([2, ["swipe"]])
    expect(await keys("kind=quest")).toEqual([0, []])
  })

  it("is a table on request, with quotes around a name that needs them", async () => {
    const place = newPlace()
    await place.post("/v1/badges", {
      ...{ key: "odd", name: '=Odd, "quoted"', criteria: { kind: "manual" } },
    })
    const { headers, text } = await place.get(
      "/v1/analytics/mechanics?kind=badge&format=csv&days=1",
    )
    expect(headers["content-disposition"]).toBe('attachment; filename="mechanics.csv"')
    const [head, row] = text.split("\r\n")
    expect(head).toBe("kind,id,key,name,status,users,share,rarity,completed,completions,perDay,xp")
    expect(row).toMatch(/^badge,bdg_\w+,odd,"'=Odd, ""quoted""",active,0,,,0,0,0,0$/)
    const none = await place.get("/v1/analytics/mechanics?kind=item&format=csv")
    expect(none.text).toBe(`${head}\r\n`)
  })
})

describe("One mechanic", () => {
  it("has the funnel of a quest, and how long it took", async () => {
    const place = newPlace()
    await makeOneOfEach(place)
    const { json } = await place.get("/v1/analytics/mechanics/quest/both")
    expect(json.funnel).toEqual([
      { finished: 0, users: 2, share: 1 },
      { finished: 1, users: 1, share: 0.5 },
      { finished: 2, users: 1, share: 0.5 },
    ])
    expect(json.steps).toEqual([
      { key: "tap", target: 2, begun: 2, finished: 1, waiting: 1 },
      { key: "swipe", target: 1, begun: 1, finished: 1, waiting: 1 },
    ])
    expect(json.timeToComplete).toMatchObject({ users: 1 })
    expect(json.firstWeek).toMatchObject({
      since: today(),
      note: expect.stringContaining("no cause"),
    })
    expect(json.days.at(-1)).toEqual({ date: today(), completions: 1, xp: 4 })
    expect(json.days).toHaveLength(30)
    expect(json.leftOut).toEqual([])
  })

  it("has the users of each tier, milestone and division, and says what is not known", async () => {
    const place = newPlace()
    await makeOneOfEach(place)
    const parts = async (path: string) => {
      const { json } = await place.get(`/v1/analytics/mechanics/${path}`)
      return json.parts.map(({ key, users }: { key: string; users: number }) => [key, users])
    }
    expect(await parts("badge/taps")).toEqual([
      ["one", 2],
      ["two", 1],
    ])
    expect(await parts("streak/daily")).toEqual([
      ["1", 3],
      ["7", 0],
    ])
    expect(await parts("league/weekly")).toEqual([
      ["low", 3],
      ["high", 0],
    ])
    for (const [path, figures] of [
      ["rule/tap", ["timeToComplete"]],
      ["quest/today", ["firstWeek"]],
      ["leaderboard/xp", ["completions", "xp", "timeToComplete", "firstWeek"]],
    ] as const) {
      const { json } = await place.get(`/v1/analytics/mechanics/${path}`)
      expect([path, json.leftOut.map(({ figure }: { figure: string }) => figure)]).toEqual([
        path,
        figures,
      ])
      for (const figure of figures)
        expect([path, figure, json[figure]]).toEqual([path, figure, null])
    }
  })

  it("has whom a shared goal reached, when it was completed, and whom it rewarded", async () => {
    const place = newPlace()
    const goal = {
      score: { currency: "points" },
      target: 10,
      reward: { xp: 7 },
      minContribution: 3,
    }
    await place.post("/v1/goals", { ...goal, key: "once", name: "Once" })
    await place.post("/v1/goals", { ...goal, key: "daily", name: "Daily", recurrence: "daily" })
    for (const [userId, amount] of [
      ["ada", 6],
      ["bob", 2],
      ["cyd", 3],
    ] as const) {
      await place.post(`/v1/users/${userId}/rewards`, { type: "points", amount })
    }
    await place.track("dan", "LOOK")
    await vi.waitUntil(async () => (await place.get("/v1/users/ada")).json.xp === 14)
    await vi.waitUntil(async () => (await place.get("/v1/users/cyd")).json.xp === 14)
    const { json: once } = await place.get("/v1/analytics/mechanics/goal/once?days=1")
    expect(once).toMatchObject({
      ...{ users: 3, share: 0.75, completed: 2, completions: 1, xp: 14, firstWeek: null },
      timeToComplete: { users: 1, median: expect.any(Number) },
    })
    const left = ({ leftOut }: Json) => leftOut.map(({ figure }: Json) => figure)
    expect(left(once)).toEqual(["firstWeek"])
    const { json: daily } = await place.get("/v1/analytics/mechanics/goal/daily?days=1")
    expect(daily).toMatchObject({ users: 3, completed: null, completions: 1, xp: 14 })
    expect(left(daily)).toEqual(["completed", "firstWeek"])
  })

  it("has the members of the teams with a score, of a leaderboard of teams", async () => {
    const place = newPlace()
    await place.post("/v1/rules", { key: "tap", action: "TAP", reward: { xp: 5 } })
    const board = { score: { currency: "xp" }, entrants: "teams", teamKind: "club" }
    await place.post("/v1/leaderboards", { ...board, key: "clubs", name: "Clubs" })
    const weekly = { windows: ["weekly"], key: "weekly-clubs", name: "Weekly" }
    await place.post("/v1/leaderboards", { ...board, ...weekly })
    for (const id of ["red", "blue"]) await place.put(`/v1/teams/${id}`, { kind: "club", name: id })
    for (const [userId, team] of [
      ["ada", "red"],
      ["bob", "red"],
      ["cyd", "blue"],
    ] as const) {
      await place.call("PUT", `/v1/teams/${team}/members/${userId}`)
    }
    // Ada scores for red, which Bob is in; Dan scores for no team.
    for (const userId of ["ada", "dan"]) await place.track(userId, "TAP")
    const read = async (key: string) =>
      (await place.get(`/v1/analytics/mechanics/leaderboard/${key}`)).json
    expect(await read("clubs")).toMatchObject({ users: 2, share: 0.5, completions: null })
    expect(await read("weekly-clubs")).toMatchObject({ users: null, share: null, rarity: null })
    expect((await read("weekly-clubs")).leftOut[0]).toMatchObject({ figure: "users" })
  })

  it("counts the prizes of a leaderboard on the day on which they were won", async () => {
    const place = newPlace()
    const prizes = [{ window: "daily", ranks: [1, 1], reward: { xp: 9 } }]
    const board = { key: "cup", name: "Cup", score: { currency: "points" }, prizes }
    await place.post("/v1/leaderboards", board)
    await place.post("/v1/users/ada/rewards", { type: "points", amount: 3 })
    const at = new Date(Date.now() + 3 * 86_400_000).toISOString()
    await place.post("/v1/test-clock", { advanceTo: at })
    await vi.waitUntil(async () => (await place.get("/v1/users/ada")).json.xp === 9)
    const { json } = await place.get("/v1/analytics/mechanics/leaderboard/cup?days=7")
    expect(json).toMatchObject({ users: 1, completions: 1, xp: 9 })
    expect(json.days).toHaveLength(7)
  })

  it("is found by its id, and is a table of days on request", async () => {
    const place = newPlace()
    const id = await place.create("/v1/rules", { key: "tap", action: "TAP", reward: { xp: 5 } })
    await place.track("ada", "TAP")
    const { text } = await place.get(`/v1/analytics/mechanics/rule/${id}?days=1&format=csv`)
    expect(text).toBe(`date,completions,xp\r\n${today()},1,5\r\n`)
  })
})

describe("Mechanics are refused", () => {
  it("for a definition that is not there or of another kind", async () => {
    const place = newPlace()
    await place.post("/v1/rules", { key: "tap", action: "TAP", reward: { xp: 5 } })
    for (const path of ["rule/none", "quest/tap"]) {
      const reply = await place.get(`/v1/analytics/mechanics/${path}`)
      expect([path, ...problemOf(reply)]).toEqual([path, 404, "mechanic_not_found"])
    }
  })

  it("beyond their limits, with every fault", async () => {
    const place = newPlace()
    const most = `days=${limits.mechanicDaysMax}&limit=${limits.mechanicRowsMax}`
    expect((await place.get(`/v1/analytics/mechanics?${most}`)).status).toBe(200)
    const faults = await place.get(
      `/v1/analytics/mechanics?kind=user&sort=age&days=${limits.mechanicDaysMax + 1}&limit=${limits.mechanicRowsMax + 1}`,
    )
    expect(faultsOf(faults)).toEqual([
      ["query/kind", "invalid_value"],
      ["query/days", "out_of_range"],
      ["query/sort", "invalid_value"],
      ["query/limit", "out_of_range"],
    ])
    const kind = await place.get("/v1/analytics/mechanics/user/ada?days=0")
    expect(faultsOf(kind)).toEqual([
      ["path/kind", "invalid_value"],
      ["query/days", "out_of_range"],
    ])
  })

  it.each([
    { scope: "ingest" },
    { kind: "publishable" },
    { kind: "user", scope: "user", userId: "ada" },
  ] as const)("for a key that may not read: %o", async (key) => {
    const text = server.accounts.addKey(`lk_test_mechanics_${JSON.stringify(key)}`, key)
    for (const path of ["mechanics", ...mechanicNouns.map((noun) => `mechanics/${noun}/x`)]) {
      const { json, status } = await server.call("GET", `/v1/analytics/${path}`, { key: text })
      expect([path, status, json.code]).toEqual([path, 403, "insufficient_scope"])
    }
  })
})
