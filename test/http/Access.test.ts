/** Authentication, rate limits, and the header fields of replies for both. */
import { Cause, Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { AddressRanges } from "../../src/accounts/AddressRanges.ts"
import { makeKeyText } from "../../src/accounts/KeyText.ts"
import { limits } from "../../src/Limits.ts"
import { startServer, type TestServer } from "./fixture.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    wrapEngine: (engine) => ({
      ...engine,
      userNow: (environment, userId) => {
        if (userId === "defect") return Effect.die(new Error("the inside of the engine"))
        if (userId === "throw") throw new Error("the inside of the engine")
        if (userId === "interrupt") return Effect.failCause(Cause.interrupt())
        return engine.userNow(environment, userId)
      },
    }),
  })
})
afterAll(() => server.stop())

const get = (path: string, key?: string | null, headers = {}) =>
  server.call("GET", path, { ...(key === undefined ? {} : { key }), headers })
const event = { userId: "u", action: "A" }

describe("a key", () => {
  it("that is missing or malformed gets a specific refusal; unknown and revoked keys get the same one", async () => {
    const [gone, nobody] = [makeKeyText("sandbox"), makeKeyText("sandbox")]
    server.accounts.addKey(gone)
    server.accounts.revoke(gone)
    const asked: ReadonlyArray<readonly [header: string | null, words: RegExp]> = [
      [null, /^The request has no Authorization header\./],
      ["Bearer", /no key after `Bearer`/],
      ["Bearer ", /no key after `Bearer`/],
      ["Basic dTpw", /^This is not the text of a key/],
      ["Basic d:p", /^The Authorization header has another form\./],
      [`Basic ${btoa(`${nobody}:`)}`, /^No key or token in force on this server has this text\./],
      [nobody, /^The Authorization header has another form\./],
      ["Bearer lk_test_full x", /^The Authorization header has another form\./],
      ["Bearer nobody", /^This is not the text of a key/],
      [`Bearer ${nobody.slice(0, -1)}`, /^This is not the text of a key/],
      [`Bearer ${nobody}`, /^No key or token in force on this server has this text\./],
      [`Bearer ${gone}`, /^No key or token in force on this server has this text\./],
    ]
    const bodies = new Map<string | null, string>()
    for (const [value, words] of asked) {
      const headers = value === null ? {} : { authorization: value }
      const reply = await get("/v1/leaderboard", null, headers)
      expect([value, reply.status]).toEqual([value, 401])
      expect(reply.headers["www-authenticate"]).toBe("Bearer")
      const { requestId, ...body } = reply.json
      expect(requestId).toBe(reply.headers["x-request-id"])
      expect([value, body.detail]).toEqual([value, expect.stringMatching(words)])
      bodies.set(value, JSON.stringify(body))
    }
    // No reply reveals which keys have existed.
    expect(bodies.get(`Bearer ${nobody}`)).toBe(bodies.get(`Bearer ${gone}`))
    for (const body of bodies.values()) expect(body).not.toMatch(/lk_(test|live)/)
  })

  it("may be sent with a scheme in any case", async () => {
    const reply = await get("/v1/leaderboard", null, { authorization: "bEARER lk_test_full" })
    expect(reply.status).toBe(200)
  })

  it("is looked up once for a connection, and again when keys change", async () => {
    server.accounts.addKey("lk_test_again")
    const socket = await server.connect()
    const ask = () =>
      new Promise<string>((resolve) => {
        socket.once("data", (data) => resolve(data.toString().slice(9, 12)))
        socket.write(
          "GET /v1/leaderboard HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer lk_test_again\r\n\r\n",
        )
      })
    const before = server.accounts.authentications
    expect([await ask(), await ask(), await ask()]).toEqual(["200", "200", "200"])
    expect(server.accounts.authentications - before).toBe(1)
    server.accounts.revoke("lk_test_again")
    expect(await ask()).toBe("401")
    socket.destroy()
  })

  it("permits the operations of its scope", async () => {
    const operations = [
      ["POST", "/v1/events", event, "ingest"],
      ["POST", "/v1/events/batch", { events: [event] }, "ingest"],
      ["GET", "/v1/users/u", undefined, "read"],
      ["GET", "/v1/users/u/progress", undefined, "read"],
      ["POST", "/v1/users/u/rewards", { type: "xp", amount: 1 }, "full"],
      ["GET", "/v1/quests", undefined, "read"],
      ["POST", "/v1/quests", { title: "T", reward: { xp: 1 } }, "full"],
      ["GET", "/v1/leaderboard", undefined, "read"],
      ["GET", "/v1/actions", undefined, "read"],
      ["GET", "/v1/rules", undefined, "read"],
      ["POST", "/v1/rules", { action: "A", reward: { xp: 1 } }, "full"],
      ["GET", "/v1/webhooks", undefined, "read"],
      ["POST", "/v1/webhooks", { url: "https://example.com/", events: ["*"] }, "full"],
    ] as const
    for (const scope of ["full", "ingest", "read"] as const) {
      const key = server.accounts.addKey(`lk_test_${scope}_only`, { scope })
      for (const [method, path, body, needed] of operations) {
        const { json, status } = await server.call(method, path, { key, body })
        const allowed = scope === "full" || scope === needed
        expect([scope, method, path, status < 300]).toEqual([scope, method, path, allowed])
        if (!allowed) expect([status, json.code]).toEqual([403, "insufficient_scope"])
      }
    }
  })
})

describe("a restricted key", () => {
  const ranges = (...cidrs: ReadonlyArray<string>) => ({
    origins: undefined,
    addresses: new AddressRanges(cidrs),
  })
  const pages = (...origins: ReadonlyArray<string>) => ({
    origins: new Set(origins),
    addresses: undefined,
  })

  it("is refused from another address, without cost for its rate limit", async () => {
    const restrictions = ranges("127.0.0.2/32", "::/0")
    const key = server.accounts.addKey("lk_test_elsewhere", { restrictions, limit: 1 })
    for (let asked = 0; asked < 3; asked++) {
      const { headers, json, status } = await server.call("POST", "/v1/events", {
        key,
        body: event,
      })
      expect([status, json.code]).toEqual([403, "address_not_allowed"])
      expect(json.detail).toContain("127.0.0.1")
      expect(Object.keys(headers).filter((name) => name.includes("ratelimit"))).toEqual([])
    }
    const here = ranges("127.0.0.0/8")
    const good = server.accounts.addKey("lk_test_here", { restrictions: here, limit: 1 })
    expect((await get("/v1/leaderboard", good)).status).toBe(200)
  })

  it("ignores X-Forwarded-For unless the peer is a trusted proxy", async () => {
    const restrictions = ranges("198.51.100.0/24")
    const key = server.accounts.addKey("lk_test_office", { restrictions })
    for (const forwarded of ["198.51.100.7", "::ffff:198.51.100.7", "x".repeat(8_192)]) {
      const reply = await get("/v1/leaderboard", key, { "x-forwarded-for": forwarded })
      expect(reply.json.code).toBe("address_not_allowed")
    }
    const behind = await startServer({
      trustedProxies: { ranges: new AddressRanges(["127.0.0.1/32"]), field: "x-forwarded-for" },
    })
    try {
      behind.accounts.addKey("lk_test_office", { restrictions })
      const ask = async (forwarded: string) =>
        (
          await behind.call("GET", "/v1/leaderboard", {
            key,
            headers: { "x-forwarded-for": forwarded },
          })
        ).status
      expect(await ask("198.51.100.7")).toBe(200)
      expect(await ask("203.0.113.1, 198.51.100.7")).toBe(200)
      expect(await ask("198.51.100.7, 203.0.113.1")).toBe(403)
      expect(await ask("garbage")).toBe(403)
      // A kept connection is checked again for each request.
      expect([await ask("203.0.113.1"), await ask("198.51.100.7")]).toEqual([403, 200])
    } finally {
      await behind.stop()
    }
  })

  it("is refused to pages of other origins, and accepted without an Origin", async () => {
    const restrictions = pages("https://app.example:8443", "http://localhost:5173")
    const key = server.accounts.addKey("lk_test_pages", { restrictions })
    const ask = (origin?: string) =>
      get("/v1/leaderboard", key, origin === undefined ? {} : { origin })
    expect((await ask()).status).toBe(200)
    for (const origin of ["https://app.example:8443", "http://localhost:5173"]) {
      expect((await ask(origin)).status).toBe(200)
    }
    for (const origin of [
      "null",
      "https://app.example",
      "http://app.example:8443",
      "https://x.app.example:8443",
      "https://app.example:8443.evil.example",
      "HTTPS://APP.EXAMPLE:8443",
      "https://app.example:8443, https://app.example:8443",
      "x".repeat(8_000),
    ]) {
      const { json, status, text } = await ask(origin)
      expect([origin, status, json.code]).toEqual([origin, 403, "origin_not_allowed"])
      expect(text.length).toBeLessThan(1_000)
    }
    const open = server.accounts.addKey("lk_test_open")
    expect((await get("/v1/leaderboard", open, { origin: "null" })).status).toBe(200)
  })
})

describe("a rate limit", () => {
  it("is in every reply; beyond it, requests get 429 without effect", async () => {
    const key = server.accounts.addKey("lk_test_free", {
      tier: "free",
      limit: 3,
      environment: "e:f",
    })
    const post = () => server.call("POST", "/v1/events", { key, body: event })
    const first = await post()
    expect(first.headers).toMatchObject({
      "ratelimit-policy": '"free";q=3;w=60',
      ratelimit: '"free";r=2;t=30',
      "x-ratelimit-limit": "3",
      "x-ratelimit-remaining": "2",
      "x-ratelimit-reset": "30",
    })
    await server.call("POST", "/v1/events", { key, body: "{" })
    const notFound = await get("/v1/users/none", key)
    expect([notFound.status, notFound.headers["x-ratelimit-remaining"]]).toEqual([404, "0"])
    const refused = await post()
    expect([refused.status, refused.json.code]).toEqual([429, "rate_limited"])
    expect(refused.headers).toMatchObject({ "retry-after": "30", ratelimit: '"free";r=0;t=30' })
  })

  it("counts the events of a batch; a batch above the limit gets 413 and counts as one request", async () => {
    const key = server.accounts.addKey("lk_test_batch", {
      tier: "free",
      limit: 5,
      environment: "e:b",
    })
    const send = (count: number) =>
      server.call("POST", "/v1/events/batch", { key, body: { events: Array(count).fill(event) } })
    const tooMany = await send(6)
    expect([tooMany.status, tooMany.json.code]).toEqual([413, "batch_too_large"])
    expect(tooMany.headers).not.toHaveProperty("retry-after")
    expect(tooMany.headers["x-ratelimit-remaining"]).toBe("4")
    const waits = await send(5)
    expect([waits.status, waits.headers["x-ratelimit-remaining"]]).toEqual([429, "4"])
    expect((await send(3)).headers["x-ratelimit-remaining"]).toBe("1")
    const invalid = await server.call("POST", "/v1/events/batch", { key, body: { events: [] } })
    expect([invalid.status, invalid.headers["x-ratelimit-remaining"]]).toEqual([400, "0"])
    expect((await send(1)).status).toBe(429)
  })

  it("counts a batch by its bytes if these count more than its events, before it is decoded", async () => {
    const { rateLimitUnitBytes: unit } = limits
    const limit = 20
    const key = server.accounts.addKey("lk_test_bytes", { tier: "free", limit, environment: "e:y" })
    const batch = (bytes: number, events: ReadonlyArray<unknown> = [event]) =>
      JSON.stringify({ events }).padEnd(bytes, " ")
    const send = async (body: string, headers: Record<string, string> = {}) => {
      const reply = await server.call("POST", "/v1/events/batch", { key, body, headers })
      return [reply.status, Number(reply.headers["x-ratelimit-remaining"])]
    }
    const text = "x".repeat(limits.metadataBytesMax - 12)
    const largest = { ...event, metadata: { t: text } }
    expect(await send(batch(0, [largest]))).toEqual([200, 19])
    expect(await send(batch(0, Array(3).fill(largest)))).toEqual([200, 16])
    expect(await send(batch(2 * unit - 1))).toEqual([200, 15])
    expect(await send(batch(2 * unit))).toEqual([200, 13])
    // The refused batch was still read and decoded.
    expect(await send(batch(3 * unit, []))).toEqual([400, 10])
    expect(await send(batch(2 * unit, Array(11).fill(event)))).toEqual([429, 8])
    const chunked = { "transfer-encoding": "chunked" }
    expect(await send(batch(9 * unit), chunked)).toEqual([429, 8])
    // An announced body is refused before it is sent.
    const head = [
      "POST /v1/events/batch HTTP/1.1",
      "Host: x",
      `Authorization: Bearer ${key}`,
      "Content-Type: application/json",
      "Expect: 100-continue",
      `Content-Length: ${9 * unit}`,
    ]
    expect(await server.raw(`${head.join("\r\n")}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 429 /)
    // A batch above the whole limit is refused, too, and counts as one request.
    head[5] = `Content-Length: ${(limit + 1) * unit}`
    expect(await server.raw(`${head.join("\r\n")}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 413 /)
    expect(await send(batch(7 * unit))).toEqual([200, 0])
  })

  it("is not in replies to a key without a limit", async () => {
    const { headers } = await get("/v1/leaderboard")
    expect(Object.keys(headers).filter((name) => name.includes("ratelimit"))).toEqual([])
  })
})

describe("a request id", () => {
  it("is the caller's own if it is valid", async () => {
    for (const id of ["x", "a".repeat(128), "trace/1;b=2"]) {
      expect((await get("/healthz", null, { "x-request-id": id })).headers["x-request-id"]).toBe(id)
    }
    for (const id of ["", "a b", "a".repeat(129), "ü"]) {
      const { headers } = await get("/healthz", null, { "x-request-id": id })
      expect(headers["x-request-id"]).toMatch(/^req_[0-9a-f]{32}$/)
    }
  })
})

describe("a path", () => {
  it("must match exactly; other paths answer 404, with a key or without", async () => {
    const paths = [
      "/v1",
      "/v1/",
      "/v2/events",
      "/V1/leaderboard",
      "/v1/leaderboard/",
      "//v1/leaderboard",
      "/v1//leaderboard",
      "/v1/x/../leaderboard",
      "/v1/%6Ceaderboard",
      "/v1/leaderboard%00",
      "/v1/users/u/unknown",
      "/api/leaderboard",
      "/api/healthz",
      "/api/api/v1/leaderboard",
    ]
    for (const path of paths) {
      for (const key of [undefined, null]) {
        const { json, status } = await get(path, key)
        expect([path, status, json.code, json.instance]).toEqual([path, 404, "not_found", path])
      }
    }
  })

  it("with an empty parameter is answered as the operation declares it", async () => {
    const cases = [
      ["/v1/users/", "path/id"],
      ["/v1/users//progress", "path/id"],
      ["/api/v1/users//progress", "path/id"],
      ["/v1/quests/", "path/id"],
      ["/v1/webhooks//deliveries", "path/id"],
    ] as const
    for (const [path, pointer] of cases) {
      const { json, status } = await get(path)
      expect([path, status, json.code]).toEqual([path, 400, "invalid_request"])
      expect(json.errors).toMatchObject([{ pointer, code: "too_short" }])
      expect((await get(path, null)).status).toBe(401)
    }
  })

  it("with a dot segment as a parameter is answered as the operation declares it", async () => {
    const detail = "must not be . or .., which URLs cannot hold"
    for (const path of ["/v1/users/..", "/v1/users/./progress", "/v1/users/%2E%2E"]) {
      const { json, status } = await get(path)
      expect([path, status, json.code]).toEqual([path, 400, "invalid_request"])
      expect(json.errors).toEqual([{ pointer: "path/id", code: "invalid_format", detail }])
      expect((await get(path, null)).status).toBe(401)
    }
    expect((await get("/api/v1/quests/..")).json.code).toBe("quest_not_found")
  })

  it("with other methods lists them", async () => {
    const cases = [
      ["GET", "/v1/events", "POST"],
      ["DELETE", "/api/v1/quests", "GET, HEAD, POST"],
      ["OPTIONS", "/v1/leaderboard", "GET, HEAD"],
      ["PATCH", "/v1/users/u/progress", "GET, HEAD"],
      ["POST", "/healthz", "GET, HEAD"],
    ] as const
    for (const [method, path, allow] of cases) {
      const { headers, json, status } = await server.call(method, path, { key: null })
      expect([status, json.code, headers.allow]).toEqual([405, "method_not_allowed", allow])
    }
  })

  it("answers HEAD like GET, without the body", async () => {
    const whole = await get("/v1/leaderboard")
    const { headers, status, text } = await server.call("HEAD", "/v1/leaderboard")
    expect([status, text, headers["content-length"]]).toEqual([
      200,
      "",
      whole.headers["content-length"],
    ])
  })
})

describe("a defect", () => {
  it("answers 500 without its cause, and is logged once with the request id", async () => {
    for (const user of ["defect", "throw"]) {
      const before = server.errors.length
      const { json, status, text } = await get(`/v1/users/${user}`)
      expect([status, json.code]).toEqual([500, "internal_error"])
      expect(text).not.toContain("inside")
      expect(server.errors).toHaveLength(before + 1)
      expect(server.errors.at(-1)).toContain("the inside of the engine")
      expect(server.errors.at(-1)).toContain(json.requestId)
    }
  })

  it("is not what an interruption at shutdown is", async () => {
    const { json, status } = await get("/v1/users/interrupt")
    expect([status, json.code]).toEqual([503, "shutting_down"])
  })
})
