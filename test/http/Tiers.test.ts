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

describe("A repeatable badge", () => {
  const km = { kind: "action_sum", action: "RUN", sumPath: "km", target: 10 }
  const repeatable = { name: "Ten km", criteria: km, repeatable: true, reward: { points: 5 } }

  it("shows in replies, reads, messages of history and files how often the user has it", async () => {
    const place = newPlace()
    const { json, status } = await place.post("/v1/badges", repeatable)
    expect([status, json]).toMatchObject([201, { repeatable: true, tiers: [] }])
    const event = (await place.track("ada", "RUN", { km: 25 })).json
    expect(event).toMatchObject({ points: { earned: 10 }, badges: [{ key: "ten-km", times: 2 }] })
    expect((await place.get("/v1/users/ada")).json.badges).toMatchObject([{ times: 2 }])
    expect((await place.get("/v1/users/ada/progress")).json.badges).toMatchObject([
      { current: 5, target: 10, times: 2 },
    ])
    const undone = await place.delete(`/v1/users/ada/events/${event.eventId}`)
    expect(undone.json).toMatchObject({ points: { revoked: 10 }, badges: [{ times: 0 }] })
    const { facts } = (await place.get("/v1/users/ada/history")).json
    const ofBadge = facts.filter(({ kind }: { kind: string }) => kind.startsWith("badge."))
    expect(ofBadge).toMatchObject([
      { kind: "badge.revoked", times: 0 },
      { kind: "badge.earned", times: 2 },
    ])
    const { badges } = (await place.get("/v1/definitions")).json
    expect(badges).toMatchObject([{ repeatable: true, criteria: { target: 10 } }])
    const other = newPlace()
    await other.post("/v1/definitions/apply", { definitions: { badges } })
    expect((await other.get("/v1/definitions")).json.badges).toEqual(badges)
    const body = { userId: "bob", action: "RUN", metadata: { km: 31 } }
    expect((await place.post("/v1/project/simulate", body)).json.badges).toMatchObject([
      { times: 3 },
    ])
  })

  it("is refused with tiers, with another kind of criterion, and as a reward", async () => {
    const place = newPlace()
    const faults = async (path: string, body: object) =>
      (await place.post(path, body)).json.errors?.map(
        ({ pointer, code }: { pointer: string; code: string }) => [pointer, code],
      )
    const { reward: _, ...unpaid } = repeatable
    const withTiers = { ...unpaid, criteria: { ...km, target: undefined }, tiers }
    expect(await faults("/v1/badges", withTiers)).toEqual([["/tiers", "unknown_member"]])
    for (const kind of ["xp", "level", "points", "quest_count", "streak"]) {
      const criteria = { kind, target: 1 }
      expect(await faults("/v1/badges", { ...repeatable, criteria })).toEqual([
        ["/repeatable", "invalid_value"],
      ])
    }
    const metric = { key: "best", name: "Best", aggregate: "max", actions: ["RUN"], value: "km" }
    await place.create("/v1/metrics", metric)
    const criteria = { kind: "metric", metric: "best", target: 1 }
    expect(await faults("/v1/badges", { ...repeatable, criteria })).toEqual([
      ["/repeatable", "invalid_value"],
    ])
    const badgeId = await place.create("/v1/badges", repeatable)
    expect(await faults("/v1/rules", { action: "TAP", reward: { badgeId } })).toEqual([
      ["/reward/badgeId", "invalid_value"],
    ])
    const grant = await place.post("/v1/users/ada/rewards", { type: "badge", badgeId })
    expect([grant.status, grant.json.code]).toEqual([409, "badge_not_active"])
  })

  it("never becomes one that is earned once, or the other way round", async () => {
    const place = newPlace()
    const badgeId = await place.create("/v1/badges", repeatable)
    const patched = await place.patch(`/v1/badges/${badgeId}`, { repeatable: false })
    expect(patched.json.errors).toMatchObject([{ pointer: "/repeatable", code: "unknown_member" }])
    const [badge] = (await place.get("/v1/definitions")).json.badges
    const once = { badges: [{ ...badge, repeatable: false }] }
    const applied = await place.post("/v1/definitions/apply", { definitions: once })
    expect(applied.json.errors).toMatchObject([
      { pointer: "/definitions/badges/0/repeatable", code: "invalid_value" },
    ])
    const kind = await place.patch(`/v1/badges/${badgeId}`, { criteria: { kind: "xp", target: 1 } })
    expect(kind.json.errors).toMatchObject([{ pointer: "/repeatable" }])
  })
})
