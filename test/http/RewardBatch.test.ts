/** Batches of rewards: outcomes, refusals, ids, bounds, rate limit, Idempotency-Key. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
let badgeId = ""
beforeAll(async () => {
  server = await startServer()
  const badge = { name: "Medal", criteria: { kind: "manual" } }
  badgeId = (await server.call("POST", "/v1/badges", { body: badge })).json.id
})
afterAll(() => server.stop())

const path = "/v1/rewards/batch"
const send = (rewards: unknown, headers: Record<string, string> = {}, key?: string) =>
  server.call("POST", path, { body: { rewards }, headers, ...(key !== undefined && { key }) })
const balanceOf = async (userId: string) => {
  const { json, status } = await server.call("GET", `/v1/users/${userId}`)
  return status === 404 ? null : [json.xp, json.points]
}
const minimal = { prefer: "return=minimal" }

describe("A batch of rewards", () => {
  it("answers each reward in the order of the request, as a single one is answered", async () => {
    const { json, status } = await send([
      { userId: "ann", reward: { xp: 100, points: 5, badgeId }, reason: "Welcome", id: "w" },
      { userId: "bob", reward: { xp: 7 } },
      { userId: "ann", reward: { points: 2 } },
    ])
    const { results, ...counts } = json
    expect([status, counts]).toEqual([
      200,
      { accepted: 3, duplicates: 0, differing: 0, rejected: 0 },
    ])
    expect(results).toMatchObject([
      {
        ok: true,
        userId: "ann",
        reward: { xp: 100, points: 5, badgeId },
        balances: { xp: 100, points: 5 },
        badges: [{ id: badgeId }],
      },
      { ok: true, userId: "bob", type: "xp", amount: 7 },
      { ok: true, userId: "ann", points: { earned: 2, total: 7 } },
    ])
    const again = await server.call("POST", "/v1/users/ann/rewards", {
      body: { reward: { xp: 100, points: 5, badgeId }, reason: "Welcome", id: "w" },
    })
    const { ok: _, ...first } = results[0]
    expect(again.json).toEqual({ ...first, duplicate: true })
    const undone = await server.call("DELETE", "/v1/users/ann/rewards/w")
    expect(undone.json).toMatchObject({ xp: { revoked: 100 }, points: { revoked: 5 } })
    expect(await balanceOf("ann")).toEqual([0, 2])
  })

  it("grants the rewards after a refused one, and points to each fault", async () => {
    const rewards = [
      { userId: "mixed", reward: { xp: 1 } },
      { userId: "", reward: {}, gold: 1 },
      { userId: "mixed", reward: { xp: limits.amountMax + 1 } },
      { userId: "mixed", reward: { badgeId: "bdg_none" } },
      { userId: "mixed", type: "xp", amount: 5 },
      5,
      { userId: "mixed", reward: { xp: limits.amountMax }, id: "same" },
      { userId: "mixed", reward: { xp: limits.amountMax }, id: "same" },
      { userId: "mixed", reward: { xp: 2 }, id: "same" },
    ]
    const { json } = await send(rewards)
    const { results, ...counts } = json
    expect(counts).toEqual({ accepted: 2, duplicates: 2, differing: 1, rejected: 5 })
    const told = results.map(({ errors = [], ok, status }: (typeof json.results)[number]) => [
      ok,
      status,
      errors.map(({ pointer }: { pointer: string }) => pointer).toSorted(),
    ])
    const done = [true, undefined, []]
    expect(told).toEqual([
      done,
      [false, 400, ["/rewards/1/gold", "/rewards/1/reward", "/rewards/1/userId"]],
      [false, 400, ["/rewards/2/reward/xp"]],
      [false, 404, []],
      [false, 400, ["/rewards/4/amount", "/rewards/4/reward", "/rewards/4/type"]],
      [false, 400, ["/rewards/5"]],
      done,
      done,
      done,
    ])
    expect(results[3].code).toBe("badge_not_found")
    expect(results[1].detail).toBe("The reward is invalid.")
    expect(results.slice(6)).toMatchObject([
      { duplicate: false },
      { duplicate: true },
      { duplicate: true, differs: ["/reward/xp"] },
    ])
    expect(await balanceOf("mixed")).toEqual([1 + limits.amountMax, 0])
    const short = await send(rewards, minimal)
    expect(short.headers["preference-applied"]).toBe("return=minimal")
    expect(short.json).toEqual({
      accepted: 1,
      duplicates: 3,
      differing: 1,
      rejected: 5,
      refusals: [1, 2, 3, 4, 5].map((index) => ({ index, ...results[index] })),
    })
  })

  it("has 1 to 1000 rewards, as JSON or NDJSON", async () => {
    const { batchItemsMax } = limits
    const many = (count: number) => Array(count).fill({ userId: "many", reward: { points: 1 } })
    const full = await send(many(batchItemsMax))
    expect([full.status, full.json.accepted]).toEqual([200, batchItemsMax])
    for (const [rewards, code] of [
      [[], "too_short"],
      [many(batchItemsMax + 1), "too_long"],
      [{}, "invalid_type"],
      [undefined, "missing"],
    ] as const) {
      const { json, status } = await send(rewards)
      expect([status, json.errors]).toMatchObject([400, [{ pointer: "/rewards", code }]])
    }
    const sendLines = (rewards: ReadonlyArray<unknown>) =>
      server.call("POST", path, {
        body: rewards.map((reward) => JSON.stringify(reward)).join("\n"),
        headers: { "content-type": "application/x-ndjson" },
      })
    const lines = await sendLines([...many(1), { userId: "many" }])
    expect(lines.json).toMatchObject({
      accepted: 1,
      rejected: 1,
      results: [{ ok: true }, { ok: false, errors: [{ pointer: "/1/reward", code: "missing" }] }],
    })
    expect((await sendLines(many(batchItemsMax + 1))).status).toBe(400)
    expect(await balanceOf("many")).toEqual([0, batchItemsMax + 1])
    // Events are no rewards.
    const events = await server.call("POST", path, { body: { events: many(1) } })
    expect(events.json.errors).toMatchObject([{ pointer: "/events" }, { pointer: "/rewards" }])
  })

  it("has at most 8 MiB, and each reward at most 64 KiB", async () => {
    const reward = JSON.stringify({ userId: "wide", reward: { xp: 1 } })
    const body = (bytes: number) => {
      const text = `{"rewards":[${reward}]}`
      return text + " ".repeat(bytes - text.length)
    }
    const { batchBodyBytesMax, eventBytesMax } = limits
    const call = (text: string) => server.call("POST", path, { body: text })
    expect((await call(body(batchBodyBytesMax))).status).toBe(200)
    expect((await call(body(batchBodyBytesMax + 1))).json.code).toBe("body_too_large")
    const spaced = (bytes: number) =>
      `{"rewards":[${reward.replace(":", `:${" ".repeat(bytes - reward.length)}`)}]}`
    expect((await call(spaced(eventBytesMax))).json.accepted).toBe(1)
    expect((await call(spaced(eventBytesMax + 1))).json.results[0]).toMatchObject({
      ok: false,
      errors: [{ pointer: "/rewards/0", code: "too_large" }],
    })
    expect(await balanceOf("wide")).toEqual([2, 0])
  })

  it("counts as many requests as it has rewards", async () => {
    const key = server.accounts.addKey("lk_test_five", { limit: 5, environment: "e:five" })
    const ask = (count: number) =>
      send(Array(count).fill({ userId: "u", reward: { xp: 1 } }), {}, key)
    const left = async (count: number) => {
      const { headers, status } = await ask(count)
      return [status, headers["x-ratelimit-remaining"]]
    }
    expect(await left(6)).toEqual([413, "4"])
    expect(await left(4)).toEqual([200, "0"])
    expect(await left(1)).toEqual([429, "0"])
  })

  it("needs a key with the scope full", async () => {
    for (const scope of ["read", "ingest", "publishable", "user"] as const) {
      const key = server.accounts.addKey(`lk_test_${scope}`, { scope, userId: "u" })
      const { json, status } = await send([{ userId: "u", reward: { xp: 1 } }], {}, key)
      expect([status, json.code, json.neededScopes]).toEqual([403, "insufficient_scope", ["full"]])
    }
    expect(await balanceOf("u")).toBe(null)
  })
})

describe("A batch of rewards with an Idempotency-Key", () => {
  const rewards = (userId: string) => [
    { userId, reward: { xp: 3 } },
    { userId, reward: { xp: 4 }, id: "own" },
    { userId, reward: { badgeId: "bdg_none" } },
  ]

  it.each([
    ["whole", {}],
    ["minimal", minimal],
  ] as const)("is granted once, and answered again: %s", async (userId, more) => {
    const headers = { ...more, "idempotency-key": `key-${userId}` }
    const first = await send(rewards(userId), headers)
    expect(first.headers["idempotency-replayed"]).toBeUndefined()
    const again = await send(rewards(userId), headers)
    expect(again.headers["idempotency-replayed"]).toBe("true")
    expect(again.json).toEqual(first.json)
    expect([again.json.accepted, again.json.rejected]).toEqual([2, 1])
    expect(await balanceOf(userId)).toEqual([7, 0])
    const other = await send(rewards("another"), headers)
    expect([other.status, other.json.code]).toEqual([422, "idempotency_key_reused"])
    expect(await balanceOf("another")).toBe(null)
  })

  it("refuses the rewards of a user who was erased since", async () => {
    const headers = { "idempotency-key": "key-erased" }
    const first = await send(rewards("erased"), headers)
    await server.call("DELETE", "/v1/users/erased")
    const again = await send(rewards("erased"), headers)
    const gone = { ok: false, status: 404, code: "user_not_found" }
    expect(again.json.results).toMatchObject([gone, gone, first.json.results[2]])
    expect(await balanceOf("erased")).toBe(null)
  })
})
