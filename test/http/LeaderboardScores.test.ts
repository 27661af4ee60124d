import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `boardscores${places++}`)

const day = 24 * 3_600_000

/** Tuesday noon of a later week, in the sandbox's own time. */
const start = Date.parse("2030-01-08T12:00:00Z")
const timeOf = (ms: number) => new Date(ms).toISOString()
const advance = async (place: Place, to: number) => {
  const { json, status } = await place.post("/v1/test-clock", { advanceTo: timeOf(to) })
  expect([status, json]).toEqual([200, expect.anything()])
}

const rowsOf = async (place: Place, key: string, query = "") => {
  for (;;) {
    const { json } = await place.get(`/v1/leaderboards/${key}/entries${query}`)
    if (json.filling === true) continue
    return json.entries.map(({ rank, score, userId }: Record<string, unknown>) => [
      rank,
      userId,
      score,
    ])
  }
}

const distance = {
  key: "distance",
  name: "Distance",
  aggregate: "sum",
  actions: ["RUN"],
  value: "km",
  decimals: 2,
}
const { decimals: _, value: __, ...counted } = distance
const runners = { key: "runners", name: "Runners", score: { metric: "distance" } }

const run = async (place: Place, userId: string, km: number, more: object = {}) =>
  (await place.post("/v1/events", { userId, action: "RUN", metadata: { km }, ...more })).json

describe("A leaderboard of a metric", () => {
  it("lists the values that users have, with decimals, and adds up events in its windows", async () => {
    const place = newPlace()
    await place.create("/v1/metrics", distance)
    await run(place, "ada", 5.25)
    await run(place, "bob", 3.1)
    await place.create("/v1/leaderboards", runners)
    expect(await rowsOf(place, "runners")).toEqual([
      [1, "ada", 5.25],
      [2, "bob", 3.1],
    ])
    expect(await rowsOf(place, "runners", "?window=weekly")).toEqual([])
    await run(place, "bob", 4.2)
    await place.post("/v1/users/bob/rewards", { type: "xp", amount: 100 })
    expect(await rowsOf(place, "runners")).toEqual([
      [1, "bob", 7.3],
      [2, "ada", 5.25],
    ])
    expect(await rowsOf(place, "runners", "?window=weekly")).toEqual([[1, "bob", 4.2]])
    const { distribution } = (await place.get("/v1/leaderboards/runners/stats")).json
    expect(distribution.at(-1)).toEqual({ percent: 100, score: 5.25 })
    const { users } = (await place.post("/v1/leaderboards/runners/lookup", { users: ["bob"] })).json
    expect(users[0].entry.score).toBe(7.3)
    expect(problemOf(await place.delete("/v1/metrics/distance"))).toEqual([409, "in_use"])
  })

  it("counts a late event in the open windows that contain it, and takes an undone one back", async () => {
    const place = newPlace()
    await place.create("/v1/metrics", distance)
    await place.create("/v1/leaderboards", runners)
    await advance(place, start)
    const { eventId } = await run(place, "ada", 2)
    await run(place, "ada", 10, { occurredAt: timeOf(start - day) })
    expect(await rowsOf(place, "runners", "?window=daily")).toEqual([[1, "ada", 2]])
    expect(await rowsOf(place, "runners", "?window=weekly")).toEqual([[1, "ada", 12]])
    await advance(place, start + day)
    expect((await place.delete(`/v1/users/ada/events/${eventId}`)).status).toBe(200)
    expect(await rowsOf(place, "runners")).toEqual([[1, "ada", 10]])
    expect(await rowsOf(place, "runners", "?window=weekly")).toEqual([[1, "ada", 10]])
    // The day has ended.
    const closed = `?window=daily&at=${timeOf(start).slice(0, 10)}`
    expect(await rowsOf(place, "runners", closed)).toEqual([[1, "ada", 2]])
  })

  it("follows a backfill of the metric, and a merge", async () => {
    const place = newPlace()
    await run(place, "ada", 5)
    await run(place, "bob", 6)
    await place.create("/v1/metrics", distance)
    await place.create("/v1/leaderboards", runners)
    expect(await rowsOf(place, "runners")).toEqual([])
    await run(place, "ada", 1)
    expect((await place.call("POST", "/v1/metrics/distance/backfill")).status).toBe(202)
    for (;;) {
      const { json } = await place.get("/v1/metrics/distance/backfill")
      if (json.finishedAt !== null) break
    }
    expect(await rowsOf(place, "runners")).toEqual([
      [1, "bob", 6],
      [1, "ada", 6],
    ])
    expect(await rowsOf(place, "runners", "?window=monthly")).toEqual([[1, "ada", 1]])
    expect((await place.post("/v1/users/bob/merge", { into: "ada" })).status).toBe(200)
    await expect.poll(() => rowsOf(place, "runners")).toEqual([[1, "ada", 12]])
    expect(await rowsOf(place, "runners", "?window=monthly")).toEqual([[1, "ada", 1]])
  })

  it("misses what is added while it is paused", async () => {
    const place = newPlace()
    await place.create("/v1/metrics", { ...counted, aggregate: "count" })
    await place.create("/v1/leaderboards", { ...runners, order: "asc" })
    await run(place, "ada", 1)
    await run(place, "bob", 1)
    await place.patch("/v1/leaderboards/runners", { status: "paused" })
    await run(place, "ada", 1)
    await place.patch("/v1/leaderboards/runners", { status: "active" })
    await run(place, "bob", 1)
    expect(await rowsOf(place, "runners")).toEqual([
      [1, "ada", 1],
      [2, "bob", 2],
    ])
  })

  it("shows the present values of a metric that neither counts nor sums, also negative ones", async () => {
    const place = newPlace()
    const value = { ...distance, key: "place", name: "Place", aggregate: "min" }
    await place.create("/v1/metrics", value)
    await run(place, "ada", 0)
    const board = { name: "Places", score: { metric: "place" }, windows: ["all_time"] }
    await place.create("/v1/leaderboards", { ...board, key: "low", order: "asc" })
    await place.create("/v1/leaderboards", { ...board, key: "high" })
    await rowsOf(place, "low")
    await rowsOf(place, "high")
    const { eventId } = await run(place, "bob", -2.5)
    await run(place, "bob", 4)
    await run(place, "cyd", 0)
    expect(await rowsOf(place, "low")).toEqual([
      [1, "bob", -2.5],
      [2, "ada", 0],
      [2, "cyd", 0],
    ])
    expect(await rowsOf(place, "high")).toEqual([
      [1, "ada", 0],
      [1, "cyd", 0],
      [3, "bob", -2.5],
    ])
    await place.delete(`/v1/users/bob/events/${eventId}`)
    expect(await rowsOf(place, "low")).toEqual([
      [1, "ada", 0],
      [1, "cyd", 0],
      [3, "bob", 4],
    ])
    await place.post("/v1/users/ada/merge", { into: "bob" })
    expect(await rowsOf(place, "high")).toEqual([
      [1, "bob", 0],
      [1, "cyd", 0],
    ])
    const refused = async (more: object) =>
      faultsOf(await place.post("/v1/leaderboards", { ...board, key: "more", ...more }))
    expect(await refused({ windows: ["all_time", "daily"] })).toEqual([["/windows", "not_allowed"]])
    expect(await refused({ ties: "first" })).toEqual([["/ties", "not_allowed"]])
    const paused = await place.patch("/v1/leaderboards/high", { status: "paused" })
    expect(problemOf(paused)).toEqual([409, "invalid_transition"])
  })

  it("shows distinct days, and takes an undone day back", async () => {
    const place = newPlace()
    await place.create("/v1/metrics", { ...counted, aggregate: "distinct_days" })
    await advance(place, start)
    const days = { ...runners, windows: ["all_time"] }
    await place.create("/v1/leaderboards", days)
    await rowsOf(place, "runners")
    await run(place, "ada", 1, { occurredAt: timeOf(start - day) })
    const { eventId } = await run(place, "ada", 1)
    await run(place, "bob", 1)
    expect(await rowsOf(place, "runners")).toEqual([
      [1, "ada", 2],
      [2, "bob", 1],
    ])
    await place.delete(`/v1/users/ada/events/${eventId}`)
    expect((await rowsOf(place, "runners")).map(([rank]: ReadonlyArray<unknown>) => rank)).toEqual([
      1, 1,
    ])
  })

  it("is refused for what does not exist, and for none or two kinds of score", async () => {
    const place = newPlace()
    const made = async (score: object) =>
      faultsOf(await place.post("/v1/leaderboards", { ...runners, score }))
    expect(await made({ metric: "none" })).toEqual([["/score/metric", "unknown_reference"]])
    expect(await made({ streak: "none" })).toEqual([["/score/streak", "unknown_reference"]])
    expect(await made({})).toEqual([["/score", "invalid_value"]])
    expect(await made({ currency: "xp", streak: "daily" })).toEqual([["/score", "invalid_value"]])
  })

  it("is one of few of the same metric", async () => {
    const place = newPlace()
    await place.create("/v1/metrics", distance)
    const create = async (score: object) =>
      (await place.post("/v1/leaderboards", { name: "Board", score })).status
    for (let n = 0; n < limits.boardsOfCurrencyMax; n++) {
      expect(await create({ metric: "distance" })).toBe(201)
    }
    expect(await create({ metric: "distance" })).toBe(409)
    expect(await create({ currency: "xp" })).toBe(201)
  })
})

const lessons = { key: "lessons", name: "Lessons", needs: [{ action: "LESSON" }] }
const steady = { key: "steady", name: "Steady", score: { streak: "lessons" } }

describe("A leaderboard of a streak", () => {
  it("lists present lengths, which grow and fall without a write of their users", async () => {
    const place = newPlace()
    await place.create("/v1/streaks", lessons)
    await advance(place, start)
    for (const [userId, days] of [
      ["ada", [0, 1]],
      ["bob", [1]],
      ["cyd", [0, 1]],
    ] as const) {
      for (const back of days) {
        const occurredAt = timeOf(start - back * day)
        await place.post("/v1/events", { userId, action: "LESSON", occurredAt })
      }
    }
    const board = await place.post("/v1/leaderboards", steady)
    expect(board.json).toMatchObject({ score: { streak: "lessons" }, windows: ["all_time"] })
    expect(await rowsOf(place, "steady")).toEqual([
      [1, "ada", 2],
      [1, "cyd", 2],
      [3, "bob", 1],
    ])
    // Bob has missed the day before; the others still have today.
    await advance(place, start + day)
    await expect
      .poll(() => rowsOf(place, "steady"))
      .toEqual([
        [1, "ada", 2],
        [1, "cyd", 2],
      ])
    await place.track("cyd", "LESSON")
    expect(await rowsOf(place, "steady")).toEqual([
      [1, "cyd", 3],
      [2, "ada", 2],
    ])
    await place.put("/v1/users/cyd", { hidden: true })
    expect(await rowsOf(place, "steady")).toEqual([[1, "ada", 2]])
    await place.put("/v1/users/cyd", { hidden: false })
    await advance(place, start + 2 * day)
    await expect.poll(() => rowsOf(place, "steady")).toEqual([[1, "cyd", 3]])
    await place.delete("/v1/users/cyd")
    expect(await rowsOf(place, "steady")).toEqual([])
    expect(problemOf(await place.delete("/v1/streaks/lessons"))).toEqual([409, "in_use"])
  })

  it("has only the window of all time, counts everyone, and is never paused", async () => {
    const place = newPlace()
    await place.create("/v1/streaks", lessons)
    const made = async (more: object) =>
      faultsOf(await place.post("/v1/leaderboards", { ...steady, ...more }))
    expect(await made({ windows: ["all_time", "daily"] })).toEqual([["/windows", "not_allowed"]])
    expect(await made({ startsAt: "2031-01-01T00:00:00Z" })).toEqual([["/startsAt", "not_allowed"]])
    expect(await made({ endsAt: "2031-01-01T00:00:00Z" })).toEqual([["/endsAt", "not_allowed"]])
    const conditions = [{ kind: "attribute", attribute: "plan", op: "eq", value: "pro" }]
    await place.post("/v1/segments", { key: "pro", name: "Pro", conditions })
    expect(await made({ segment: "pro" })).toEqual([["/segment", "not_allowed"]])
    await place.create("/v1/leaderboards", steady)
    const paused = await place.patch("/v1/leaderboards/steady", { status: "paused" })
    expect(problemOf(paused)).toEqual([409, "invalid_transition"])
  })
})
