/** The server's replies to any request match its OpenAPI document. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import { seeds } from "../simulation/random.ts"
import { startServer, type TestServer } from "./fixture.ts"
import { operationsOf, ReplyCheck } from "./fuzz/ReplyCheck.ts"
import { fuzz } from "./fuzz/StatefulFuzz.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

it.each(seeds(1))("every reply fits the document; LAUREL_TEST_SEED=%i", async (seed) => {
  const { faults, replies } = await fuzz(server, seed, 800)
  expect(faults).toEqual([])
  // The requests passed the outer checks of most operations.
  const successes = [...replies.keys()].filter((reply) => / 20\d$/.test(reply))
  expect(successes.length).toBeGreaterThan(15)
})

it("The check finds a reply that the document does not declare", async () => {
  const { json: document } = await server.call("GET", "/openapi.json", { key: null })
  const check = new ReplyCheck(document)
  const operation = operationsOf(document).find(
    ({ method, path }) => method === "GET" && path === "/v1/project",
  )!
  const reply = await server.call("GET", "/v1/project")
  expect(check.fault(operation, reply)).toBeUndefined()
  const wrong: ReadonlyArray<readonly [object, string]> = [
    [{ status: 418 }, "the status 418 is not declared"],
    [{ json: { ...reply.json, timezone: 5 } }, "200 does not fit its schema"],
    [{ json: { ...reply.json, name: undefined } }, "200 does not fit its schema"],
    [{ headers: { "x-request-id": "r", "content-type": "text/html" } }, "content type text/html"],
    [{ headers: { "content-type": "application/json" } }, "200 lacks X-Request-Id"],
  ]
  for (const [change, words] of wrong) {
    expect(check.fault(operation, { ...reply, ...change })).toContain(words)
  }
})

it("A target that is too long gets a reply that no operation declares, since its operation is not known yet", async () => {
  const { json: document } = await server.call("GET", "/openapi.json", { key: null })
  const operation = operationsOf(document).find(({ path }) => path === "/v1/leaderboard")!
  const target = `/v1/leaderboard?userId=${"a".repeat(limits.headerBytesMax)}`
  const reply = await server.call("GET", target)
  expect([reply.status, reply.json.code]).toEqual([431, "headers_too_large"])
  expect(new ReplyCheck(document).fault(operation, reply)).toBeUndefined()
})
