/**
 * User tokens over HTTP, on a server with real keys: what they give access to, and each kind of
 * misuse.
 */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { idempotencyOf } from "../../src/http/request/RequestParts.ts"
import { limits } from "../../src/Limits.ts"
import { type DashboardServer, startDashboard } from "../dashboard/fixture.ts"
import { limitedInFile } from "../limited.ts"
import { type Ask, asker, createKey, openedTo, operations, publicReads } from "./tokens.ts"

// One token asks every operation.
limitedInFile({ userRequestsPerMinute: 400 })

let server: DashboardServer
let ask: Ask
let secret: string
beforeAll(async () => {
  server = await startDashboard()
  ask = asker(server)
  secret = (await createKey(server)).key
  for (const userId of ["ada", "bob", "zoe"]) {
    await ask(secret, `POST /v1/users/${userId}/rewards`, { type: "xp", amount: 10 })
  }
  await ask(secret, "PATCH /v1/project", { clientActions: ["OPENED", "TAPPED"] })
})
afterAll(() => server.stop())

const tokenFor = async (userId: string, key = secret, seconds?: number): Promise<string> => {
  const path = `POST /v1/users/${encodeURIComponent(userId)}/tokens`
  const { json, status } = await ask(key, path, seconds && { expiresInSeconds: seconds })
  if (status !== 200) throw new Error(`no token: ${status} ${JSON.stringify(json)}`)
  return json.token
}

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString())

const codeOf = async (...asked: Parameters<Ask>) => {
  const { json, status } = await ask(...asked)
  return [status, json?.code]
}
const forbidden = [403, "insufficient_scope"]
const unauthorized = [401, "unauthorized"]

describe("A token is made", () => {
  it("for an hour, or as long as was asked for, at most a day", async () => {
    const lifetime = async (body?: object) => {
      const { json } = await ask(secret, "POST /v1/users/ada/tokens", body)
      const { exp, iat } = claimsOf(json.token)
      expect(Date.parse(json.expiresAt)).toBe(exp * 1_000)
      return exp - iat
    }
    expect(await lifetime()).toBe(3_600)
    expect(await lifetime({})).toBe(3_600)
    const { userTokenSecondsMax, userTokenSecondsMin } = limits
    for (const seconds of [userTokenSecondsMin, userTokenSecondsMax]) {
      expect(await lifetime({ expiresInSeconds: seconds })).toBe(seconds)
    }
    for (const seconds of [userTokenSecondsMin - 1, userTokenSecondsMax + 1, 60.5, "60", null]) {
      const body = { expiresInSeconds: seconds }
      const { json } = await ask(secret, "POST /v1/users/ada/tokens", body)
      expect(json.errors).toMatchObject([{ pointer: "/expiresInSeconds" }])
    }
  })

  it("with a full secret key alone", async () => {
    const path = "POST /v1/users/ada/tokens"
    const other = async (scope: "ingest" | "read") => (await createKey(server, { scope })).key
    const page = await createKey(server, { kind: "publishable", scope: "read" })
    for (const key of [
      await other("ingest"),
      await other("read"),
      page.key,
      await tokenFor("ada"),
    ]) {
      expect(await codeOf(key, path, {})).toEqual(forbidden)
    }
  })

  it("for any user id, also of a user who does not exist yet", async () => {
    for (const userId of ["new one", "ü/?#%", "🏆", "a.b"]) {
      const token = await tokenFor(userId)
      const path = `/v1/users/${encodeURIComponent(userId)}`
      expect(await codeOf(token, `GET ${path}`)).toEqual([404, "user_not_found"])
      const sent = await ask(token, "POST /v1/events", { userId, action: "OPENED" })
      expect([userId, sent.status]).toEqual([userId, 200])
      expect((await ask(token, `GET ${path}`)).json.id).toBe(userId)
    }
  })
})

describe("A token gives access to", () => {
  const own = [
    "GET /v1/events/:id",
    "GET /v1/stream",
    "GET /v1/users/:id",
    "GET /v1/users/:id/goals",
    "GET /v1/users/:id/history",
    "GET /v1/users/:id/items",
    "GET /v1/users/:id/points/spend",
    "GET /v1/users/:id/points/spend/:spendId",
    "GET /v1/users/:id/leagues",
    "GET /v1/users/:id/leagues/:leagueId",
    "GET /v1/users/:id/metrics",
    "GET /v1/users/:id/metrics/:metricId/series",
    "GET /v1/users/:id/progress",
    "GET /v1/users/:id/purchases",
    "GET /v1/users/:id/purchases/:purchaseId",
    "GET /v1/users/:id/recap",
    "GET /v1/users/:id/rewards",
    "GET /v1/users/:id/rewards/:rewardId",
    "GET /v1/users/:id/streaks",
    "GET /v1/users/:id/streaks/:key/calendar",
    "POST /v1/events",
    "POST /v1/users/:id/purchases",
    "POST /v1/users/:id/quests/:quest/start",
  ]

  it("its own user, public reads and single events, and no other operation", async () => {
    const token = await tokenFor("ada")
    expect(operations().length).toBeGreaterThan(35)
    expect(await openedTo(ask, token, "ada")).toEqual([...publicReads, ...own].sort())
  })

  it("nothing of another user, whether that user exists or not", async () => {
    const token = await tokenFor("zoe")
    for (const other of ["bob", "nobody", "Zoe", "zoe%20", "%7Aoe2"]) {
      const buys = "POST /v1/users/:id/purchases"
      const bought = await ask(token, buys.replace(":id", other), { item: "mug" })
      expect([other, bought.status, bought.json.code]).toEqual([other, ...forbidden])
      const others = own.filter((one) => one.includes("/users/:id") && one !== buys)
      for (const operation of others) {
        const path = operation.replace(":id", other)
        expect([path, ...(await codeOf(token, path))]).toEqual([path, ...forbidden])
      }
      for (const path of [`/v1/leaderboard?around=${other}`, `/v1/stream?userId=${other}`]) {
        expect([path, ...(await codeOf(token, `GET ${path}`))]).toEqual([path, ...forbidden])
      }
    }
    const mine = await ask(token, "GET /v1/leaderboard?around=zoe&limit=1")
    expect(mine.json.me).toMatchObject({ userId: "zoe", xp: 10 })
    expect((await ask(token, "GET /v1/leaderboard?window=weekly&limit=5")).status).toBe(200)
  })

  it("events, rewards and spends of its own user only", async () => {
    const token = await tokenFor("cleo")
    const ids: Array<readonly [userId: string, path: string]> = []
    for (const userId of ["cleo", "bob"]) {
      const event = await ask(secret, "POST /v1/events", { userId, action: "READ" })
      const base = `/v1/users/${userId}`
      const points = { type: "points", amount: 5, id: "own" }
      const reward = await ask(secret, `POST ${base}/rewards`, points)
      const spend = await ask(secret, `POST ${base}/points/spend`, { amount: 1 })
      ids.push(
        [userId, `/v1/events/${event.json.eventId}`],
        [userId, `${base}/rewards`],
        [userId, `${base}/rewards/own`],
        [userId, `/v1/users/cleo/rewards/${reward.json.rewardId}`],
        [userId, `${base}/points/spend`],
        [userId, `/v1/users/cleo/points/spend/${spend.json.spendId}`],
      )
    }
    for (const [userId, path] of ids) {
      const { status } = await ask(token, `GET ${path}`)
      const refused = path.startsWith("/v1/users/bob") ? 403 : 404
      expect([path, status]).toEqual([path, userId === "cleo" ? 200 : refused])
    }
  })

  it("the stream of its own user, named or not", async () => {
    const token = await tokenFor("ada")
    for (const path of ["/v1/stream", "/v1/stream?userId=ada"]) {
      const stop = new AbortController()
      const headers = { authorization: `Bearer ${token}` }
      const reply = await fetch(server.url + path, { headers, signal: stop.signal })
      expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "text/event-stream"])
      for (const userId of ["bob", "ada"]) {
        await ask(secret, "POST /v1/events", { userId, action: "SEEN" })
      }
      const seen = reply.body!.pipeThrough(new TextDecoderStream()).values()
      let text = ""
      for await (const piece of seen) {
        text += piece
        if (text.includes("SEEN")) break
      }
      stop.abort()
      expect(text).toContain('"userId":"ada"')
      expect(text).not.toContain("bob")
    }
  })

  it("pages of its key's origins, or of all origins if the key has none", async () => {
    const listed = await createKey(server, { allowedOrigins: ["https://app.example"] })
    const live = await createKey(server, { environment: "production" })
    const bound = await tokenFor("ada", listed.key)
    const free = await tokenFor("ada", live.key)
    const status = async (token: string, origin?: string) => {
      const headers = { authorization: `Bearer ${token}`, ...(origin !== undefined && { origin }) }
      return (await fetch(`${server.url}/v1/leaderboard`, { headers })).status
    }
    for (const [origin, ofBound, ofFree] of [
      [undefined, 200, 200],
      ["https://app.example", 200, 200],
      ["https://evil.example", 403, 200],
      ["null", 403, 200],
    ] as const) {
      expect([origin, await status(bound, origin)]).toEqual([origin, ofBound])
      expect([origin, await status(free, origin)]).toEqual([origin, ofFree])
    }
    // The key that made the token may not be used by any page.
    expect(await status(live.key, "https://app.example")).toBe(403)
  })

  it("the project and environment of its key, and no other", async () => {
    const live = await createKey(server, { environment: "production" })
    const bank = await createKey(server, { project: "bank" })
    const reward = { type: "xp", amount: 99 }
    await ask(live.key, "POST /v1/users/ada/rewards", reward)
    const xp = async (token: string) => (await ask(token, "GET /v1/users/ada")).json.xp
    expect(await xp(await tokenFor("ada", live.key))).toBe(99)
    expect(await xp(await tokenFor("ada"))).toBe(10)
    const elsewhere = await tokenFor("ada", bank.key)
    expect(await codeOf(elsewhere, "GET /v1/users/ada")).toEqual([404, "user_not_found"])
    expect((await ask(elsewhere, "GET /v1/leaderboard")).json.total).toBe(0)
  })
})

describe("A token is refused", () => {
  it("once it has expired, on a connection that it was used on, too", async () => {
    const token = await tokenFor("ada", secret, 60)
    const asked = () => codeOf(token, "GET /v1/users/ada")
    expect(await asked()).toEqual([200, undefined])
    const endsAt = claimsOf(token).exp * 1_000
    server.clock.set(new Date(endsAt - 30_000).toISOString())
    expect(await asked()).toEqual([200, undefined])
    server.clock.set(new Date(endsAt).toISOString())
    expect(await asked()).toEqual(unauthorized)
  })

  it("on an open stream before the next message, once it has expired or its key is revoked", async () => {
    const { id, key } = await createKey(server)
    const expire = (token: string) => {
      server.clock.set(new Date(claimsOf(token).exp * 1_000).toISOString())
    }
    const revoke = () => Effect.runPromise(server.keys.revoke(id))
    for (const end of [expire, revoke]) {
      const token = await tokenFor("ada", key, 60)
      const headers = { authorization: `Bearer ${token}` }
      const reply = await fetch(`${server.url}/v1/stream`, { headers })
      expect(reply.status).toBe(200)
      await end(token)
      await ask(secret, "POST /v1/events", { userId: "ada", action: "TOO_LATE" })
      expect(await reply.text()).not.toContain("TOO_LATE")
    }
  })

  it("once its user is erased, on a connection and a stream that it opened, too", async () => {
    const userId = "zoe"
    const before = await tokenFor(userId)
    const opened = { userId, action: "OPENED", id: "first" }
    expect(await codeOf(before, "POST /v1/events", opened)).toEqual([200, undefined])
    const headers = { authorization: `Bearer ${before}` }
    const stream = await fetch(`${server.url}/v1/stream`, { headers })
    expect(stream.status).toBe(200)
    await ask(secret, `DELETE /v1/users/${userId}`)
    const again = { userId, action: "OPENED", id: "second" }
    expect(await codeOf(before, "POST /v1/events", again)).toEqual(unauthorized)
    expect(await codeOf(before, `GET /v1/users/${userId}`)).toEqual(unauthorized)
    expect((await codeOf(secret, `GET /v1/users/${userId}`))[0]).toBe(404)
    // A token made now is valid, though the erasure was in the same second.
    const after = await tokenFor(userId)
    expect(await codeOf(after, "POST /v1/events", { ...again, id: "third" })).toEqual([
      200,
      undefined,
    ])
    expect(await stream.text()).not.toContain("third")
    expect(await codeOf(before, "POST /v1/events", again)).toEqual(unauthorized)
    expect(await codeOf(await tokenFor("ada"), "GET /v1/users/ada")).toEqual([200, undefined])
  })

  it("when its key is revoked", async () => {
    const { id, key } = await createKey(server)
    const token = await tokenFor("ada", key)
    expect(await codeOf(token, "GET /v1/users/ada")).toEqual([200, undefined])
    await Effect.runPromise(server.keys.revoke(id))
    expect(await codeOf(token, "GET /v1/users/ada")).toEqual(unauthorized)
  })

  it("with a changed user or lifetime, another algorithm, or no signature", async () => {
    const token = await tokenFor("ada")
    const [head, payload, signature] = token.split(".")
    const claims = claimsOf(token)
    const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
    const forged = [
      `${head}.${encoded({ ...claims, sub: "bob" })}.${signature}`,
      `${head}.${encoded({ ...claims, exp: claims.exp + 60 })}.${signature}`,
      `${encoded({ alg: "none", typ: "JWT" })}.${payload}.`,
      `${encoded({ alg: "none" })}.${payload}.${signature}`,
      `${head}.${payload}.`,
      `${head}.${payload}`,
      `${token}=`,
      `${head}..${signature}`,
      `${head}.${"A".repeat(12_000)}.${signature}`,
    ]
    for (const text of forged) {
      expect(await codeOf(text, "GET /v1/users/bob")).toEqual(unauthorized)
      expect(await codeOf(text, "GET /v1/users/ada")).toEqual(unauthorized)
    }
  })

  it("in a query string, under any name", async () => {
    const token = await tokenFor("ada")
    for (const name of ["token", "access_token", "key", "api_key", "authorization"]) {
      const path = `GET /v1/users/ada?${name}=${token}`
      expect(await codeOf(null, path)).toEqual(unauthorized)
      expect(await codeOf(token, path)).toEqual([400, "invalid_request"])
    }
  })
})

describe("With a token a user buys items", () => {
  const buyer = async (userId: string, scopes?: ReadonlyArray<string>): Promise<string> =>
    (await ask(secret, `POST /v1/users/${userId}/tokens`, scopes && { scopes })).json.token
  const buy = (token: string, userId: string, headers?: Record<string, string>) =>
    ask(token, `POST /v1/users/${userId}/purchases`, { item: "cap" }, headers)
  const pointsOf = async (userId: string) =>
    (await ask(secret, `GET /v1/users/${userId}`)).json.points

  beforeAll(async () => {
    await ask(secret, "POST /v1/items", { key: "cap", name: "Cap", price: { points: 5 } })
    for (const userId of ["dan", "eve"]) {
      await ask(secret, `POST /v1/users/${userId}/rewards`, { type: "points", amount: 20 })
    }
  })

  it("only if it was made with the scope purchases", async () => {
    for (const plain of [await buyer("dan"), await buyer("dan", [])]) {
      for (const headers of [{}, { "idempotency-key": "k" }]) {
        const { json, status } = await buy(plain, "dan", headers)
        expect([status, json.code]).toEqual(forbidden)
        expect(json.detail).toContain("scope purchases")
      }
      expect((await ask(plain, "GET /v1/users/dan/items")).json.items).toMatchObject([
        { key: "cap", refusal: null },
      ])
    }
    expect(await pointsOf("dan")).toBe(20)
    const scoped = await buyer("dan", ["purchases"])
    const bought = await buy(scoped, "dan")
    expect([bought.status, bought.json.price]).toEqual([200, { points: 5 }])
    expect(await pointsOf("dan")).toBe(15)
  })

  it("for its own user alone, and refunds none", async () => {
    const token = await buyer("dan", ["purchases"])
    expect((await buy(token, "eve")).json.code).toBe("insufficient_scope")
    expect(await pointsOf("eve")).toBe(20)
    const { purchaseId } = (await buy(token, "dan")).json
    const path = `/v1/users/dan/purchases/${purchaseId}`
    expect(await codeOf(token, `DELETE ${path}`)).toEqual(forbidden)
    expect((await ask(token, `GET ${path}`)).json.revoked).toBe(false)
    expect(await codeOf(token, "POST /v1/users/dan/points/spend", { amount: 1 })).toEqual(forbidden)
  })

  it("with a scope that nobody added to the token", async () => {
    const [head, payload, signature] = (await buyer("dan")).split(".")
    const claims = JSON.parse(Buffer.from(payload!, "base64url").toString())
    const widened = Buffer.from(JSON.stringify({ ...claims, scope: "purchases" }))
    const forged = `${head}.${widened.toString("base64url")}.${signature}`
    expect(await codeOf(forged, "POST /v1/users/dan/purchases", { item: "cap" })).toEqual(
      unauthorized,
    )
  })

  it("and a token with an unknown scope is not made", async () => {
    for (const scopes of [["refunds"], ["purchases", "purchases"], "purchases", [1], null]) {
      const { json, status } = await ask(secret, "POST /v1/users/dan/tokens", { scopes })
      expect([scopes, status, json.code]).toEqual([scopes, 400, "invalid_request"])
    }
  })
})

describe("With a token a user sends events", () => {
  const send = async (body: object, headers?: Record<string, string>) =>
    codeOf(await tokenFor("ada"), "POST /v1/events", body, headers)

  it("of its own with the actions of clients, once per id", async () => {
    await ask(secret, "POST /v1/rules", { action: "TAPPED", reward: { xp: 5 } })
    const token = await tokenFor("cy")
    const event = { userId: "cy", action: "TAPPED", id: "tap-1", metadata: { from: "phone" } }
    const first = await ask(token, "POST /v1/events", event)
    expect(first.json).toMatchObject({ duplicate: false, xp: { earned: 5, total: 5 } })
    expect((await ask(token, "POST /v1/events", event)).json.duplicate).toBe(true)
    const keyed = { "idempotency-key": "once" }
    const again = { userId: "cy", action: "TAPPED" }
    await ask(token, "POST /v1/events", again, keyed)
    const replay = await ask(token, "POST /v1/events", again, keyed)
    expect(replay.headers.get("idempotency-replayed")).toBe("true")
    expect((await ask(token, "GET /v1/users/cy")).json.xp).toBe(10)
  })

  it("never of another user, who stays unchanged", async () => {
    const history = async () => (await ask(secret, "GET /v1/users/bob/history")).json
    const before = await history()
    for (const userId of ["bob", "ADA", "ada\u0301"]) {
      expect(await send({ userId, action: "TAPPED" })).toEqual(forbidden)
    }
    expect(await history()).toEqual(before)
    expect(await codeOf(secret, "GET /v1/users/ADA")).toEqual([404, "user_not_found"])
  })

  it("never with another action, nor with an action that was removed from the list", async () => {
    for (const headers of [{}, { "idempotency-key": "k" }]) {
      expect(await send({ userId: "ada", action: "BOUGHT" }, headers)).toEqual(forbidden)
      expect(await send({ userId: "ada", action: "QUEST_COMPLETE" }, headers)).toEqual(forbidden)
    }
    expect((await ask(secret, "POST /v1/events", { userId: "ada", action: "BOUGHT" })).status).toBe(
      200,
    )
    expect(await send({ userId: "ada", action: "OPENED" })).toEqual([200, undefined])
    await ask(secret, "PATCH /v1/project", { clientActions: ["TAPPED"] })
    expect(await send({ userId: "ada", action: "OPENED" })).toEqual(forbidden)
    await ask(secret, "PATCH /v1/project", { clientActions: null })
    expect(await send({ userId: "ada", action: "TAPPED" })).toEqual(forbidden)
    await ask(secret, "PATCH /v1/project", { clientActions: ["OPENED", "TAPPED"] })
  })

  it("never dated, with or without an Idempotency-Key", async () => {
    const now = server.clock.currentTimeMillisUnsafe()
    for (const at of [now - 86_400_000, now, now + 60_000]) {
      const event = { userId: "ada", action: "TAPPED", occurredAt: new Date(at).toISOString() }
      expect(await send(event)).toEqual(forbidden)
      expect(await send(event, { "idempotency-key": `dated-${at}` })).toEqual(forbidden)
    }
  })

  it("never in a batch, by import, or for a simulation", async () => {
    const events = [{ userId: "ada", action: "TAPPED" }]
    const token = await tokenFor("ada")
    for (const path of ["POST /v1/events/batch", "POST /v1/events/import"]) {
      expect(await codeOf(token, path, { events })).toEqual(forbidden)
    }
    expect(await codeOf(token, "POST /v1/project/simulate", events[0])).toEqual(forbidden)
  })

  it("under idempotency keys that block no server and no other user", async () => {
    const keyed = { "idempotency-key": "order-17" }
    expect(await send({ userId: "ada", action: "TAPPED" }, keyed)).toEqual([200, undefined])
    const theirs = { userId: "bob", action: "TAPPED" }
    const other = await ask(await tokenFor("bob"), "POST /v1/events", theirs, keyed)
    const ours = await ask(secret, "POST /v1/events", { userId: "bob", action: "BOUGHT" }, keyed)
    for (const { headers, status } of [other, ours]) {
      expect([status, headers.get("idempotency-replayed")]).toEqual([200, null])
    }
  })

  it("under idempotency keys that do not name the user where they are kept", () => {
    const path = { method: "POST", path: "/v1/events" }
    const keyOf = (key: string, userId?: string) =>
      idempotencyOf(key, path, undefined, undefined, Buffer.alloc(0), userId).key
    expect(keyOf("order-17")).toBe("order-17")
    const keys = [keyOf("order-17", "ada"), keyOf("order-18", "ada"), keyOf("order-17", "bob")]
    for (const key of keys) expect(key).toMatch(/^\n[\w-]{43}$/)
    expect(new Set(keys).size).toBe(3)
  })

  it("up to a limit of its own, separate from those of other users and servers", async () => {
    const token = await tokenFor("eager")
    const event = { userId: "eager", action: "TAPPED" }
    const first = await ask(token, "POST /v1/events", event)
    const policy = `"user";q=${limits.userRequestsPerMinute};w=60`
    expect(first.headers.get("ratelimit-policy")).toBe(policy)
    const more = Array.from({ length: limits.userRequestsPerMinute - 1 }, () =>
      codeOf(token, "POST /v1/events", event),
    )
    expect(new Set((await Promise.all(more)).map(([status]) => status))).toEqual(new Set([200]))
    expect(await codeOf(token, "POST /v1/events", event)).toEqual([429, "rate_limited"])
    expect(await codeOf(await tokenFor("eager"), "GET /v1/badges")).toEqual([429, "rate_limited"])
    expect(await codeOf(await tokenFor("calm"), "GET /v1/badges")).toEqual([200, undefined])
    expect(await codeOf(secret, "POST /v1/events", event)).toEqual([200, undefined])
  })
})
