/** The recap of an environment over HTTP: what all users did in a range of days. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { faultsOf, isoTime, Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = async () => {
  const place = new Place(server, `recapOfAll${places++}`)
  await place.post("/v1/rules", { action: "RUN", reward: { xp: 60, points: 1 } })
  await place.post("/v1/rules", { action: "SWIM", reward: { xp: 10 } })
  return place
}

const dayMs = 86_400_000
const dateIn = (days: number) => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10)
const did = (place: Place, userId: string, action: string, daysAgo: number) =>
  place.post("/v1/events/import", {
    events: [{ userId, action, occurredAt: `${dateIn(-daysAgo)}T00:00:00.000Z` }],
  })

describe("The recap of an environment", () => {
  it("sums up the days of the range, and counts each user once", async () => {
    const place = await newPlace()
    for (const [userId, action, daysAgo] of [
      ["ann", "RUN", 9],
      ["ann", "SWIM", 5],
      ["bob", "RUN", 5],
      ["ann", "RUN", 4],
      ["cyd", "SWIM", 4],
      ["ann", "SWIM", 3],
      ["dan", "RUN", 1],
    ] as const) {
      await did(place, userId, action, daysAgo)
    }
    const { json, status } = await place.get(`/v1/recap?from=${dateIn(-5)}&to=${dateIn(-3)}`)
    expect([status, json]).toEqual([
      200,
      {
        from: dateIn(-5),
        to: dateIn(-3),
        keptFrom: dateIn(-limits.analyticsDaysMax),
        complete: true,
        countedAt: expect.stringMatching(isoTime),
        counting: false,
        activeUsers: 3,
        newUsers: 2,
        totals: {
          events: 5,
          currencies: { xp: 150, points: 2 },
          badges: 0,
          quests: 0,
        },
        bestDay: { date: dateIn(-5), xp: 70, events: 2 },
        streaks: [],
        topUsers: null,
      },
    ])
  })

  it("is a table on request, with a row for each number", async () => {
    const place = await newPlace()
    await did(place, "ann", "RUN", 3)
    const range = `from=${dateIn(-5)}&to=${dateIn(-3)}`
    const { headers, text } = await place.get(`/v1/recap?${range}&format=csv`)
    expect(headers["content-type"]).toBe("text/csv; charset=utf-8")
    const { json } = await place.get(`/v1/recap?${range}`)
    expect(text.split("\r\n")).toEqual([
      "figure,key,value",
      `from,,${dateIn(-5)}`,
      `to,,${dateIn(-3)}`,
      "activeUsers,,1",
      "newUsers,,1",
      "events,,1",
      `earned,xp,${json.totals.currencies.xp}`,
      `earned,points,${json.totals.currencies.points}`,
      "badges,,0",
      "quests,,0",
      `bestDayXp,${dateIn(-3)},${json.bestDay.xp}`,
      "",
    ])
    expect((await place.get(`/v1/recap?${range}&format=xml`)).status).toBe(400)
  })

  it("lists the users with the most xp of a day and the longest streaks, and nobody where there are none", async () => {
    const place = await newPlace()
    const today = `from=${dateIn(0)}&to=${dateIn(0)}`
    const { json: empty } = await place.get(`/v1/recap?${today}`)
    expect(empty).toMatchObject({ activeUsers: 0, newUsers: 0, bestDay: null, topUsers: [] })
    await place.post("/v1/streaks", { key: "daily", name: "Daily" })
    // A run of two days, and one that is over.
    for (const daysAgo of [9, 8, 1]) await did(place, "cyd", "WALK", daysAgo)
    await place.post("/v1/events", { userId: "cyd", action: "WALK" })
    await place.call("PUT", "/v1/users/ann", { body: { displayName: "Ann" } })
    await place.post("/v1/events", { userId: "ann", action: "SWIM" })
    await place.post("/v1/events", { userId: "bob", action: "RUN" })
    const { json } = await place.get(`/v1/recap?${today}`)
    expect(json.streaks).toEqual([{ key: "daily", best: 2 }])
    expect(json.topUsers).toEqual([
      { rank: 1, userId: "bob", displayName: null, xp: 60 },
      { rank: 2, userId: "ann", displayName: "Ann", xp: 10 },
    ])
  })

  it("leaves out erased users and undone events of the users, and counts merged users once", async () => {
    const place = await newPlace()
    for (const userId of ["ann", "bob", "cyd"]) await did(place, userId, "RUN", 2)
    await place.call("DELETE", "/v1/users/cyd")
    await place.post("/v1/users/bob/merge", { into: "ann" })
    const { json } = await place.get(`/v1/recap?from=${dateIn(-2)}&to=${dateIn(-1)}`)
    expect([json.activeUsers, json.newUsers, json.totals.events]).toEqual([1, 1, 3])
  })

  it("says which days are kept, and refuses days that are not, with every fault", async () => {
    const place = await newPlace()
    const kept = limits.analyticsDaysMax
    const faults = async (query: string) => faultsOf(await place.get(`/v1/recap?${query}`))
    const read = async (query: string) => (await place.get(`/v1/recap?${query}`)).json
    const early = `from=${dateIn(-kept - 9)}&to=${dateIn(-kept)}`
    expect(await read(early)).toMatchObject({ complete: false, keptFrom: dateIn(-kept) })
    expect(await read(`from=${dateIn(-kept)}`)).toMatchObject({ complete: true })
    const out = "out_of_range"
    expect(await faults(`from=${dateIn(-kept - 9)}&to=${dateIn(-kept - 1)}`)).toEqual([
      ["query/to", out],
    ])
    expect(await faults(`from=${dateIn(2)}&to=${dateIn(1)}`)).toEqual([
      ["query/to", out],
      ["query/from", out],
    ])
    const longest = `from=${dateIn(-limits.recapDaysMax - 1)}`
    expect(await faults(longest)).toEqual([["query/from", out]])
  })

  it.each([
    { scope: "ingest" },
    { kind: "publishable" },
    { kind: "user", scope: "user", userId: "ada" },
  ] as const)("is refused to a key that may not read: %o", async (key) => {
    const text = server.accounts.addKey(`lk_test_recap_${JSON.stringify(key)}`, key)
    const { json, status } = await server.call("GET", "/v1/recap", { key: text })
    expect([status, json.code]).toEqual([403, "insufficient_scope"])
  })
})
