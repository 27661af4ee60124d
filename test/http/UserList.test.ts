/** The list of users, and the export of one user. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { event, rule } from "../engine/fixture.ts"
import { startServer, type TestServer } from "./fixture.ts"

const environment = "prj_test:sandbox"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
  await Effect.runPromise(server.engine.askProject(environment, rule("TAP", 5)))
})
afterAll(() => server.stop())

const put = (id: string, body: object = {}) => server.call("PUT", `/v1/users/${id}`, { body })
const get = (path: string, key?: string) =>
  server.call("GET", path, key === undefined ? {} : { key })
const freshKey = (name: string) =>
  server.accounts.addKey(`lk_test_${name}`, { environment: `prj_${name}:sandbox` })

describe("GET /v1/users", () => {
  it("lists users in the order of their ids, in pages", async () => {
    const key = freshKey("list")
    const create = (id: string) => server.call("PUT", `/v1/users/${id}`, { key, body: {} })
    expect((await get("/v1/users", key)).json).toEqual({
      users: [],
      total: 0,
      hasMore: false,
      nextCursor: null,
    })
    for (const id of ["b", "a", "c"]) await create(id)
    const { json } = await get("/v1/users", key)
    expect(json.users).toEqual([
      (await get("/v1/users/a", key)).json,
      (await get("/v1/users/b", key)).json,
      (await get("/v1/users/c", key)).json,
    ])
    const first = (await get("/v1/users?limit=2", key)).json
    expect(first).toMatchObject({ users: [{ id: "a" }, { id: "b" }], total: 3, hasMore: true })
    const last = (await get(`/v1/users?limit=2&cursor=${first.nextCursor}`, key)).json
    expect(last).toMatchObject({ users: [{ id: "c" }], total: 3, hasMore: false })
    expect(last.nextCursor).toBeNull()
  })

  it("finds users by a part of the id or the display name", async () => {
    await put("seek-1", { displayName: "Ada Lovelace" })
    await put("seek-2")
    const found = async (query: string) =>
      (await get(`/v1/users?query=${query}`)).json.users.map(({ id }: { id: string }) => id)
    expect(await found("seek-")).toEqual(["seek-1", "seek-2"])
    expect(await found("LOVE")).toEqual(["seek-1"])
    expect(await found("ada+love")).toEqual(["seek-1"])
    expect(await found("%F0%9F%98%80")).toEqual([])
  })

  it("accepts values within the bounds, and reports each value outside them", async () => {
    const { searchCharactersMax } = limits
    for (const query of ["limit=1", "limit=100", `query=${"x".repeat(searchCharactersMax)}`]) {
      expect([query, (await get(`/v1/users?${query}`)).status]).toEqual([query, 200])
    }
    const cases = [
      ["limit=0", "query/limit", "out_of_range"],
      ["limit=101", "query/limit", "out_of_range"],
      ["offset=0", "query/offset", "unknown_member"],
      ["query=", "query/query", "too_short"],
      [`query=${"x".repeat(searchCharactersMax + 1)}`, "query/query", "too_long"],
      ["query=%00", "query/query", "invalid_format"],
      ["search=x", "query/search", "unknown_member"],
    ] as const
    for (const [query, pointer, code] of cases) {
      const { json, status } = await get(`/v1/users?${query}`)
      expect([query, status]).toEqual([query, 400])
      expect(json.errors).toMatchObject([{ pointer, code }])
    }
  })
})

describe("GET /v1/users?ids=", () => {
  const found = async (ids: ReadonlyArray<string>, key?: string) => {
    const joined = ids.map(encodeURIComponent).join(",")
    const { json, status } = await get(`/v1/users?ids=${encodeURIComponent(joined)}`, key)
    expect(status).toBe(200)
    expect([json.hasMore, json.nextCursor, "total" in json]).toEqual([false, null, false])
    return [json.users.map(({ id }: { id: string }) => id), json.unknown]
  }

  it("returns the users in the order of the request, and names the unknown ids", async () => {
    const key = freshKey("named")
    const odd = ["a,b", "50%", "x%2Cy", "ü😀", "a+b c"]
    for (const id of ["ada", ...odd]) {
      const path = `/v1/users/${encodeURIComponent(id)}`
      expect((await server.call("PUT", path, { key, body: {} })).status).toBe(200)
    }
    expect(await found([...odd, "nobody", "ada", "a"], key)).toEqual([
      [...odd, "ada"],
      ["nobody", "a"],
    ])
    const { users } = (await get("/v1/users?ids=ada", key)).json
    expect(users).toEqual([(await get("/v1/users/ada", key)).json])
    await server.call("DELETE", "/v1/users/ada", { key })
    expect(await found(["ada"], key)).toEqual([[], ["ada"]])
  })

  it("shows nobody of another environment", async () => {
    await put("mine")
    expect(await found(["mine"])).toEqual([["mine"], []])
    expect(await found(["mine"], freshKey("strange"))).toEqual([[], ["mine"]])
  })

  it("takes 1 to 100 ids, each once, and no other parameter beside them", async () => {
    const { idCharactersMax, usersNamedMax } = limits
    const ids = Array.from({ length: usersNamedMax }, (_, index) => `u${index}`)
    expect((await found(ids))[1]).toEqual(ids)
    const cases = [
      ["ids=", "query/ids/0", "too_short"],
      ["ids=a,,b", "query/ids/1", "too_short"],
      [`ids=${[...ids, "one-more"].join(",")}`, "query/ids", "too_long"],
      ["ids=a,b,a", "query/ids/2", "duplicate"],
      [`ids=a,${"x".repeat(idCharactersMax + 1)}`, "query/ids/1", "too_long"],
      ["ids=a,..", "query/ids/1", "invalid_format"],
      ["ids=a,%2500", "query/ids/1", "invalid_format"],
      ["ids=50%25", "query/ids", "invalid_format"],
      ["ids=%25ff", "query/ids", "invalid_format"],
      ["ids=a&limit=1", "query/limit", "invalid_value"],
      ["ids=a&query=a", "query/query", "invalid_value"],
    ] as const
    for (const [query, pointer, code] of cases) {
      const { json, status } = await get(`/v1/users?${query}`)
      expect([query, status]).toEqual([query, 400])
      expect(json.errors).toMatchObject([{ pointer, code }])
    }
  })
})

describe("GET /v1/users/:id/export", () => {
  it("returns all data about the user, and none about other users", async () => {
    await put("ada", { displayName: "Ada", attributes: { note: "ü" } })
    await server.call("POST", "/v1/events", {
      body: { userId: "ada", action: "TAP", metadata: { where: "home" } },
      headers: { "idempotency-key": "key-of-ada" },
    })
    await server.call("POST", "/v1/events", { body: { userId: "somebody-else", action: "TAP" } })
    const { headers, json, status } = await get("/v1/users/ada/export")
    expect([status, headers["content-type"]]).toEqual([200, "application/json"])
    expect(json.user).toEqual((await get("/v1/users/ada")).json)
    expect(json.progress).toEqual((await get("/v1/users/ada/progress")).json)
    expect(json.state).toMatchObject({ id: "ada", xp: 5, profile: { displayName: "Ada" } })
    expect(json.records).toMatchObject([
      {
        cause: { kind: "event", action: "TAP", metadata: { where: "home" } },
        kept: { key: "key-of-ada" },
      },
      { cause: { kind: "profile" } },
    ])
    expect(JSON.stringify(json)).not.toContain("somebody-else")
  })

  it("returns a history of many pieces completely", async () => {
    const count = 3_000
    for (let sent = 0; sent < count; sent += 500) {
      const messages = Array.from({ length: 500 }, (_, index) =>
        event("long", "TAP", { metadata: { number: sent + index } }),
      )
      await Effect.runPromise(server.engine.askUsers(environment, messages))
    }
    const { json } = await get("/v1/users/long/export")
    const numbers = json.records.map(
      ({ cause }: { readonly cause: { readonly metadata: { readonly number: number } } }) =>
        cause.metadata.number,
    )
    expect(numbers).toEqual(Array.from({ length: count }, (_, index) => count - 1 - index))
  })

  it("is open to read keys, and answers 404 for an unknown user", async () => {
    const read = server.accounts.addKey("lk_test_read", { scope: "read" })
    const ingest = server.accounts.addKey("lk_test_ingest", { scope: "ingest" })
    await put("bob")
    expect((await get("/v1/users/bob/export", read)).status).toBe(200)
    expect((await get("/v1/users/bob/export", ingest)).status).toBe(403)
    expect((await get("/v1/users/nobody/export")).json.code).toBe("user_not_found")
    expect((await get("/v1/users/bob/export", freshKey("other"))).status).toBe(404)
  })
})
