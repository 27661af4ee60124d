/**
 * A stop while callers of every kind wait for replies. The grace is an hour: a server that waits for it, or for anything that
 * never comes, fails the test by its timeout.
 */
import { setTimeout as delay } from "node:timers/promises"
import { describe, expect, it, onTestFinished } from "vitest"
import { limits } from "../../src/Limits.ts"
import { ownerOf, Runner } from "../cluster/Runner.ts"
import { openStream, type StreamClient } from "../http/sse.ts"
import { Random, seeds } from "../simulation/random.ts"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { readServerFile, Server, temporaryFolder } from "./program.ts"

interface SentEvent {
  readonly userId: string
  readonly action: string
  readonly id: string
}

interface Replied {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: each kind of load knows its replies
  readonly body: any
}

const users = 1_000_000
const spenders = 20
const retryMs = 20
const imported = "2024-05-01T12:00:00.000Z"

/** Sends one request, or a few that belong together; called again and again until its server stops. */
type Caller = (ask: Ask) => Promise<void>
type Ask = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Replied>

/** The server takes no connection any more. */
class Stopped extends Error {}
/** There was no outcome: the connection was cut, or the request was refused for now. */
class NoOutcome extends Error {}

/** Where callers send requests, and what asks for an archive there. */
interface Target {
  readonly url: string
  readonly archive: () => Promise<Response>
}

/** What callers were told, which has to be true afterwards. */
class Load {
  readonly #random: Random
  readonly #callers: Array<Promise<void>> = []
  readonly #streams: Array<StreamClient> = []
  #numbers = 0
  readonly tracked: Array<SentEvent> = []
  readonly spends: Array<{ readonly userId: string; readonly id: string }> = []
  readonly undone: Array<SentEvent> = []
  readonly erased: Array<string> = []

  readonly #seed: number
  readonly #batchEvents: number

  constructor(seed: number, batchEvents: number) {
    this.#seed = seed
    this.#batchEvents = batchEvents
    this.#random = new Random(seed)
  }

  readonly #id = () => `${this.#seed}-${++this.#numbers}`
  readonly #event = (userId = `user-${this.#random.integer(1, users)}`): SentEvent => ({
    userId,
    action: "TAP",
    id: this.#id(),
  })

  /** Some of the events repeat earlier ones, some of them are of one user. */
  #batch(busy: string): ReadonlyArray<SentEvent> {
    return Array.from({ length: this.#batchEvents }, (_, index) => {
      if (index % 50 === 1 && this.tracked.length > 0) return this.#random.pick(this.tracked)
      return this.#event(index % 10 === 0 ? busy : undefined)
    })
  }

  readonly #single: Caller = async (ask) => {
    const event = this.#event()
    await ask("POST", "/v1/events", event)
    this.tracked.push(event)
  }

  /** Batches of one kind; the names of kinds show in `#replied`. */
  #batches(path: string, headers: () => Readonly<Record<string, string>>): Caller {
    const busy = `busy-${this.#id()}`
    return async (ask) => {
      const events = this.#batch(busy)
      const sent = path.endsWith("import")
        ? events.map((event) => ({ ...event, occurredAt: imported }))
        : events
      const { body } = await ask("POST", path, { events: sent }, headers())
      expect(body.accepted + body.duplicates).toBe(this.#batchEvents)
      this.tracked.push(...events)
    }
  }

  readonly #spend: Caller = async (ask) => {
    const userId = `spender-${this.#random.integer(1, spenders)}`
    const id = this.#id()
    await ask("POST", `/v1/users/${userId}/points/spend`, { amount: 1, id })
    this.spends.push({ userId, id })
  }

  readonly #undo: Caller = async (ask) => {
    const event = this.#event()
    await ask("POST", "/v1/events", event)
    await ask("DELETE", `/v1/users/${event.userId}/events/${event.id}`)
    this.undone.push(event)
  }

  readonly #erase: Caller = async (ask) => {
    const userId = `gone-${this.#id()}`
    await ask("POST", "/v1/events", this.#event(userId))
    await ask("DELETE", `/v1/users/${userId}`)
    this.erased.push(userId)
  }

  readonly #read: Caller = async (ask) => {
    await ask("POST", "/v1/project/simulate", { userId: "spender-1", action: "TAP" })
    await ask("GET", "/v1/leaderboard?limit=100")
    await ask("GET", "/v1/users/spender-1/history")
  }

  /** Begins every kind of load; ends when each kind had an outcome, and the streams are open. */
  async begin(target: Target, key: string): Promise<void> {
    const none = () => ({})
    const minimal = () => ({ Prefer: "return=minimal" })
    const keyed = () => ({ "Idempotency-Key": this.#id() })
    const archive: Caller = async () => {
      await (await settled(target.archive())).text().catch(() => {})
    }
    const kinds: ReadonlyArray<readonly [number, Caller]> = [
      [4, this.#batches("/v1/events/batch", none)],
      [4, this.#batches("/v1/events/batch", minimal)],
      [1, this.#batches("/v1/events/batch", keyed)],
      [1, this.#batches("/v1/events/import", none)],
      [4, this.#single],
      [2, this.#spend],
      [2, this.#undo],
      [1, this.#erase],
      [1, this.#read],
      [1, archive],
    ]
    for (const query of [{}, { userId: "spender-1" }]) {
      this.#streams.push(await openStream(target.url, key, query))
    }
    const begun = kinds.map(
      ([count, caller]) =>
        new Promise<void>((done, failed) => {
          for (let n = 0; n < count; n++) {
            const running = this.#run(target.url, key, caller, done)
            running.catch(failed)
            this.#callers.push(running)
          }
        }),
    )
    await Promise.all(begun)
  }

  async #run(url: string, key: string, caller: Caller, done: () => void): Promise<void> {
    const ask = asking(url, key)
    while (true) {
      try {
        await caller(ask)
        done()
      } catch (error) {
        if (error instanceof Stopped) return
        if (!(error instanceof NoOutcome)) throw error
        await delay(retryMs)
      }
    }
  }

  /** Every caller knows that the server stopped; streams ended, and were not cut. */
  async end(): Promise<void> {
    await Promise.all(this.#callers)
    for (const stream of this.#streams) {
      await stream.end
      expect(stream.response.complete).toBe(true)
    }
  }

  /** All that was acknowledged is there, once. */
  async verify(url: string, key: string): Promise<void> {
    const ask = patient(asking(url, key))
    for (let from = 0; from < this.tracked.length; from += limits.batchItemsMax) {
      const events = this.tracked.slice(from, from + limits.batchItemsMax)
      const { body } = await ask("POST", "/v1/events/batch", { events })
      expect(body).toMatchObject({ accepted: 0, duplicates: events.length })
    }
    for (const { id, userId } of this.spends) {
      const path = `/v1/users/${userId}/points/spend`
      expect((await ask("POST", path, { amount: 1, id })).body.duplicate).toBe(true)
    }
    for (const { id, userId } of this.undone) {
      const { status } = await ask("DELETE", `/v1/users/${userId}/events/${id}`)
      expect(status).toBe(404)
    }
    for (const userId of this.erased) {
      expect((await ask("GET", `/v1/users/${userId}`)).status).toBe(404)
    }
  }
}

const settled = async <A>(asked: Promise<A>): Promise<A> => {
  try {
    return await asked
  } catch (error) {
    const { code } = ((error as Error).cause ?? error) as NodeJS.ErrnoException
    if (code === "ECONNREFUSED") throw new Stopped()
    expect(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]).toContain(code)
    throw new NoOutcome()
  }
}

const asking =
  (url: string, key: string): Ask =>
  async (method, path, body, headers = {}) => {
    const response = await settled(
      fetch(url + path, {
        method,
        headers: {
          Authorization: `Bearer ${key}`,
          "Content-Type": "application/json",
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    )
    const text = await settled(response.text())
    if (response.status === 503) throw new NoOutcome()
    expect([200, 204, 404], `${method} ${path}: ${text}`).toContain(response.status)
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
  }

/** Asks again while the server refuses for now, as an overloaded one may. */
const patient =
  (ask: Ask): Ask =>
  async (...request) => {
    while (true) {
      try {
        return await ask(...request)
      } catch (error) {
        if (!(error instanceof NoOutcome)) throw error
        await delay(retryMs)
      }
    }
  }

/** Makes what the load needs. */
const prepare = async (url: string, key: string): Promise<void> => {
  const send = async (path: string, body: unknown): Promise<void> => {
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" }
    const sent = { method: "POST", headers, body: JSON.stringify(body) }
    expect((await fetch(url + path, sent)).ok).toBe(true)
  }
  await send("/v1/rules", { action: "TAP", reward: { xp: 1, points: 1 } })
  for (let number = 1; number <= spenders; number++) {
    const reward = { type: "points", amount: 1_000_000 }
    await send(`/v1/users/spender-${number}/rewards`, reward)
  }
}

/** A server that has this data directory, and has written its file. */
const targetOf = async (directory: string): Promise<Target> => {
  const { adminUrl, token, url } = await readServerFile(directory)
  const headers = { Authorization: `Bearer ${token}` }
  return { url, archive: () => fetch(`${adminUrl}/admin/archives`, { method: "POST", headers }) }
}

const grace = { LAUREL_SHUTDOWN_GRACE: "1 hour" }

describe("A server stopped under every kind of load", () => {
  it.each(seeds(1))(
    "ends in order, and the next one has all that was acknowledged (seed %i)",
    async (seed) => {
      const folder = await temporaryFolder()
      const server = await Server.start(folder, grace)
      const key = await server.createKey()
      await prepare(server.url, key)
      const { adminUrl, token } = await readServerFile(folder)
      const headers = { Authorization: `Bearer ${token}` }
      const archive = () => fetch(`${adminUrl}/admin/archives`, { method: "POST", headers })
      const load = new Load(seed, limits.batchItemsMax)
      await load.begin({ url: server.url, archive }, key)
      expect(await server.stop()).toBe(0)
      expect(server.stderr.text).toContain('"message":"Stopped"')
      await load.end()

      const next = await Server.start(folder, grace)
      expect(next.stderr.text).toContain('"recordsReplayed":0,')
      await load.verify(next.url, key)
      expect(await next.stop()).toBe(0)
    },
  )
})

describe("Two servers of a cluster stopped under every kind of load, one after the other", () => {
  it.each(seeds(1))(
    "end in order, and the cluster has all that was acknowledged (seed %i)",
    async (seed) => {
      const postgres = await Postgres.make()
      onTestFinished(() => postgres.remove())
      const settings = { ...grace, LAUREL_CLUSTER: await postgres.schema("stopped") }
      const runners = [await Runner.make(settings), await Runner.make(settings)] as const
      onTestFinished(async () => {
        for (const runner of runners) await runner.remove()
      })
      for (const runner of runners) await runner.start()
      const owner = await ownerOf(runners)
      const other = runners.find((runner) => runner !== owner)!
      const key = await owner.createKey("shop")
      await prepare(owner.url, key)
      const stopped: Array<{ readonly runner: Runner; readonly load: Load }> = []
      // Smaller batches: the load of both servers goes through one owner.
      for (const runner of [owner, other])
        stopped.push({ runner, load: new Load(seed + stopped.length, 200) })
      for (const { load, runner } of stopped)
        await load.begin(await targetOf(runner.directory), key)
      for (const { load, runner } of stopped) {
        expect(await runner.end("SIGTERM")).toBe(0)
        await load.end()
      }
      await owner.start()
      await ownerOf([owner])
      for (const { load } of stopped) await load.verify(owner.url, key)
    },
  )
})
