/** Metrics by day, week and month over HTTP: of a user, and of all users. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { limitedInFile } from "../limited.ts"
import { faultsOf, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

// biome-ignore lint/suspicious/noExplicitAny: the body of a reply
type Json = any

limitedInFile({ metricSeriesRecordsMax: 5 })

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = async (metric: object = {}) => {
  const place = new Place(server, `series${places++}`)
  const made = { key: "km", name: "Distance", aggregate: "sum", value: "km", actions: ["RUN"] }
  await place.post("/v1/metrics", { ...made, decimals: 1, unit: "km", ...metric })
  return place
}

const dayMs = 86_400_000
const dateIn = (days: number) => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10)
const run = (place: Place, userId: string, km: number, daysAgo: number) =>
  place.post("/v1/events/import", {
    events: [
      {
        userId,
        action: "RUN",
        occurredAt: `${dateIn(-daysAgo)}T00:00:00.000Z`,
        metadata: { km },
      },
    ],
  })
const ofUser = (place: Place, userId: string, query = "") =>
  place.get(`/v1/users/${userId}/metrics/km/series${query}`)
const valuesOf = ({ points }: Json) =>
  points.filter(({ value }: Json) => value !== 0).map(({ from, value }: Json) => [from, value])

let earliest = -30
/** The days with events: a series that begins earlier than all before is computed at once. */
const ofAll = async (place: Place): Promise<ReadonlyArray<readonly [string, number, number]>> => {
  const path = `/v1/metrics/km/series?from=${dateIn(earliest--)}`
  for (;;) {
    const { points } = (await place.get(path)).json
    if (points === null) continue
    const some = points.filter(({ users }: Json) => users > 0)
    return some.map(({ from, users, value }: Json) => [from, value, users])
  }
}

describe("The series of a user", () => {
  it("has a value for each of the last 30 days, 12 weeks or 12 months", async () => {
    const place = await newPlace()
    await run(place, "ann", 5.2, 3)
    await run(place, "ann", 1, 3)
    await run(place, "ann", 2, 0)
    const { json } = await ofUser(place, "ann")
    expect(json).toMatchObject({ userId: "ann", key: "km", unit: "km", by: "day" })
    expect(json).toMatchObject({ from: dateIn(-29), to: dateIn(0), truncated: false })
    expect(json.points.length).toBe(30)
    expect(valuesOf(json)).toEqual([
      [dateIn(-3), 6.2],
      [dateIn(0), 2],
    ])
    for (const by of ["week", "month"]) {
      const { points } = (await ofUser(place, "ann", `?by=${by}`)).json
      expect(points.length).toBe(12)
      const sum = points.reduce((all: number, { value }: Json) => all + value, 0)
      expect(sum).toBeCloseTo(8.2)
    }
  })

  it("lacks an undone event, and shows null where a maximum has none", async () => {
    const place = await newPlace({ aggregate: "max" })
    await run(place, "ann", 5, 1)
    const { eventId } = (
      await place.post("/v1/events", { userId: "ann", action: "RUN", metadata: { km: 9 } })
    ).json
    const query = `?from=${dateIn(-1)}&to=${dateIn(0)}`
    const values = async () =>
      (await ofUser(place, "ann", query)).json.points.map(({ value }: Json) => value)
    expect(await values()).toEqual([5, 9])
    await place.delete(`/v1/users/ann/events/${eventId}`)
    expect(await values()).toEqual([5, null])
  })

  it("leaves out periods that begin before the records that are read", async () => {
    const place = await newPlace()
    for (let n = 0; n < limits.metricSeriesRecordsMax; n++) await run(place, "ann", 1, 9)
    const whole = (await ofUser(place, "ann")).json
    expect([whole.truncated, valuesOf(whole)]).toEqual([false, [[dateIn(-9), 5]]])
    await run(place, "ann", 2, 0)
    const cut = (await ofUser(place, "ann")).json
    expect([cut.truncated, cut.points]).toEqual([true, []])
  })

  it("is refused for an unknown user, an unknown metric or a range beyond the bounds", async () => {
    const place = await newPlace()
    await run(place, "ann", 1, 0)
    expect(problemOf(await ofUser(place, "bob"))).toEqual([404, "user_not_found"])
    expect(problemOf(await place.get("/v1/users/ann/metrics/none/series"))).toEqual([
      404,
      "metric_not_found",
    ])
    const most = limits.metricSeriesDaysMax
    expect((await ofUser(place, "ann", `?from=${dateIn(-most)}`)).json.points.length).toBe(most + 1)
    expect((await ofUser(place, "ann", `?to=${dateIn(1)}`)).status).toBe(200)
    for (const [query, pointer, code] of [
      [`?from=${dateIn(-most - 1)}`, "query/from", "out_of_range"],
      [`?to=${dateIn(2)}`, "query/to", "out_of_range"],
      [`?to=${dateIn(-most)}`, "query/to", "out_of_range"],
      [`?from=${dateIn(-1)}&to=${dateIn(-2)}`, "query/to", "out_of_range"],
      ["?from=2026-02-30", "query/from", "invalid_format"],
      ["?by=year", "query/by", "invalid_value"],
    ] as const) {
      expect(faultsOf(await ofUser(place, "ann", query))).toEqual([[pointer, code]])
    }
  })
})

describe("The series of all users", () => {
  it("is computed when it is read, without undone events and erased users", async () => {
    const place = await newPlace()
    expect((await place.get("/v1/metrics/km/series")).json).toMatchObject({
      points: null,
      countedAt: null,
      counting: true,
    })
    await run(place, "ann", 5, 2)
    await run(place, "bob", 1.5, 2)
    await run(place, "cem", 4, 2)
    const { eventId } = (
      await place.post("/v1/events", { userId: "ann", action: "RUN", metadata: { km: 9 } })
    ).json
    expect(await ofAll(place)).toEqual([
      [dateIn(-2), 10.5, 3],
      [dateIn(0), 9, 1],
    ])
    await place.delete(`/v1/users/ann/events/${eventId}`)
    await place.delete("/v1/users/cem")
    expect(await ofAll(place)).toEqual([[dateIn(-2), 6.5, 2]])
  })

  it("sums the days of users, so that a day has its active users", async () => {
    const place = await newPlace({ aggregate: "distinct_days", value: undefined, decimals: 0 })
    for (const userId of ["ann", "ann", "bob"]) await run(place, userId, 1, 1)
    await run(place, "ann", 1, 0)
    expect(await ofAll(place)).toEqual([
      [dateIn(-1), 2, 2],
      [dateIn(0), 1, 1],
    ])
  })

  it("is refused for an unknown metric", async () => {
    const place = await newPlace()
    expect(problemOf(await place.get("/v1/metrics/none/series"))).toEqual([404, "metric_not_found"])
  })
})
