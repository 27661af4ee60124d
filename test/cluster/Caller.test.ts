/** The callers of a cluster as an oracle, before a server that answers as a test wants. */
import { once } from "node:events"
import http from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { type Callers, type Finding, HastyCaller, PatientCaller } from "./Caller.ts"
import { ClusterLoad } from "./ClusterLoad.ts"
import type { Runner } from "./Runner.ts"
import { Cluster } from "./startCluster.ts"

type Answer = readonly [status: number, body: unknown]

const taken: Answer = [200, { eventId: "event", duplicate: false }]
const refused: Answer = [503, { code: "starting", detail: "Nothing was changed." }]
const notFound: Answer = [404, { code: "user_not_found" }]
const has = (xp: number): Answer => [200, { xp }]

describe("A caller", () => {
  let server: http.Server
  let url: string
  let event: Answer
  let user: Answer
  let found: Array<Finding>
  let acknowledged: number

  beforeAll(async () => {
    server = http.createServer((request, response) => {
      request.resume()
      const board: Answer = [200, { entries: [] }]
      const read = request.url!.startsWith("/v1/users/") ? user : board
      const [status, body] = request.method === "POST" ? event : read
      response.writeHead(status).end(JSON.stringify(body))
    })
    await once(server.listen(0, "127.0.0.1"), "listening")
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })

  afterAll(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, "close")
  })

  beforeEach(() => {
    found = []
    acknowledged = 0
  })

  /** One step of a caller: a write, and a look at its user. */
  const step = async (Kind: typeof HastyCaller | typeof PatientCaller): Promise<void> => {
    let turns = 0
    const callers: Callers = {
      key: "key",
      urls: () => [url],
      turn: async () => turns++ === 0,
      acknowledged: () => acknowledged++,
      answered: () => {},
      found: (finding) => found.push(finding),
    }
    await new Kind(callers, "user", 0).run()
  }

  it("expects no user after its first event was refused", async () => {
    event = refused
    user = notFound
    await step(HastyCaller)
    expect([acknowledged, found]).toEqual([0, []])
  })

  it.each([
    ["without an id", HastyCaller],
    ["with an id", PatientCaller],
  ])("whose event %s was acknowledged expects its user", async (_, Kind) => {
    event = taken
    user = notFound
    await step(Kind)
    expect(acknowledged).toBe(1)
    expect(found).toMatchObject([{ kind: "stale", words: expect.stringContaining("404") }])
  })

  it("expects no xp for an event that was refused", async () => {
    event = refused
    user = has(1)
    await step(HastyCaller)
    expect(found).toMatchObject([{ kind: "doubled" }])
  })

  it.each<Answer>([
    [404, { code: "not_found" }],
    [500, { code: "internal_error" }],
  ])("fails for another reply: %o", async (status, body) => {
    event = refused
    user = [status, body]
    await expect(step(HastyCaller)).rejects.toThrow(String(status))
  })

  it("fails for a write about a user that is not found", async () => {
    event = notFound
    await expect(step(PatientCaller)).rejects.toThrow("user_not_found")
    await expect(step(HastyCaller)).rejects.toThrow("user_not_found")
  })

  it("reports lost writes if its user is not found after the load", async () => {
    event = taken
    user = has(1)
    const load = new ClusterLoad({ key: "key", urls: () => [url], callers: 1, name: "user" })
    await load.progress(1)
    await load.stop()
    load.faults.length = 0
    user = notFound
    await new Cluster([], {}, []).expectBoard(load, { url } as Runner)
    expect(load.faults).toMatchObject([{ kind: "lost" }])
  })
})
