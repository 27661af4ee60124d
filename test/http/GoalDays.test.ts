/** Shared goals by day over HTTP. */
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

const placeAt = async (time: string): Promise<Place> => {
  const place = new Place(server, `goaldays${places++}`)
  await place.patch("/v1/project", { timezone: "Europe/Berlin" })
  await place.post("/v1/test-clock", { advanceTo: time })
  await place.create("/v1/metrics", {
    key: "km",
    name: "Km",
    aggregate: "sum",
    actions: ["RUN"],
    value: "km",
    decimals: 1,
  })
  return place
}

const goal = { key: "run", name: "Run", score: { metric: "km" }, target: 1_000 }

const run = async (place: Place, userId: string, km: number, occurredAt?: string) => {
  const body = { userId, action: "RUN", metadata: { km }, ...(occurredAt && { occurredAt }) }
  const { json, status } = await place.post("/v1/events", body)
  expect(status).toBe(200)
  return json.eventId as string
}

/** The days with a contribution. */
const daysOf = async (place: Place, query = ""): Promise<Record<string, number>> => {
  const { json, status } = await place.get(`/v1/goals/run/days${query}`)
  expect([status, json]).toEqual([200, expect.anything()])
  return Object.fromEntries(
    json.days
      .filter(({ contributed }: { contributed: number }) => contributed !== 0)
      .map(({ contributed, date }: { contributed: number; date: string }) => [date, contributed]),
  )
}

describe("A goal by day", () => {
  it("has each contribution on the project's day of its event, also after an undo and an erasure", async () => {
    const place = await placeAt("2030-01-08T10:00:00Z")
    await place.create("/v1/goals", { ...goal, startsAt: "2030-01-01T00:00:00Z" })
    await run(place, "ada", 5.5)
    // It is the 8th in Berlin already.
    await run(place, "bob", 2, "2030-01-07T23:30:00Z")
    const late = await run(place, "bob", 4, "2030-01-03T12:00:00Z")
    await run(place, "cyd", 1.5, "2030-01-03T12:00:00Z")
    expect(await daysOf(place)).toEqual({ "2030-01-03": 5.5, "2030-01-08": 7.5 })
    // A zone in which the 8th has not begun moves nothing.
    await place.patch("/v1/project", { timezone: "America/New_York" })
    await place.post("/v1/test-clock", { advanceTo: "2030-01-09T12:00:00Z" })
    expect((await place.delete(`/v1/users/bob/events/${late}`)).status).toBe(200)
    expect(await daysOf(place)).toEqual({ "2030-01-03": 1.5, "2030-01-08": 7.5 })
    await place.delete("/v1/users/cyd")
    expect(await daysOf(place)).toEqual({ "2030-01-03": 1.5, "2030-01-08": 7.5 })
    const { json } = await place.get("/v1/goals/run/days?from=2030-01-07&to=2030-01-09")
    expect(json).toEqual({
      goalId: expect.stringMatching(/^gol_/),
      key: "run",
      name: "Run",
      from: "2030-01-07",
      to: "2030-01-09",
      days: [
        { date: "2030-01-07", contributed: 0 },
        { date: "2030-01-08", contributed: 7.5 },
        { date: "2030-01-09", contributed: 0 },
      ],
    })
  })

  it("has all periods of a recurring goal, and all teams", async () => {
    const place = await placeAt("2030-01-08T10:00:00Z")
    for (const id of ["owls", "hawks"]) {
      await place.put(`/v1/teams/${id}`, { kind: "club", name: id })
      await place.put(`/v1/teams/${id}/members/${id}-1`, {})
    }
    const ofTeams = { scope: "team", teamKind: "club", recurrence: "daily" }
    await place.create("/v1/goals", { ...goal, ...ofTeams })
    await run(place, "owls-1", 3)
    await run(place, "hawks-1", 4)
    await place.post("/v1/test-clock", { advanceTo: "2030-01-09T10:00:00Z" })
    await run(place, "hawks-1", 1)
    expect(await daysOf(place)).toEqual({ "2030-01-08": 7, "2030-01-09": 1 })
  })

  it("reads the last 30 days, up to the end of a goal that is over, and never more than it has", async () => {
    const place = await placeAt("2030-01-08T10:00:00Z")
    await place.create("/v1/goals", { ...goal, endsAt: "2030-01-10T00:00:00+01:00" })
    await run(place, "ada", 3)
    await place.post("/v1/test-clock", { advanceTo: "2030-02-20T10:00:00Z" })
    expect((await place.get("/v1/goals/run/days")).json).toMatchObject({
      from: "2029-12-11",
      to: "2030-01-09",
    })
    expect(await daysOf(place)).toEqual({ "2030-01-08": 3 })
    const daysAgo = (days: number) =>
      new Date(Date.parse("2030-02-20") - days * 86_400_000).toISOString().slice(0, 10)
    const first = daysAgo(limits.goalDaysMax - 1)
    const { json } = await place.get(`/v1/goals/run/days?from=${first}&to=2030-02-20`)
    expect(json.days).toHaveLength(limits.goalDaysMax)
    const faults = async (query: string) => faultsOf(await place.get(`/v1/goals/run/days?${query}`))
    expect(await faults(`from=${daysAgo(limits.goalDaysMax)}`)).toEqual([
      ["query/from", "out_of_range"],
    ])
    expect(await faults(`to=${daysAgo(limits.goalDaysMax)}`)).toEqual([
      ["query/to", "out_of_range"],
    ])
    expect(await faults("from=2030-02-02&to=2030-02-01")).toEqual([["query/to", "out_of_range"]])
    expect(await faults("to=2030-02-22")).toEqual([["query/to", "out_of_range"]])
    expect(await faults("from=2030-01-10")).toEqual([["query/from", "out_of_range"]])
    await place.post("/v1/test-clock", { advanceTo: "2031-02-20T10:00:00Z" })
    expect((await place.get("/v1/goals/run/days")).json.days).toEqual([
      { date: expect.any(String), contributed: 0 },
    ])
    expect(problemOf(await place.get("/v1/goals/none/days"))).toEqual([404, "goal_not_found"])
  })
})
