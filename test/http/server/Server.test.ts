/**
 * Faults of connections: malformed HTTP, peers that stall or disconnect, and the shutdown of the
 * server.
 */
import { once } from "node:events"
import { Deferred, Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { version } from "../../../src/Build.ts"
import { replies } from "../../../src/http/request/Exchange.ts"
import { limits } from "../../../src/Limits.ts"
import { sampleValue } from "../../metrics/exposition.ts"
import {
  gatedEvents,
  received,
  startServer,
  type TestServer,
  type TestServerOptions,
} from "../fixture.ts"

let server: TestServer
const start = async (options?: TestServerOptions) => {
  server = await startServer(options)
  return server
}
afterEach(() => server.stop())

const body = '{"userId":"u","action":"A"}'
const head = (more: string, length: number | string = body.length) =>
  `POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer lk_test_full\r\nContent-Type: application/json\r\n${
    length === "" ? "" : `Content-Length: ${length}\r\n`
  }${more}\r\n`
const closing = head("Connection: close\r\n") + body

/** Status, headers and problem of a raw reply. */
const parse = (reply: string) => {
  const [headers = "", text = ""] = reply.split("\r\n\r\n")
  return {
    status: Number(headers.slice(9, 12)),
    headers,
    json: text === "" ? undefined : JSON.parse(text),
  }
}

const eventsOf = async (userId: string) =>
  (await server.call("GET", `/v1/users/${userId}`)).status === 200

/** A server whose events wait until `gate` opens. */
const startGated = async (options?: TestServerOptions) => {
  const { gate, reached, wrapEngine } = gatedEvents()
  await start({ ...options, wrapEngine })
  return { gate, reached }
}

describe("malformed HTTP", () => {
  it.each([
    ["nonsense", "hello\r\n\r\n"],
    ["a broken version", "GET / HTTP/1.x\r\nHost: x\r\n\r\n"],
    ["no version", "GET /healthz\r\n\r\n"],
    ["no version, but header fields", "GET /healthz\r\nHost: x\r\n\r\n"],
    ["a header without a colon", "GET /healthz HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n"],
    ["a folded header", "GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n"],
    ["a space before the colon", "GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n"],
    ["no host", "GET /healthz HTTP/1.1\r\n\r\n"],
    ["two different hosts", "GET /healthz HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n"],
    ["the same host twice", head("Host: x\r\n") + body],
    ["two keys", head("Authorization: Bearer lk_test_read\r\n") + body],
    ["the same key twice", head("authorization: Bearer lk_test_full\r\n") + body],
    ["two lengths", head("Content-Length: 5\r\n") + body],
    ["a length that is no number", head("", "5x") + body],
    ["length and chunks at once", `${head("Transfer-Encoding: chunked\r\n")}0\r\n\r\n`],
    ["a broken chunk", `${head("Transfer-Encoding: chunked\r\n", "")}zz\r\n`],
    ["chunks inside a coding", `${head("Transfer-Encoding: chunked, gzip\r\n", "")}${body}`],
  ])("is answered with 400 and the end of the connection: %s", async (_, bytes) => {
    await start()
    const { headers, json, status } = parse(await server.raw(bytes))
    expect([status, json.code]).toEqual([400, "malformed_request"])
    expect(headers).toContain("Content-Type: application/problem+json")
    expect(headers).toContain("Connection: close")
    expect(headers).toContain(`X-Request-Id: ${json.requestId}`)
    expect(headers).toContain(`Laurel-Version: ${version}`)
    expect(await eventsOf("u")).toBe(false)
  })

  it.each([
    ["2.0", "GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n"],
    ["9.9", "GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n"],
    ["2, as its clients begin", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ])("is answered with 505 when it is HTTP of another version: %s", async (_, bytes) => {
    await start()
    const { headers, json, status } = parse(await server.raw(bytes))
    expect([status, json.code]).toEqual([505, "http_version_not_supported"])
    expect(headers).toContain("Connection: close")
  })

  it.each(["gzip", "gzip, chunked", "identity"])(
    "is answered with 501 when the body comes in a transfer coding that is not known: %s",
    async (coding) => {
      await start()
      const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
      const bytes = head(`Transfer-Encoding: ${coding}\r\n`, "") + chunks
      const { headers, json, status } = parse(await server.raw(bytes))
      expect([status, json.code]).toEqual([501, "transfer_coding_not_supported"])
      expect(headers).toContain("Connection: close")
      expect(await eventsOf("u")).toBe(false)
    },
  )

  it("is answered with 405 if it is CONNECT", async () => {
    await start()
    const bytes = "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n"
    const { headers, json, status } = parse(await server.raw(bytes))
    expect([status, json.code]).toEqual([405, "method_not_allowed"])
    expect(headers).toMatch(/^Allow: $/m)
    expect(headers).toContain("Connection: close")
    expect(
      sampleValue(server.metrics.text(), "laurel_http_requests_total", {
        operation: "none",
        status: "405",
      }),
    ).toBe(1)
  })

  it("is answered with 405 if CONNECT follows another request, after the reply to that request", async () => {
    const { gate, reached } = await startGated()
    const bytes = `${head("")}${body}CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n`
    const reply = server.raw(bytes)
    await reached
    await Effect.runPromise(Deferred.succeed(gate, undefined))
    expect(parse(await reply).status).toBe(200)
    expect(await eventsOf("u")).toBe(true)
  })

  it("is answered with 431 if its headers are too large", async () => {
    await start()
    const bytes = `GET /healthz HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(limits.headerBytesMax)}\r\n\r\n`
    const { json, status } = parse(await server.raw(bytes))
    expect([status, json.code]).toEqual([431, "headers_too_large"])
    const target = `GET /${"a".repeat(limits.headerBytesMax)} HTTP/1.1\r\nHost: x\r\n\r\n`
    expect(parse(await server.raw(target)).status).toBe(431)
  })

  it("leaves the reply to the request before it intact", async () => {
    await start()
    const reply = await server.raw(`${head("")}${body}garbage\r\n\r\n`)
    expect(parse(reply.slice(0, reply.lastIndexOf("}") + 1)).status).toBe(200)
    expect(await eventsOf("u")).toBe(true)
  })
})

describe("a target", () => {
  it("may be a whole URL, as proxies send it", async () => {
    await start()
    const ask = async (target: string) => {
      const sent = `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer lk_test_full\r\n\r\n`
      const [head = "", text = ""] = (await server.raw(sent)).split("\r\n\r\n")
      const isJson = /^Content-Type: .*json/m.test(head)
      return { status: Number(head.slice(9, 12)), json: isJson ? JSON.parse(text) : undefined }
    }
    expect(await ask("http://laurel.example/healthz")).toMatchObject({ status: 200 })
    expect(await ask("HTTPS://laurel.example:8443/v1/leaderboard?limit=1")).toMatchObject({
      status: 200,
      json: { limit: 1 },
    })
    expect((await ask("http://laurel.example/nothing?x=1")).json.instance).toBe("/nothing")
    for (const target of ["http://laurel.example", "http://laurel.example?x=1"]) {
      expect((await ask(target)).status).toBe((await ask("/")).status)
    }
    for (const target of ["ftp://laurel.example/healthz", "http:///healthz", "*"]) {
      expect((await ask(target)).status).toBe(404)
    }
  })
})

describe("a body", () => {
  it("that ends too early has no effect", async () => {
    await start()
    const socket = await server.connect()
    const reply = received(socket)
    socket.end(head("") + body.slice(0, 10))
    const { json, status } = parse(await reply)
    expect([status, json.code]).toEqual([400, "malformed_request"])
    expect(await eventsOf("u")).toBe(false)
  })

  it("whose sender disconnects before its end has no effect", async () => {
    await start()
    const socket = await server.connect()
    socket.write(head("") + body.slice(0, 10))
    await server.call("GET", "/healthz")
    socket.resetAndDestroy()
    await once(socket, "close")
    expect(await eventsOf("u")).toBe(false)
    expect(server.errors).toEqual([])
  })

  it("that has arrived is applied even if its sender disconnects before the reply", async () => {
    const { gate, reached } = await startGated()
    const socket = await server.connect()
    socket.write(head("") + body)
    await reached
    socket.resetAndDestroy()
    await once(socket, "close")
    Deferred.doneUnsafe(gate, Effect.void)
    // The gate is open: a second event waits behind the first.
    expect((await server.call("POST", "/v1/events", { body })).status).toBe(200)
    expect(await eventsOf("u")).toBe(true)
    expect(server.errors).toEqual([])
  })

  it("may come in single bytes", async () => {
    await start()
    const bytes = [...closing].map((byte) => byte)
    expect(parse(await server.raw(...bytes)).status).toBe(200)
  })

  it("is requested with 100 Continue only if it will be read", async () => {
    await start()
    const expecting = "Expect: 100-continue\r\nConnection: close\r\n"
    const socket = await server.connect()
    const reply = received(socket)
    const [interim] = await Promise.all([
      once(socket, "data"),
      Promise.resolve(socket.write(head(expecting))),
    ])
    expect(String(interim[0])).toBe("HTTP/1.1 100 Continue\r\n\r\n")
    socket.write(body)
    expect(await reply).toMatch(/\r\n\r\nHTTP\/1\.1 200 OK\r\n/)
    const tooLarge = await server.raw(head(expecting, limits.bodyBytesMax + 1))
    expect(parse(tooLarge).status).toBe(413)
    // It is uncertain whether a body follows, so the connection closes.
    const unauthorized = head("Expect: 100-continue\r\n").replace("lk_test_full", "lk_test_nobody")
    const refused = parse(await server.raw(unauthorized))
    expect(refused.status).toBe(401)
    expect(refused.headers).toContain("Connection: close")
  })

  it("that is refused for its size lets a caller that is still sending read the refusal", async () => {
    await start()
    const socket = await server.connect()
    const reply = received(socket)
    const size = 4 * 1024 * 1024
    socket.write(head("Connection: close\r\n", size))
    socket.write("x".repeat(size))
    expect(parse(await reply).status).toBe(413)
  })

  it.each([
    [413, "for its size", "lk_test_full"],
    [401, "for its key", "lk_test_nobody"],
  ])("that goes on for ever though it was refused is cut off: %d, %s", async (status, _, key) => {
    await start()
    const socket = await server.connect()
    const reply = received(socket)
    socket.on("error", () => {})
    socket.write(head("Transfer-Encoding: chunked\r\n", "").replace("lk_test_full", key))
    const chunk = `100000\r\n${"x".repeat(0x100000)}\r\n`
    const pump = () => {
      while (!socket.destroyed && socket.write(chunk));
      if (!socket.destroyed) socket.once("drain", pump)
    }
    pump()
    expect((await reply).slice(0, 13)).toBe(`HTTP/1.1 ${status} `)
  })
})

describe("connections", () => {
  const impatient = {
    bounds: { headersTimeoutMs: 60, requestTimeoutMs: 120, connectionsCheckMs: 20 },
  }

  it.each([
    ["a head", head("").slice(0, 30)],
    ["a body", head("") + body.slice(0, 10)],
  ])("that take too long over %s end with 408", async (_, bytes) => {
    await start(impatient)
    const { headers, json, status } = parse(await server.raw(bytes))
    expect([status, json.code]).toEqual([408, "request_timeout"])
    expect(headers).toContain("Connection: close")
    expect(await eventsOf("u")).toBe(false)
  })

  it("that stall do not delay others", async () => {
    await start(impatient)
    const slow = await Promise.all(Array.from({ length: 300 }, () => server.connect()))
    const ends = slow.map(received)
    for (const socket of slow) socket.write(head("").slice(0, 30))
    let status: number
    // On a busy machine, this request may also be slow.
    do ({ status } = await server.call("POST", "/v1/events", { body }))
    while (status === 408)
    expect(status).toBe(200)
    for (const reply of await Promise.all(ends)) expect(parse(reply).status).toBe(408)
  })

  it("that are idle are closed after a while", async () => {
    await start({ bounds: { keepAliveTimeoutMs: 30 } })
    expect(await server.raw(head("") + body)).toContain("200 OK")
  })

  it("stay open for longer than those of proxies, and announce for how long", async () => {
    await start()
    const { headers } = await server.call("GET", "/healthz")
    expect(headers["keep-alive"]).toBe("timeout=65")
  })

  it("whose callers close their side get all replies", async () => {
    const { gate, reached } = await startGated()
    const socket = await server.connect()
    const reply = received(socket)
    socket.end(head("") + body + head("") + body.replace('"u"', '"v"'))
    await reached
    Deferred.doneUnsafe(gate, Effect.void)
    const text = await reply
    expect([...text.matchAll(/"userId":"(.)"/g)].map(([, userId]) => userId)).toEqual(["u", "v"])
    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2)
  })

  it("whose callers close their side end at once if no reply is due", async () => {
    await start()
    const socket = await server.connect()
    const end = received(socket)
    socket.end()
    expect(await end).toBe("")
  })

  it("beyond the maximum are not accepted", async () => {
    await start({ bounds: { connectionsMax: 2 } })
    const held = [await server.connect(), await server.connect()]
    const third = await server.connect()
    expect(await received(third)).toBe("")
    for (const socket of held) socket.destroy()
  })

  it("answer pipelined requests in order", async () => {
    await start()
    const users = ["a", "b", "c", "d"]
    const requests = users.map((userId) => head("") + body.replace('"u"', `"${userId}"`))
    const last = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    const reply = await server.raw([...requests, last].join(""))
    expect([...reply.matchAll(/"userId":"(.)"/g)].map(([, userId]) => userId)).toEqual(users)
  })

  it.each([
    ["a small body goes before", 0, 1],
    ["a large one goes behind", limits.admissionUnitBytes, 0],
  ])("get a reply that is ready in the same turn: %s", async (_, padding, ready) => {
    const seen: Array<number> = []
    await start({
      wrapEngine: (engine) => ({
        ...engine,
        askUserWithCallback: (...args) => {
          seen.push(replies.size)
          engine.askUserWithCallback(...args)
        },
      }),
    })
    const get = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    const padded = body + " ".repeat(padding)
    const bytes = get + head("Connection: close\r\n", padded.length) + padded
    expect((await server.raw(bytes)).match(/HTTP\/1.1 200/g)).toHaveLength(2)
    expect(seen).toEqual([ready])
  })

  it("of HTTP/1.0 work without Host", async () => {
    await start()
    expect(parse(await server.raw("GET /healthz HTTP/1.0\r\n\r\n")).json).toEqual({
      status: "ok",
      version,
    })
  })
})

describe("shutdown", () => {
  it("finishes requests in progress, refuses new ones, and closes idle connections", async () => {
    const { gate, reached } = await startGated()
    const idle = await server.connect()
    const idleEnd = received(idle)
    const late = await server.connect()
    const lateEnd = received(late)
    const request = head("") + body
    late.write(request.slice(0, 20))
    const busy = await server.connect()
    const busyEnd = received(busy)
    busy.write(head("") + body)
    await reached
    const stopped = server.stop()
    expect(await idleEnd).toBe("")
    await expect(server.connect()).rejects.toThrow(/ECONNREFUSED/)
    // The rest of a request whose start had arrived.
    late.write(request.slice(20))
    const refused = parse(await lateEnd)
    expect([refused.status, refused.json.code]).toEqual([503, "shutting_down"])
    expect(refused.headers).toContain("Retry-After: 5")
    Deferred.doneUnsafe(gate, Effect.void)
    const reply = await busyEnd
    expect(reply).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    await stopped
  })

  it("shows on /readyz, and in the replies that close connections", async () => {
    const { gate, reached } = await startGated()
    expect((await server.call("GET", "/readyz")).json).toEqual({ status: "ok" })
    server.readiness.phase = "stopping"
    const notReady = await server.call("GET", "/readyz")
    expect([notReady.status, notReady.json.code]).toEqual([503, "shutting_down"])
    server.readiness.phase = "ready"
    expect((await server.call("GET", "/healthz")).status).toBe(200)
    const first = await server.connect()
    const firstEnd = received(first)
    first.write(head("") + body)
    await reached
    // The shutdown begins in the middle of a request, whose rest arrives later.
    const second = await server.connect()
    const secondEnd = received(second)
    const request = head("") + body
    second.write(request.slice(0, -5))
    await server.call("GET", "/healthz")
    const stopped = server.stop()
    second.write(request.slice(-5))
    Deferred.doneUnsafe(gate, Effect.void)
    expect(parse(await firstEnd).status).toBe(200)
    expect(parse(await secondEnd).status).toBe(200)
    await stopped
  })

  it("closes the connections of requests that do not finish in time", async () => {
    const { reached } = await startGated({ shutdownGraceMs: 50 })
    const socket = await server.connect()
    const end = received(socket)
    socket.write(head("") + body)
    await reached
    await server.stop()
    expect(await end).not.toContain("200 OK")
  })
})

describe("an address", () => {
  it("that is in use fails the start with the cause", async () => {
    await start()
    await expect(startServer({ port: server.port })).rejects.toMatchObject({
      _tag: "ServeError",
      cause: { code: "EADDRINUSE" },
    })
  })
})
