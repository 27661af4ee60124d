/** The list of users, and the export of one user. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { cursorOf, type Position } from "../../src/http/api/Cursor.ts"
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
      ["sort=level", "query/sort", "invalid_value"],
      ["order=desc", "query/order", "invalid_value"],
      ["sort=xp&order=up", "query/order", "invalid_value"],
      ["levelMin=0", "query/levelMin", "out_of_range"],
      ["levelMax=-1", "query/levelMax", "invalid_type"],
      ["levelMin=1e3", "query/levelMin", "invalid_type"],
      ["attribute=plan", "query/attribute", "invalid_format"],
      ["attribute=plan:%25ff", "query/attribute", "invalid_format"],
      [`attribute=a:${"x".repeat(7_000)}`, "query/attribute", "too_long"],
      ["activeSince=yesterday", "query/activeSince", "invalid_format"],
      ["badge=", "query/badge", "too_short"],
      ["format=xml", "query/format", "invalid_value"],
      ["format=csv&limit=5", "query/limit", "invalid_value"],
      ["format=csv&ids=a", "query/format", "invalid_value"],
      ["ids=a&sort=xp", "query/sort", "invalid_value"],
    ] as const
    for (const [query, pointer, code] of cases) {
      const { json, status } = await get(`/v1/users?${query}`)
      expect([query, status]).toEqual([query, 400])
      expect(json.errors).toMatchObject([{ pointer, code }])
    }
  })
})

describe("GET /v1/users in an order and with filters", () => {
  const place = async (name: string) => {
    const key = freshKey(name)
    const call = (method: string, path: string, body: object) =>
      server.call(method, `/v1${path}`, { key, body })
    await call("POST", "/badges", {
      name: "Taps",
      criteria: { kind: "action_count", action: "TAP", target: 1 },
    })
    await call("POST", "/segments", {
      name: "Pro",
      match: "all",
      conditions: [{ kind: "attribute", attribute: "plan", op: "eq", value: "pro" }],
    })
    const people = [
      ["ada", 250, { plan: "pro", seats: 5 }],
      ["bob", 20, { plan: "free", beta: true }],
      ["cy", 250, { plan: "pro", "a:b": "50%" }],
      ["=dan", 0, {}],
    ] as const
    for (const [id, xp, attributes] of people) {
      await call("PUT", `/users/${encodeURIComponent(id)}`, { attributes })
      if (xp > 0) await call("POST", `/users/${id}/rewards`, { type: "xp", amount: xp })
    }
    for (const userId of ["bob", "ada"]) await call("POST", "/events", { userId, action: "TAP" })
    const list = async (query: string) => {
      const { json, status } = await get(`/v1/users?${query}`, key)
      expect([query, status]).toEqual([query, 200])
      return json
    }
    const ids = async (query: string): Promise<ReadonlyArray<string>> =>
      (await list(query)).users.map(({ id }: { readonly id: string }) => id)
    return { key, list, ids }
  }

  it("sorts by xp, last event and creation, equal users by id", async () => {
    const { ids, list } = await place("sorted")
    expect(await ids("sort=xp")).toEqual(["ada", "cy", "bob", "=dan"])
    expect(await ids("sort=xp&order=asc")).toEqual(["=dan", "bob", "ada", "cy"])
    expect(await ids("sort=id&order=asc")).toEqual(["=dan", "ada", "bob", "cy"])
    expect((await ids("sort=lastEventAt&order=asc")).slice(0, 2)).toEqual(["=dan", "cy"])
    const { total, users } = await list("sort=lastEventAt&limit=4")
    expect(total).toBe(4)
    expect(users.map(({ lastEventAt }: { lastEventAt: string | null }) => lastEventAt)).toEqual([
      expect.stringMatching(/Z$/),
      expect.stringMatching(/Z$/),
      null,
      null,
    ])
  })

  it("filters by level, badge, segment, attribute and last event, all at once", async () => {
    const { ids, list } = await place("filtered")
    expect(await ids("levelMin=2")).toEqual(["ada", "cy"])
    expect(await ids("levelMax=1&sort=xp")).toEqual(["bob", "=dan"])
    expect(await ids("levelMin=3&levelMax=2")).toEqual([])
    expect(await ids("levelMax=9007199254740991")).toHaveLength(4)
    expect(await ids("badge=taps")).toEqual(["ada", "bob"])
    expect(await ids("segment=pro&sort=createdAt&order=asc")).toEqual(["ada", "cy"])
    expect(await ids("attribute=seats:5")).toEqual(["ada"])
    expect(await ids("attribute=beta:true")).toEqual(["bob"])
    expect(await ids(`attribute=${encodeURIComponent("a%3Ab:50%25")}`)).toEqual(["cy"])
    expect(await ids("attribute=toString:x")).toEqual([])
    expect(await ids("activeSince=2000-01-01T00:00:00Z")).toEqual(["ada", "bob"])
    expect(await ids("activeSince=2999-01-01T00:00:00Z")).toEqual([])
    expect(await ids("badge=taps&segment=pro&levelMin=2&query=a")).toEqual(["ada"])
    expect("total" in (await list("levelMin=1"))).toBe(false)
  })

  it("names an unknown badge and segment, and refuses keys of other scopes", async () => {
    const { key } = await place("refused")
    expect((await get("/v1/users?badge=none", key)).json.code).toBe("badge_not_found")
    expect((await get("/v1/users?segment=none&format=csv", key)).json.code).toBe(
      "segment_not_found",
    )
    for (const scope of ["publishable", "ingest"] as const) {
      const other = server.accounts.addKey(`lk_test_list_${scope}`, { scope })
      for (const query of ["sort=xp", "format=csv"]) {
        expect([scope, (await get(`/v1/users?${query}`, other)).status]).toEqual([scope, 403])
      }
    }
  })

  it("goes on behind a cursor although others come, change and leave, and refuses others", async () => {
    const { key, list } = await place("cursor")
    const first = await list("sort=xp&limit=1")
    expect(first).toMatchObject({ users: [{ id: "ada" }], hasMore: true })
    await server.call("POST", "/v1/users/=dan/rewards", {
      key,
      body: { type: "xp", amount: 900 },
    })
    await server.call("DELETE", "/v1/users/ada", { key })
    const next = await list(`sort=xp&limit=1&cursor=${first.nextCursor}`)
    expect(next).toMatchObject({ users: [{ id: "cy" }], hasMore: true })
    const last = await list(`sort=xp&limit=1&cursor=${next.nextCursor}`)
    expect(last).toMatchObject({ users: [{ id: "bob" }], hasMore: false, nextCursor: null })
    for (const query of ["", "sort=xp&order=asc&", "sort=createdAt&", "sort=xp&levelMin=1&"]) {
      const { json, status } = await get(`/v1/users?${query}cursor=${first.nextCursor}`, key)
      expect([query, status]).toEqual([query, 400])
      expect(json.errors).toMatchObject([{ pointer: "query/cursor", code: "invalid_value" }])
    }
  })

  it("takes a forged cursor for the place that it names, and nothing else", async () => {
    const { key } = await place("forged")
    const forged = (position: ReadonlyArray<unknown>) =>
      cursorOf("users", "prj_forged:sandbox", { sort: "xp" }, position as Position<"users">)
    const read = async (position: ReadonlyArray<unknown>) => {
      const { json, status } = await get(`/v1/users?sort=xp&cursor=${forged(position)}`, key)
      return status === 200 ? json.users.map(({ id }: { id: string }) => id) : json.errors[0].code
    }
    expect(await read(["", 250])).toEqual(["ada", "cy", "bob", "=dan"])
    expect(await read(["b", 250])).toEqual(["cy", "bob", "=dan"])
    expect(await read(["zz", 20])).toEqual(["=dan"])
    expect(await read(["zz", Number.MAX_SAFE_INTEGER])).toHaveLength(4)
    expect(await read(["zz"])).toEqual([])
    for (const key of [-1, 0.5, 2 ** 53, "250", null]) {
      expect(await read(["", key])).toBe("invalid_format")
    }
    expect(await read(["", 1, 1])).toBe("invalid_format")
  })

  it("is a table of all that match, whose texts are no formulas", async () => {
    const { key } = await place("table")
    await server.call("PUT", "/v1/users/bob", { key, body: { displayName: '=1+1,"x"' } })
    const { headers, status, text } = await get("/v1/users?format=csv&sort=xp", key)
    expect([status, headers["content-type"]]).toEqual([200, "text/csv; charset=utf-8"])
    expect(headers["content-disposition"]).toBe('attachment; filename="users.csv"')
    const lines = text.split("\r\n")
    expect(lines[0]).toBe(
      "id,displayName,level,xp,points,badges,lastEventAt,createdAt,updatedAt,timezone,hidden,attributes",
    )
    expect(lines.slice(1).map((line) => line.split(",")[0])).toEqual([
      "ada",
      "cy",
      "bob",
      "'=dan",
      "",
    ])
    expect(lines[1]).toMatch(
      /^ada,,2,250,0,taps,2.*Z,2.*Z,2.*Z,,false,"\{""plan"":""pro"",""seats"":5\}"$/,
    )
    expect(lines[3]).toContain(`bob,"'=1+1,""x""",1,20,`)
    const some = await get("/v1/users?format=csv&badge=taps", key)
    expect(some.text.split("\r\n")).toHaveLength(4)
    // Spreadsheets in Japanese take full-width signs for formulas, too.
    for (const displayName of ["+1", "-1", "@SUM(A1)", "＝1+1", "＋1", "－1", "＠SUM(A1)"]) {
      await server.call("PUT", "/v1/users/bob", { key, body: { displayName } })
      const { text } = await get("/v1/users?format=csv", key)
      expect(text).toContain(`\r\nbob,'${displayName},`)
    }
  })

  it("has more users in a table than are decoded at once, in both orders", async () => {
    const many = "prj_many:sandbox"
    const key = freshKey("many")
    const count = 2 * limits.listChunkUsers + 3
    const ids = Array.from({ length: count }, (_, n) => `u${String(n).padStart(5, "0")}`)
    await Effect.runPromise(
      server.engine.askUsers(
        many,
        ids.map((id) => event(id, "TAP")),
      ),
    )
    for (const query of ["format=csv", "format=csv&sort=xp"]) {
      const { text } = await get(`/v1/users?${query}`, key)
      const lines = text.trimEnd().split("\r\n").slice(1)
      expect(lines.map((line) => line.split(",")[0])).toEqual(ids)
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
