/** Erasure of users. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
  await server.call("POST", "/v1/rules", { body: { action: "TAP", reward: { xp: 5 } } })
})
afterAll(() => server.stop())

const get = (path: string) => server.call("GET", path)
const erase = (id: string, key?: string) =>
  server.call("DELETE", `/v1/users/${id}`, key === undefined ? {} : { key })
const tap = (userId: string, more: object = {}, headers = {}) =>
  server.call("POST", "/v1/events", { body: { userId, action: "TAP", ...more }, headers })

describe("DELETE /v1/users/:id", () => {
  it("erases the user, and replies with the date from which no copy is left", async () => {
    await tap("ada")
    const before = Date.now()
    const { headers, status, text } = await erase("ada")
    expect([status, text, headers["content-type"]]).toEqual([204, "", undefined])
    const erasedBy = Date.parse(headers["laurel-erased-by"] as string) - limits.erasureMs
    expect(erasedBy).toBeGreaterThanOrEqual(before)
    expect(erasedBy).toBeLessThanOrEqual(Date.now())
    for (const path of ["", "/progress", "/history", "/export"]) {
      const reply = await get(`/v1/users/ada${path}`)
      expect([path, reply.status, reply.json.code]).toEqual([path, 404, "user_not_found"])
    }
    expect((await get("/v1/users?query=ada")).json.users).toEqual([])
    const { json } = await get("/v1/leaderboard")
    expect(json.entries.map(({ userId }: { userId: string }) => userId)).not.toContain("ada")
  })

  it("answers 404 for a second erasure, and for an unknown user", async () => {
    await tap("bob")
    expect((await erase("bob")).status).toBe(204)
    for (const id of ["bob", "nobody"]) {
      const { json, status } = await erase(id)
      expect([status, json.code]).toEqual([404, "user_not_found"])
    }
  })

  it("leaves the id to a new user, for whom earlier event ids and keys are unused", async () => {
    const headers = { "idempotency-key": "key-of-cora" }
    await tap("cora", { id: "t1" }, headers)
    await erase("cora")
    const { headers: replyHeaders, json } = await tap("cora", { id: "t1" }, headers)
    expect(replyHeaders["idempotency-replayed"]).toBeUndefined()
    expect(json).toMatchObject({ duplicate: false, xp: { earned: 5, total: 5 } })
    const history = (await get("/v1/users/cora/history")).json.facts
    expect(history.map(({ kind }: { kind: string }) => kind)).toEqual([
      "event.tracked",
      "xp.earned",
      "user.created",
    ])
  })

  it("removes the user from the kept answer of a batch", async () => {
    const headers = { "idempotency-key": "batch-with-dora" }
    const body = { events: ["dora", "emil", "dora"].map((userId) => ({ userId, action: "TAP" })) }
    const send = () => server.call("POST", "/v1/events/batch", { body, headers })
    const first = await send()
    await erase("dora")
    const again = await send()
    expect(again.headers["idempotency-replayed"]).toBe("true")
    const gone = {
      ok: false,
      status: 404,
      code: "user_not_found",
      detail: "The user has since been erased.",
      errors: [],
    }
    expect(again.json).toEqual({
      accepted: 1,
      duplicates: 0,
      differing: 0,
      rejected: 2,
      results: [gone, first.json.results[1], gone],
    })
    expect((await get("/v1/users/dora")).status).toBe(404)
  })

  it("needs a key of the same environment that may write", async () => {
    await tap("finn")
    for (const scope of ["read", "ingest"] as const) {
      const key = server.accounts.addKey(`lk_test_${scope}`, { scope })
      expect((await erase("finn", key)).status).toBe(403)
    }
    const other = server.accounts.addKey("lk_test_other", { environment: "prj_other:sandbox" })
    expect((await erase("finn", other)).status).toBe(404)
    expect((await get("/v1/users/finn")).status).toBe(200)
  })
})
