/**
 * Nearly valid requests with random changes: the server never answers 5xx, logs nothing, and sends
 * only declared replies.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { exampleCursors } from "../../src/http/api/examples/exampleIds.ts"
import { randomOf, seeds } from "../simulation/random.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const requests: ReadonlyArray<
  readonly [method: string, path: string, body: string, type?: string]
> = [
  ["POST", "/v1/events", '{"userId":"u","action":"A","metadata":{"a":[1,"x"]},"id":"i"}'],
  [
    "POST",
    "/v1/events/batch",
    '{"events":[{"userId":"u","action":"A"},{"userId":"v","action":"B"}]}',
  ],
  [
    "POST",
    "/v1/events/batch",
    '{"userId":"u","action":"A"}\n{"userId":"v"}\n',
    "application/x-ndjson",
  ],
  ["POST", "/v1/users/u/rewards", '{"type":"xp","amount":100,"reason":"r"}'],
  ["POST", "/v1/users/v/rewards", '{"type":"badge","badgeId":"b","id":"i"}'],
  [
    "PUT",
    "/v1/users/u",
    '{"displayName":"A","timezone":"UTC","attributes":{"a":1,"b":"x"},"hidden":true}',
  ],
  ["POST", "/v1/quests", '{"title":"T","reward":{"xp":1},"status":"draft"}'],
  ["POST", "/v1/rules", '{"action":"A","reward":{"xp":1},"enabled":true}'],
  ["POST", "/v1/webhooks", '{"url":"https://example.com/","events":["quest.*"]}'],
]
const gets = [
  "/v1/users/u",
  "/v1/users/u/progress",
  "/v1/users/u/export",
  `/v1/users?query=u&limit=2&cursor=${exampleCursors.users}`,
  `/v1/users/u/history?limit=5&kind=xp.earned&cursor=${exampleCursors.history}`,
  "/v1/quests?status=active&limit=5",
  "/v1/leaderboard?window=all_time&limit=10",
  "/api/v1/rules?limit=1",
]
const deletes = [
  "/v1/users/u",
  "/v1/users/u/rewards/rwd_0mi8k3f2a4c92",
  "/v1/users/u/events/evt_0mi8k3f2a4c92",
]
const splinters = [
  '"',
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "\\u0000",
  "\\ud800",
  "null",
  "1e999",
  "-",
  "é",
]

describe("a request with random changes", () => {
  it.each(seeds(1))("never breaks the server (LAUREL_TEST_SEED=%i)", async (seed) => {
    const random = randomOf(seed)
    const below = (count: number) => Math.floor(random() * count)
    const pick = <A>(items: ReadonlyArray<A>): A => items[below(items.length)]!
    const mutate = (text: string): Buffer => {
      const bytes = [...Buffer.from(text)]
      for (let change = below(4); change >= 0; change--) {
        const at = below(bytes.length + 1)
        const kind = below(4)
        if (kind === 0) bytes.splice(at, 1 + below(5))
        else if (kind === 1) bytes.splice(at, 0, below(256))
        else if (kind === 2) bytes.splice(at, 0, ...Buffer.from(pick(splinters)))
        else bytes.splice(at, 0, ...bytes.slice(at, at + below(20)))
      }
      return Buffer.from(bytes)
    }
    // Only text that a client can send in a request line.
    const mutatePath = (path: string): string =>
      mutate(path)
        .toString("latin1")
        .replace(/[^\x21-\x7e]/g, "%")
        .replace(/^\/*/, "/")

    const statuses = new Map<number, number>()
    for (let round = 0; round < 150; round++) {
      const calls = Array.from({ length: 20 }, () => {
        if (below(4) === 0) return server.call("GET", mutatePath(pick(gets)))
        if (below(8) === 0) return server.call("DELETE", mutatePath(pick(deletes)))
        const [method, path, body, type = "application/json"] = pick(requests)
        const headers = { "content-type": type }
        return server.call(method, path, { body: mutate(body), headers })
      })
      for (const { status } of await Promise.all(calls)) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
    expect([...statuses.keys()].filter((status) => status >= 500)).toEqual([])
    expect(server.errors).toEqual([])
    // The requests passed the outer checks, too.
    expect(statuses.get(200)).toBeGreaterThan(50)
    expect(statuses.get(400)).toBeGreaterThan(500)
  })
})
