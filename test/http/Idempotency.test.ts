import { Deferred, Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { laurelError } from "../../src/domain/values/Errors.ts"
import { limits } from "../../src/Limits.ts"
import { questWith } from "../domain/definitions.ts"
import { MemoryState } from "../storage/MemoryStorage.ts"
import {
  type CallOptions,
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

const post = (path: string, idempotencyKey: string, body: unknown, options: CallOptions = {}) =>
  server.call("POST", path, { ...options, body, headers: { "idempotency-key": idempotencyKey } })
const reward = { type: "xp", amount: 5 }
const xpOf = async (userId: string) => (await server.call("GET", `/v1/users/${userId}`)).json.xp

describe("an Idempotency-Key", () => {
  it("gives a repeat the first reply, and changes nothing", async () => {
    await start()
    const requests = [
      ["/v1/users/u/rewards", reward],
      ["/v1/events", { userId: "u", action: "A" }],
      ["/v1/quests", { title: "T", reward: { xp: 1 } }],
      ["/v1/rules", { action: "OTHER", reward: { xp: 1 } }],
      ["/v1/webhooks", { url: "https://example.com/", events: ["*"] }],
      ["/v1/events/batch", { events: [{ userId: "u", action: "A" }, { userId: "" }] }],
    ] as const
    for (const [path, body] of requests) {
      const first = await post(path, `key ${path}`, body)
      const again = await post(path, `key ${path}`, body)
      expect([path, again.status, again.json]).toEqual([path, first.status, first.json])
      expect(first.headers["idempotency-replayed"]).toBeUndefined()
      expect(again.headers["idempotency-replayed"]).toBe("true")
      expect(again.headers.location).toBe(first.headers.location)
    }
    expect(await xpOf("u")).toBe(5)
    expect((await server.call("GET", "/v1/quests")).json.total).toBe(1)
  })

  it("gives a repeated PUT, PATCH or DELETE the first reply, and changes nothing", async () => {
    await start()
    const track = (id: string) =>
      post("/v1/events", `track ${id}`, { userId: "u", action: "A", id })
    await track("e")
    await post("/v1/users/u/rewards", "points", { type: "points", amount: 9, id: "r" })
    await post("/v1/users/u/points/spend", "spend", { amount: 4, id: "s" })
    const made = async (path: string, body: object) =>
      `${path}/${(await server.call("POST", path, { body })).json.id}`
    const rule = await made("/v1/rules", { action: "OTHER", reward: { xp: 1 } })
    const quest = await made("/v1/quests", { title: "T", reward: { xp: 1 } })
    const badge = await made("/v1/badges", { name: "B", criteria: { kind: "manual" } })
    const hook = await made("/v1/webhooks", { url: "https://example.com/", events: ["*"] })
    const requests: ReadonlyArray<readonly [method: string, path: string, body?: object]> = [
      ["PUT", "/v1/users/u", { displayName: "Ada" }],
      ["PATCH", "/v1/project", { name: "Shop" }],
      ["PATCH", rule, { reward: { xp: 2 } }],
      ["PATCH", quest, { title: "U" }],
      ["PATCH", badge, { name: "C" }],
      ["PATCH", hook, { description: "D" }],
      ["DELETE", rule],
      ["DELETE", quest],
      ["DELETE", badge],
      ["DELETE", hook],
      ["DELETE", "/v1/users/u/points/spend/s"],
      ["DELETE", "/v1/users/u/rewards/r"],
      ["DELETE", "/v1/users/u/events/e"],
      ["DELETE", "/v1/users/u"],
    ]
    const seen = (reply: Awaited<ReturnType<typeof send>>) => {
      const { etag, "laurel-erased-by": erasedBy } = reply.headers
      return [reply.status, reply.text, etag, erasedBy]
    }
    const send = (key: string, ...[method, path, body]: (typeof requests)[number]) =>
      server.call(method, path, { body, headers: { "idempotency-key": key } })
    for (const request of requests) {
      const key = `key ${request[0]} ${request[1]}`
      const first = await send(key, ...request)
      const again = await send(key, ...request)
      expect([request, first.status < 300]).toEqual([request, true])
      expect([request, ...seen(again)]).toEqual([request, ...seen(first)])
      expect(first.headers["idempotency-replayed"]).toBeUndefined()
      expect([request, again.headers["idempotency-replayed"]]).toEqual([request, "true"])
      const other = await send(key, "PUT", "/v1/users/other", { displayName: "Other" })
      expect([other.status, other.json.code]).toEqual([422, "idempotency_key_reused"])
    }
    expect((await server.call("GET", "/v1/project")).json.version).toBe(2)
  })

  it("keeps the refusal of a change of another version, and differs by the version", async () => {
    await start()
    const { id } = (
      await server.call("POST", "/v1/rules", { body: { action: "A", reward: { xp: 1 } } })
    ).json
    const change = (ifMatch: string, body: object) =>
      server.call("PATCH", `/v1/rules/${id}`, {
        body,
        headers: { "idempotency-key": "k", "if-match": ifMatch },
      })
    const body = { reward: { xp: 5 } }
    const replies = [await change('"7"', body), await change(' "7" ', body)]
    expect(replies.map(({ json, status }) => [status, json.code, json.version])).toEqual([
      [412, "version_conflict", 1],
      [412, "version_conflict", 1],
    ])
    expect(replies[1]!.headers["idempotency-replayed"]).toBe("true")
    const other = await change('"1"', body)
    expect([other.status, other.json.code]).toEqual([422, "idempotency_key_reused"])
  })

  it("of an erasure is answered after a crash, too, and names the user nowhere", async () => {
    const storage = new MemoryState()
    await start({ storage })
    await post("/v1/users/ada-lovelace/rewards", "r", reward)
    const erase = () =>
      server.call("DELETE", "/v1/users/ada-lovelace", { headers: { "idempotency-key": "k" } })
    const first = await erase()
    // The snapshot at the end has the answer.
    await server.stop()
    await start({ storage })
    const again = await erase()
    expect([again.status, again.headers["laurel-erased-by"]]).toEqual([
      204,
      first.headers["laurel-erased-by"],
    ])
    expect(again.headers["idempotency-replayed"]).toBe("true")
    const everything = {
      table: "idempotency",
      from: new Uint8Array(),
      until: Uint8Array.of(0xff),
    } as const
    const kept = storage.table("idempotency").entries(everything)
    const texts = kept.map(([, value]) => Buffer.from(value).toString("latin1"))
    expect(texts).toEqual([expect.stringContaining('"erasure"')])
    expect(texts[0]).not.toContain("ada-lovelace")
  })

  it("is the same under both forms of the path, and however an id is encoded", async () => {
    await start()
    await post("/v1/users/a%2fb/rewards", "k", reward)
    const again = await post("/api/v1/users/%61%2Fb/rewards", "k", reward)
    expect(again.headers["idempotency-replayed"]).toBe("true")
  })

  it("is refused for another body or path", async () => {
    await start()
    await post("/v1/users/u/rewards", "k", reward)
    const others = [
      post("/v1/users/u/rewards", "k", { ...reward, amount: 6 }),
      post("/v1/users/v/rewards", "k", reward),
      post("/v1/events/batch", "k", { events: [{ userId: "u", action: "A" }] }),
    ]
    for (const { json, status } of await Promise.all(others)) {
      expect([status, json.code]).toEqual([422, "idempotency_key_reused"])
    }
  })

  it("is separate for each environment", async () => {
    await start()
    const other = server.accounts.addKey("lk_test_o", { environment: "prj_other:sandbox" })
    await post("/v1/users/u/rewards", "k", reward)
    const apart = await post("/v1/users/u/rewards", "k", reward, { key: other })
    expect(apart.headers["idempotency-replayed"]).toBeUndefined()
  })

  it("keeps refusals of the engine, but no earlier ones", async () => {
    await start()
    const body = { userId: "u", action: "QUEST_COMPLETE", metadata: { questId: "qst_none" } }
    const first = await post("/v1/events", "k", body)
    const again = await post("/v1/events", "k", body)
    expect([first.json.code, again.json.code]).toEqual(["quest_not_found", "quest_not_found"])
    expect((await post("/v1/events", "early", { userId: "" })).status).toBe(400)
    expect((await post("/v1/events", "early", { userId: "u", action: "A" })).status).toBe(200)
  })

  it("has 1 to 255 printable ASCII characters", async () => {
    await start()
    for (const key of ["k", "k".repeat(255), "with space!"]) {
      expect((await post("/v1/users/u/rewards", key, reward)).status).toBe(200)
    }
    for (const key of ["", "k".repeat(256), "tab\there", "ü"]) {
      const { json, status } = await post("/v1/users/u/rewards", key, reward)
      expect([status, json.errors?.[0].pointer]).toEqual([400, "header/idempotency-key"])
    }
  })

  it("is refused when it is sent twice, equal or not, but may have a comma", async () => {
    await start()
    const send = (lines: string) => {
      const body = JSON.stringify(reward)
      return server.raw(
        `POST /v1/users/u/rewards HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer lk_test_full\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${lines}\r\n${body}`,
      )
    }
    for (const other of ["k", "l"]) {
      const reply = await send(`Idempotency-Key: k\r\nidempotency-key: ${other}\r\n`)
      expect(reply).toMatch(/^HTTP\/1\.1 400 /)
      const { errors } = JSON.parse(reply.slice(reply.indexOf("\r\n\r\n")))
      expect(errors).toMatchObject([{ pointer: "header/idempotency-key", code: "duplicate" }])
    }
    expect(await send("Idempotency-Key: k, l\r\n")).toMatch(/^HTTP\/1\.1 200 /)
    expect(await xpOf("u")).toBe(reward.amount)
  })

  it("of a request that is still running answers 409", async () => {
    const reached = Deferred.makeUnsafe<void>()
    const gate = Deferred.makeUnsafe<void>()
    await start({
      wrapEngine: (engine) => ({
        ...engine,
        askUsers: (environment, messages) =>
          Deferred.succeed(reached, undefined).pipe(
            Effect.andThen(Deferred.await(gate)),
            Effect.andThen(engine.askUsers(environment, messages)),
          ),
      }),
    })
    const body = { events: [{ userId: "slow", action: "A" }] }
    const first = post("/v1/events/batch", "k", body)
    await Effect.runPromise(Deferred.await(reached))
    const { headers, json, status } = await post("/v1/events/batch", "k", body)
    expect([status, json.code]).toEqual([409, "idempotency_in_progress"])
    expect(headers["retry-after"]).toBe("1")
    Deferred.doneUnsafe(gate, Effect.void)
    expect((await first).status).toBe(200)
  })

  it("of a batch that was cut short applies nothing twice", async () => {
    const storage = new MemoryState()
    // The process ends after the events and before the answer is kept.
    await start({
      storage,
      wrapEngine: (engine) => ({
        ...engine,
        askProject: () => Effect.fail(laurelError("storage_unavailable", "Gone.")),
      }),
    })
    const body = {
      events: [
        { userId: "u", action: "DONE" },
        { userId: "u", action: "DONE" },
        { userId: "u", action: "DONE", id: "own" },
      ],
    }
    expect((await post("/v1/events/batch", "k", body)).status).toBe(503)
    await server.stop()
    await start({ storage })
    const again = await post("/v1/events/batch", "k", body)
    expect([again.json.accepted, again.json.duplicates]).toEqual([0, 3])
    const kept = await post("/v1/events/batch", "k", body)
    expect(kept.headers["idempotency-replayed"]).toBe("true")
    expect(kept.json).toEqual(again.json)
  })

  it("of a batch whose results are larger than a record returns the first results", async () => {
    await start()
    for (let i = 0; i < 100; i++) {
      const id = `qst_${i}`
      const steps = [{ key: "taps", action: "TAP", where: [], target: 1_000 }]
      const quest = questWith({ id, title: "t".repeat(200), steps })
      await Effect.runPromise(
        server.engine.askProject("prj_test:sandbox", { kind: "createQuest", quest }),
      )
    }
    const events = Array.from({ length: 200 }, () => ({ userId: "u", action: "TAP" }))
    const first = await post("/v1/events/batch", "large", { events })
    expect(Buffer.byteLength(first.text)).toBeGreaterThan(limits.recordBytesMax)
    expect([first.status, first.json.accepted, first.json.duplicates]).toEqual([200, 200, 0])
    const again = await post("/v1/events/batch", "large", { events })
    expect([again.status, again.json]).toEqual([200, first.json])
  })

  it("of a batch with a failure of the server retries those events", async () => {
    let fails = true
    await start({
      wrapEngine: (engine) => ({
        ...engine,
        askUsers: (environment, messages) =>
          Effect.map(engine.askUsers(environment, messages), (answers) =>
            fails ? [answers[0]!, laurelError("overloaded", "Full.")] : answers,
          ),
      }),
    })
    const body = {
      events: [
        { userId: "a", action: "A" },
        { userId: "b", action: "A" },
      ],
    }
    const first = await post("/v1/events/batch", "k", body)
    expect(first.json.results[1].status).toBe(503)
    fails = false
    const again = await post("/v1/events/batch", "k", body)
    expect(again.headers["idempotency-replayed"]).toBeUndefined()
    expect(again.json.rejected).toBe(0)
  })

  it("of a batch that failed as a whole gets the failure, and may be repeated", async () => {
    let fails = true
    await start({
      wrapEngine: (engine) => ({
        ...engine,
        askUsers: (environment, messages) =>
          fails
            ? Effect.succeed(
                messages.map(() => laurelError("overloaded", "Full.", { retryAfterSeconds: 1 })),
              )
            : engine.askUsers(environment, messages),
      }),
    })
    const body = { events: [{ userId: "a", action: "A" }, { userId: "" }] }
    const { headers, json, status } = await post("/v1/events/batch", "k", body)
    expect([status, json.code, headers["retry-after"]]).toEqual([503, "overloaded", "1"])
    fails = false
    expect((await post("/v1/events/batch", "k", body)).json.accepted).toBe(1)
  })
})
