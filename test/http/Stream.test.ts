import { once } from "node:events"
import { Effect, Latch } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { messageId, messageKindAt } from "../../src/domain/message/Message.ts"
import { limits } from "../../src/Limits.ts"
import { recordsOf } from "../engine/fixture.ts"
import { sampleValue } from "../metrics/exposition.ts"
import { Random, seeds } from "../simulation/random.ts"
import { MemoryState } from "../storage/MemoryStorage.ts"
import {
  fullKey,
  received,
  startServer,
  type TestServer,
  type TestServerOptions,
} from "./fixture.ts"
import { openStream, type StreamClient } from "./sse.ts"

const servers: Array<TestServer> = []
const start = async (options: TestServerOptions = {}) => {
  const server = await startServer(options)
  servers.push(server)
  return server
}
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

const grant = async (server: TestServer, userId: string, amount: number, key = fullKey) => {
  const reply = await server.call("POST", `/v1/users/${encodeURIComponent(userId)}/rewards`, {
    key,
    body: { type: "xp", amount },
  })
  expect(reply.status).toBe(200)
}

const kinds = ({ messages }: StreamClient) => messages.map(({ event }) => event)
const atLeast = (client: StreamClient, count: number) =>
  client.until(() => client.messages.length >= count)

/** The ids of all messages of an environment, from its journal. */
const journalIds = (state: MemoryState, environment = "prj_test:sandbox") =>
  recordsOf(state).flatMap((record) =>
    record.subject.actor === "directory" || record.subject.environment !== environment
      ? []
      : record.facts.flatMap((_, index) =>
          messageKindAt(record, index) === undefined ? [] : [messageId({ ...record, index })],
        ),
  )

describe("The stream", () => {
  it("sends messages from now on, in order, each with id, kind and body", async () => {
    const server = await start()
    await grant(server, "before", 5)
    const client = await openStream(server.url, fullKey)
    expect(client.response.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
    })
    await grant(server, "ada", 150)
    await atLeast(client, 4)
    expect(kinds(client)).toEqual(["user.created", "xp.earned", "level.changed", "reward.granted"])
    for (const { data, event, id } of client.messages) {
      expect(data).toMatchObject({
        id,
        type: event,
        project: "prj_test",
        environment: "sandbox",
        data: { userId: "ada", sequence: 2 },
      })
    }
  })

  it("tells only of the key's environment", async () => {
    const server = await start()
    const other = server.accounts.addKey("lk_live_other", {
      environment: "prj_test:production",
      environmentName: "production",
    })
    const [here, there] = await Promise.all([
      openStream(server.url, fullKey),
      openStream(server.url, other),
    ])
    await grant(server, "ada", 1, other)
    await grant(server, "bob", 1)
    await Promise.all([atLeast(here, 3), atLeast(there, 3)])
    const users = ({ messages }: StreamClient) =>
      new Set(messages.map(({ data }) => data.data.userId))
    expect([users(here), users(there)]).toEqual([new Set(["bob"]), new Set(["ada"])])
  })

  it("tells only the kinds that are asked for", async () => {
    const server = await start()
    const client = await openStream(server.url, fullKey, { events: "user.*,level.changed" })
    await grant(server, "ada", 150)
    await grant(server, "bob", 1)
    await atLeast(client, 3)
    expect(kinds(client)).toEqual(["user.created", "level.changed", "user.created"])
  })

  it("refuses kinds that do not exist, and too many", async () => {
    const server = await start()
    for (const events of ["rule.created", "", "xp.earned,", "xp.earned, quest.*"]) {
      const { json, status } = await server.call(
        "GET",
        `/v1/stream?events=${encodeURIComponent(events)}`,
      )
      expect([status, json.errors[0].pointer]).toEqual([400, "query/events"])
    }
    const many = Array.from({ length: limits.webhookKindsMax }, () => "*")
    ;(await openStream(server.url, fullKey, { events: many.join() })).close()
    const { json, status } = await server.call("GET", `/v1/stream?events=${many.join()},*`)
    expect([status, json.errors[0].code]).toEqual([400, "too_long"])
  })

  it("is for keys that may read", async () => {
    const server = await start()
    const reading = server.accounts.addKey("lk_test_read", { scope: "read" })
    const ingesting = server.accounts.addKey("lk_test_ingest", { scope: "ingest" })
    ;(await openStream(server.url, reading)).close()
    expect((await server.call("GET", "/v1/stream", { key: ingesting })).status).toBe(403)
    expect((await server.call("GET", "/v1/stream", { key: null })).status).toBe(401)
  })

  it("resumes after the last message received, also inside a record and over a restart", async () => {
    const storage = new MemoryState()
    const first = await start({ storage })
    const client = await openStream(first.url, fullKey)
    await grant(first, "ada", 150)
    await grant(first, "bob", 150)
    await atLeast(client, 8)
    const ids = client.messages.map(({ id }) => id)
    await first.stop()
    servers.pop()
    await client.end
    const second = await start({ storage })
    await grant(second, "carl", 1)
    for (const [index, lastEventId] of ids.entries()) {
      const resumed = await openStream(second.url, fullKey, { lastEventId })
      await atLeast(resumed, ids.length - index - 1 + 3)
      expect(resumed.messages.map(({ id }) => id)).toEqual(journalIds(storage).slice(index + 1))
      resumed.close()
    }
  })

  it("refuses a malformed id, and answers 410 when later messages are pruned", async () => {
    const storage = new MemoryState()
    const server = await start({ storage })
    for (const user of ["ada", "bob", "carl"]) await grant(server, user, 1)
    const ids = journalIds(storage)
    const open = async (lastEventId: string) => {
      const { json, status } = await server.call("GET", "/v1/stream", {
        headers: { "last-event-id": lastEventId },
      })
      return [status, json.code]
    }
    expect(await open("evt_1")).toEqual([400, "invalid_request"])
    const [first] = recordsOf(storage)
    const elsewhere = messageId({ sequence: 1, at: first!.at - 1, index: 0 })
    expect(await open(elsewhere)).toEqual([410, "gone"])
    expect(await open(messageId({ sequence: 99, at: first!.at, index: 0 }))).toEqual([410, "gone"])
    storage.records = storage.records.slice(2)
    storage.firstSequence = 3
    expect(await open(ids[0]!)).toEqual([410, "gone"])
  })

  it("sends its position when idle, and resumes from it", async () => {
    const server = await start({ bounds: { streamHeartbeatMs: 30 } })
    const client = await openStream(server.url, fullKey, { events: "badge.earned" })
    await client.until(() => client.heartbeats >= 1)
    expect(client.lastId).toBeUndefined()
    await grant(server, "ada", 150)
    await client.until(() => client.lastId !== undefined)
    expect(client.messages).toEqual([])
    const resumed = await openStream(server.url, fullKey, { lastEventId: client.lastId! })
    await grant(server, "bob", 1)
    await atLeast(resumed, 3)
    expect(new Set(resumed.messages.map(({ data }) => data.data.userId))).toEqual(new Set(["bob"]))
  })

  it("ends when its key is revoked", async () => {
    const server = await start({ bounds: { streamHeartbeatMs: 20 } })
    const key = server.accounts.addKey("lk_test_short")
    const client = await openStream(server.url, key)
    await client.until(() => client.heartbeats >= 1)
    server.accounts.revoke(key)
    await client.end
  })

  it("sends no message once its key has ended, however lately it was checked", async () => {
    const server = await start({ bounds: { streamHeartbeatMs: 60_000 } })
    const key = server.accounts.addKey("lk_test_short")
    const client = await openStream(server.url, key)
    await grant(server, "ada", 1)
    await atLeast(client, 3)
    server.accounts.revoke(key)
    await grant(server, "bob", 1)
    await client.end
    expect(kinds(client)).toEqual(["user.created", "xp.earned", "reward.granted"])
  })

  it("ends when its caller sends no more, before or after it has begun", async () => {
    const server = await start({ bounds: { streamsOfEnvironmentMax: 1 } })
    const request = `GET /v1/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${fullKey}\r\n\r\n`
    for (const early of [true, false]) {
      const socket = await server.connect()
      const reply = received(socket)
      if (early) socket.end(request)
      else {
        socket.write(request)
        await once(socket, "data")
        socket.end()
      }
      const text = await reply
      expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
      expect(text.endsWith("0\r\n\r\n")).toBe(true)
    }
  })

  it("ends in good order when the server shuts down", async () => {
    const server = await start({ shutdownGraceMs: 60_000 })
    const client = await openStream(server.url, fullKey)
    await grant(server, "ada", 1)
    await atLeast(client, 3)
    servers.pop()
    await server.stop()
    await client.end
    expect(client.response.complete).toBe(true)
  })

  it("may be open a limited number of times, live or not", async () => {
    const server = await start()
    const clients: Array<StreamClient> = []
    for (let count = 0; count < limits.streamsOfEnvironmentMax; count++) {
      clients.push(await openStream(server.url, fullKey))
    }
    const refused = await server.call("GET", "/v1/stream")
    expect([refused.status, refused.json.code]).toEqual([409, "quota_exceeded"])
    const other = server.accounts.addKey("lk_test_other", { environment: "prj_other:sandbox" })
    clients.push(await openStream(server.url, other))
    clients[0]!.close()
    await clients[0]!.end
    let opened: StreamClient | undefined
    while (opened === undefined) {
      opened = await openStream(server.url, fullKey).catch(() => undefined)
    }
    await grant(server, "ada", 1)
    await atLeast(opened, 3)
    for (const client of [...clients, opened]) client.close()
  })

  it("lets no more in than its cap, however many ask at once and wait for the journal", async () => {
    const storage = new MemoryState()
    const asking = 3 * limits.streamsOfEnvironmentMax
    const gate = Latch.makeUnsafe()
    let settled = 0
    /** All openings were refused or wait. */
    const settle = () => {
      if (++settled === asking) Effect.runSync(Latch.open(gate))
    }
    const server = await start({
      storage,
      wrapEngine: (engine) => {
        const { find } = engine.feed
        const slow = (sequences: ReadonlyArray<number>) =>
          Effect.andThen(Effect.andThen(Effect.sync(settle), Latch.await(gate)), find(sequences))
        Object.assign(engine.feed, { find: slow })
        return engine
      },
    })
    await grant(server, "ada", 1)
    const lastEventId = journalIds(storage).at(-1)!
    const open: Array<StreamClient> = []
    const ask = async () => {
      const client = await openStream(server.url, fullKey, { lastEventId }).catch(settle)
      if (client !== undefined) open.push(client)
    }
    await Promise.all(Array.from({ length: asking }, ask))
    expect(open.length).toBe(limits.streamsOfEnvironmentMax)
    for (const client of open) client.close()
  })

  it("keeps no place for an opening that was refused, or asked only for its head", async () => {
    const server = await start({ bounds: { streamsOfEnvironmentMax: 1 } })
    const headers = { "last-event-id": "evt_1" }
    for (let time = 0; time < 3; time++) {
      expect((await server.call("GET", "/v1/stream", { headers })).status).toBe(400)
      expect((await server.call("HEAD", "/v1/stream")).status).toBe(200)
    }
    const client = await openStream(server.url, fullKey)
    expect((await server.call("GET", "/v1/stream")).status).toBe(409)
    client.close()
  })

  it("keeps no place for a caller that left while its place in the journal was looked up", async () => {
    const reached = Latch.makeUnsafe()
    const gate = Latch.makeUnsafe()
    const storage = new MemoryState()
    const server = await start({
      storage,
      bounds: { streamsOfEnvironmentMax: 1 },
      wrapEngine: (engine) => {
        const { find } = engine.feed
        Object.assign(engine.feed, {
          find: (sequences: ReadonlyArray<number>) =>
            Effect.andThen(Effect.andThen(Latch.open(reached), Latch.await(gate)), find(sequences)),
        })
        return engine
      },
    })
    await grant(server, "ada", 1)
    const socket = await server.connect()
    const id = journalIds(storage).at(-1)!
    socket.write(
      `GET /v1/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${fullKey}\r\nLast-Event-ID: ${id}\r\n\r\n`,
    )
    await Effect.runPromise(Latch.await(reached))
    socket.resetAndDestroy()
    await once(socket, "close")
    // The connection of `grant` stays open.
    const connections = () => sampleValue(server.metrics.text(), "laurel_http_connections")
    await expect.poll(connections).toBe(1)
    await Effect.runPromise(Latch.open(gate))
    ;(await openStream(server.url, fullKey)).close()
  })

  it("ends the newest of a project's streams when another project has its share to come, and misses nothing", async () => {
    const storage = new MemoryState()
    const bounds = { streamsMax: 4, streamsOfEnvironmentMax: 4 }
    const server = await start({ storage, bounds })
    const other = server.accounts.addKey("lk_test_other", { environment: "prj_other:sandbox" })
    const greedy: Array<StreamClient> = []
    for (let count = 0; count < 4; count++) greedy.push(await openStream(server.url, fullKey))
    await grant(server, "ada", 1)
    for (const client of greedy) await atLeast(client, 3)
    const late = [await openStream(server.url, other), await openStream(server.url, other)]
    await Promise.all([greedy[3]!.end, greedy[2]!.end])
    expect(greedy.map(({ response }) => response.complete)).toEqual([false, false, true, true])
    expect(await openStream(server.url, other).catch(String)).toBe("Error: status 503")
    const refused = await server.call("GET", "/v1/stream")
    expect([refused.status, refused.json.code, refused.headers["retry-after"]]).toEqual([
      503,
      "overloaded",
      "30",
    ])
    await grant(server, "bob", 1)
    await grant(server, "carl", 1, other)
    await Promise.all([atLeast(late[0]!, 3), atLeast(greedy[0]!, 6)])
    greedy[0]!.close()
    const resume = () =>
      openStream(server.url, fullKey, { lastEventId: greedy[3]!.lastId! }).catch(() => undefined)
    let resumed: StreamClient | undefined
    while (resumed === undefined) resumed = await resume()
    await atLeast(resumed, 3)
    const ids = [...greedy[3]!.messages, ...resumed.messages].map(({ id }) => id)
    expect(ids).toEqual(greedy[0]!.messages.map(({ id }) => id))
  })

  it("waits for a slow reader in the journal and not in memory, and leaves nothing out", async () => {
    const storage = new MemoryState()
    const server = await start({ storage })
    const slow = await openStream(server.url, fullKey, { events: "event.tracked" })
    const fast = await openStream(server.url, fullKey, { events: "event.tracked" })
    slow.response.pause()
    const metadata = { text: "x".repeat(16_000) }
    const rounds = 8
    for (let round = 0; round < rounds; round++) {
      const events = Array.from({ length: 100 }, () => ({ userId: "ada", action: "TAP", metadata }))
      const { json } = await server.call("POST", "/v1/events/batch", { body: { events } })
      expect(json.accepted).toBe(100)
      await atLeast(fast, (round + 1) * 100)
    }
    slow.response.resume()
    await atLeast(slow, rounds * 100)
    const ids = fast.messages.map(({ id }) => id)
    expect(new Set(ids).size).toBe(rounds * 100)
    expect(slow.messages.map(({ id }) => id)).toEqual(ids)
  })

  it.each(seeds(2))(
    "gives every reader all messages once, while readers come and go (LAUREL_TEST_SEED=%i)",
    async (seed) => {
      const random = new Random(seed)
      const storage = new MemoryState()
      const server = await start({ storage, bounds: { streamHeartbeatMs: 5 } })
      const { head } = server.engine.feed
      expect(head).toBe(0)
      await grant(server, "first", 1)
      const readers = Array.from({ length: 6 }, () => ({
        ids: [] as Array<string>,
        lastId: messageId({ ...recordsOf(storage)[0]!, index: 0 }),
        client: undefined as StreamClient | undefined,
      }))
      const leave = (reader: (typeof readers)[number]) => {
        const { client } = reader
        if (client === undefined) return
        client.close()
        reader.ids.push(...client.messages.map(({ id }) => id))
        reader.lastId = client.lastId ?? reader.lastId
        reader.client = undefined
      }
      for (let step = 0; step < 150; step++) {
        const reader = random.pick(readers)
        if (random.chance(0.3)) leave(reader)
        else if (random.chance(0.4)) {
          reader.client ??= await openStream(server.url, fullKey, { lastEventId: reader.lastId })
        }
        const count = random.integer(0, 5)
        await Promise.all(
          Array.from({ length: count }, () => grant(server, `u${random.integer(0, 9)}`, 40)),
        )
      }
      const expected = journalIds(storage).slice(1)
      for (const reader of readers) {
        leave(reader)
        const last = await openStream(server.url, fullKey, { lastEventId: reader.lastId })
        await last.until(() => reader.ids.length + last.messages.length >= expected.length)
        reader.client = last
        leave(reader)
        expect(reader.ids).toEqual(expected)
      }
    },
  )

  it("continues from the journal when live delivery fails", async () => {
    let poisoned = false
    const server = await start({
      wrapEngine: (engine) => {
        const { feed } = engine
        const { follow } = feed
        Object.assign(feed, {
          follow: (sequence: number) =>
            Effect.map(follow(sequence), (follower) => ({
              ...follower,
              get position() {
                return follower.position
              },
              take: (max: number) =>
                Effect.map(follower.take(max), (entries) => {
                  if (poisoned) {
                    poisoned = false
                    throw new Error("a poisonous record")
                  }
                  return entries
                }),
            })),
        })
        return engine
      },
    })
    const client = await openStream(server.url, fullKey)
    await grant(server, "ada", 1)
    await atLeast(client, 3)
    poisoned = true
    await grant(server, "bob", 1)
    await grant(server, "carl", 1)
    await atLeast(client, 9)
    expect(client.messages.map(({ data }) => data.data.sequence)).toEqual([
      1, 1, 1, 2, 2, 2, 3, 3, 3,
    ])
    expect(server.errors).toEqual([expect.stringContaining("a poisonous record")])
  })
})

describe("The stream of an environment with an erased user", () => {
  const track = async (server: TestServer, userId: string, secret: string) => {
    const body = { userId, action: "TAP", metadata: { note: secret } }
    expect((await server.call("POST", "/v1/events", { body })).status).toBe(200)
  }
  const erase = async (server: TestServer, userId: string) => {
    expect((await server.call("DELETE", `/v1/users/${userId}`)).status).toBe(204)
  }
  const told = ({ messages }: StreamClient) =>
    messages.map(({ data, event }) => [data.data.userId, event])
  const rest = [
    ["bob", "user.created"],
    ["bob", "event.tracked"],
    ["ada", "user.deleted"],
  ]
  const again = [
    ["ada", "user.created"],
    ["ada", "event.tracked"],
  ]

  it("resumes without what the user had, also over a restart and where the user has come again", async () => {
    const storage = new MemoryState()
    const first = await start({ storage })
    await grant(first, "begin", 1)
    const lastEventId = journalIds(storage)[0]!
    await track(first, "ada", "secret")
    await track(first, "bob", "fine")
    await erase(first, "ada")
    const resumed = async (server: TestServer, count: number) => {
      const client = await openStream(server.url, fullKey, { lastEventId })
      await atLeast(client, 2 + count)
      client.close()
      expect(JSON.stringify(client.messages)).not.toContain("secret")
      return told(client).slice(2)
    }
    expect(await resumed(first, 3)).toEqual(rest)
    await first.stop()
    servers.pop()
    const second = await start({ storage })
    expect(await resumed(second, 3)).toEqual(rest)
    await track(second, "ada", "fine")
    expect(await resumed(second, 5)).toEqual([...rest, ...again])
  })

  it("leaves out live what the user had before an erasure that is durable already", async () => {
    const gate = Latch.makeUnsafe(true)
    const server = await start({
      wrapEngine: (engine) => {
        const { feed } = engine
        const { follow } = feed
        Object.assign(feed, {
          follow: (sequence: number) =>
            Effect.map(follow(sequence), (follower) => ({
              ...follower,
              get position() {
                return follower.position
              },
              take: (max: number) => Effect.andThen(Latch.await(gate), follower.take(max)),
            })),
        })
        return engine
      },
    })
    const client = await openStream(server.url, fullKey)
    await grant(server, "begin", 1)
    await atLeast(client, 3)
    gate.closeUnsafe()
    // The follower already waits for this record.
    await grant(server, "begin", 1)
    await track(server, "ada", "secret")
    await track(server, "bob", "fine")
    await erase(server, "ada")
    await track(server, "ada", "fine")
    gate.openUnsafe()
    await atLeast(client, 10)
    expect(told(client).slice(5)).toEqual([...rest, ...again])
    expect(JSON.stringify(client.messages)).not.toContain("secret")
  })
})
