/** Streaks over HTTP: definitions, the streaks of a user, a token of a user. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { streak } from "../../src/http/api/examples/definitionExamples.ts"
import { limits } from "../../src/Limits.ts"
import { Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `streaks${places++}`)
const daily = {
  key: "daily",
  name: "Daily lesson",
  needs: [{ action: "LESSON_DONE" }],
  freezes: { initial: 1, max: 3, everyDays: 7 },
  milestones: [{ target: 7, reward: { points: 50 } }],
  atRisk: { hoursBefore: 4 },
  pauses: [{ from: "2026-12-24", to: "2026-12-26" }],
  repair: { withinDays: 3, price: { points: 50 } },
}

describe("/v1/streaks", () => {
  it("creates, reads by id and key, lists, changes on condition, and archives", async () => {
    const place = newPlace()
    const { json, status } = await place.post("/v1/streaks", daily)
    const times = { createdAt: expect.any(String), updatedAt: expect.any(String) }
    expect([status, json]).toEqual([201, { ...streak, id: json.id, ...times }])
    expect((await place.get("/v1/streaks/daily")).json).toEqual(json)
    expect((await place.get(`/v1/streaks/${json.id}`)).json).toEqual(json)
    await place.post("/v1/streaks", { name: "Weekly", every: "week" })
    const { json: list } = await place.get("/v1/streaks?limit=1")
    expect(list).toMatchObject({ streaks: [json], total: 2, hasMore: true })
    const { json: rest } = await place.get(`/v1/streaks?limit=1&cursor=${list.nextCursor}`)
    expect(rest.streaks).toMatchObject([{ key: "weekly", every: "week", needs: [] }])
    const patch = (body: object, headers = {}) =>
      place.call("PATCH", "/v1/streaks/daily", { body, headers })
    expect((await patch({ match: "any" }, { "if-match": '"7"' })).status).toBe(412)
    const changed = await patch({ restDays: ["sunday"], freezes: null, milestones: null })
    expect(changed.json).toMatchObject({
      restDays: ["sunday"],
      freezes: { initial: 0, max: 0, everyDays: null },
      milestones: [],
      needs: [{ action: "LESSON_DONE", target: 1 }],
      version: 2,
    })
    expect((await patch({ every: "week" })).status).toBe(400)
    expect((await place.call("DELETE", "/v1/streaks/daily")).status).toBe(204)
    expect((await place.call("DELETE", "/v1/streaks/daily")).json.code).toBe("streak_not_found")
    const archived = await place.get("/v1/streaks?status=archived")
    expect(archived.json.streaks).toMatchObject([{ key: "daily", status: "archived" }])
  })
})

describe("A reward with freezes", () => {
  const freezes = { daily: 1 }

  it("stands in rules, quests, badges and milestones, which keep the streak in use", async () => {
    const place = newPlace()
    const unknown = await place.post("/v1/rules", { action: "GIFT", reward: { freezes } })
    expect(unknown.json.errors).toMatchObject([
      { pointer: "/reward/freezes/daily", code: "unknown_reference" },
    ])
    // A milestone may give freezes to its own streak.
    const milestones = [{ target: 7, reward: { freezes } }]
    await place.create("/v1/streaks", { ...daily, milestones })
    const rule = await place.create("/v1/rules", { action: "GIFT", reward: { freezes } })
    const tiers = [{ key: "one", name: "One", target: 1, reward: { freezes } }]
    const criteria = { kind: "xp" }
    const badge = await place.create("/v1/badges", { name: "Ice", criteria, tiers })
    const { json } = await place.track("u", "GIFT")
    expect(json.freezes).toEqual({ daily: { earned: 1, total: 2 } })
    const refused = await place.call("DELETE", "/v1/streaks/daily")
    expect(refused.json).toMatchObject({ code: "in_use" })
    expect(refused.json.detail).toMatch(`${rule} (GIFT), badge ${badge} (Ice)`)
    const patch = { reward: { freezes: { daily: null }, points: 1 } }
    const patched = await place.call("PATCH", `/v1/rules/${rule}`, { body: patch })
    expect(patched.json.reward).toEqual({ xp: 0, points: 1, badgeId: null })
    await place.delete("/v1/badges/ice")
    expect((await place.call("DELETE", "/v1/streaks/daily")).status).toBe(204)
  })

  it("has at least one streak, and from 1 freeze to the limit of freezes", async () => {
    const place = newPlace()
    await place.create("/v1/streaks", { ...daily, freezes: { max: limits.streakFreezesMax } })
    const grant = async (freezes: object) =>
      (await place.post("/v1/users/u/rewards", { reward: { freezes } })).json
    expect((await grant({})).errors).toMatchObject([{ pointer: "/reward/freezes" }])
    expect((await grant({ daily: 0 })).errors).toMatchObject([{ pointer: "/reward/freezes/daily" }])
    expect((await grant({ daily: limits.streakFreezesMax + 1 })).code).toBe("invalid_request")
    expect((await grant({ other: 1 })).code).toBe("streak_not_found")
    const most = await grant({ daily: limits.streakFreezesMax })
    expect(most.freezes.daily).toEqual({ earned: 366, total: 366 })
    const undone = await place.call("DELETE", `/v1/users/u/rewards/${most.rewardId}`)
    expect(undone.json.freezes).toEqual({ daily: { revoked: 366, total: 0 } })
    const { facts } = (await place.get("/v1/users/u/history")).json
    expect(facts).toContainEqual(
      expect.objectContaining({ kind: "streak.freezes_revoked", key: "daily", amount: 366 }),
    )
    await place.post("/v1/users/u/rewards", { reward: { freezes: { daily: 1 } }, id: "once" })
    expect((await place.get("/v1/users/u/rewards/once")).json.reward.freezes).toEqual({ daily: 1 })
  })

  it("comes back from a file of definitions, also for a streak that follows in the file", async () => {
    const place = newPlace()
    const other = { name: "Other", milestones: [{ target: 1, reward: { freezes } }] }
    const file = { streaks: [{ key: "other", ...other }, daily] }
    const applied = await place.post("/v1/definitions/apply", { definitions: file })
    expect(applied.status).toBe(200)
    const { json } = await place.get("/v1/definitions")
    expect(json.streaks[0].milestones).toEqual(other.milestones)
    const again = await place.post("/v1/definitions/diff", { definitions: json })
    expect(again.json.changes).toEqual([])
  })
})

describe("GET /v1/users/:id/streaks/:key/calendar", () => {
  it("lists days by id and key up to the limit, for the user's own token too", async () => {
    const place = newPlace()
    const id = await place.create("/v1/streaks", daily)
    await place.track("u", "LESSON_DONE")
    const read = async (path: string) => (await place.get(`/v1/users/u/streaks/${path}`)).json
    const calendar = await read("daily/calendar")
    expect(calendar).toMatchObject({ userId: "u", key: "daily", every: "day" })
    expect(calendar.periods).toEqual([
      { firstDay: expect.stringMatching(/^[0-9-]{10}$/), status: "kept" },
    ])
    expect(await read(`${id}/calendar`)).toEqual(calendar)
    const { firstDay } = calendar.periods[0]
    const before = (days: number) =>
      new Date(Date.parse(firstDay) - days * 86_400_000).toISOString().slice(0, 10)
    const most = limits.streakCalendarPeriodsMax
    expect(await read(`daily/calendar?from=${before(most - 1)}`)).toEqual(calendar)
    const { errors } = await read(`daily/calendar?from=${before(most)}`)
    expect(errors).toMatchObject([{ pointer: "query/from", code: "out_of_range" }])
    const past = `daily/calendar?from=${before(9)}&to=${before(1)}`
    expect(await read(past)).toMatchObject({ periods: [] })
    const turned = await read(`daily/calendar?from=${firstDay}&to=${before(1)}`)
    expect(turned.errors).toMatchObject([{ pointer: "query/from", code: "out_of_range" }])
    const bad = await read("daily/calendar?to=2026-02-30")
    expect(bad.errors).toMatchObject([{ pointer: "query/to", code: "invalid_format" }])
    expect((await read("other/calendar")).code).toBe("streak_not_found")
    await place.call("DELETE", "/v1/streaks/daily")
    expect((await read("daily/calendar")).code).toBe("streak_not_found")
  })
})

describe("POST /v1/users/:id/streaks/:key/pauses", () => {
  const dateOf = (days: number) =>
    new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
  const pause = (place: Place, key: string, from: number, to: number) =>
    place.post(`/v1/users/u/streaks/${key}/pauses`, { from: dateOf(from), to: dateOf(to) })

  it("revives a streak that broke on these days, once, and shows them as paused", async () => {
    const place = newPlace()
    const milestones = [{ target: 2, reward: { points: 5 } }]
    const id = await place.create("/v1/streaks", { key: "days", name: "Days", milestones })
    const occurredAt = new Date(Date.now() - 4 * 86_400_000).toISOString()
    await place.post("/v1/events", { userId: "u", action: "TAP", occurredAt })
    await place.track("u", "TAP")
    const { json, status } = await pause(place, "days", -3, -1)
    expect([status, json]).toMatchObject([
      200,
      { userId: "u", streak: { key: "days", current: 2, best: 2 } },
    ])
    const days = { from: dateOf(-3), to: dateOf(-1) }
    expect(json.streak.pauses).toEqual([days])
    expect((await pause(place, id, -2, -1)).json).toEqual(json)
    const { points } = (await place.get("/v1/users/u")).json
    expect(points).toBe(5)
    const calendar = (await place.get("/v1/users/u/streaks/days/calendar")).json
    const statuses = calendar.periods.map((period: { status: string }) => period.status)
    expect(statuses).toEqual(["kept", "paused", "paused", "paused", "kept"])
    const { facts } = (await place.get("/v1/users/u/history")).json
    const paused = facts.filter(({ kind }: { kind: string }) => kind === "streak.paused")
    const cause = { kind: "pause" }
    expect(paused).toMatchObject([{ key: "days", ...days, current: 2, cause }])
  })

  it("takes from 1 day to the limit, of a streak and a user that exist", async () => {
    const place = newPlace()
    await place.create("/v1/streaks", { key: "days", name: "Days" })
    expect((await pause(place, "days", 0, 0)).json.code).toBe("user_not_found")
    await place.track("u", "TAP")
    const most = limits.streakPauseDaysMax
    expect((await pause(place, "days", 1, most)).status).toBe(200)
    expect((await pause(place, "days", 1, most + 1)).json.code).toBe("invalid_request")
    expect((await pause(place, "days", 1, 0)).json.code).toBe("invalid_request")
    expect((await pause(place, "other", 1, 1)).json.code).toBe("streak_not_found")
    await place.delete("/v1/streaks/days")
    expect((await pause(place, "days", 1, 1)).json.code).toBe("streak_not_found")
  })
})

describe("POST /v1/users/:id/streaks/:key/repair", () => {
  const dateOf = (days: number) =>
    new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
  const repair = (place: Place, key: string, body = {}) =>
    place.post(`/v1/users/u/streaks/${key}/repair`, body)
  /** A user whose streak broke two days ago. */
  const broken = async (price?: object) => {
    const place = newPlace()
    const id = await place.create("/v1/streaks", {
      key: "days",
      name: "Days",
      repair: { withinDays: 3, ...(price !== undefined && { price }) },
    })
    const occurredAt = new Date(Date.now() - 3 * 86_400_000).toISOString()
    await place.post("/v1/events", { userId: "u", action: "TAP", occurredAt })
    return { place, id }
  }

  it("takes the price once for an id, and its refund breaks the streak again", async () => {
    const { id, place } = await broken({ points: 5 })
    const offer = { from: dateOf(-2), to: dateOf(-1), until: dateOf(1), price: { points: 5 } }
    const shown = async () => (await place.get("/v1/users/u/streaks")).json.streaks[0]
    expect(await shown()).toMatchObject({ current: 0, repair: offer })
    expect((await repair(place, "days")).json).toMatchObject({
      code: "insufficient_balance",
      balances: { points: 0 },
    })
    await place.post("/v1/users/u/rewards", { type: "points", amount: 8 })
    const body = { id: "r-1", reason: "Ill" }
    const first = await repair(place, "days", body)
    expect(first.json).toMatchObject({
      amount: 5,
      reason: "Ill",
      points: { spent: 5, total: 3 },
      repaired: { key: "days", from: dateOf(-2), to: dateOf(-1), current: 1 },
      duplicate: false,
    })
    const again = await repair(place, id, body)
    expect(again.json).toEqual({ ...first.json, duplicate: true })
    expect((await repair(place, "days", { id: "r-1" })).json).toMatchObject({
      code: "id_reused",
      differs: ["/reason"],
    })
    const spent = { amount: 5, id: "r-1" }
    expect((await place.post("/v1/users/u/points/spend", spent)).json.code).toBe("id_reused")
    expect((await repair(place, "days")).json.code).toBe("streak_not_broken")
    expect(await shown()).toMatchObject({ current: 1, repair: null })
    const { spends } = (await place.get("/v1/users/u/points/spend")).json
    expect(spends).toMatchObject([{ spendId: first.json.spendId, repaired: { key: "days" } }])
    const undone = await place.delete("/v1/users/u/points/spend/r-1")
    expect(undone.json).toMatchObject({
      points: { refunded: 5, total: 8 },
      repairUndone: { key: "days", current: 0 },
    })
    expect(await shown()).toMatchObject({ current: 0, repair: offer })
    expect((await place.delete("/v1/users/u/points/spend/r-1")).status).toBe(404)
    const { facts } = (await place.get("/v1/users/u/history?kind=streak.repaired")).json
    expect(facts).toMatchObject([{ key: "days", cause: { kind: "spend", id: "r-1" } }])
  })

  it("is refused with a code, and changes nothing", async () => {
    const { place } = await broken()
    const codeOf = async (key: string) => (await repair(place, key)).json.code
    expect(await codeOf("other")).toBe("streak_not_found")
    await place.post("/v1/streaks", { key: "hard", name: "Hard" })
    expect(await codeOf("hard")).toBe("streak_not_repairable")
    await place.call("PATCH", "/v1/streaks/days", { body: { status: "paused" } })
    expect(await codeOf("days")).toBe("streak_not_active")
    const change = { status: "active", repair: { withinDays: 1 } }
    await place.call("PATCH", "/v1/streaks/days", { body: change })
    expect(await codeOf("days")).toBe("repair_too_late")
    await place.call("PATCH", "/v1/streaks/days", { body: { repair: { withinDays: 2 } } })
    expect((await repair(place, "days")).json).toMatchObject({
      amount: 0,
      repaired: { current: 1 },
      balances: { xp: 0, points: 0 },
    })
    await place.delete("/v1/streaks/days")
    expect(await codeOf("days")).toBe("streak_not_found")
  })

  it("keeps its currency from the archive", async () => {
    const place = newPlace()
    await place.post("/v1/currencies", { key: "gems", name: "Gems" })
    const repaired = { withinDays: 1, price: { gems: 1 } }
    await place.create("/v1/streaks", { key: "days", name: "Days", repair: repaired })
    expect((await place.delete("/v1/currencies/gems")).json.code).toBe("in_use")
  })
})

describe("GET /v1/users/:id/streaks", () => {
  it("shows the present period of each streak that is no draft and not archived", async () => {
    const place = newPlace()
    await place.post("/v1/streaks", daily)
    const needs = [{ action: "RUN", target: 2 }]
    await place.post("/v1/streaks", { key: "runs", name: "Runs", every: "week", needs })
    await place.post("/v1/streaks", { name: "Later", status: "draft" })
    await place.post("/v1/streaks", { name: "Gone" })
    await place.delete("/v1/streaks/gone")
    await place.track("u", "LESSON_DONE")
    const { json } = await place.track("u", "RUN")
    expect(json.streaks).toEqual([])
    const shown = (await place.get("/v1/users/u/streaks")).json
    expect(shown).toMatchObject({
      userId: "u",
      streaks: [
        {
          key: "daily",
          every: "day",
          current: 1,
          freezes: 1,
          period: { kept: true, needs: [{ action: "LESSON_DONE", current: 1, target: 1 }] },
          milestones: [{ target: 7, paid: false }],
        },
        {
          key: "runs",
          every: "week",
          current: 0,
          lastDay: null,
          breaksAt: null,
          period: { kept: false, needs: [{ action: "RUN", current: 1, target: 2 }] },
        },
      ],
    })
    expect(shown.streaks).toHaveLength(2)
    const progress = (await place.get("/v1/users/u/progress")).json
    expect(progress.streaks.map(({ key }: { key: string }) => key)).toEqual(["daily", "runs"])
    expect((await place.get("/v1/users/nobody/streaks")).json.code).toBe("user_not_found")
  })

  it("shows a milestone as paid, its source in the history, and neither after an undo", async () => {
    const place = newPlace()
    const milestones = [{ target: 1, reward: { points: 5 } }]
    const id = await place.create("/v1/streaks", { ...daily, milestones })
    const { json } = await place.track("u", "LESSON_DONE")
    expect(json.points).toEqual({ earned: 5, total: 5 })
    const read = async () => (await place.get("/v1/users/u/streaks")).json.streaks[0]
    expect((await read()).milestones).toEqual([{ target: 1, paid: true }])
    const facts = (await place.get("/v1/users/u/history")).json.facts
    expect(facts).toContainEqual(
      expect.objectContaining({ kind: "points.earned", source: { kind: "streak", id } }),
    )
    expect(facts).toContainEqual(
      expect.objectContaining({ kind: "streak.milestone_reached", streakId: id, target: 1 }),
    )
    await place.delete(`/v1/users/u/events/${json.eventId}`)
    expect(await read()).toMatchObject({ current: 1, milestones: [{ target: 1, paid: false }] })
  })
})
