/** Histories, page by page. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { exampleCursors } from "../../src/http/api/examples/exampleIds.ts"
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

const tap = (userId: string, more: object = {}) =>
  server.call("POST", "/v1/events", { body: { userId, action: "TAP", ...more } })
const history = (userId: string, query = "") =>
  server.call("GET", `/v1/users/${userId}/history${query}`)

interface Fact {
  readonly kind: string
  readonly sequence: number
}

/** All facts, read in pages of `limit`. */
const walk = async (userId: string, limit: number, kind = "") => {
  const facts: Array<Fact> = []
  let cursor: string | null = ""
  let pages = 0
  while (cursor !== null) {
    const query: string = `?limit=${limit}${kind && `&kind=${kind}`}${cursor && `&cursor=${cursor}`}`
    const { json, status } = await history(userId, query)
    expect(status).toBe(200)
    expect(json.facts.length).toBeLessThanOrEqual(limit)
    expect(json.hasMore).toBe(json.nextCursor !== null)
    if (json.hasMore) expect(json.facts).not.toEqual([])
    facts.push(...json.facts)
    cursor = json.nextCursor
    pages++
  }
  return { facts, pages }
}

describe("GET /v1/users/:id/history", () => {
  it("shows every fact with its cause, newest first", async () => {
    const first = await tap("ada", { id: "t1", metadata: { where: "home" } })
    const { json } = await history("ada")
    const cause = {
      kind: "event",
      eventId: first.json.eventId,
      id: "t1",
      action: "TAP",
      occurredAt: first.json.occurredAt,
      metadata: { where: "home" },
      imported: false,
      segments: [],
    }
    const common = { at: first.json.receivedAt, sequence: expect.any(Number), cause }
    expect(json).toEqual({
      facts: [
        {
          kind: "event.tracked",
          ...common,
          xp: { earned: 5, total: 5 },
          points: { earned: 0, total: 0 },
          level: { before: 1, after: 1 },
        },
        {
          kind: "xp.earned",
          ...common,
          amount: 5,
          total: 5,
          source: { kind: "rule", id: expect.any(String) },
        },
        { kind: "user.created", ...common },
      ],
      hasMore: false,
      nextCursor: null,
    })
  })

  it("has the same facts in pages of any size", async () => {
    for (let turn = 0; turn < 12; turn++) await tap("bob")
    const whole = (await history("bob", "?limit=100")).json.facts
    expect(whole).toHaveLength(25)
    for (const limit of [1, 2, 3, 5, 24, 25, 26]) {
      const { facts, pages } = await walk("bob", limit)
      expect(facts).toEqual(whole)
      expect(pages).toBe(Math.ceil(25 / limit))
    }
    const kinds = await walk("bob", 5, "xp.earned")
    expect(kinds.facts).toEqual(whole.filter(({ kind }: Fact) => kind === "xp.earned"))
  })

  it("continues after a page, even if newer facts have arrived", async () => {
    for (let turn = 0; turn < 4; turn++) await tap("cora")
    const whole = (await history("cora")).json.facts
    const page = (await history("cora", "?limit=3")).json
    await tap("cora")
    const rest = (await history("cora", `?cursor=${page.nextCursor}`)).json
    expect([...page.facts, ...rest.facts]).toEqual(whole)
  })

  it("ends a page with facts early in a long history, and searches all of it for the first", async () => {
    const count = limits.historyScanRecordsMax + 5
    for (let sent = 0; sent < count; sent += 1_000) {
      const size = Math.min(1_000, count - sent)
      const messages = Array.from({ length: size }, () => event("dora", "OTHER"))
      await Effect.runPromise(server.engine.askUsers(environment, messages))
    }
    const created = (await history("dora", "?kind=user.created")).json
    expect(created.facts).toMatchObject([{ kind: "user.created" }])
    expect(created.nextCursor).toBeNull()
    await tap("dora")
    const first = (await history("dora", "?kind=xp.earned")).json
    expect(first.facts).toMatchObject([{ kind: "xp.earned" }])
    expect(first.hasMore).toBe(true)
    const last = (await history("dora", `?kind=xp.earned&cursor=${first.nextCursor}`)).json
    expect(last).toEqual({ facts: [], hasMore: false, nextCursor: null })
  })

  it("accepts valid limits, kinds and cursors only", async () => {
    await tap("eva")
    for (const query of ["?limit=1", "?limit=100", "?kind=streak.broken"]) {
      expect([query, (await history("eva", query)).status]).toEqual([query, 200])
    }
    const cases = [
      ["?limit=0", "query/limit", "out_of_range"],
      ["?limit=101", "query/limit", "out_of_range"],
      ["?limit=x", "query/limit", "invalid_type"],
      ["?kind=windows.credited", "query/kind", "invalid_value"],
      ["?kind=", "query/kind", "invalid_value"],
      ["?cursor=", "query/cursor", "invalid_format"],
      [`?cursor=${exampleCursors.history}`, "query/cursor", "invalid_value"],
      [`?cursor=${exampleCursors.deliveries}`, "query/cursor", "invalid_value"],
      ["?offset=1", "query/offset", "unknown_member"],
    ] as const
    for (const [query, pointer, code] of cases) {
      const { json, status } = await history("eva", query)
      expect([query, status]).toEqual([query, 400])
      expect(json.errors).toMatchObject([{ pointer, code }])
    }
  })

  it("is open to keys that read, and shows nothing of other environments", async () => {
    await tap("finn")
    const read = server.accounts.addKey("lk_test_read", { scope: "read" })
    const ingest = server.accounts.addKey("lk_test_ingest", { scope: "ingest" })
    const other = server.accounts.addKey("lk_test_else", { environment: "prj_else:sandbox" })
    const as = (key: string) => server.call("GET", "/v1/users/finn/history", { key })
    expect((await as(read)).status).toBe(200)
    expect((await as(ingest)).status).toBe(403)
    expect((await as(other)).status).toBe(404)
  })
})
