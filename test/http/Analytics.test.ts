/** Active users and retention over HTTP: replies, tables, faults and access. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { reminderKinds } from "../../src/domain/user/Comeback.ts"
import { limits } from "../../src/Limits.ts"
import { faultsOf, isoTime, Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `analytics${places++}`)

const dayMs = 86_400_000
const dateIn = (days: number) => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10)
const did = (place: Place, userId: string, daysAgo: number) =>
  place.post("/v1/events/import", {
    events: [{ userId, action: "TAP", occurredAt: `${dateIn(-daysAgo)}T00:00:00.000Z` }],
  })

describe("The active users", () => {
  it("are those of each day, with what happened on it", async () => {
    const place = newPlace()
    await place.post("/v1/rules", { action: "TAP", reward: { xp: 5 } })
    await did(place, "ada", 40)
    await did(place, "ada", 3)
    await did(place, "bob", 3)
    await did(place, "ada", 2)
    const { json, status } = await place.get(
      `/v1/analytics/activity?from=${dateIn(-3)}&to=${dateIn(-2)}`,
    )
    const day = { complete: true, wau: 2, mau: 2, badges: 0, quests: 0 }
    expect([status, json]).toEqual([
      200,
      {
        from: dateIn(-3),
        to: dateIn(-2),
        countedAt: expect.stringMatching(isoTime),
        counting: false,
        days: [
          {
            ...day,
            date: dateIn(-3),
            ...{ dau: 2, newUsers: 1, returningUsers: 1, stickiness: 1, events: 2, xp: 10 },
          },
          {
            ...day,
            date: dateIn(-2),
            ...{ dau: 1, newUsers: 0, returningUsers: 1, stickiness: 0.5, events: 1, xp: 5 },
          },
        ],
      },
    ])
  })

  it("are those of 30 days up to today by default, none of them without users", async () => {
    const { json } = await newPlace().get("/v1/analytics/activity")
    expect([json.days.length, json.to]).toEqual([30, dateIn(0)])
    expect(json.days[0]).toMatchObject({ dau: 0, mau: 0, stickiness: null, events: 0 })
    expect(json.days.at(-1).complete).toBe(false)
  })

  it("are a table on request", async () => {
    const place = newPlace()
    await did(place, "ada", 2)
    const path = `/v1/analytics/activity?format=csv&from=${dateIn(-3)}&to=${dateIn(-2)}`
    const { headers, text } = await place.get(path)
    expect(headers["content-type"]).toBe("text/csv; charset=utf-8")
    expect(headers["content-disposition"]).toBe('attachment; filename="activity.csv"')
    expect(text.split("\r\n")).toEqual([
      "date,complete,dau,wau,mau,newUsers,returningUsers,stickiness,events,xp,badges,quests",
      `${dateIn(-3)},true,0,0,0,0,0,,0,0,0,0`,
      `${dateIn(-2)},true,1,1,1,1,0,1,1,0,0,0`,
      "",
    ])
  })
})

describe("Retention", () => {
  it("is that of cohorts of days, and of all of them together", async () => {
    const place = newPlace()
    for (const [userId, daysAgo] of [
      ["ada", 20],
      ["bob", 20],
      ["ada", 19],
      ["ada", 13],
      ["cyd", 10],
      ["cyd", 9],
    ] as const) {
      await did(place, userId, daysAgo)
    }
    const { json } = await place.get(
      `/v1/analytics/retention?from=${dateIn(-20)}&to=${dateIn(-10)}`,
    )
    expect([json.by, json.cohorts.length]).toEqual(["day", 11])
    expect(json.cohorts[0]).toEqual({
      from: dateIn(-20),
      to: dateIn(-20),
      users: 2,
      days: [
        { day: 1, of: 2, users: 1, share: 0.5 },
        { day: 7, of: 2, users: 1, share: 0.5 },
        { day: 14, of: 2, users: 0, share: 0 },
        ...[30, 60, 90].map((day) => ({ day, of: 0, users: 0, share: null })),
      ],
    })
    expect(json.curve[0]).toEqual({ day: 0, of: 3, users: 3, share: 1 })
    expect(json.curve[1]).toEqual({ day: 1, of: 3, users: 2, share: 0.6667 })
    expect(json.curve[14]).toEqual({ day: 14, of: 2, users: 0, share: 0 })
    expect(json.curve).toHaveLength(91)
  })

  it("has a cohort for each week or month on request, also as a table", async () => {
    const place = newPlace()
    await did(place, "ada", 20)
    await did(place, "ada", 19)
    for (const [by, count] of [
      ["week", 12],
      ["month", 12],
    ] as const) {
      const { json } = await place.get(`/v1/analytics/retention?by=${by}`)
      expect([by, json.cohorts.length]).toEqual([by, count])
      const users = json.cohorts.reduce((sum: number, one: { users: number }) => sum + one.users, 0)
      expect(users).toBe(1)
    }
    const { text } = await place.get(
      `/v1/analytics/retention?format=csv&from=${dateIn(-20)}&to=${dateIn(-20)}`,
    )
    expect(text.split("\r\n").slice(1)).toEqual([
      `${dateIn(-20)},${dateIn(-20)},1,1,1,1,1,0,0,1,0,0,0,0,,0,0,,0,0,`,
      "",
    ])
  })
})

describe("Retention of some users", () => {
  const dailyGoal = {
    ...{ id: "exp_goal", key: "goal", name: "Goal" },
    variants: [
      { key: "control", weight: 1 },
      { key: "goal", weight: 1 },
    ],
  }
  const segment = {
    ...{ key: "pros", name: "Pros" },
    conditions: [{ kind: "attribute", attribute: "plan", op: "eq", value: "pro" }],
  }

  it("is that of the members of a segment, by their first active days", async () => {
    const place = newPlace()
    await place.post("/v1/segments", segment)
    for (const userId of ["ada", "bob"]) await did(place, userId, 20)
    await did(place, "ada", 19)
    await place.call("PUT", "/v1/users/ada", { body: { attributes: { plan: "pro" } } })
    const range = `from=${dateIn(-20)}&to=${dateIn(-20)}`
    const { json } = await place.get(`/v1/analytics/retention?${range}&segment=pros`)
    expect(json).toMatchObject({ segment: "pros", experiment: null, variant: null })
    expect(json.cohorts[0]).toMatchObject({ users: 1 })
    expect(json.cohorts[0].days[0]).toEqual({ day: 1, of: 1, users: 1, share: 1 })
    const { text } = await place.get(
      `/v1/analytics/retention?${range}&segment=pros&by=day&format=csv`,
    )
    expect(text.split("\r\n")[1]).toMatch(/^.*,.*,1,1,1,1,/)
  })

  it("is that of a variant, by the days on which users entered", async () => {
    const place = newPlace()
    await place.post("/v1/test-clock", { advanceTo: `${dateIn(1)}T12:00:00Z` })
    await place.post("/v1/events", { userId: "ada", action: "TAP" })
    await place.post("/v1/test-clock", { advanceTo: `${dateIn(3)}T12:00:00Z` })
    await place.post("/v1/definitions/apply", { definitions: { experiments: [dailyGoal] } })
    const { json: entered } = await place.post("/v1/events", { userId: "ada", action: "TAP" })
    const [{ variant }] = entered.experiments
    await place.post("/v1/test-clock", { advanceTo: `${dateIn(4)}T12:00:00Z` })
    await place.post("/v1/events", { userId: "ada", action: "TAP" })
    await place.post("/v1/test-clock", { advanceTo: `${dateIn(8)}T12:00:00Z` })
    const of = async (variant: string) => {
      const query = `experiment=exp_goal&variant=${variant}&from=${dateIn(1)}`
      const { json } = await place.get(`/v1/analytics/retention?${query}`)
      return json
    }
    const json = await of(variant)
    expect(json).toMatchObject({ segment: null, experiment: "goal", variant })
    const began = json.cohorts.filter(({ users }: { users: number }) => users > 0)
    expect(began).toMatchObject([{ from: dateIn(3), users: 1 }])
    expect(json.curve.slice(0, 3)).toEqual([
      { day: 0, of: 1, users: 1, share: 1 },
      { day: 1, of: 1, users: 1, share: 1 },
      { day: 2, of: 1, users: 0, share: 0 },
    ])
    const other = await of(variant === "goal" ? "control" : "goal")
    expect(other.curve[0]).toEqual({ day: 0, of: 0, users: 0, share: null })
  })

  it("is refused with every fault of what is asked for", async () => {
    const place = newPlace()
    await place.post("/v1/segments", segment)
    await place.post("/v1/definitions/apply", { definitions: { experiments: [dailyGoal] } })
    for (const [query, faults] of [
      ["segment=none", [["query/segment", "unknown_reference"]]],
      ["experiment=goal", [["query/variant", "missing"]]],
      ["variant=goal", [["query/experiment", "missing"]]],
      ["experiment=none&variant=goal", [["query/experiment", "unknown_reference"]]],
      ["experiment=goal&variant=none", [["query/variant", "unknown_reference"]]],
      [
        "segment=pros&experiment=goal&variant=goal",
        [
          ["query/experiment", "not_allowed"],
          ["query/variant", "not_allowed"],
        ],
      ],
      [
        `from=${dateIn(-1)}&to=${dateIn(-2)}&segment=none`,
        [
          ["query/to", "out_of_range"],
          ["query/segment", "unknown_reference"],
        ],
      ],
    ] as const) {
      expect(faultsOf(await place.get(`/v1/analytics/retention?${query}`))).toEqual(faults)
    }
    await place.delete("/v1/segments/pros")
    expect(faultsOf(await place.get("/v1/analytics/retention?segment=pros"))).toEqual([
      ["query/segment", "unknown_reference"],
    ])
  })
})

describe("The reminders", () => {
  it("are counted by day and kind, with those that an event followed", async () => {
    const place = newPlace()
    await place.patch("/v1/project", { reminders: { inactiveDays: [1], hour: 10 } })
    const { json: before } = await place.get("/v1/analytics/reminders")
    const none = { sent: 0, returned: 0, share: null }
    expect(before.days).toEqual([])
    expect(before.totals).toEqual(reminderKinds.map((kind) => ({ kind, ...none })))
    const noon = (days: number) => `${dateIn(days)}T12:00:00Z`
    const advance = (days: number) => place.post("/v1/test-clock", { advanceTo: noon(days) })
    await advance(1)
    for (const userId of ["ada", "bob"]) await place.post("/v1/events", { userId, action: "TAP" })
    await advance(2)
    await place.post("/v1/events", { userId: "ada", action: "TAP" })
    const query = `from=${dateIn(2)}&to=${dateIn(2)}`
    const day = { date: dateIn(2), kind: "user.inactive", sent: 2, returned: 1, share: 0.5 }
    const { json } = await place.get(`/v1/analytics/reminders?${query}`)
    const { date: _, ...total } = day
    expect(json).toEqual({
      from: dateIn(2),
      to: dateIn(2),
      totals: [total, ...reminderKinds.slice(1).map((kind) => ({ kind, ...none }))],
      days: [{ ...day, complete: false }],
    })
    await advance(4)
    const { text } = await place.get(`/v1/analytics/reminders?${query}&format=csv`)
    expect(text).toBe(
      `date,kind,sent,returned,share,complete\r\n${dateIn(2)},user.inactive,2,1,0.5,true\r\n`,
    )
  })
})

describe("Analytics are refused", () => {
  it.each(["activity", "reminders", "retention"])(
    "outside of the days of %s, with every fault",
    async (name) => {
      const place = newPlace()
      const faults = async (query: string) =>
        faultsOf(await place.get(`/v1/analytics/${name}?${query}`))
      const earliest = dateIn(-limits.analyticsDaysMax)
      expect((await place.get(`/v1/analytics/${name}?from=${earliest}`)).status).toBe(200)
      const out = "out_of_range"
      const before = dateIn(-limits.analyticsDaysMax - 1)
      expect(await faults(`from=${before}`)).toEqual([["query/from", out]])
      expect(await faults(`to=${before}`)).toEqual([["query/to", out]])
      expect(await faults(`to=${dateIn(3)}&from=${before}`)).toEqual([
        ["query/from", out],
        ["query/to", out],
      ])
      expect(await faults(`from=${dateIn(-1)}&to=${dateIn(-2)}`)).toEqual([["query/to", out]])
      expect(await faults("from=yesterday&format=xml")).toEqual([
        ["query/from", "invalid_format"],
        ["query/format", "invalid_value"],
      ])
    },
  )

  it.each([
    { scope: "ingest" },
    { kind: "publishable" },
    { kind: "user", scope: "user", userId: "ada" },
  ] as const)("for a key that may not read: %o", async (key) => {
    const text = server.accounts.addKey(`lk_test_analytics_${JSON.stringify(key)}`, key)
    for (const name of ["activity", "reminders", "retention"]) {
      const { json, status } = await server.call("GET", `/v1/analytics/${name}`, { key: text })
      expect([status, json.code]).toEqual([403, "insufficient_scope"])
    }
  })
})
