/** Merges of users. `test/engine/Merge.test.ts` has their crashes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
  await server.call("POST", "/v1/rules", {
    body: { action: "TAP", reward: { xp: 5, points: 2 } },
  })
})
afterAll(() => server.stop())

const get = async (path: string) => (await server.call("GET", path)).json
const post = (path: string, body: object, more: object = {}) =>
  server.call("POST", path, { body, ...more })
const tap = async (userId: string, more: object = {}) =>
  (await post("/v1/events", { userId, action: "TAP", ...more })).json
const merge = (userId: string, into: string, more: object = {}) =>
  post(`/v1/users/${userId}/merge`, { into }, more)

describe("POST /v1/users/:id/merge", () => {
  it("merges a visitor who signs up, and replies the same to a repeat", async () => {
    await tap("visitor", { id: "t1" })
    await tap("visitor", { id: "t2" })
    await tap("member", { id: "t3" })
    const { json, status } = await merge("visitor", "member")
    expect(status).toBe(200)
    expect(json).toEqual({ from: "visitor", into: "member", mergedAt: expect.any(String) })
    expect((await merge("visitor", "member")).json).toEqual(json)
    const member = await get("/v1/users/member")
    expect(member).toMatchObject({ id: "member", xp: 15, points: 6 })
    expect(await get("/v1/users/visitor")).toEqual(member)
    expect(await tap("member", { id: "t1" })).toMatchObject({ duplicate: true })
    expect(await tap("visitor")).toMatchObject({ userId: "member", xp: { earned: 5, total: 20 } })
    const { unknown, users } = await get("/v1/users?ids=visitor,member")
    expect(users.map(({ id }: { id: string }) => id)).toEqual(["member", "member"])
    expect(unknown).toEqual([])
    expect((await get("/v1/users?query=visitor")).users).toEqual([])
  })

  it("takes events of the former id through batches, and undo and spends of both", async () => {
    const { eventId } = await tap("v2")
    await tap("m2")
    await merge("v2", "m2")
    const events = [
      { userId: "v2", action: "TAP", id: "b1" },
      { userId: "m2", action: "TAP", id: "b1" },
    ]
    const { json } = await post("/v1/events/batch", { events })
    expect(json.results.map(({ duplicate, ok }: Outcome) => [ok, duplicate])).toEqual([
      [true, false],
      [true, true],
    ])
    const spent = await post("/v1/users/v2/points/spend", { amount: 6 })
    expect(spent.json).toMatchObject({ userId: "m2", points: { spent: 6, total: 0 } })
    const undone = await server.call("DELETE", `/v1/users/m2/events/${eventId}`)
    expect(undone.json).toMatchObject({ userId: "m2", xp: { revoked: 5, total: 10 } })
    expect(await get(`/v1/events/${eventId}`)).toMatchObject({ revoked: true })
  })

  it("reads the rewards of both as one list, in pages", async () => {
    for (const [userId, amount] of [
      ["v3", 1],
      ["m3", 2],
      ["v3", 3],
      ["m3", 4],
    ] as const) {
      await post(`/v1/users/${userId}/rewards`, { type: "xp", amount, id: `r${amount}` })
    }
    await merge("v3", "m3")
    await post("/v1/users/v3/rewards", { type: "xp", amount: 5 })
    const amounts: Array<number> = []
    let cursor: string | null = ""
    while (cursor !== null) {
      const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`
      const page = await get(`/v1/users/v3/rewards?limit=2${query}`)
      amounts.push(...page.rewards.map(({ amount }: { amount: number }) => amount))
      cursor = page.nextCursor
    }
    expect(amounts).toEqual([5, 4, 3, 2, 1])
    expect(await get("/v1/users/m3/rewards/r3")).toMatchObject({ amount: 3 })
  })

  it("has both in history and export, and erases both", async () => {
    await tap("v4")
    await tap("m4")
    await merge("v4", "m4")
    const { facts } = await get("/v1/users/v4/history?limit=100")
    const kinds = facts.map(({ kind }: { kind: string }) => kind)
    expect(kinds.filter((kind: string) => kind === "event.tracked")).toHaveLength(2)
    expect(facts[0]).toMatchObject({
      kind: "user.merged",
      from: "v4",
      gained: { xp: 5, points: 2 },
      totals: { xp: 10, points: 4 },
      cause: { kind: "merge" },
    })
    const { records, user } = await get("/v1/users/m4/export")
    expect(user.id).toBe("m4")
    const subjects = records.map((record: { subject: { userId: string } }) => record.subject.userId)
    expect(new Set(subjects)).toEqual(new Set(["m4", "v4"]))
    expect((await server.call("DELETE", "/v1/users/v4")).status).toBe(204)
    for (const id of ["v4", "m4"]) {
      expect((await server.call("GET", `/v1/users/${id}`)).status).toBe(404)
    }
  })

  it("is refused with itself, with unknown users, and with users who were merged", async () => {
    await tap("v5")
    await tap("m5")
    await tap("other")
    const refused = async (userId: string, into: string) => {
      const { json, status } = await merge(userId, into)
      return [status, json.code]
    }
    expect(await refused("v5", "v5")).toEqual([400, "invalid_request"])
    expect(await refused("v5", "nobody")).toEqual([404, "user_not_found"])
    expect(await refused("nobody", "v5")).toEqual([404, "user_not_found"])
    await merge("v5", "m5")
    expect(await refused("m5", "v5")).toEqual([409, "user_merged"])
    expect(await refused("other", "v5")).toEqual([409, "user_merged"])
    expect(await refused("v5", "other")).toEqual([409, "user_merged"])
  })

  it("keeps its answer for an Idempotency-Key, also a refusal", async () => {
    await tap("v6")
    await tap("m6")
    const first = await merge("v6", "nobody", { headers: { "idempotency-key": "merge-1" } })
    expect(first.status).toBe(404)
    await tap("nobody")
    const again = await merge("v6", "nobody", { headers: { "idempotency-key": "merge-1" } })
    expect([again.status, again.headers["idempotency-replayed"]]).toEqual([404, "true"])
    const made = await merge("v6", "m6", { headers: { "idempotency-key": "merge-2" } })
    const repeat = await merge("v6", "m6", { headers: { "idempotency-key": "merge-2" } })
    expect(repeat.json).toEqual(made.json)
    expect(repeat.headers["idempotency-replayed"]).toBe("true")
  })
})

interface Outcome {
  readonly ok: boolean
  readonly duplicate: boolean
}
