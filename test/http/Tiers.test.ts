/** Badges that pay and badges with tiers over HTTP: definitions, replies, reads, files, limits. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `tiers${places++}`)

const nothing = { xp: 0, points: 0, badgeId: null }
const criteria = { kind: "action_count", action: "TAP" }
const tiers = [
  { key: "bronze", name: "Bronze", target: 1, reward: { xp: 10 } },
  { key: "gold", name: "Gold", target: 3, icon: "🥇" },
]

describe("A badge with tiers", () => {
  it("is created, changed whole or in parts, and shows the lowest target", async () => {
    const place = newPlace()
    const { json, status } = await place.post("/v1/badges", { name: "Taps", criteria, tiers })
    const shown = [
      { ...tiers[0], icon: null, reward: { ...nothing, xp: 10 } },
      { ...tiers[1], reward: nothing },
    ]
    expect([status, json.tiers, json.criteria.target, json.reward]).toEqual([
      201,
      shown,
      1,
      nothing,
    ])
    const patch = async (body: object) => (await place.patch("/v1/badges/taps", body)).json
    expect(await patch({ criteria: { where: [] } })).toMatchObject({ tiers: shown })
    expect(await patch({ tiers: [{ ...tiers[1], target: 2 }] })).toMatchObject({
      tiers: [{ key: "gold", target: 2 }],
      criteria: { target: 2 },
    })
    expect((await patch({ tiers: null })).errors).toMatchObject([
      { pointer: "/criteria/target", code: "missing" },
    ])
    const plain = await patch({ tiers: null, criteria: { target: 7 }, reward: { xp: 5 } })
    expect(plain).toMatchObject({ tiers: [], criteria: { target: 7 }, reward: { xp: 5 } })
    expect((await patch({ reward: { xp: null, points: 2 } })).reward).toEqual({
      ...nothing,
      points: 2,
    })
    expect((await patch({ reward: null })).reward).toEqual(nothing)
  })

  it("is refused with a tier too many, a key twice, or a badge as its reward", async () => {
    const place = newPlace()
    const many = Array.from({ length: limits.badgeTiersMax + 1 }, (_, index) => ({
      key: `tier-${index}`,
      name: "A tier",
      target: index + 1,
    }))
    const make = async (body: object) =>
      (await place.post("/v1/badges", { name: "Many", criteria, ...body })).json
    expect((await make({ tiers: many })).errors).toMatchObject([
      { pointer: "/tiers", code: "too_long" },
    ])
    expect((await make({ tiers: many.slice(1) })).tiers).toHaveLength(limits.badgeTiersMax)
    expect(
      (await make({ tiers: [tiers[0], { ...tiers[1], key: "bronze" }] })).errors,
    ).toMatchObject([{ code: "duplicate" }])
    const gives = { criteria: { kind: "manual" }, reward: { badgeId: "bdg_1" } }
    expect((await make(gives)).errors).toContainEqual(
      expect.objectContaining({ pointer: "/reward/badgeId", code: "unknown_member" }),
    )
  })

  it("shows tiers in replies, reads, history and simulations, and pays each once", async () => {
    const place = newPlace()
    const { json: badge } = await place.post("/v1/badges", { name: "Taps", criteria, tiers })
    const tap = () => place.post("/v1/events", { userId: "ada", action: "TAP" })
    const ref = { id: badge.id, key: "taps", name: "Taps" }
    const simulated = await place.post("/v1/project/simulate", { userId: "ada", action: "TAP" })
    expect(simulated.json.badges).toEqual([{ ...ref, tier: { key: "bronze", name: "Bronze" } }])
    expect(simulated.json.given).toContainEqual({
      source: { kind: "badge", id: badge.id },
      xp: 10,
      points: 0,
      badges: [],
    })
    const { json: first } = await tap()
    expect(first).toMatchObject({
      xp: { earned: 10 },
      badges: [{ ...ref, tier: { key: "bronze", name: "Bronze" } }],
    })
    await tap()
    await tap()
    const { json: user } = await place.get("/v1/users/ada")
    expect(user.badges).toMatchObject([
      { ...ref, tiers: [{ key: "bronze" }, { key: "gold", name: "Gold", icon: "🥇" }] },
    ])
    const { json: history } = await place.get("/v1/users/ada/history?kind=xp.earned")
    expect(history.items ?? history.facts ?? history.history).toMatchObject([
      { amount: 10, source: { kind: "badge", id: badge.id } },
    ])
    const { json: undone } = await place.call("DELETE", `/v1/users/ada/events/${first.eventId}`)
    expect(undone).toMatchObject({
      xp: { revoked: 10 },
      badges: [{ ...ref, tier: { key: "gold" } }],
    })
    const { json: progress } = await place.get("/v1/users/ada/progress")
    expect(progress.badges).toMatchObject([
      {
        ...ref,
        current: 2,
        target: 3,
        tiers: [
          { key: "bronze", target: 1, earnedAt: expect.any(String) },
          { key: "gold", target: 3, earnedAt: null },
        ],
      },
    ])
  })

  it("goes through a file of definitions into another environment, and back unchanged", async () => {
    const [from, to] = [newPlace(), newPlace()]
    await from.post("/v1/badges", { name: "Taps", criteria, tiers })
    const paying = { name: "Paying", criteria: { kind: "xp", target: 5 }, reward: { points: 3 } }
    await from.post("/v1/badges", paying)
    const { json: definitions } = await from.get("/v1/definitions")
    expect(definitions.badges).toMatchObject([{ key: "taps", criteria, tiers }, paying])
    expect(definitions.badges[0]).not.toHaveProperty("reward")
    await to.post("/v1/definitions/apply", { definitions })
    expect((await to.get("/v1/definitions")).json.badges).toEqual(definitions.badges)
    const { json: diff } = await to.post("/v1/definitions/diff", { definitions })
    expect(diff.changes).toEqual([])
  })

  it("keeps a currency that it pays from being archived", async () => {
    const place = newPlace()
    await place.post("/v1/currencies", { key: "gems", name: "Gems" })
    const paid = [{ ...tiers[0], reward: { currencies: { gems: 2 } } }]
    await place.post("/v1/badges", { name: "Taps", criteria, tiers: paid })
    expect((await place.call("DELETE", "/v1/currencies/gems")).json.code).toBe("in_use")
    const event = await place.post("/v1/events", { userId: "ada", action: "TAP" })
    expect(event.json.currencies).toEqual({ gems: { earned: 2, total: 2 } })
  })
})
