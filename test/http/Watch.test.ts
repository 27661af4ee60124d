/** Single requests in the operator's view: the access log, slow requests, traces. */
import { once } from "node:events"
import { Deferred, Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { AddressRanges } from "../../src/accounts/AddressRanges.ts"
import type { RequestSpan, WatchOptions } from "../../src/http/request/RequestWatch.ts"
import { limits } from "../../src/Limits.ts"
import { answer } from "../webhooks/Receiver.ts"
import { fullKey, gatedEvents, startServer, type TestServerOptions } from "./fixture.ts"
import { asking, endAll, receiving, starting, until, webhookUrls } from "./webhooks.ts"

afterEach(endAll)

const traceId = "0af7651916cd43dd8448eb211c80319c"
const parentSpanId = "b7ad6b7169203331"
const sampled = `00-${traceId}-${parentSpanId}-01`
const unsampled = `00-${traceId}-${parentSpanId}-00`
const event = { userId: "ada", action: "A" }

type Entry = Readonly<Record<string, unknown>>

const watched = async (watch: WatchOptions, options: TestServerOptions = {}) => {
  const lines: Array<string> = []
  const spans: Array<RequestSpan> = []
  const server = await starting({
    ...options,
    watch: {
      accessLog: (line) => lines.push(line),
      spans: (span) => spans.push(span),
      ...watch,
    },
  })
  const entries = () => lines.map((line): Entry => JSON.parse(line))
  const slowLines = () =>
    server.logs
      .map((line): { message: string; annotations: Entry } => JSON.parse(line))
      .filter(({ message }) => message === "A request was slow")
      .map(({ annotations }) => annotations)
  return { ...server, lines, entries, spans, slowLines, server }
}

describe("The access log", () => {
  it("has one line for each request with the key's id, operation, size, duration and address", async () => {
    const { call, entries, lines } = await watched({})
    const reply = await call("POST", "/v1/events", { body: event })
    await call("GET", "/api/v1/users/nobody?token=in-the-query")
    await call("GET", "/nothing", { key: null })
    await call("HEAD", "/healthz", { key: "unknown-secret" })
    const [first, second, third, fourth, ...more] = entries()
    expect(more).toEqual([])
    expect(first).toEqual({
      requestId: reply.headers["x-request-id"],
      key: `key_${fullKey}`,
      method: "POST",
      route: "/v1/events",
      path: "/v1/events",
      status: 200,
      bytes: reply.text.length,
      durationMs: expect.any(Number),
      address: "127.0.0.1",
    })
    expect(first!.durationMs).toBeGreaterThan(0)
    expect(second).toMatchObject({ route: "/api/v1/users/:id", path: "/api/v1/users/..." })
    expect(third).toMatchObject({ key: null, route: null, path: "/nothing", status: 404 })
    expect(fourth).toMatchObject({ key: null, method: "HEAD", status: 200, bytes: 0 })
    expect(lines.join()).not.toMatch(/in-the-query|unknown-secret|Bearer/)
  })

  it("never shows the id of a user, known or not; neither does a slow line or a span", async () => {
    const { call, lines, server, spans } = await watched({ slowMs: 0, tracing: true })
    const headers = { traceparent: sampled }
    for (const path of [
      "/v1/users/grace-hopper",
      "/api/v1/users/grace-hopper/events/evt_1",
      "/v1/users/grace-hopper/nothing/grace",
      "/dashboard/shop/sandbox/users/grace-hopper",
    ]) {
      await call("GET", path, { headers })
    }
    expect(lines).toHaveLength(4)
    expect(spans.length).toBeGreaterThan(0)
    expect(server.logs.filter((line) => line.includes("A request was slow"))).toHaveLength(4)
    expect([...lines, ...server.logs, JSON.stringify(spans)].join()).not.toContain("grace")
  })

  it("cannot be forged by a path or a request id: a line is one object in printable ASCII", async () => {
    const { call, entries, lines, raw } = await watched({})
    const id = 'x","status":200,"key":"key_forged","y":"'
    await call("GET", "/v1/leaderboard", { key: null, headers: { "x-request-id": id } })
    const end = " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    const path = '/a"}\\n{"key":"key_forged","b":"\\'
    await raw(`GET ${path}${end}`)
    for (const control of ["\u001b[31m", "\u0000", "\u007f", "\u009b", "\u2028"]) {
      await raw(`GET /${control}${end}`)
    }
    await raw(`GET /${"x".repeat(4_000)}${end}`)
    expect(lines).toHaveLength(8)
    for (const line of lines) {
      expect(line).toMatch(/^\{[\x20-\x7e]*\}$/)
      expect(line.length).toBeLessThan(2 * limits.loggedPathCharactersMax)
    }
    const [first, second, ...others] = entries()
    expect(first).toMatchObject({ requestId: id, status: 401, key: null })
    expect(second).toMatchObject({ path, status: 404, key: null })
    // These were not valid requests.
    const malformed = { status: 400, address: "127.0.0.1" }
    expect(others.slice(0, 5)).toEqual(Array(5).fill(malformed))
    expect(others[5]!.path).toBe(`/${"x".repeat(limits.loggedPathCharactersMax - 1)}...`)
  })

  it("shows the client that a trusted proxy names, and ignores other proxies", async () => {
    const headers = { "x-forwarded-for": "192.0.2.9, 203.0.113.7" }
    const ranges = new AddressRanges(["127.0.0.1/32"])
    for (const [field, address] of [
      ["x-forwarded-for", "203.0.113.7"],
      ["forwarded", "2001:db8::1"],
    ] as const) {
      const near = await watched({}, { trustedProxies: { ranges, field } })
      const both = { ...headers, forwarded: 'for="[2001:db8::1]:80"' }
      await near.call("GET", "/healthz", { headers: both })
      expect(near.entries().map((entry) => entry.address)).toEqual([address])
    }
    const open = await watched({})
    await open.call("GET", "/healthz", { headers: { ...headers, forwarded: "for=192.0.2.9" } })
    expect(open.entries()[0]!.address).toBe("127.0.0.1")
  })

  it("has a line for a stream when it has ended, with all of its bytes", async () => {
    const { connect, entries, lines } = await watched({})
    const socket = await connect()
    const request = `GET /v1/stream HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${fullKey}\r\n\r\n`
    socket.write(request)
    await once(socket, "data")
    expect(lines).toEqual([])
    socket.destroy()
    await until(
      async () => entries(),
      (found) => found.length === 1,
    )
    expect(entries()[0]).toMatchObject({ route: "/v1/stream", status: 200 })
    expect(entries()[0]!.bytes).toBeGreaterThan(0)
  })

  it("has no status for a request whose client disconnected, and has each request once", async () => {
    const { gate, reached, wrapEngine } = gatedEvents()
    const { connect, entries, metrics } = await watched({}, { wrapEngine })
    const post = async (text: string) => {
      const socket = await connect()
      const { length } = JSON.stringify(event)
      const head = `POST /v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${fullKey}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
      socket.write(head + text)
      return socket
    }
    const inFlight = (count: number) =>
      until(
        async () => metrics.value("laurel_http_requests_in_flight"),
        (found) => found === count,
      )
    const whole = await post(JSON.stringify(event))
    await reached
    const half = await post("{")
    const cut = await post("{")
    await inFlight(3)
    // The peer closes its side cleanly, or resets the connection.
    half.end()
    await once(half.resume(), "close")
    cut.resetAndDestroy()
    await inFlight(1)
    whole.resetAndDestroy()
    await until(
      async () => metrics.value("laurel_http_connections"),
      (open) => open === 0,
    )
    await Effect.runPromise(Deferred.succeed(gate, undefined))
    await inFlight(0)
    expect(entries().map(({ address, route, status }) => [address, route, status])).toEqual([
      ["127.0.0.1", "/v1/events", 400],
      ["127.0.0.1", "/v1/events", null],
      ["127.0.0.1", "/v1/events", null],
    ])
  })
})

describe("A slow request", () => {
  it("is in the log with its operation and caller, up to a maximum number of lines", async () => {
    const { call, slowLines } = await watched({ slowMs: 0 })
    const startedAt = performance.now()
    const { headers } = await call("POST", "/v1/events", { body: event })
    const count = 3 * limits.slowLinesPerMinuteMax
    for (let n = 0; n < count; n++) await call("GET", "/healthz", { key: null })
    const back = ((performance.now() - startedAt) / 60_000) * limits.slowLinesPerMinuteMax
    const lines = slowLines()
    expect(lines.length).toBeGreaterThanOrEqual(limits.slowLinesPerMinuteMax)
    expect(lines.length).toBeLessThanOrEqual(limits.slowLinesPerMinuteMax + back + 1)
    expect(lines[0]).toEqual({
      requestId: headers["x-request-id"],
      method: "POST",
      route: "/v1/events",
      path: "/v1/events",
      status: 200,
      durationMs: expect.any(Number),
      key: `key_${fullKey}`,
    })
  })

  it("is not logged below the bound", async () => {
    const { call, logs } = await watched({ slowMs: 3_600_000 })
    await call("POST", "/v1/events", { body: event })
    expect(logs.join()).not.toContain("slow")
  })
})

describe("The trace of a request", () => {
  const broken: TestServerOptions = {
    wrapEngine: (engine) => ({
      ...engine,
      readBoard: () => Effect.die(new Error("a bug of ours")),
    }),
  }

  it("is in all of the request's lines, and in spans of sampled requests that failed or were slow", async () => {
    const world = await watched({ tracing: true }, broken)
    const { call, entries, logs, spans } = world
    const ask = (path: string, traceparent: string) =>
      call("GET", path, { headers: { traceparent } })
    const failed = await ask("/v1/leaderboard", sampled)
    await ask("/v1/leaderboard", unsampled)
    await ask("/v1/users", sampled)
    await ask("/v1/users", sampled.toUpperCase())
    expect(entries().map((entry) => entry.traceId)).toEqual([traceId, traceId, traceId, undefined])
    const errors = logs.map((line) => JSON.parse(line)).filter(({ level }) => level === "ERROR")
    expect(errors.map(({ annotations }) => annotations.traceId)).toEqual([traceId, traceId])
    expect(spans).toEqual([
      {
        parent: { traceId, parentSpanId, sampled: true },
        name: "GET /v1/leaderboard",
        durationMs: expect.any(Number),
        failed: true,
        attributes: {
          "http.request.method": "GET",
          "http.route": "/v1/leaderboard",
          "url.path": "/v1/leaderboard",
          "http.response.status_code": 500,
          "client.address": "127.0.0.1",
          "laurel.request_id": failed.headers["x-request-id"],
          "laurel.key_id": `key_${fullKey}`,
        },
      },
    ])

    const slow = await watched({ tracing: true, slowMs: 0 })
    await slow.call("GET", "/healthz", { headers: { traceparent: sampled } })
    await slow.call("GET", "/healthz")
    expect(slow.spans.map(({ failed, name }) => [name, failed])).toEqual([["GET /healthz", false]])
    expect(slow.slowLines().map((line) => line.traceId)).toEqual([traceId, undefined])
  })

  it("is ignored unless tracing is on", async () => {
    const { call, entries, logs, spans } = await watched({ slowMs: 0 }, broken)
    await call("GET", "/v1/leaderboard", { headers: { traceparent: sampled } })
    expect(spans).toEqual([])
    expect(entries()[0]).not.toHaveProperty("traceId")
    expect(logs.join()).not.toContain(traceId)
  })

  it("makes a bounded number of spans, whatever callers send", async () => {
    const { call, spans } = await watched({ tracing: true, slowMs: 0, accessLog: undefined })
    const startedAt = performance.now()
    const count = 2 * limits.spansPerMinuteMax
    for (let n = 0; n < count; n++) {
      await call("GET", "/healthz", { key: null, headers: { traceparent: sampled } })
    }
    const back = ((performance.now() - startedAt) / 60_000) * limits.spansPerMinuteMax
    expect(spans.length).toBeGreaterThanOrEqual(limits.spansPerMinuteMax)
    expect(spans.length).toBeLessThanOrEqual(limits.spansPerMinuteMax + back + 1)
  })

  it("continues in each attempt of the webhooks of a sampled request, and of no other", async () => {
    const receiver = await receiving()
    receiver.answer = answer(503)
    const { call, server } = await watched(
      { tracing: true },
      { webhookUrls, webhooks: { schedule: [0, 20, 20, 20] } },
    )
    const { register } = asking(server)
    await register(receiver, ["event.tracked"])
    const track = (userId: string, traceparent?: string) =>
      call("POST", "/v1/events", {
        body: { userId, action: "A" },
        ...(traceparent !== undefined && { headers: { traceparent } }),
      })
    const batch = { events: [{ userId: "batched", action: "A" }] }
    await track("ada", sampled)
    await until(
      async () => receiver.received.length,
      (attempts) => attempts >= 2,
    )
    receiver.answer = answer(204)
    await call("POST", "/v1/events/batch", { body: batch, headers: { traceparent: sampled } })
    const keyed = { traceparent: sampled, "Idempotency-Key": "k" }
    await call("POST", "/v1/events", { body: { userId: "keyed", action: "A" }, headers: keyed })
    await track("unsampled", unsampled)
    await track("malformed", `${sampled}, ${sampled}`)
    await track("none")
    const tracesOf = () => {
      const traces = new Map<string, Set<string | undefined>>()
      for (const { headers, message } of receiver.received) {
        const user = message.data.userId
        traces.set(user, (traces.get(user) ?? new Set()).add(headers.traceparent as string))
      }
      return traces
    }
    await until(
      async () => tracesOf().size,
      (users) => users === 6,
    )
    expect(Object.fromEntries(tracesOf())).toEqual({
      ada: new Set([sampled]),
      batched: new Set([sampled]),
      keyed: new Set([sampled]),
      unsampled: new Set([undefined]),
      malformed: new Set([undefined]),
      none: new Set([undefined]),
    })
  })
})

it("A server without these settings logs no requests", async () => {
  const server = await startServer()
  try {
    await server.call("POST", "/v1/events", { body: event, headers: { traceparent: sampled } })
    expect(server.logs).toEqual([])
  } finally {
    await server.stop()
  }
})
