/** What keys and tokens of web pages and apps open; tried at every operation of the contract. */
import { HttpApi } from "effect/http-api"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Api } from "../../src/http/api/Api.ts"
import { makeWorld, type RealIds, realPath } from "./exampleWorld.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
let real: RealIds
let publishable: string
beforeAll(async () => {
  server = await startServer()
  real = await makeWorld(server)
  publishable = server.accounts.addKey("lk_pub_test_page", { kind: "publishable" })
})
afterAll(() => server.stop())

/** Every operation that needs a key, by the declaration. */
const operations = (): ReadonlyArray<readonly [method: string, path: string]> => {
  const found: Array<readonly [string, string]> = []
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, middleware }) => {
      if (middleware.size > 0) found.push([endpoint.method, endpoint.path])
    },
  })
  return found
}

const ask = (key: string, method: string, path: string, body?: unknown) =>
  server.call(method, realPath(path.replace(/:(\w+)/g, "{$1}"), real), { key, body })

/** The operations that the key does not open, sorted. */
const refusedTo = async (key: string): Promise<ReadonlyArray<string>> => {
  const refused: Array<string> = []
  for (const [method, path] of operations()) {
    const { json, status } = await ask(key, method, path, method === "GET" ? undefined : {})
    if (status === 403) {
      expect(json.code).toBe("insufficient_scope")
      refused.push(`${method} ${path}`)
    }
  }
  return refused
}

const opened = (refused: ReadonlyArray<string>): ReadonlyArray<string> =>
  operations()
    .map(([method, path]) => `${method} ${path}`)
    .filter((operation) => !refused.includes(operation))
    .sort()

const publicReads = [
  "GET /v1/badges",
  "GET /v1/badges/:id",
  "GET /v1/leaderboard",
  "GET /v1/quests",
  "GET /v1/quests/:id",
]

describe("A publishable key", () => {
  it("opens boards, badges and quests, and no other operation", async () => {
    expect(operations().length).toBeGreaterThan(35)
    expect(opened(await refusedTo(publishable))).toEqual(publicReads)
  })

  it("names no user", async () => {
    const around = await ask(publishable, "GET", "/v1/leaderboard?around=user-42")
    expect([around.status, around.json.code]).toEqual([403, "insufficient_scope"])
    expect((await ask(publishable, "GET", "/v1/leaderboard?window=weekly")).status).toBe(200)
  })

  it("shows no badge that is secret or archived", async () => {
    const criteria = { kind: "xp", target: 9 }
    const make = async (body: object): Promise<string> =>
      (await server.call("POST", "/v1/badges", { body: { criteria, ...body } })).json.id
    const open = await make({ name: "Open" })
    const secret = await make({ name: "Hidden", secret: true })
    const archived = await make({ name: "Old" })
    await server.call("DELETE", `/v1/badges/${archived}`)
    const ids = async (key?: string, query = "") => {
      const { json } = await server.call("GET", `/v1/badges${query}`, { ...(key && { key }) })
      return { ids: json.badges.map(({ id }: { id: string }) => id), total: json.total }
    }
    expect((await ids()).ids).toEqual([real.bdg, open, secret])
    expect(await ids(publishable)).toEqual({ ids: [real.bdg, open], total: 2 })
    expect(await ids(publishable, "?archived=true")).toEqual({ ids: [], total: 0 })
    const statusOf = async (id: string, key?: string) =>
      (await server.call("GET", `/v1/badges/${id}`, { ...(key && { key }) })).status
    for (const id of [secret, archived]) {
      expect([await statusOf(id), await statusOf(id, publishable)]).toEqual([200, 404])
    }
  })

  it("shows active quests alone", async () => {
    const make = async (body: object): Promise<string> =>
      (
        await server.call("POST", "/v1/quests", {
          body: { title: "Q", reward: { xp: 1 }, ...body },
        })
      ).json.id
    const draft = await make({ status: "draft" })
    const scheduled = await make({ startsAt: "2999-01-01T00:00:00Z" })
    const list = async (query: string) =>
      (await server.call("GET", `/v1/quests${query}`, { key: publishable })).json
    for (const query of ["", "?status=active"]) {
      const { quests, total } = await list(query)
      expect([total, quests[0].id]).toEqual([1, real.qst])
    }
    for (const status of ["draft", "scheduled", "paused", "ended", "archived"]) {
      expect((await list(`?status=${status}`)).total).toBe(0)
    }
    for (const id of [draft, scheduled]) {
      expect((await server.call("GET", `/v1/quests/${id}`)).status).toBe(200)
      const { status } = await server.call("GET", `/v1/quests/${id}`, { key: publishable })
      expect(status).toBe(404)
    }
  })
})
