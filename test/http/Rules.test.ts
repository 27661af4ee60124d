import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { faultsOf, inHours, isoTime, Place, problemOf } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `rules${places++}`)

describe("rules", () => {
  it("are created with defaults, read and listed", async () => {
    const place = newPlace()
    const { headers, json, status } = await place.post("/v1/rules", {
      action: "DONE",
      reward: { points: 5 },
    })
    expect(status).toBe(201)
    expect(headers.location).toBe(`/v1/rules/${json.id}`)
    expect(json).toEqual({
      id: expect.stringMatching(/^rul_[0-9a-f]{32}$/),
      key: "done",
      name: null,
      description: null,
      metadata: {},
      status: "active",
      startsAt: null,
      segment: null,
      endsAt: null,
      action: "DONE",
      where: [],
      reward: { xp: 0, points: 5, badgeId: null },
      multiplierPath: null,
      multiplierMin: null,
      multiplierMax: null,
      limit: null,
      cooldownSeconds: null,
      version: 1,
      createdAt: expect.stringMatching(isoTime),
      updatedAt: json.createdAt,
    })
    expect((await place.get(`/v1/rules/${json.id}`)).json).toEqual(json)
    expect((await place.get("/v1/rules")).json).toEqual({
      rules: [json],
      total: 1,
      hasMore: false,
      nextCursor: null,
    })
  })

  it("are created with all members, and reward accordingly", async () => {
    const place = newPlace()
    const badgeId = await place.create("/v1/badges", { name: "B", criteria: { kind: "manual" } })
    const body = {
      action: "PURCHASE",
      where: [
        { path: "cart.currency", op: "in", value: ["EUR", "CHF"] },
        { path: "cart.test", op: "exists", value: false },
      ],
      reward: { xp: 2, points: 1, badgeId },
      multiplierPath: "cart.total",
      multiplierMin: 1,
      multiplierMax: 2.5,
      limit: { times: 2, per: "day" },
      cooldownSeconds: 1,
      key: "shop",
      name: "A purchase",
      description: "Points for euros",
      metadata: { colour: "red" },
      status: "active",
      startsAt: "2026-01-01T00:00:00.000Z",
      endsAt: inHours(1),
    }
    const { json } = await place.post("/v1/rules", body)
    expect(json).toMatchObject(body)
    const buy = async (cart: object) => (await place.track("u", "PURCHASE", { cart })).json
    expect((await buy({ currency: "USD", total: 9 })).xp.earned).toBe(0)
    const bought = await buy({ currency: "EUR", total: 9 })
    expect([bought.xp.earned, bought.points.earned, bought.badges]).toEqual([
      5,
      2,
      [{ id: badgeId, key: "b", name: "B", earnedAt: bought.receivedAt }],
    ])
  })

  it("change only the members of a patch, and lose those that are null", async () => {
    const place = newPlace()
    const created = (
      await place.post("/v1/rules", {
        action: "A",
        where: [{ path: "a", op: "exists" }],
        reward: { xp: 5, points: 1 },
        multiplierPath: "n",
        multiplierMin: 2,
        limit: { times: 1, per: "hour" },
        cooldownSeconds: 9,
        status: "draft",
      })
    ).json
    const path = `/v1/rules/${created.id}`
    const { json } = await place.patch(path, {
      reward: { xp: 6 },
      multiplierMax: 4,
      limit: { times: 3 },
    })
    expect(json).toEqual({
      ...created,
      reward: { xp: 6, points: 1, badgeId: null },
      multiplierMax: 4,
      limit: { times: 3, per: "hour" },
      version: 2,
      updatedAt: json.updatedAt,
    })
    const bounds = await place.patch(path, { multiplierMin: null, multiplierMax: null })
    expect([bounds.json.multiplierMin, bounds.json.multiplierMax]).toEqual([0, 1_000_000])
    const emptied = await place.patch(path, {
      where: null,
      reward: { xp: null },
      multiplierPath: null,
      limit: null,
      cooldownSeconds: null,
      status: "active",
    })
    expect(emptied.json).toMatchObject({
      action: "A",
      where: [],
      reward: { xp: 0, points: 1, badgeId: null },
      multiplierPath: null,
      multiplierMin: null,
      multiplierMax: null,
      limit: null,
      cooldownSeconds: null,
      status: "active",
    })
    expect((await place.get(path)).json).toEqual(emptied.json)
  })

  it("apply after a change to later events only", async () => {
    const place = newPlace()
    const id = await place.create("/v1/rules", { action: "TAP", reward: { xp: 5 } })
    const tap = async () => (await place.track("u", "TAP")).json.xp.earned
    expect(await tap()).toBe(5)
    await place.patch(`/v1/rules/${id}`, { reward: { xp: 7 } })
    expect(await tap()).toBe(7)
    await place.patch(`/v1/rules/${id}`, { status: "paused" })
    expect(await tap()).toBe(0)
    expect((await place.delete(`/v1/rules/${id}`)).status).toBe(204)
    expect((await place.get("/v1/users/u")).json.xp).toBe(12)
  })

  it("are archived by a delete, and read as such", async () => {
    const place = newPlace()
    const path = `/v1/rules/${await place.create("/v1/rules", { action: "A", reward: { xp: 1 } })}`
    expect((await place.delete(path)).status).toBe(204)
    expect(problemOf(await place.delete(path))).toEqual([404, "rule_not_found"])
    expect(problemOf(await place.patch(path, {}))).toEqual([409, "invalid_transition"])
    const { json } = await place.get(path)
    expect(json.status).toBe("archived")
    expect((await place.get("/v1/rules")).json.rules).toEqual([])
    expect((await place.get("/v1/rules?status=archived")).json.rules).toEqual([json])
    expect(problemOf(await place.get("/v1/rules/none"))).toEqual([404, "rule_not_found"])
  })

  it("must give a reward, also after a patch and in a preview", async () => {
    const place = newPlace()
    const fault = (at: string) => [[at, "missing"]]
    const nothing = [{}, { xp: 0 }, { xp: 0, points: 0 }]
    for (const reward of nothing) {
      expect(faultsOf(await place.post("/v1/rules", { action: "A", reward }))).toEqual(
        fault("/reward"),
      )
      const preview = { event: { userId: "u", action: "A" }, rule: { action: "A", reward } }
      expect(faultsOf(await place.post("/v1/project/preview", preview))).toEqual(
        fault("/rule/reward"),
      )
    }
    expect(faultsOf(await place.post("/v1/rules", { action: "a", reward: {} })).toSorted()).toEqual(
      [
        ["/action", "invalid_format"],
        ["/reward", "missing"],
      ],
    )
    const badgeId = await place.create("/v1/badges", { name: "B", criteria: { kind: "manual" } })
    for (const reward of [{ xp: 1 }, { points: 1 }, { badgeId }]) {
      expect((await place.post("/v1/rules", { action: "A", reward })).status).toBe(201)
    }
    const path = `/v1/rules/${await place.create("/v1/rules", { action: "A", reward: { xp: 1 } })}`
    for (const reward of [{ xp: 0 }, { xp: null, points: null }]) {
      expect(faultsOf(await place.patch(path, { reward }))).toEqual(fault("/reward"))
    }
    expect((await place.patch(path, { reward: { xp: 0, points: 1 } })).status).toBe(200)
  })

  it("refuse a patch that is invalid for the rule", async () => {
    const place = newPlace()
    const path = `/v1/rules/${await place.create("/v1/rules", { action: "A", reward: { xp: 1 } })}`
    const patch = { multiplierMin: 1, limit: { times: 1 }, reward: { badgeId: "bdg_none" } }
    expect(faultsOf(await place.patch(path, patch)).toSorted()).toEqual([
      ["/limit/per", "missing"],
      ["/multiplierMin", "unknown_member"],
      ["/reward/badgeId", "unknown_reference"],
    ])
  })
})
