/** The scope of publishable keys, tested with every operation of the contract. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeWorld, type RealIds } from "./exampleWorld.ts"
import { startServer, type TestServer } from "./fixture.ts"
import { asker, openedTo, operations, publicReads } from "./tokens.ts"

let server: TestServer
let real: RealIds
let publishable: string
beforeAll(async () => {
  server = await startServer()
  real = await makeWorld(server)
  publishable = server.accounts.addKey("lk_pub_test_page", { kind: "publishable" })
})
afterAll(() => server.stop())

const ask = (key: string, method: string, path: string, body?: unknown) =>
  server.call(method, path, { key, body })

describe("A publishable key", () => {
  it("may read leaderboards, badges and quests, and call no other operation", async () => {
    expect(operations().length).toBeGreaterThan(35)
    expect(await openedTo(asker(server), publishable, "user-42")).toEqual(publicReads)
  })

  it("may not name a user", async () => {
    const around = await ask(publishable, "GET", "/v1/leaderboard?around=user-42")
    expect([around.status, around.json.code]).toEqual([403, "insufficient_scope"])
    expect((await ask(publishable, "GET", "/v1/leaderboard?window=weekly")).status).toBe(200)
  })

  it("reads no badge that is secret or archived", async () => {
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
    expect(await ids(publishable, "?status=archived")).toEqual({ ids: [], total: 0 })
    const statusOf = async (id: string, key?: string) =>
      (await server.call("GET", `/v1/badges/${id}`, { ...(key && { key }) })).status
    for (const id of [secret, archived]) {
      expect([await statusOf(id), await statusOf(id, publishable)]).toEqual([200, 404])
    }
  })

  it("reads active quests only", async () => {
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
