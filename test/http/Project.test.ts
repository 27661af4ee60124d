import { Effect } from "effect"
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
const newPlace = () => new Place(server, `project${places++}`)

describe("GET /v1/project", () => {
  it("shows the default settings, and the tier of the project", async () => {
    const { json, status } = await newPlace().get("/v1/project")
    expect(status).toBe(200)
    expect(json).toEqual({
      id: "prj_test",
      environment: "sandbox",
      name: "prj_test",
      timezone: "UTC",
      levelCurve: { kind: "quadratic", base: 50 },
      clientActions: [],
      reminders: null,
      tier: "enterprise",
      version: 1,
    })
  })

  it("has the name of the project's keys until it gets a name of its own", async () => {
    const place = newPlace()
    await Effect.runPromise(
      server.engine.askDirectory({
        kind: "createKey",
        by: "operator",
        projectId: "prj_test",
        projectName: "shop",
        key: {
          id: "key_1",
          environment: "sandbox",
          scope: "full",
          hash: "",
          hint: "",
        },
      }),
    )
    const name = async () => (await place.get("/v1/project")).json.name
    expect(await name()).toBe("shop")
    await place.patch("/v1/project", { name: "The shop" })
    expect(await name()).toBe("The shop")
    await place.patch("/v1/project", { name: null })
    expect(await name()).toBe("shop")
  })
})

describe("PATCH /v1/project", () => {
  it("changes the members that it names, and keeps the rest", async () => {
    const place = newPlace()
    const before = (await place.get("/v1/project")).json
    const patched = await place.patch("/v1/project", { timezone: "europe/berlin" })
    expect(patched.json).toEqual({ ...before, timezone: "Europe/Berlin", version: 2 })
    expect((await place.get("/v1/project")).json).toEqual(patched.json)
  })

  it("gives every user the level of the new curve at once, and leaves xp unchanged", async () => {
    const place = newPlace()
    await place.post("/v1/users/ada/rewards", { type: "xp", amount: 650 })
    const level = async () => {
      const { json } = await place.get("/v1/users/ada/progress")
      return [json.xp, json.level, json.levelProgress.xpAtNext]
    }
    expect(await level()).toEqual([650, 4, 1_000])
    const set = (levelCurve: object) => place.patch("/v1/project", { levelCurve })
    expect((await set({ kind: "linear", xpPerLevel: 100 })).status).toBe(200)
    expect(await level()).toEqual([650, 7, 700])
    await set({ xpPerLevel: 325 })
    expect(await level()).toEqual([650, 3, 975])
    await set({ kind: "geometric", base: 100, factor: 2 })
    expect(await level()).toEqual([650, 3, 700])
    const { json } = await set({ kind: "table", thresholds: [0, 5, 600] })
    expect(json.levelCurve).toEqual({ kind: "table", thresholds: [0, 5, 600] })
    expect(await level()).toEqual([650, 3, null])
    expect((await place.get("/v1/leaderboard")).json.entries[0].level).toBe(3)
  })

  it("sets when users are reminded, and whom not to remind", async () => {
    const place = newPlace()
    const set = (reminders: unknown) => place.patch("/v1/project", { reminders })
    const days = Array.from({ length: limits.remindersMax }, (_, index) => 10 - index)
    const inactiveDays = days.toSorted((one, other) => one - other)
    const none = { questDays: null, expiryDays: null, leagueDays: null }
    expect((await set({ inactiveDays: days })).json.reminders).toEqual({
      inactiveDays,
      ...none,
      hour: 10,
      unless: null,
    })
    expect((await set({ questDays: 1 })).json.reminders).toEqual({
      inactiveDays: [],
      ...none,
      questDays: 1,
      hour: 10,
      unless: null,
    })
    const longest = limits.reminderDaysBeforeMax
    const given = {
      inactiveDays: [limits.reminderDaysMax],
      questDays: longest,
      expiryDays: longest,
      leagueDays: longest,
      hour: 23,
      unless: "quiet",
    }
    expect((await set(given)).json.reminders).toEqual(given)
    for (const [reminders, pointer, code] of [
      [{}, "/reminders/inactiveDays", "missing"],
      [{ inactiveDays: [] }, "/reminders/inactiveDays", "missing"],
      [none, "/reminders/inactiveDays", "missing"],
      [{ questDays: 0 }, "/reminders/questDays", "out_of_range"],
      [{ questDays: longest + 1 }, "/reminders/questDays", "out_of_range"],
      [{ expiryDays: 0 }, "/reminders/expiryDays", "out_of_range"],
      [{ expiryDays: longest + 1 }, "/reminders/expiryDays", "out_of_range"],
      [{ leagueDays: 0 }, "/reminders/leagueDays", "out_of_range"],
      [{ leagueDays: longest + 1 }, "/reminders/leagueDays", "out_of_range"],
      [{ inactiveDays: [...days, 99] }, "/reminders/inactiveDays", "too_long"],
      [{ inactiveDays: [3, 3] }, "/reminders/inactiveDays/1", "duplicate"],
      [{ inactiveDays: [0] }, "/reminders/inactiveDays/0", "out_of_range"],
      [{ inactiveDays: [limits.reminderDaysMax + 1] }, "/reminders/inactiveDays/0", "out_of_range"],
      [{ inactiveDays: [1], hour: 24 }, "/reminders/hour", "out_of_range"],
      [{ inactiveDays: [1], hour: -1 }, "/reminders/hour", "out_of_range"],
      [{ inactiveDays: [1], unless: "" }, "/reminders/unless", "too_short"],
    ] as const) {
      expect(faultsOf(await set(reminders))).toEqual([[pointer, code]])
    }
    await place.patch("/v1/project", { name: "Mine" })
    expect((await place.get("/v1/project")).json.reminders).toEqual(given)
    expect((await set(null)).json.reminders).toBe(null)
  })

  it("sets the actions that users may send with their tokens", async () => {
    const place = newPlace()
    const set = (clientActions: unknown) => place.patch("/v1/project", { clientActions })
    const most = Array.from({ length: limits.clientActionsMax }, (_, index) => `A${index}`)
    expect((await set(most)).json.clientActions).toEqual(most)
    expect(faultsOf(await set([...most, "B"]))).toEqual([["/clientActions", "too_long"]])
    expect(faultsOf(await set(["TAP", "tap"]))).toEqual([["/clientActions/1", "invalid_format"]])
    expect(faultsOf(await set(["TAP", "B", "TAP"]))).toEqual([["/clientActions/2", "duplicate"]])
    expect(faultsOf(await set("TAP"))).toEqual([["/clientActions", "invalid_type"]])
    await place.patch("/v1/project", { name: "Mine" })
    expect((await place.get("/v1/project")).json.clientActions).toEqual(most)
    expect((await set(null)).json.clientActions).toEqual([])
  })

  it("does not change the tier", async () => {
    expect(faultsOf(await newPlace().patch("/v1/project", { tier: "enterprise" }))).toEqual([
      ["/tier", "unknown_member"],
    ])
  })

  it("applies to one environment only", async () => {
    const place = newPlace()
    await place.patch("/v1/project", { name: "Mine" })
    expect((await newPlace().get("/v1/project")).json.name).not.toBe("Mine")
  })
})

describe("POST /v1/project/simulate", () => {
  it("reports the rewards of an event by their sources, and changes nothing", async () => {
    const place = newPlace()
    await place.create("/v1/streaks", { key: "daily", name: "Daily" })
    const rule = await place.create("/v1/rules", { action: "TAP", reward: { xp: 60, points: 2 } })
    const steps = [{ key: "tap", action: "TAP", target: 1 }]
    const given = await place.create("/v1/badges", { name: "Q", criteria: { kind: "manual" } })
    const reward = { xp: 50, badgeId: given }
    const quest = await place.create("/v1/quests", { title: "Tap once", reward, steps })
    const criteria = { kind: "xp", target: 100 }
    const earned = await place.create("/v1/badges", { name: "Hundred", criteria })
    const occurredAt = new Date().toISOString()
    const body = { userId: "u", action: "TAP", id: "tap-1", occurredAt }
    const { json, status } = await place.post("/v1/project/simulate", body)
    expect(status).toBe(200)
    expect(json).toEqual({
      userId: "u",
      action: "TAP",
      duplicate: false,
      occurredAt,
      xp: { earned: 110, total: 110 },
      points: { earned: 2, total: 2 },
      level: { before: 1, after: 2 },
      badges: [
        { id: given, key: "q", name: "Q" },
        { id: earned, key: "hundred", name: "Hundred" },
      ],
      quests: [
        {
          questId: quest,
          key: "tap-once",
          title: "Tap once",
          status: "completed",
          progress: 1,
          alreadyCompleted: false,
        },
      ],
      streaks: [{ key: "daily", current: 1, best: 1 }],
      segments: [],
      given: [
        { source: { kind: "rule", id: rule }, xp: 60, points: 2, badges: [] },
        { source: { kind: "quest", id: quest }, xp: 50, points: 0, badges: [given] },
        { source: { kind: "criteria", id: null }, xp: 0, points: 0, badges: [earned] },
      ],
    })
    expect((await place.get("/v1/users/u")).status).toBe(404)
    const tracked = (await place.post("/v1/events", body)).json
    expect([tracked.duplicate, tracked.xp]).toEqual([false, json.xp])
    const again = (await place.post("/v1/project/simulate", body)).json
    expect(again).toEqual({ ...json, duplicate: true })
  })

  it("is refused if the event would be refused", async () => {
    const place = newPlace()
    const simulate = (body: object) => place.post("/v1/project/simulate", body)
    expect(
      faultsOf(await simulate({ userId: "", action: "a", metadata: [], x: 1 })).toSorted(),
    ).toEqual([
      ["/action", "invalid_format"],
      ["/metadata", "invalid_type"],
      ["/userId", "too_short"],
      ["/x", "unknown_member"],
    ])
    const late = { userId: "u", action: "A", occurredAt: "2020-01-01T00:00:00Z" }
    expect(faultsOf(await simulate(late))).toEqual([["/occurredAt", "out_of_range"]])
    const questId = await place.create("/v1/quests", {
      title: "Q",
      reward: { xp: 1 },
      steps: [{ key: "tap", action: "TAP", target: 1 }],
    })
    const complete = { userId: "u", action: "QUEST_COMPLETE", metadata: { questId } }
    expect(problemOf(await simulate(complete))).toEqual([409, "quest_incomplete"])
    const none = { ...complete, metadata: { questId: "none" } }
    expect(problemOf(await simulate(none))).toEqual([404, "quest_not_found"])
  })

  it("ignores an Idempotency-Key, which stays unused", async () => {
    const place = newPlace()
    await place.create("/v1/rules", { action: "TAP", reward: { xp: 1 } })
    const headers = { "idempotency-key": "k" }
    const tap = { userId: "u", action: "TAP" }
    for (const [path, body, earned] of [
      ["/v1/project/simulate", tap, 1],
      ["/v1/project/simulate", { ...tap, action: "OTHER" }, 0],
      ["/v1/events", tap, 1],
      ["/v1/project/simulate", tap, 1],
    ] as const) {
      const reply = await place.call("POST", path, { body, headers })
      expect([path, reply.status, reply.json.xp?.earned]).toEqual([path, 200, earned])
      expect(reply.headers["idempotency-replayed"]).toBeUndefined()
    }
    expect((await place.get("/v1/users/u")).json.xp).toBe(1)
  })

  it("needs a key of full scope", async () => {
    for (const scope of ["read", "ingest"] as const) {
      const key = server.accounts.addKey(`lk_test_simulate_${scope}`, { scope })
      const body = { userId: "u", action: "A" }
      const reply = await server.call("POST", "/v1/project/simulate", { key, body })
      expect(problemOf(reply)).toEqual([403, "insufficient_scope"])
    }
  })
})
