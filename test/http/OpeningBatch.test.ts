/** Batches of openings: outcomes, refusals, repeats, bounds, rate limit, Idempotency-Key. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const path = "/v1/users/opening/batch"
const send = (openings: unknown, headers: Record<string, string> = {}, key?: string) =>
  server.call("POST", path, { body: { openings }, headers, ...(key !== undefined && { key }) })
const xpOf = async (userId: string) => {
  const { json, status } = await server.call("GET", `/v1/users/${userId}`)
  return status === 404 ? null : json.xp
}
const opening = (userId: string, xp = 5) => ({ userId, balances: { xp } })
const minimal = { prefer: "return=minimal" }

describe("A batch of openings", () => {
  it("answers each opening in the order of the request, and the same to a repeat", async () => {
    const openings = [
      { userId: "ann", balances: { xp: 100, points: 5 }, earned: { points: 9 } },
      opening("bob"),
    ]
    const { json, status } = await send(openings)
    const counts = { accepted: 2, duplicates: 0, differing: 0, rejected: 0 }
    expect([status, json]).toMatchObject([200, counts])
    const single = await server.call("PUT", "/v1/users/ann/opening", {
      body: { balances: { xp: 100, points: 5 }, earned: { points: 9 } },
    })
    expect(json.results[0]).toEqual({ ok: true, duplicate: false, ...single.json })
    expect(json.results[1]).toMatchObject({ ok: true, userId: "bob", balances: { xp: 5 } })
    const again = await send([...openings, opening("cid")])
    expect(again.json).toMatchObject({ accepted: 1, duplicates: 2, differing: 0, rejected: 0 })
    expect(again.json.results.slice(0, 2)).toEqual(
      json.results.map((result: object) => ({ ...result, duplicate: true })),
    )
    expect((await send(openings, minimal)).json).toEqual({
      accepted: 0,
      duplicates: 2,
      differing: 0,
      rejected: 0,
      refusals: [],
    })
    expect(await xpOf("ann")).toBe(100)
  })

  it("opens the users after a refused one, and points to each fault", async () => {
    await server.call("POST", "/v1/events", { body: { userId: "old", action: "TAP" } })
    const { json } = await send([
      opening("new"),
      opening("old"),
      { userId: "", balances: { xp: -1 }, gold: 1 },
      { userId: "wrong", balances: { none: 1 } },
      opening("new", 6),
      5,
    ])
    const { results, ...counts } = json
    expect(counts).toEqual({ accepted: 1, duplicates: 0, differing: 0, rejected: 5 })
    expect(results.slice(1)).toMatchObject([
      { ok: false, status: 409, code: "opening_closed" },
      { ok: false, status: 400, code: "invalid_request", detail: "The opening is invalid." },
      { ok: false, status: 400, errors: [{ pointer: "/openings/3/balances/none" }] },
      { ok: false, status: 409, code: "opening_closed" },
      { ok: false, status: 400, errors: [{ pointer: "/openings/5" }] },
    ])
    const pointers = results[2].errors.map(({ pointer }: { pointer: string }) => pointer)
    const root = "/openings/2"
    expect(pointers.toSorted()).toEqual([`${root}/balances/xp`, `${root}/gold`, `${root}/userId`])
    expect([await xpOf("new"), await xpOf("old"), await xpOf("wrong")]).toEqual([5, 0, null])
  })

  it("has 1 to 1000 openings, as JSON or NDJSON", async () => {
    const { batchItemsMax } = limits
    const many = (count: number) => Array.from({ length: count }, (_, at) => opening(`many${at}`))
    const full = await send(many(batchItemsMax))
    expect([full.status, full.json.accepted]).toEqual([200, batchItemsMax])
    for (const [openings, code] of [
      [[], "too_short"],
      [many(batchItemsMax + 1), "too_long"],
      [undefined, "missing"],
    ] as const) {
      const { json, status } = await send(openings)
      expect([status, json.errors]).toMatchObject([400, [{ pointer: "/openings", code }]])
    }
    const lines = await server.call("POST", path, {
      body: [opening("line"), { balances: {} }].map((one) => JSON.stringify(one)).join("\n"),
      headers: { "content-type": "application/x-ndjson" },
    })
    expect(lines.json).toMatchObject({
      accepted: 1,
      results: [{ ok: true }, { ok: false, errors: [{ pointer: "/1/userId", code: "missing" }] }],
    })
  })

  it("counts as many requests as it has openings, with a key of the scope full", async () => {
    const key = server.accounts.addKey("lk_test_opening", { limit: 5, environment: "e:opening" })
    const statusOf = async (count: number) =>
      (
        await send(
          Array.from({ length: count }, (_, at) => opening(`u${at}`)),
          {},
          key,
        )
      ).status
    expect([await statusOf(6), await statusOf(4), await statusOf(1)]).toEqual([413, 200, 429])
    for (const scope of ["read", "ingest", "publishable", "user"] as const) {
      const other = server.accounts.addKey(`lk_opening_${scope}`, { scope, userId: "u" })
      expect((await send([opening("u")], {}, other)).json.code).toBe("insufficient_scope")
    }
  })
})

describe("A batch of openings with an Idempotency-Key", () => {
  it.each([
    ["whole", {}],
    ["minimal", minimal],
  ] as const)("is applied once, and answered again: %s", async (userId, more) => {
    const headers = { ...more, "idempotency-key": `key-${userId}` }
    const openings = [opening(userId), { userId: "wrong", balances: { none: 1 } }]
    const first = await send(openings, headers)
    const again = await send(openings, headers)
    expect(again.headers["idempotency-replayed"]).toBe("true")
    expect(again.json).toEqual(first.json)
    expect([again.json.accepted, again.json.rejected]).toEqual([1, 1])
    await server.call("DELETE", `/v1/users/${userId}`)
    const erased = await send(openings, headers)
    if (userId === "whole") expect(erased.json.results[0].code).toBe("user_not_found")
    expect(await xpOf(userId)).toBe(null)
  })
})
