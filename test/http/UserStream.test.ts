/** Streams of one user: `GET /v1/stream?userId=`. */
import { Effect, Exit, Scope, Stream } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { type MessageName, messageId, messageKindAt } from "../../src/domain/message/Message.ts"
import { kindsOf, type MessageKind } from "../../src/domain/message/MessageKind.ts"
import { eventStream } from "../../src/http/stream/EventStream.ts"
import { StreamHub } from "../../src/http/stream/StreamHub.ts"
import { readPastOf } from "../../src/http/stream/UserPast.ts"
import { limits } from "../../src/Limits.ts"
import { recordsOf } from "../engine/fixture.ts"
import { Random, seeds } from "../simulation/random.ts"
import { MemoryState } from "../storage/MemoryStorage.ts"
import { fullKey, startServer, type TestServer, type TestServerOptions } from "./fixture.ts"
import { openStream, type StreamAsked, type StreamClient } from "./sse.ts"

const ends: Array<() => unknown> = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})
const start = async (options: TestServerOptions = {}) => {
  const server = await startServer(options)
  ends.push(() => server.stop())
  return server
}
const opening = async (server: TestServer, asked: StreamAsked) => {
  const client = await openStream(server.url, fullKey, asked)
  ends.push(() => client.close())
  return client
}

const environment = "prj_test:sandbox"

const ask = async (server: TestServer, method: string, path: string, body?: unknown) => {
  const { json, status, text } = await server.call(method, path, { body })
  expect([path, status < 300, text]).toEqual([path, true, text])
  return json
}
const grant = (server: TestServer, userId: string, amount = 1) =>
  ask(server, "POST", `/v1/users/${encodeURIComponent(userId)}/rewards`, { type: "xp", amount })
const track = (server: TestServer, userId: string, metadata: object) =>
  ask(server, "POST", "/v1/events", { userId, action: "TAP", metadata })

const ids = ({ messages }: StreamClient) => messages.map(({ id }) => id)
const kinds = ({ messages }: StreamClient) => messages.map(({ event }) => event)
const atLeast = (client: StreamClient, count: number) =>
  client.until(() => client.messages.length >= count)
const status = (server: TestServer, asked: StreamAsked) =>
  openStream(server.url, fullKey, asked).then(
    (client) => {
      client.close()
      return "200"
    },
    (error: Error) => error.message.replace("status ", ""),
  )

/** The ids of the messages about a user, from the journal. */
const idsOf = (state: MemoryState, userId: string) =>
  recordsOf(state).flatMap((record) =>
    record.subject.actor === "user" && record.subject.userId === userId
      ? record.facts.flatMap((_, index) =>
          messageKindAt(record, index) === undefined ? [] : [messageId({ ...record, index })],
        )
      : [],
  )

describe("The stream of one user", () => {
  it("has the messages about the user and no others", async () => {
    const server = await start()
    const all = await opening(server, {})
    const ada = await opening(server, { userId: "ada" })
    const levels = await opening(server, { userId: "ada", events: "level.*" })
    const odd = await opening(server, { userId: "a b&c=d/é" })
    await grant(server, "bob", 150)
    await grant(server, "ada", 150)
    await grant(server, "a b&c=d/é")
    await ask(server, "POST", "/v1/quests", { title: "For all", reward: { xp: 1 } })
    await grant(server, "adam")
    await grant(server, "ada")
    await atLeast(all, 17)
    await Promise.all([atLeast(ada, 6), atLeast(levels, 1), atLeast(odd, 3)])
    const first = ["user.created", "xp.earned", "level.changed", "reward.granted"]
    expect(kinds(ada)).toEqual([...first, "xp.earned", "reward.granted"])
    expect(kinds(levels)).toEqual(["level.changed"])
    for (const { data } of ada.messages) expect(data.data.userId).toBe("ada")
    for (const { data } of odd.messages) expect(data.data.userId).toBe("a b&c=d/é")
    expect(ids(all)).toEqual(expect.arrayContaining([...ids(ada), ...ids(odd)]))
  })

  it("refuses a text that is not the id of a user", async () => {
    const server = await start()
    const long = "x".repeat(limits.idCharactersMax)
    expect(await status(server, { userId: long })).toBe("200")
    for (const userId of ["", `${long}x`, "a\nb"]) {
      const query = new URLSearchParams({ userId })
      const { json, status: code } = await server.call("GET", `/v1/stream?${query}`)
      expect([userId, code, json.errors[0].pointer]).toEqual([userId, 400, "query/userId"])
    }
  })

  it("sends a comment at once and asks proxies not to buffer, as every stream does", async () => {
    const server = await start()
    for (const path of ["/v1/stream", "/v1/stream?userId=ada"]) {
      const headers = { authorization: `Bearer ${fullKey}` }
      const reply = await fetch(server.url + path, { headers })
      expect(reply.headers.get("x-accel-buffering")).toBe("no")
      const reader = reply.body!.getReader()
      const { value } = await reader.read()
      expect(new TextDecoder().decode(value)).toMatch(/^: .*\nretry: \d+\n(id: \S+\n)?\n$/)
      await reader.cancel()
    }
  })

  it("begins with its position, from which a client resumes that was disconnected before any message", async () => {
    const server = await start()
    await grant(server, "ada")
    for (const asked of [{}, { userId: "ada" }]) {
      const client = await opening(server, asked)
      await client.until(() => client.lastId !== undefined)
      client.close()
      await grant(server, "ada")
      const resumed = await opening(server, { ...asked, lastEventId: client.lastId! })
      await atLeast(resumed, 2)
      expect(kinds(resumed)).toEqual(["xp.earned", "reward.granted"])
    }
  })

  it("may be of a user who does not exist yet, and resumes from its position", async () => {
    const server = await start({ bounds: { streamHeartbeatMs: 20 } })
    await grant(server, "bob")
    const early = await opening(server, { userId: "ada" })
    await grant(server, "bob")
    await early.until(() => early.lastId !== undefined)
    await grant(server, "ada")
    await atLeast(early, 3)
    early.close()
    const resumed = await opening(server, { userId: "ada", lastEventId: early.lastId! })
    await grant(server, "bob")
    await grant(server, "ada")
    await atLeast(resumed, 2)
    expect(kinds(resumed)).toEqual(["xp.earned", "reward.granted"])
  })

  it("resumes after any message, also inside a record, over snapshots and restarts", async () => {
    const storage = new MemoryState()
    const first = await startServer({ storage })
    const client = await openStream(first.url, fullKey, { userId: "ada" })
    await grant(first, "ada", 150)
    await grant(first, "bob", 150)
    await grant(first, "ada", 150)
    await atLeast(client, 7)
    await first.stop()
    await client.end
    const second = await start({ storage })
    await grant(second, "ada", 1)
    await grant(second, "bob", 1)
    const expected = idsOf(storage, "ada")
    expect(expected.slice(0, 7)).toEqual(ids(client))
    for (const [index, lastEventId] of expected.entries()) {
      const resumed = await opening(second, { userId: "ada", lastEventId })
      await atLeast(resumed, expected.length - index - 1)
      expect(ids(resumed)).toEqual(expected.slice(index + 1))
    }
    // A position that another stream has sent.
    const bob = idsOf(storage, "bob")[0]!
    const resumed = await opening(second, { userId: "ada", lastEventId: bob })
    await atLeast(resumed, 5)
    expect(ids(resumed)).toEqual(expected.slice(4))
  })

  it("does not resume if the messages after its position are gone", async () => {
    const storage = new MemoryState()
    const server = await start({ storage })
    for (const user of ["ada", "bob", "ada"]) await grant(server, user)
    const [id] = idsOf(storage, "ada")
    expect(await status(server, { userId: "ada", lastEventId: id! })).toBe("200")
    storage.records = storage.records.slice(2)
    storage.firstSequence = 3
    expect(await status(server, { userId: "ada", lastEventId: id! })).toBe("410")
    expect(await status(server, { userId: "ada", lastEventId: "evt_1" })).toBe("400")
  })

  it("does not resume over more records than its bound, however few messages they have", async () => {
    const storage = new MemoryState()
    const server = await start({ storage })
    await grant(server, "ada")
    const lastEventId = idsOf(storage, "ada").at(-1)!
    const asked = { userId: "ada", events: "user.deleted", lastEventId }
    const send = (count: number) =>
      ask(server, "POST", "/v1/events/batch", {
        events: Array.from({ length: count }, () => ({ userId: "ada", action: "TAP" })),
      })
    // The record of the message itself is read, too.
    for (let left = limits.userStreamPastRecordsMax - 1; left > 0; left -= limits.batchItemsMax) {
      await send(Math.min(left, limits.batchItemsMax))
    }
    expect(await status(server, asked)).toBe("200")
    await send(1)
    expect(await status(server, asked)).toBe("410")
  })

  it("sends an erasure, and after it never resumes with earlier messages", async () => {
    const storage = new MemoryState()
    const server = await start({ storage })
    const live = await opening(server, { userId: "ada" })
    await grant(server, "ada", 150)
    await grant(server, "ada")
    const before = idsOf(storage, "ada")
    await atLeast(live, before.length)
    await ask(server, "DELETE", "/v1/users/ada")
    await atLeast(live, before.length + 1)
    expect(live.messages.at(-1)).toMatchObject({
      event: "user.deleted",
      data: { data: { userId: "ada" } },
    })
    for (const lastEventId of [before[0]!, live.lastId!]) {
      expect(await status(server, { userId: "ada", lastEventId })).toBe("410")
    }
    expect(await status(server, { userId: "ada" })).toBe("200")
    await grant(server, "ada", 7)
    await atLeast(live, before.length + 4)
    const resumed = await opening(server, { userId: "ada", lastEventId: before[1]! })
    await atLeast(resumed, 3)
    expect(kinds(resumed)).toEqual(["user.created", "xp.earned", "reward.granted"])
    expect(ids(resumed)).toEqual(ids(live).slice(-3))
  })

  it("ends the oldest stream if a user opens too many", async () => {
    const server = await start()
    const streams: Array<StreamClient> = []
    for (let count = 0; count < limits.streamsOfUserMax; count++) {
      streams.push(await opening(server, { userId: "ada" }))
    }
    const bob = await opening(server, { userId: "bob" })
    const [first, second] = streams
    expect(first!.ended).toBe(false)
    await opening(server, { userId: "ada" })
    await first!.end
    expect([first!.response.complete, second!.ended]).toEqual([true, false])
    await opening(server, { userId: "ada" })
    await second!.end
    await grant(server, "bob")
    await atLeast(bob, 3)
  })

  it("takes no place of the environment's streams, and these take none of its places", async () => {
    const server = await start({ bounds: { streamsOfEnvironmentMax: 1, userStreamsMax: 2 } })
    await opening(server, {})
    await opening(server, { userId: "ada" })
    await opening(server, { userId: "bob" })
    const { json, status: code } = await server.call("GET", "/v1/stream?userId=carl")
    expect([code, json.code]).toEqual([409, "quota_exceeded"])
  })

  it.each(seeds(2))(
    "gives every reader all messages about its user once, while readers come and go (LAUREL_TEST_SEED=%i)",
    async (seed) => {
      const random = new Random(seed)
      const storage = new MemoryState()
      const server = await start({
        storage,
        bounds: { streamHeartbeatMs: 5 },
        engineOptions: { snapshotIntervalMs: 20 },
      })
      const users = ["u0", "u1", "u2"]
      for (const user of users) await grant(server, user)
      const begin = idsOf(storage, "u0")[0]!
      const readers = Array.from({ length: 6 }, (_, index) => ({
        userId: users[index % users.length]!,
        ids: [] as Array<string>,
        lastEventId: begin,
        client: undefined as StreamClient | undefined,
      }))
      const leave = (reader: (typeof readers)[number]) => {
        const { client } = reader
        if (client === undefined) return
        client.close()
        reader.ids.push(...ids(client))
        reader.lastEventId = client.lastId ?? reader.lastEventId
        reader.client = undefined
      }
      for (let step = 0; step < 150; step++) {
        const reader = random.pick(readers)
        if (random.chance(0.3)) leave(reader)
        else if (random.chance(0.4)) {
          const { lastEventId, userId } = reader
          reader.client ??= await opening(server, { userId, lastEventId })
        }
        const count = random.integer(0, 5)
        await Promise.all(
          Array.from({ length: count }, () => grant(server, random.pick(users), 40)),
        )
      }
      for (const reader of readers) {
        leave(reader)
        const { lastEventId, userId } = reader
        const expected = idsOf(storage, userId).filter((id) => id !== begin)
        const last = await opening(server, { userId, lastEventId })
        await last.until(() => reader.ids.length + last.messages.length >= expected.length)
        reader.client = last
        leave(reader)
        expect(reader.ids).toEqual(expected)
      }
    },
  )
})

describe("A slow reader of a user's stream", () => {
  /** The stream without HTTP, read piece by piece. */
  const reading = async (server: TestServer, userId: string, after?: MessageName) => {
    const { engine } = server
    const { feed, isErased } = engine
    const scope = Scope.makeUnsafe()
    ends.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
    const hub = new StreamHub(engine)
    await Effect.runPromise(Scope.provide(Effect.forkScoped(hub.run), scope))
    const all: ReadonlySet<MessageKind> = kindsOf(["*"])
    const past = readPastOf(engine, environment, userId, all)
    const stream = eventStream({
      feed,
      isErased,
      hub,
      environment,
      kinds: all,
      user: { id: userId, past },
      after,
      mayGoOn: () => true,
    })
    const pieces = Stream.toAsyncIterable(stream)[Symbol.asyncIterator]()
    ends.push(() => pieces.return?.())
    expect((await pieces.next()).value).toContain("retry: ")
    return {
      hub,
      next: async () => {
        const { done, value = "" } = await pieces.next()
        return done ? undefined : [...value.matchAll(/^id: (\S+)\nevent/gm)].map(([, id]) => id!)
      },
    }
  }
  /**
   * Every record reached the reader's queue, or the queue was full and nothing follows the feed any
   * more.
   */
  const handedOut = (server: TestServer, { position }: { readonly position: number }) =>
    position === 0 || position > server.engine.feed.head
  const metadata = { text: "x".repeat(16_000) }

  it("gets the messages for which its queue had no room from the history", async () => {
    const storage = new MemoryState()
    const server = await start({ storage })
    await grant(server, "ada")
    const { hub, next } = await reading(server, "ada")
    const seen: Array<string> = []
    for (const count of [2, 12, 1, 20]) {
      for (let event = 0; event < count; event++) await track(server, "ada", metadata)
      await expect.poll(() => handedOut(server, hub)).toBe(true)
      const expected = idsOf(storage, "ada").slice(3)
      while (seen.length < expected.length) seen.push(...(await next())!)
      expect(seen).toEqual(expected)
    }
  })

  it("ends if these are too many to resume with, and resuming is then refused", async () => {
    const storage = new MemoryState()
    const server = await start({ storage })
    await grant(server, "ada")
    const lastEventId = idsOf(storage, "ada").at(-1)!
    const { hub, next } = await reading(server, "ada")
    const perMessage = 16_000
    const fitting = Math.floor(limits.userStreamPastCharactersMax / (perMessage + 1_000))
    for (let event = 0; event < fitting; event++) await track(server, "ada", metadata)
    expect(await status(server, { userId: "ada", lastEventId })).toBe("200")
    for (let event = fitting; event * perMessage <= limits.userStreamPastCharactersMax; event++) {
      await track(server, "ada", metadata)
    }
    expect(await status(server, { userId: "ada", lastEventId })).toBe("410")
    await expect.poll(() => handedOut(server, hub)).toBe(true)
    let piece = await next()
    while (piece !== undefined) {
      expect(piece).toEqual([])
      piece = await next()
    }
    // The stream of all users reads the journal.
    expect(await status(server, { lastEventId })).toBe("200")
  })
})
