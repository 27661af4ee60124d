/**
 * The requests that pages of other origins may send, and the replies that their scripts may read.
 */
import { once } from "node:events"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { AddressRanges } from "../../src/accounts/AddressRanges.ts"
import { limits } from "../../src/Limits.ts"
import { sampleValue } from "../metrics/exposition.ts"
import { received, startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const page = "https://app.example"
const preflight = (path: string, { method = "POST", origin = page, on = server } = {}) =>
  on.call("OPTIONS", path, {
    key: null,
    headers: {
      origin,
      "access-control-request-method": method,
      "access-control-request-headers": "authorization,content-type,idempotency-key,traceparent",
    },
  })
const listed = (text: unknown) => String(text).split(", ")
const pages = (...origins: ReadonlyArray<string>) => ({
  origins: new Set(origins),
  addresses: undefined,
})

describe("A preflight", () => {
  it("is answered for every path of the API, without a key", async () => {
    for (const path of [
      "/v1/events",
      "/api/v1/events",
      "/v1/stream?userId=ada",
      "/v1/users/a%2Fb/rewards/rwd_1",
      "/v1/nothing",
    ]) {
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
        const { headers, status, text } = await preflight(path, { method })
        expect([path, status, text]).toEqual([path, 204, ""])
        expect(headers["access-control-allow-origin"]).toBe("*")
        expect(listed(headers["access-control-allow-methods"])).toContain(method)
        const allowed = listed(headers["access-control-allow-headers"])
        expect(allowed).toEqual(expect.arrayContaining(["Authorization", "Content-Type", "*"]))
        expect(allowed).toEqual(expect.arrayContaining(["Idempotency-Key", "Last-Event-ID"]))
        expect(headers["access-control-max-age"]).toBe("86400")
        expect(headers).not.toHaveProperty("access-control-allow-credentials")
      }
    }
  })

  it("is answered for any origin, since the key decides when the request arrives", async () => {
    for (const origin of ["null", "http://localhost:5173", "capacitor://localhost", ""]) {
      const { headers, status } = await preflight("/v1/leaderboard", { origin })
      expect([status, headers["access-control-allow-origin"]]).toEqual([204, "*"])
    }
  })

  it("is not recognised outside the API, or without its header fields", async () => {
    for (const path of ["/dashboard", "/healthz", "/docs", "/", "/v1", "/V1/events", "/v10/x"]) {
      const { headers, status } = await preflight(path)
      expect([404, 405]).toContain(status)
      expect(headers).not.toHaveProperty("access-control-allow-origin")
    }
    for (const headers of [{ origin: page }, { "access-control-request-method": "POST" }, {}]) {
      const reply = await server.call("OPTIONS", "/v1/events", { headers })
      expect([reply.status, reply.headers.allow]).toEqual([405, "POST"])
    }
  })

  it("with a body leaves the connection usable", async () => {
    const socket = await server.connect()
    const reply = received(socket)
    socket.write(
      `OPTIONS /v1/events HTTP/1.1\r\nHost: x\r\nOrigin: ${page}\r\nAccess-Control-Request-Method: POST\r\nContent-Length: 5\r\n\r\nhello`,
    )
    await once(socket, "data")
    socket.end("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    expect((await reply).match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 204", "HTTP/1.1 200"])
  })

  it("does not count toward a rate limit, and has metrics of its own", async () => {
    const requests = () =>
      sampleValue(server.metrics.text(), "laurel_http_requests_total", {
        operation: "preflight",
        status: "204",
      })
    const key = server.accounts.addKey("lk_test_once", { limit: 1 })
    const before = requests()
    for (let asked = 0; asked < 5; asked++) await preflight("/v1/leaderboard")
    expect(requests()).toBe(before + 5)
    const reply = await server.call("GET", "/v1/leaderboard", { key, headers: { origin: page } })
    expect([reply.status, reply.headers["x-ratelimit-remaining"]]).toEqual([200, "0"])
  })
})

describe("A reply to a page", () => {
  const get = (path: string, headers: Record<string, string> = {}, key?: string | null) =>
    server.call("GET", path, { headers, ...(key !== undefined && { key }) })

  it("can be read by the page's script, with rate limit and request id", async () => {
    const key = server.accounts.addKey("lk_test_limited", { limit: 100, tier: "free" })
    const { headers, status } = await get("/v1/leaderboard", { origin: page }, key)
    expect([status, headers["access-control-allow-origin"], headers.vary]).toEqual([
      200,
      "*",
      "Origin",
    ])
    const exposed = listed(headers["access-control-expose-headers"]).map((name) =>
      name.toLowerCase(),
    )
    const always = ["content-type", "content-length", "cache-control"]
    const others = ["date", "connection", "keep-alive", "vary"]
    for (const name of Object.keys(headers)) {
      if (name.startsWith("access-control-") || others.includes(name)) continue
      expect([...always, ...exposed]).toContain(name)
    }
    expect(exposed).toEqual(expect.arrayContaining(["ratelimit", "retry-after", "x-request-id"]))
  })

  it("has no CORS fields without an Origin, or outside the API", async () => {
    for (const [path, headers] of [
      ["/v1/leaderboard", {}],
      ["/healthz", { origin: page }],
      ["/openapi.json", { origin: page }],
      ["/v10/x", { origin: page }],
    ] as const) {
      const reply = await get(path, headers)
      const names = Object.keys(reply.headers).filter((name) => name.startsWith("access-control-"))
      expect([path, names, reply.headers.vary ?? ""]).toEqual([
        path,
        [],
        expect.not.stringMatching(/origin/i),
      ])
    }
  })

  it("can be read when it is an error, whatever the error", async () => {
    const limited = server.accounts.addKey("lk_test_spent", { limit: 1 })
    expect((await get("/v1/leaderboard", {}, limited)).status).toBe(200)
    const bound = server.accounts.addKey("lk_test_bound", {
      restrictions: { origins: undefined, addresses: new AddressRanges(["10.0.0.0/8"]) },
    })
    const headers = { origin: page }
    const body = { userId: "ada", action: "TAP" }
    for (const [status, code, method, path, options] of [
      [400, "invalid_json", "POST", "/v1/events", { body: "{" }],
      [400, "invalid_request", "POST", "/v1/events", { body: {} }],
      [401, "unauthorized", "POST", "/v1/events", { body, key: null }],
      [403, "address_not_allowed", "POST", "/v1/events", { body, key: bound }],
      [404, "not_found", "GET", "/v1/nothing", {}],
      [404, "user_not_found", "GET", "/v1/users/nobody", {}],
      [405, "method_not_allowed", "DELETE", "/v1/events", {}],
      [413, "body_too_large", "POST", "/v1/events", { body: "x".repeat(100_000) }],
      [429, "rate_limited", "POST", "/v1/events", { body, key: limited }],
    ] as const) {
      const reply = await server.call(method, path, { headers, ...options })
      expect([reply.status, reply.json.code]).toEqual([status, code])
      expect([code, reply.headers["access-control-allow-origin"]]).toEqual([code, "*"])
    }
  })

  it("can be read when it is a stream", async () => {
    const headers = { origin: page, authorization: "Bearer lk_test_full" }
    const reply = await fetch(`${server.url}/v1/stream`, { headers })
    expect(reply.headers.get("access-control-allow-origin")).toBe("*")
    await reply.body!.cancel()
  })
})

describe("A key with origins", () => {
  const allowed = [
    "https://app.example",
    "https://app.example:8443",
    "http://localhost:5173",
    "https://xn--mnchen-3ya.example",
    "http://[::1]:3000",
  ]

  it.each(["secret", "publishable"] as const)("opens to pages of those alone: %s", async (kind) => {
    const text = kind === "publishable" ? "lk_pub_test_origins" : "lk_test_origins"
    const key = server.accounts.addKey(text, { kind, restrictions: pages(...allowed) })
    const ask = (origin: string) =>
      server.call("GET", "/v1/leaderboard", { key, headers: { origin } })
    for (const origin of allowed)
      expect([origin, (await ask(origin)).status]).toEqual([origin, 200])
    for (const origin of [
      // Another scheme, port or sub-domain, or a name with the same beginning or end only.
      "http://app.example",
      "https://app.example:443",
      "https://app.example:8444",
      "http://localhost",
      "http://localhost:51730",
      "http://127.0.0.1:5173",
      "https://x.app.example",
      "https://example",
      "https://app.example.evil.example",
      "https://evil-app.example",
      "https://app.example.",
      // Origins that no browser sends.
      "https://app.example/",
      "https://app.example/path",
      "HTTPS://APP.EXAMPLE",
      "https://App.Example",
      "https://user@app.example",
      "https://app.example https://app.example",
      "https://app.example,https://app.example",
      "null",
      "",
      "*",
    ]) {
      const { headers, json, status } = await ask(origin)
      expect([origin, status, json.code]).toEqual([origin, 403, "origin_not_allowed"])
      expect(headers["access-control-allow-origin"]).toBe("*")
    }
    // Two Origin fields form one origin that no key has.
    const twice = await server.raw(
      `GET /v1/leaderboard HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\nOrigin: https://app.example\r\nOrigin: https://app.example\r\n\r\n`,
    )
    expect(twice).toMatch(/^HTTP\/1\.1 403 /)
  })

  it("is checked for each request of a connection, without cost for the rate limit", async () => {
    const key = server.accounts.addKey("lk_test_turns", { restrictions: pages(page), limit: 2 })
    const ask = async (origin: string) =>
      (await server.call("GET", "/v1/leaderboard", { key, headers: { origin } })).status
    const asked: Array<number> = []
    for (const origin of [page, "https://evil.example", "null", page]) asked.push(await ask(origin))
    expect(asked).toEqual([200, 403, 403, 200])
  })

  it("is refused with a short text, however long the page's origin is", async () => {
    const key = server.accounts.addKey("lk_test_long", { restrictions: pages(page) })
    const headers = { origin: `https://${"x".repeat(8_000)}` }
    const { json, text } = await server.call("GET", "/v1/leaderboard", { key, headers })
    expect(json.detail).toContain("x".repeat(limits.originCharactersMax - 20))
    expect(text.length).toBeLessThan(1_000)
  })
})

describe("A key without origins", () => {
  it("may be used by pages of any origin if it is publishable or of the sandbox", async () => {
    const live = { environmentName: "production", environment: "prj_test:production" } as const
    for (const key of [
      server.accounts.addKey("lk_pub_test_any", { kind: "publishable" }),
      server.accounts.addKey("lk_pub_live_any", { kind: "publishable", ...live }),
      server.accounts.addKey("lk_test_any"),
    ]) {
      for (const origin of [page, "null", "http://localhost:3000", "capacitor://localhost"]) {
        const { status } = await server.call("GET", "/v1/leaderboard", { key, headers: { origin } })
        expect([key, origin, status]).toEqual([key, origin, 200])
      }
    }
  })

  it("is refused to every page if it is a secret key of production; the refusal says what to use instead", async () => {
    const live = { environmentName: "production", environment: "prj_test:production" } as const
    for (const [key, restrictions] of [
      ["lk_live_any", undefined],
      ["lk_live_listed", pages(page)],
    ] as const) {
      server.accounts.addKey(key, { ...live, ...(restrictions && { restrictions }) })
      for (const origin of [page, "null", ""]) {
        const { headers, json, status } = await server.call("GET", "/v1/leaderboard", {
          key,
          headers: { origin },
        })
        expect([key, origin, status, json.code]).toEqual([key, origin, 403, "origin_not_allowed"])
        for (const words of ["publishable key", "user token", "/v1/users/:id/tokens"]) {
          expect(json.detail).toContain(words)
        }
        expect(headers["access-control-allow-origin"]).toBe("*")
      }
      expect((await server.call("GET", "/v1/leaderboard", { key })).status).toBe(200)
    }
  })
})
