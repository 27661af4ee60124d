/** The server's counts of its requests and events. */
import { once } from "node:events"
import { Deferred, Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { sampleValue } from "../metrics/exposition.ts"
import {
  gatedEvents,
  received,
  startServer,
  type TestServer,
  type TestServerOptions,
} from "./fixture.ts"

let server: TestServer
const start = async (options?: TestServerOptions) => {
  server = await startServer(options)
  return server
}
afterEach(() => server.stop())

const value = (name: string, labels?: Record<string, string>) =>
  sampleValue(server.metrics.text(), name, labels)
const requests = (operation: string, status: number) =>
  value("laurel_http_requests_total", { operation, status: String(status) })
const events = (outcome: string) => value("laurel_events_total", { outcome })
const body = { userId: "u", action: "A", id: "one" }

describe("The metrics of requests", () => {
  it("count them by operation and status, and their time by class", async () => {
    await start()
    await server.call("POST", "/v1/events", { body })
    await server.call("POST", "/api/v1/events", { body })
    await server.call("POST", "/v1/events", { body: { userId: "u" } })
    await server.call("POST", "/v1/events", { body, key: "nobody" })
    await server.call("GET", "/v1/users/nobody")
    await server.call("GET", "/healthz")
    await server.call("GET", "/nothing")
    await server.call("DELETE", "/healthz")
    await server.raw("nonsense\r\n\r\n")
    expect(requests("events.track", 200)).toBe(2)
    expect(requests("events.track", 400)).toBe(1)
    expect(requests("events.track", 401)).toBe(1)
    expect(requests("users.get", 404)).toBe(1)
    expect(requests("/healthz", 200)).toBe(1)
    expect(requests("none", 404)).toBe(1)
    expect(requests("none", 405)).toBe(1)
    expect(requests("none", 400)).toBe(1)
    const duration = "laurel_http_request_duration_seconds"
    const ofTracking = { operation: "events.track", class: "4xx" }
    expect(value(`${duration}_count`, ofTracking)).toBe(2)
    expect(value(`${duration}_bucket`, { ...ofTracking, le: "+Inf" })).toBe(2)
    const seconds = value(`${duration}_sum`, { operation: "events.track", class: "2xx" })
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThan(60)
  })

  it("count those that a rate limit refused, also a batch that is too large for the rest of the limit", async () => {
    await start()
    const key = server.accounts.addKey("few", { limit: 3, tier: "free" })
    const batch = { events: [body, body, body] }
    await server.call("POST", "/v1/events", { body, key })
    expect((await server.call("POST", "/v1/events/batch", { body: batch, key })).status).toBe(429)
    await server.call("POST", "/v1/events", { body, key })
    expect((await server.call("POST", "/v1/events", { body, key })).status).toBe(200)
    expect((await server.call("POST", "/v1/events", { body, key })).status).toBe(429)
    expect(value("laurel_rate_limited_requests_total", { tier: "free" })).toBe(2)
    expect(value("laurel_rate_limited_requests_total", { tier: "pro" })).toBe(0)
  })

  it("count the requests that wait for their reply, whether their callers stay or disconnect", async () => {
    const { gate, reached, wrapEngine } = gatedEvents()
    await start({ wrapEngine })
    const inFlight = () => value("laurel_http_requests_in_flight")
    expect(inFlight()).toBe(0)
    const waiting = server.call("POST", "/v1/events", { body })
    await reached
    expect(inFlight()).toBe(1)
    // One caller disconnects while sending the body, and one while waiting for the reply.
    const head = (length: number) =>
      `POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer lk_test_full\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
    const text = JSON.stringify({ userId: "v", action: "A" })
    const leaving = [await server.connect(), await server.connect()]
    leaving[0]!.write(`${head(text.length)}{`)
    leaving[1]!.write(head(text.length) + text)
    await expect.poll(inFlight).toBe(3)
    expect(value("laurel_http_connections")).toBe(3)
    for (const socket of leaving) {
      socket.resetAndDestroy()
      await once(socket, "close")
    }
    await expect.poll(inFlight).toBe(2)
    await expect.poll(() => value("laurel_http_connections")).toBe(1)
    Deferred.doneUnsafe(gate, Effect.void)
    expect((await waiting).status).toBe(200)
    await expect.poll(inFlight).toBe(0)
  })
})

describe("The metrics of events", () => {
  it("count each as tracked, a duplicate or refused, alone and in batches", async () => {
    await start()
    await server.call("POST", "/v1/events", { body })
    await server.call("POST", "/v1/events", { body })
    await server.call("POST", "/v1/events", { body: { userId: "u" } })
    const batch = { events: [body, { ...body, id: "two" }, { userId: "u", action: "B" }, {}] }
    await server.call("POST", "/v1/events/batch", { body: batch })
    expect([events("tracked"), events("duplicate"), events("refused")]).toEqual([3, 2, 2])
    const keyed = { body: { userId: "u", action: "A" }, headers: { "Idempotency-Key": "k" } }
    await server.call("POST", "/v1/events", keyed)
    await server.call("POST", "/v1/events", keyed)
    expect([events("tracked"), events("duplicate")]).toEqual([4, 3])
  })
})

it("Text from callers never becomes a label", async () => {
  await start()
  await server.call("GET", "/v1/users/a-secret-name")
  await server.call("GET", "/a-secret-path")
  await server.call("GET", "/v1/users/x?a-secret-query=1")
  const socket = await server.connect()
  const reply = received(socket)
  socket.write("SECRETS /v1/users HTTP/1.1\r\nHost: x\r\n\r\n")
  await reply
  expect(server.metrics.text()).not.toMatch(/secret/i)
})
