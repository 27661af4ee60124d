/** The log of failed requests, and the data that the log must never have. */
import { Effect, Stream } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { decideUser } from "../../src/domain/decide/Decide.ts"
import { domain } from "../../src/engine/actor/Environments.ts"
import { fullKey, startServer, type TestServer, type TestServerOptions } from "./fixture.ts"

let server: TestServer
const start = async (options?: TestServerOptions) => {
  server = await startServer(options)
  return server
}
afterEach(() => server.stop())

const explosive: typeof decideUser = (user, project, command, ...rest) => {
  if (command.kind === "event" && command.action === "EXPLODE") throw new Error("a bug of ours")
  return decideUser(user, project, command, ...rest)
}
const failing = { engineOptions: { domain: { ...domain, decideUser: explosive } } }
const explode = { userId: "u", action: "EXPLODE" }

interface Entry {
  readonly message: string
  readonly level: string
  readonly annotations: Readonly<Record<string, unknown>>
  readonly cause?: string
}

/** The log entries with this request id. */
const logged = (requestId: string | undefined): ReadonlyArray<Entry> =>
  server.logs
    .map((line): Entry => JSON.parse(line))
    .filter(({ annotations }) => annotations.requestId === requestId)

describe("An actor that fails", () => {
  it.each([
    ["by a single event", {}],
    ["by one with an Idempotency-Key, which is looked up first", { "Idempotency-Key": "k" }],
  ])(
    "%s is in the log once, with its cause, under the id that the caller was told",
    async (_, headers) => {
      await start(failing)
      const reply = await server.call("POST", "/v1/events", { body: explode, headers })
      expect([reply.status, reply.json.code]).toEqual([500, "internal_error"])
      expect(reply.text).not.toContain("a bug")
      expect(reply.headers["x-request-id"]).toBe(reply.json.requestId)
      const entries = logged(reply.json.requestId)
      expect(entries).toHaveLength(1)
      expect(entries[0]).toMatchObject({
        level: "ERROR",
        message: expect.stringContaining("An actor crashed"),
        annotations: { actor: "user" },
        cause: expect.stringContaining("a bug of ours"),
      })
    },
  )

  it("because of an event of a batch is logged under the batch's id", async () => {
    await start(failing)
    const events = [{ userId: "v", action: "A" }, explode]
    const headers = { "X-Request-Id": "my-own-id" }
    const { json } = await server.call("POST", "/v1/events/batch", { body: { events }, headers })
    expect(json).toMatchObject({ accepted: 1, rejected: 1 })
    expect(json.results[1].code).toBe("internal_error")
    expect(logged("my-own-id").map(({ cause }) => cause)).toEqual([
      expect.stringContaining("a bug of ours"),
    ])
  })
})

it("A request that fails with a defect is logged with method, path and cause, under its id", async () => {
  await start({
    wrapEngine: (engine) => ({
      ...engine,
      readBoard: () =>
        Effect.andThen(Effect.logWarning("on the way"), Effect.die(new Error("a bug of ours"))),
    }),
  })
  const { json, status } = await server.call("GET", "/v1/leaderboard?limit=1")
  expect([status, json.code]).toEqual([500, "internal_error"])
  expect(logged(json.requestId)).toMatchObject([
    { message: "on the way", level: "WARN" },
    {
      message: "A request failed",
      level: "ERROR",
      annotations: { method: "GET", path: "/v1/leaderboard" },
      cause: expect.stringContaining("a bug of ours"),
    },
  ])
})

it("An event whose reply cannot be made fails alone: it is logged, and events of the same commit are answered", async () => {
  await start({
    wrapEngine: (engine) => ({
      ...engine,
      askUserWithCallback: (environment, message, annotations, done) =>
        engine.askUserWithCallback(environment, message, annotations, (answer) =>
          done(
            "_tag" in answer || message.userId !== "broken"
              ? answer
              : { ...answer, badges: undefined as never },
          ),
        ),
    }),
  })
  const post = (userId: string) =>
    server.call("POST", "/v1/events", { body: { userId, action: "A" } })
  const [before, broken, after] = await Promise.all([post("one"), post("broken"), post("two")])
  expect([before.status, broken.status, after.status]).toEqual([200, 500, 200])
  expect(broken.json.code).toBe("internal_error")
  expect(logged(broken.json.requestId)).toMatchObject([
    { message: "A request failed", annotations: { method: "POST", path: "/v1/events" } },
  ])
  expect((await post("one")).status).toBe(200)
})

it("The log never has keys, secrets, metadata or other parts of a body", async () => {
  await start({
    ...failing,
    wrapEngine: (engine) => ({
      ...engine,
      readProject: () => Effect.die(new Error("a bug of ours")),
      readHistory: () => Stream.die(new Error("a bug of ours")),
    }),
  })
  const secret = "s3cret"
  const metadata = { card: secret, nested: { [secret]: [secret] } }
  const key = server.accounts.addKey(`lk_live_${secret}`)
  const headers = { "Idempotency-Key": secret, Cookie: secret }
  const post = (path: string, body: unknown, more = {}) =>
    server.call("POST", path, { key, body, headers, ...more })
  const replies = [
    await post("/v1/events", { userId: "u", action: "A", metadata }),
    await post("/v1/events", { ...explode, metadata }, { headers: {} }),
    await post("/v1/events", { userId: "u", action: secret, metadata }, { headers: {} }),
    await post("/v1/events", `{"userId":"${secret}`, { headers: {} }),
    await post("/v1/events", { userId: "u", action: "A" }, { key: `lk_live_wrong_${secret}` }),
    await post("/v1/events/batch", { events: [{ ...explode, metadata }] }, { headers: {} }),
    await post("/v1/users/u/rewards", { type: "xp", amount: 1, reason: secret }, { headers: {} }),
    await post("/v1/webhooks", { url: `https://x.example/${secret}`, events: ["*"] }),
    await server.call("GET", `/v1/quests?status=${secret}`, { key }),
    await server.call("GET", "/v1/quests", { key }),
    await server.call("GET", "/v1/users/u/history", { key }),
  ]
  expect(replies.filter(({ status }) => status === 500).length).toBeGreaterThanOrEqual(2)
  await server.raw(`GET /${secret} HTTP/9.9\r\n\r\n`)
  expect(server.logs.length).toBeGreaterThanOrEqual(3)
  for (const line of server.logs) {
    expect(line).not.toContain(secret)
    expect(line).not.toContain(fullKey)
  }
})
