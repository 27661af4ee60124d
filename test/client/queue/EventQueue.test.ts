/** The queue against the real server: lost replies, no network, crashes, refusals, and storage that fails. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest"
import { createLaurel, type LaurelOptions } from "../../../src/client/index.ts"
import { makeQueue, type QueueOptions } from "../../../src/client/queue/EventQueue.ts"
import { eventsMax, type QueueStorage } from "../../../src/client/queue/QueueStorage.ts"
import { textStorage } from "../../../src/client/queue/TextStorage.ts"
import { fullKey, startServer, type TestServer } from "../../http/fixture.ts"
import { CuttingProxy } from "../CuttingProxy.ts"

let server: TestServer
let proxy: CuttingProxy

beforeAll(async () => {
  server = await startServer()
  proxy = new CuttingProxy(() => server.port)
  await proxy.listen()
  const rule = { action: "TAP", reward: { xp: 1 } }
  await createLaurel({ url: server.url, key: fullKey }).rules.create(rule)
})
afterAll(async () => {
  proxy.close()
  await server.stop()
})

class Items {
  readonly texts = new Map<string, string>()
  getItem = (name: string) => this.texts.get(name) ?? null
  setItem = (name: string, text: string): unknown => this.texts.set(name, text)
  /** How many events are stored. */
  get stored(): number {
    return JSON.parse(this.getItem("laurel-queue") ?? "[]").length
  }
}

interface Setup extends Partial<Omit<QueueOptions, "laurel">>, Partial<LaurelOptions> {
  readonly storage?: QueueStorage
}

let queues = 0
const open = (items: Items, setup: Setup = {}) => {
  const { fetch, key = fullKey, storage = textStorage(items), url = proxy.url, ...more } = setup
  const laurel = createLaurel({ url, key, retries: 0, ...(fetch && { fetch }) })
  const queue = makeQueue(storage, { laurel, name: `test-${queues++}`, ...more })
  onTestFinished(() => queue.close())
  return queue
}

const xpOf = async (id: string): Promise<number> =>
  (await server.call("GET", `/v1/users/${id}`)).json.xp

describe("Events in a queue", () => {
  it("count once each where replies are lost", async () => {
    const items = new Items()
    const queue = open(items)
    proxy.cuts.push(0, 10, 200, 0)
    await Promise.all(
      Array.from({ length: 250 }, () => queue.add({ userId: "cut", action: "TAP" })),
    )
    while (items.stored > 0) await queue.flush().catch(() => {})
    expect(proxy.cuts).toEqual([])
    expect(await xpOf("cut")).toBe(250)
    expect(items.stored).toBe(0)
  })

  it("wait while there is no network, in order, and count at the time when they were added", async () => {
    const items = new Items()
    proxy.goOffline()
    onTestFinished(() => proxy.goOnline())
    const errors: Array<unknown> = []
    const before = Date.now()
    const queue = open(items, { onError: (error) => errors.push(error) })
    const ids = []
    for (const n of [1, 2, 3]) {
      ids.push(await queue.add({ userId: "away", action: "TAP", metadata: { n } }))
    }
    const after = Date.now()
    await expect(queue.flush()).rejects.toMatchObject({ code: "connection_failed" })
    expect(errors).not.toEqual([])
    expect(items.stored).toBe(3)
    queue.close()
    proxy.goOnline()
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 })
    onTestFinished(() => void vi.useRealTimers())
    await open(items).flush()
    const { facts } = (await server.call("GET", "/v1/users/away/history?kind=event.tracked")).json
    expect(facts.map((fact: { cause: { id: string } }) => fact.cause.id)).toEqual(ids.toReversed())
    for (const { cause } of facts) {
      expect(Date.parse(cause.occurredAt)).toBeGreaterThanOrEqual(before)
      expect(Date.parse(cause.occurredAt)).toBeLessThanOrEqual(after)
    }
  })

  it("count once where the app ends between the reply and the removal", async () => {
    const items = new Items()
    const storage = textStorage(items)
    const crashed = new Error("The app ended")
    const queue = open(items, { storage: { ...storage, remove: () => Promise.reject(crashed) } })
    await queue.add({ userId: "crash", action: "TAP" })
    await expect(queue.flush()).rejects.toBe(crashed)
    queue.close()
    expect([await xpOf("crash"), items.stored]).toEqual([1, 1])
    await open(items).flush()
    expect([await xpOf("crash"), items.stored]).toEqual([1, 0])
  })

  it("count once where two queues without a common lock send them", async () => {
    const items = new Items()
    const storage = textStorage(items)
    const [one, other] = [open(items, { storage }), open(items, { storage })]
    await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        (n % 2 ? one : other).add({ userId: "two", action: "TAP" }),
      ),
    )
    await Promise.all([one.flush(), other.flush()])
    expect([await xpOf("two"), items.stored]).toEqual([60, 0])
  })
})

describe("A device whose clock is ahead", () => {
  it("sends an event without its time, unless the event had to wait", async () => {
    const items = new Items()
    const bodies: Array<{ readonly events: ReadonlyArray<{ readonly occurredAt?: string }> }> = []
    const spy: typeof fetch = (input, init) => {
      bodies.push(JSON.parse(init!.body as string))
      return fetch(input, init)
    }
    const storage = textStorage(items)
    const aheadMs = 10 * 60_000
    const ago = (ms: number) => new Date(Date.now() + aheadMs - ms).toISOString()
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + aheadMs })
    onTestFinished(() => void vi.useRealTimers())
    // With the offset of a time zone, as the caller's own times may be.
    const waited = ago(3_600_000 - 4 * 3_600_000).replace("Z", "+04:00")
    await storage.add({ id: "waited", userId: "ahead", action: "TAP", occurredAt: waited })
    const queue = open(items, { storage, fetch: spy })
    await queue.flush()
    await queue.add({ userId: "ahead", action: "TAP" })
    await queue.flush()
    expect(bodies.flatMap(({ events }) => events.map((event) => event.occurredAt))).toEqual([
      waited,
      undefined,
    ])
    expect([await xpOf("ahead"), items.stored]).toEqual([2, 0])
  })
})

describe("An event that the server refuses", () => {
  it("is reported and leaves, the others of its batch count", async () => {
    const items = new Items()
    const refused: Array<unknown> = []
    const onRefused: QueueOptions["onRefused"] = ({ id }, { code }) => refused.push([id, code])
    const queue = open(items, { onRefused })
    await queue.add({ userId: "partly", action: "TAP" })
    const id = await queue.add({ userId: "partly", action: "no action" })
    await queue.add({ userId: "partly", action: "TAP" })
    await queue.flush()
    expect([await xpOf("partly"), items.stored]).toEqual([2, 0])
    expect(refused).toEqual([[id, "invalid_request"]])
  })

  it("with its whole batch is found: events are then sent alone", async () => {
    const items = new Items()
    const refused: Array<string> = []
    const queue = open(items, {
      onRefused: (_, { code }) => refused.push(code),
      url: "http://127.0.0.1:1",
    })
    const large = { userId: "large", action: "TAP", metadata: { text: "x".repeat(3_000_000) } }
    for (const event of [large, { userId: "large", action: "TAP" }, large, large]) {
      await queue.add(event)
    }
    queue.close()
    await open(items, { onRefused: (_, { code }) => refused.push(code) }).flush()
    expect([await xpOf("large"), items.stored]).toEqual([1, 0])
    expect(refused).toHaveLength(3)
    for (const code of refused) expect(code).toMatch(/^(invalid_request|body_too_large)$/)
  })

  it("is none where the batch is above the limit of the key: events are then sent alone", async () => {
    const items = new Items()
    const storage = textStorage(items)
    for (let n = 0; n < 60; n++) {
      await storage.add({ id: `limit-${n}`, userId: "limit", action: "TAP" })
    }
    const key = server.accounts.addKey("lk_test_narrow", { limit: 59 })
    const queue = open(items, { storage, key })
    await expect(queue.flush()).rejects.toMatchObject({ code: "rate_limited" })
    // The refused batch counted as one request.
    expect([await xpOf("limit"), items.stored]).toEqual([58, 2])
  })

  it("that is no JSON is refused by the queue", async () => {
    const items = new Items()
    const metadata = { count: 1n }
    await expect(open(items).add({ userId: "big", action: "TAP", metadata })).rejects.toThrow(
      TypeError,
    )
    expect(items.stored).toBe(0)
  })
})

describe("Refusals that are not the event's fault", () => {
  it("leave it in the queue: an unknown key, a key of too narrow a scope, another server", async () => {
    const items = new Items()
    const key = server.accounts.addKey("lk_test_read", { scope: "read" })
    for (const [setup, code] of [
      [{ key: "lk_test_unknown" }, "unauthorized"],
      [{ key }, "insufficient_scope"],
      [{ url: `${proxy.url}/elsewhere` }, "not_found"],
    ] as const) {
      const queue = open(items, setup)
      if (items.stored === 0) await queue.add({ userId: "patient", action: "TAP" })
      await expect(queue.flush()).rejects.toMatchObject({ code })
      queue.close()
    }
    expect(items.stored).toBe(1)
    await open(items).flush()
    expect([await xpOf("patient"), items.stored]).toEqual([1, 0])
  })
})

describe("A queue with a user token", () => {
  it("sends events one by one, without a time, and drops those that the token may not send", async () => {
    const items = new Items()
    const bodies: Array<object> = []
    const spy: typeof fetch = (input, init) => {
      bodies.push(JSON.parse(init!.body as string))
      return fetch(input, init)
    }
    const queue = open(items, { userToken: true, fetch: spy })
    const ids = [
      await queue.add({ userId: "token", action: "TAP" }),
      await queue.add({ userId: "token", action: "TAP" }),
    ]
    await queue.flush()
    expect(bodies).toEqual(ids.map((id) => ({ userId: "token", action: "TAP", id })))
    const refused: Array<string> = []
    const key = server.accounts.addKey("lk_test_read", { scope: "read" })
    const other = open(items, {
      userToken: true,
      key,
      onRefused: (_, { code }) => refused.push(code),
    })
    await other.add({ userId: "token", action: "TAP" })
    await other.flush()
    expect([await xpOf("token"), items.stored, refused]).toEqual([2, 0, ["insufficient_scope"]])
  })
})

describe("Storage", () => {
  it("without room: the event is not added, and says so", async () => {
    const items = new Items()
    items.setItem = () => {
      throw new DOMException("No room", "QuotaExceededError")
    }
    const add = open(items).add({ userId: "full", action: "TAP" })
    await expect(add).rejects.toMatchObject({ name: "QuotaExceededError" })
  })

  it("keeps as many events as a queue may have, and no more", async () => {
    const items = new Items()
    const entries = Array.from({ length: eventsMax - 1 }, (_, key) => ({ key, event: {} }))
    items.setItem("laurel-queue", JSON.stringify(entries))
    const storage = textStorage(items)
    await storage.add({ id: "last", userId: "u", action: "TAP" })
    expect(items.stored).toBe(eventsMax)
    const more = storage.add({ id: "more", userId: "u", action: "TAP" })
    await expect(more).rejects.toMatchObject({ name: "QuotaExceededError" })
    expect(items.stored).toBe(eventsMax)
  })

  it("that is damaged is set aside, and the queue goes on", async () => {
    for (const damage of ['[{"key":1,"ev', "{}", "null", "[null]"]) {
      const items = new Items()
      items.setItem("laurel-queue", damage)
      const queue = open(items)
      await queue.add({ userId: "damaged", action: "TAP" })
      await queue.flush()
      expect(items.getItem("laurel-queue.damaged")).toBe(damage)
      expect(items.stored).toBe(0)
    }
    expect(await xpOf("damaged")).toBe(4)
  })

  it("with entries that are no events: these are refused by the server and leave", async () => {
    const items = new Items()
    const good = { id: "good", userId: "mixed", action: "TAP" }
    const entries = ["text", null, 7, { id: 7 }, good].map((event, key) => ({ key, event }))
    items.setItem("laurel-queue", JSON.stringify(entries))
    let refused = 0
    await open(items, { onRefused: () => refused++ }).flush()
    expect([await xpOf("mixed"), items.stored, refused]).toEqual([1, 0, 4])
  })
})
