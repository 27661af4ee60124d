/** The client against the real server, over a network that loses replies. */
import { type AddressInfo, createServer } from "node:net"
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { createLaurel, LaurelError, type LaurelOptions } from "../../src/client/index.ts"
import { fullKey, startServer, type TestServer } from "../http/fixture.ts"
import { CuttingProxy } from "./CuttingProxy.ts"

let server: TestServer
let proxy: CuttingProxy

beforeAll(async () => {
  server = await startServer()
  proxy = new CuttingProxy(() => server.port)
  await proxy.listen()
  const rule = { action: "LESSON_DONE", reward: { xp: 50, points: 3 } }
  await createLaurel({ url: server.url, key: fullKey }).rules.create(rule)
})
afterEach(() => {
  proxy.cuts.length = 0
})
afterAll(async () => {
  proxy.close()
  await server.stop()
})

const client = (more: Partial<LaurelOptions> = {}) =>
  createLaurel({ url: proxy.url, key: fullKey, ...more })

/** Counts the requests that a client sends. */
const counting = (more: Partial<LaurelOptions> = {}) => {
  const requests: Array<Request> = []
  const laurel = client({
    ...more,
    fetch: (input, init) => {
      requests.push(new Request(input, init))
      return fetch(input, init)
    },
  })
  return { laurel, requests }
}

const refusal = (call: Promise<unknown>): Promise<LaurelError> =>
  call.then(
    () => Promise.reject(new Error("It was not refused")),
    (error) => error,
  )

const tap = (userId: string) => ({ userId, action: "LESSON_DONE" })

describe("A call", () => {
  it("sends paths, queries and bodies as declared, and resolves with the reply", async () => {
    const laurel = client()
    const userId = "a/b?c#d é%"
    const outcome = await laurel.events.track({ ...tap(userId), metadata: { score: 93 } })
    expect(outcome.xp).toEqual({ earned: 50, total: 50 })
    expect((await laurel.users.get(userId)).id).toBe(userId)
    const page = await laurel.users.history(userId, { limit: 1, kind: "xp.earned" })
    expect(page.facts.map(({ kind }) => kind)).toEqual(["xp.earned"])
    const board = await laurel.leaderboard.get({ around: userId, limit: 1 })
    expect(board.me?.userId).toBe(userId)
    expect((await laurel.users.revokeEvent(userId, outcome.eventId)).xp.revoked).toBe(50)
    expect(await laurel.users.erase(userId)).toBeUndefined()
  })

  it("rejects with the problem of the server, and all of its faults", async () => {
    const unknown = await refusal(client().users.get("nobody"))
    expect(unknown).toBeInstanceOf(LaurelError)
    expect(unknown).toMatchObject({ name: "LaurelError", code: "user_not_found", status: 404 })
    expect(unknown.requestId).toMatch(/^req_/)
    const invalid = await refusal(client().events.track({ userId: "", action: "lower" }))
    expect(invalid.code).toBe("invalid_request")
    expect(invalid.errors.map(({ pointer }) => pointer)).toEqual(["/userId", "/action"])
  })

  it("refuses ids that a path cannot hold, before it asks", async () => {
    const { laurel, requests } = counting()
    for (const id of ["", ".", ".."]) {
      expect(await refusal(laurel.users.erase(id))).toBeInstanceOf(TypeError)
    }
    expect(requests).toEqual([])
    expect((await refusal(laurel.users.get("..."))).code).toBe("user_not_found")
  })
})

describe("A list", () => {
  const ids = Array.from({ length: 7 }, (_, index) => `listed-${index}`)
  const addAll = async () => {
    const { laurel } = counting()
    const events = ids.map((userId) => ({ ...tap(userId), id: "listed" }))
    await laurel.events.trackBatch({ events })
  }

  it("is a promise of one page, and yields the items of all pages", async () => {
    await addAll()
    const { laurel, requests } = counting()
    const page = await laurel.users.list({ query: "listed-", limit: 3 })
    expect(page.users.map(({ id }) => id)).toEqual(ids.slice(0, 3))
    expect(page.hasMore).toBe(true)
    expect(requests).toHaveLength(1)
    const seen: Array<string> = []
    for await (const { id } of laurel.users.list({ query: "listed-", limit: 3 })) seen.push(id)
    expect(seen).toEqual(ids)
    expect(requests).toHaveLength(4)
    for (const { url } of requests.slice(2)) expect(url).toContain("query=listed-&limit=3&cursor=")
  })

  it("requests a page when its first item is needed", async () => {
    await addAll()
    const { laurel, requests } = counting()
    for await (const { id } of laurel.users.list({ query: "listed-", limit: 2 })) {
      if (id === ids[3]) break
    }
    expect(requests).toHaveLength(2)
  })

  it("yields the items of each kind, with ids in the path", async () => {
    await addAll()
    const laurel = client()
    const userId = "listed/of all"
    for (let turn = 0; turn < 3; turn++) {
      await laurel.users.reward(userId, { type: "points", amount: 5 })
      await laurel.users.spend(userId, { amount: 1 })
    }
    const collected = async <Item>(list: AsyncIterable<Item>) => {
      const items: Array<Item> = []
      for await (const item of list) items.push(item)
      return items
    }
    const kinds = (await collected(laurel.users.history(userId, { limit: 2 }))).map(
      ({ kind }) => kind,
    )
    expect(kinds.filter((kind) => kind === "points.spent")).toHaveLength(3)
    expect(await collected(laurel.rewards.list(userId, { limit: 2 }))).toHaveLength(3)
    expect(await collected(laurel.spends.list(userId, { limit: 1 }))).toHaveLength(3)
    const [rule] = await collected(laurel.rules.list())
    expect(rule?.action).toBe("LESSON_DONE")
    expect(await collected(laurel.quests.list({ status: "active" }))).toEqual([])
    expect((await collected(laurel.actions.list({ limit: 1 }))).length).toBeGreaterThan(0)
    const named = laurel.users.list({ ids: ids.slice(0, 2).join(",") })
    expect((await collected(named)).map(({ id }) => id)).toEqual(ids.slice(0, 2))
  })

  it("throws what a page rejects with, and ends with its signal", async () => {
    await addAll()
    const all = async (list: AsyncIterable<unknown>) => {
      for await (const _ of list);
    }
    expect((await refusal(all(client().users.list({ limit: 0 })))).code).toBe("invalid_request")
    expect((await refusal(all(client().users.history("nobody")))).code).toBe("user_not_found")
    const leaving = new AbortController()
    const query = { query: "listed-", limit: 2 }
    const read = async () => {
      for await (const _ of client().users.list(query, { signal: leaving.signal })) {
        leaving.abort(new Error("left"))
      }
    }
    expect((await refusal(read())).message).toBe("left")
  })

  it("repeats a lost page", async () => {
    await addAll()
    const { laurel, requests } = counting()
    const seen: Array<string> = []
    for await (const { id } of laurel.users.list({ query: "listed-", limit: 4 })) {
      if (seen.push(id) === 1) proxy.cuts.push(0)
    }
    expect(seen).toEqual(ids)
    expect(requests).toHaveLength(3)
  })
})

describe("A lost reply", () => {
  it.each([0, 1, 60])("after %i bytes is asked for again: an event counts once", async (bytes) => {
    const { laurel, requests } = counting()
    const userId = `cut-after-${bytes}`
    proxy.cuts.push(bytes)
    const outcome = await laurel.events.track(tap(userId))
    expect(outcome.xp).toEqual({ earned: 50, total: 50 })
    expect((await laurel.users.get(userId)).xp).toBe(50)
    const keys = requests.slice(0, 2).map(({ headers }) => headers.get("idempotency-key"))
    expect(keys[0]).toMatch(/^.{20,}$/)
    expect(keys).toEqual([keys[0], keys[0]])
  })

  it("of events with ids of their own is asked for again by these ids alone", async () => {
    const { laurel, requests } = counting()
    const events = [1, 2].map((n) => ({ ...tap("own-ids"), id: `own-${n}` }))
    proxy.cuts.push(0)
    expect(await laurel.events.trackBatch({ events })).toMatchObject({ duplicates: 2, rejected: 0 })
    expect(requests.map(({ headers }) => headers.get("idempotency-key"))).toEqual([null, null])
    const one = { ...events[0]!, id: "own-3" }
    await laurel.events.trackBatch({ events: [one, tap("own-ids")] })
    expect(requests.at(-1)!.headers.get("idempotency-key")).not.toBeNull()
    expect((await laurel.users.get("own-ids")).xp).toBe(200)
  })

  it("of a change that cannot be repeated is the caller's to judge", async () => {
    const { laurel, requests } = counting()
    proxy.cuts.push(0)
    const { cause, code, status } = await refusal(laurel.users.createToken("judge"))
    expect({ code, status }).toEqual({ code: "connection_failed", status: 0 })
    expect(cause).toBeInstanceOf(Error)
    expect(requests).toHaveLength(1)
  })

  it("of a PUT, PATCH or DELETE is asked for again with the same key, and applied once", async () => {
    const { laurel, requests } = counting()
    await laurel.events.track({ ...tap("again"), id: "again-1" })
    const { id, version } = await laurel.rules.create({ action: "AGAIN", reward: { xp: 1 } })
    for (const call of [
      () => laurel.users.put("again", { displayName: "Again" }),
      () => laurel.rules.update(id, { reward: { xp: 2 } }, { ifMatch: version }),
      () => laurel.rules.delete(id, { ifMatch: version + 1 }),
      () => laurel.users.erase("again"),
    ]) {
      requests.length = 0
      proxy.cuts.push(0)
      await call()
      const keys = requests.map(({ headers }) => headers.get("idempotency-key"))
      expect(keys).toEqual([expect.any(String), keys[0]])
    }
  })

  it("of a change of another version rejects with the present version", async () => {
    const { laurel } = counting()
    const { id, version } = await laurel.rules.create({ action: "OTHER", reward: { xp: 1 } })
    await laurel.rules.update(id, { reward: { xp: 2 } }, { ifMatch: version })
    const error = await refusal(laurel.rules.delete(id, { ifMatch: version }))
    expect([error.code, error.status, error.version]).toEqual(["version_conflict", 412, 2])
  })

  it("is asked for again as often as the client may, and then rejects", async () => {
    for (const retries of [0, 2]) {
      const { laurel, requests } = counting({ retries })
      proxy.cuts.push(...Array<number>(retries + 1).fill(0))
      expect((await refusal(laurel.users.list())).code).toBe("connection_failed")
      expect(requests).toHaveLength(retries + 1)
    }
  })
})

describe("A refusal", () => {
  it("of a request that the server did not apply is repeated, for every call", async () => {
    const limited = { limit: 1, used: 1, resetSeconds: 1 }
    const key = server.accounts.addKey("lk_test_soon", limited)
    let requests = 0
    const laurel = client({
      key,
      fetch: async (input, init) => {
        requests++
        const reply = await fetch(input, init)
        server.accounts.addKey("lk_test_soon", { ...limited, used: 0 })
        return reply
      },
    })
    expect((await laurel.users.put("late", { displayName: "Late" })).displayName).toBe("Late")
    expect(requests).toBe(2)
  })

  it("that asks for a longer wait than a call should take is the caller's to wait for", async () => {
    for (const [resetSeconds, waits] of [
      [30, true],
      [31, false],
    ] as const) {
      const key = server.accounts.addKey(`lk_test_${resetSeconds}`, {
        limit: 1,
        used: 1,
        resetSeconds,
      })
      const { laurel, requests } = counting({ key })
      const leaving = new AbortController()
      const call = refusal(laurel.users.list({}, { signal: leaving.signal }))
      if (waits) {
        const aWhile = new Promise((done) => setTimeout(done, 200))
        expect(await Promise.race([call, aWhile])).toBeUndefined()
        leaving.abort(new Error("left"))
        expect((await call).message).toBe("left")
      } else {
        expect(await call).toMatchObject({ code: "rate_limited", retryAfterSeconds: resetSeconds })
      }
      expect(requests).toHaveLength(1)
    }
  })

  it("that is not Laurel's says so", async () => {
    const { port } = new URL(proxy.url)
    const laurel = client({ url: `http://localhost:${port}/nowhere`, retries: 0 })
    expect((await refusal(laurel.users.list())).code).toBe("not_found")
    const page = async () => new Response("<h1>Bad gateway</h1>", { status: 502 })
    expect(await refusal(client({ fetch: page, retries: 0 }).users.list())).toMatchObject({
      code: "unexpected_reply",
      status: 502,
    })
    const odd = '{"code":"odd","errors":null,"message":"m","name":"n","__proto__":{"code":"proto"}}'
    const strange = await refusal(
      client({ fetch: async () => new Response(odd, { status: 418 }), retries: 0 }).users.list(),
    )
    expect(strange).toBeInstanceOf(LaurelError)
    expect(strange).toMatchObject({
      name: "LaurelError",
      code: "odd",
      message: "The server replied with 418",
    })
    const login = async () => new Response("<h1>Sign in to the Wi-Fi</h1>")
    const { code } = await refusal(client({ fetch: login, retries: 0 }).users.list())
    expect(code).toBe("connection_failed")
  })
})

describe("A call that takes too long", () => {
  it("ends at its time, and with the caller's signal", async () => {
    const silent = createServer(() => {})
    onTestFinished(() => void silent.close())
    await new Promise<void>((done) => silent.listen(0, "127.0.0.1", done))
    const { port } = silent.address() as AddressInfo
    const laurel = client({ url: `http://127.0.0.1:${port}`, retries: 1, timeoutMs: 20 })
    expect((await refusal(laurel.users.list())).code).toBe("timeout")
    const leaving = new AbortController()
    const call = refusal(laurel.users.list({}, { signal: leaving.signal, timeoutMs: 60_000 }))
    leaving.abort(new Error("left"))
    expect((await call).message).toBe("left")
    expect((await refusal(laurel.users.list({}, { signal: leaving.signal }))).message).toBe("left")
  })
})

describe("A key that is a function", () => {
  it("is asked once for all calls, and once more when the server no longer takes its token", async () => {
    let asked = 0
    const key = async () => {
      asked++
      return server.accounts.addKey(`lk_test_token_${asked}`)
    }
    const laurel = client({ key })
    await Promise.all([1, 2, 3].map(() => laurel.users.list()))
    expect(asked).toBe(1)
    server.accounts.revoke("lk_test_token_1")
    await Promise.all([1, 2, 3].map((n) => laurel.events.track(tap(`renewed-${n}`))))
    expect(asked).toBe(2)
  })

  it("that returns what the server refuses is not asked for ever", async () => {
    let asked = 0
    const key = () => `lk_test_refused_${asked++}`
    expect((await refusal(client({ key }).users.list())).code).toBe("unauthorized")
    expect(asked).toBe(2)
  })

  it("that fails is asked again by the next call", async () => {
    let asked = 0
    const key = async () => {
      if (asked++ === 0) throw new Error("The backend is away")
      return fullKey
    }
    const laurel = client({ key, retries: 0 })
    expect((await refusal(laurel.users.list())).message).toMatch("The backend is away")
    expect((await laurel.users.list({ limit: 1 })).users).toHaveLength(1)
  })
})
