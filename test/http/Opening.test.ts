/** Opening balances of users who move in. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
  await post("/v1/rules", { action: "TAP", reward: { xp: 5, points: 2 } })
  await post("/v1/badges", { key: "founder", name: "Founder", criteria: { kind: "manual" } })
  await post("/v1/streaks", { key: "daily", name: "Daily" })
  await post("/v1/currencies", { key: "coins", name: "Coins", expiry: { afterDays: 365 } })
})
afterAll(() => server.stop())

const get = async (path: string) => (await server.call("GET", path)).json
const post = (path: string, body: object) => server.call("POST", path, { body })
const open = (userId: string, body: object, more: object = {}) =>
  server.call("PUT", `/v1/users/${userId}/opening`, { body, ...more })

const had = {
  balances: { xp: 150, points: 40, coins: 30 },
  earned: { points: 90 },
  expiring: { coins: [{ amount: 10, lastDay: "2999-01-01" }] },
  streaks: { daily: { current: 0, best: 9 } },
  badges: [{ badge: "founder", earnedAt: "2025-03-01T12:00:00+02:00" }],
}

describe("PUT /v1/users/:id/opening", () => {
  it("sets what a user had, which all reads show", async () => {
    const { json, status } = await open("ada", had)
    expect(status).toBe(200)
    const badge = { key: "founder", name: "Founder", earnedAt: "2025-03-01T10:00:00.000Z" }
    expect(json).toEqual({
      userId: "ada",
      balances: { xp: 150, points: 40, coins: 30 },
      level: 2,
      streaks: [{ key: "daily", current: 0, best: 9 }],
      badges: [{ badgeId: expect.any(String), ...badge }],
    })
    const user = await get("/v1/users/ada")
    expect(user).toMatchObject({
      xp: 150,
      points: 40,
      level: 2,
      balances: { coins: 30 },
      badges: [{ key: "founder", earnedAt: badge.earnedAt }],
      expiring: { coins: { amount: 30, lots: [{ amount: 20 }, { amount: 10 }] } },
    })
    const { entries } = await get("/v1/leaderboard")
    expect(entries).toContainEqual(expect.objectContaining({ userId: "ada", xp: 150 }))
    const daily = await get("/v1/leaderboard?window=daily")
    expect(daily.entries.map(({ userId }: { userId: string }) => userId)).not.toContain("ada")
    const { facts } = await get("/v1/users/ada/history")
    const { userId: _, ...members } = json
    expect(facts.map(({ kind }: { kind: string }) => kind)).toEqual(["user.opened", "user.created"])
    expect(facts[0]).toMatchObject({ ...members, cause: { kind: "opening" } })
    const { records } = await get("/v1/users/ada/export")
    expect(records[0].cause).toMatchObject({ kind: "opening", balances: had.balances })
  })

  it("replies the same to the same request, also later, and refuses another", async () => {
    const first = await open("repeated", had, { headers: { "idempotency-key": "k1" } })
    expect((await open("repeated", had)).json).toEqual(first.json)
    const replayed = await open("repeated", had, { headers: { "idempotency-key": "k1" } })
    expect(replayed.json).toEqual(first.json)
    expect(replayed.headers["idempotency-replayed"]).toBe("true")
    await post("/v1/events", { userId: "repeated", action: "TAP" })
    expect((await open("repeated", had)).json).toEqual(first.json)
    const { json, status } = await open("repeated", { ...had, balances: { xp: 151 } })
    expect(status).toBe(409)
    expect(json).toMatchObject({
      code: "opening_closed",
      differs: ["/balances/xp", "/balances/points", "/balances/coins"],
    })
    const other = await open("repeated", {}, { headers: { "idempotency-key": "k1" } })
    expect(other.json.code).toBe("idempotency_key_reused")
    expect(await get("/v1/users/repeated")).toMatchObject({ xp: 155, points: 42 })
  })

  it("is refused after the first event, and for a user who was merged", async () => {
    await post("/v1/events", { userId: "late", action: "TAP" })
    expect((await open("late", had)).json).toMatchObject({ status: 409, code: "opening_closed" })
    await open("visitor", had)
    await open("member", { balances: { xp: 1 } })
    await post("/v1/users/visitor/merge", { into: "member" })
    // The id leads to the member, who has an opening of its own.
    expect((await open("visitor", had)).json).toMatchObject({ code: "opening_closed" })
    expect((await open("visitor", { balances: { xp: 1 } })).json).toMatchObject({
      userId: "member",
      balances: { xp: 1 },
    })
    expect(await get("/v1/users/member")).toMatchObject({ xp: 151 })
  })

  it("is open again once the user was erased", async () => {
    await open("erased", had)
    await server.call("DELETE", "/v1/users/erased")
    const { json, status } = await open("erased", { balances: { xp: 7 } })
    expect([status, json.balances]).toEqual([200, { xp: 7, points: 0 }])
  })

  it("names every fault of a body", async () => {
    const { json, status } = await open("faulty", {
      balances: { xp: -1, points: 1.5, none: limits.balanceMax + 1 },
      expiring: { coins: [{ amount: 0, lastDay: "2026-02-30" }] },
      streaks: { daily: { current: limits.streakOpeningMax + 1, best: "9", lastDay: "today" } },
      badges: [{ badge: "founder", earnedAt: "soon" }, { tier: "gold" }],
      more: 1,
    })
    expect(status).toBe(400)
    expect(json.errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
      "/badges/0/earnedAt",
      "/badges/1/badge",
      "/badges/1/earnedAt",
      "/balances/none",
      "/balances/points",
      "/balances/xp",
      "/expiring/coins/0/amount",
      "/expiring/coins/0/lastDay",
      "/more",
      "/streaks/daily/best",
      "/streaks/daily/current",
      "/streaks/daily/lastDay",
    ])
    const unknown = await open("faulty", { balances: { none: 1 }, badges: [badgeOf("none")] })
    expect(unknown.json.errors).toMatchObject([
      { pointer: "/balances/none", code: "unknown_reference" },
      { pointer: "/badges/0/badge", code: "unknown_reference" },
    ])
    expect((await server.call("GET", "/v1/users/faulty")).status).toBe(404)
  })

  it("takes amounts, lengths and lists up to their limits", async () => {
    const most = limits.streakOpeningMax
    const streaks = { daily: { current: most, best: most, lastDay: "2020-01-01" } }
    const lots = Array.from({ length: limits.lotsMax }, (_, n) => ({
      amount: 1,
      lastDay: `29${String(n + 10)}-01-01`,
    }))
    const full = { balances: { xp: limits.balanceMax, coins: limits.lotsMax }, streaks }
    expect((await open("full", { ...full, expiring: { coins: lots } })).json).toMatchObject({
      balances: { xp: limits.balanceMax },
      streaks: [{ current: 0, best: most }],
    })
    const { expiring } = await get("/v1/users/full")
    expect(expiring.coins.lots).toHaveLength(Math.min(limits.lotsMax, expiring.coins.lots.length))
    const over = await open("over", { expiring: { coins: [...lots, lots[0]] } })
    expect(over.json.errors).toMatchObject([{ pointer: "/expiring/coins", code: "too_long" }])
    const badges = Array.from({ length: limits.openingBadgesMax }, () => badgeOf("none"))
    const known = await open("over", { badges })
    expect(known.json.errors).toHaveLength(limits.openingBadgesMax)
    const more = await open("over", { badges: [...badges, badgeOf("none")] })
    expect(more.json.errors).toMatchObject([{ pointer: "/badges", code: "too_long" }])
    const named = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`c${n}`, 1]))
    const keys = await open("over", { balances: named(limits.currenciesMax) })
    expect(keys.json.errors).toHaveLength(limits.currenciesMax)
    const tooMany = await open("over", { balances: named(limits.currenciesMax + 1) })
    expect(tooMany.json.errors).toMatchObject([{ pointer: "/balances", code: "too_long" }])
  })
})

const badgeOf = (badge: string) => ({ badge, earnedAt: "2025-03-01T10:00:00Z" })
