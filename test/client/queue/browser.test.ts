/** The queue in a real browser: IndexedDB, tabs that share it, a page that crashes, no network. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { useTabs } from "../../dashboard/browser/tabs.ts"
import { fullKey, startServer, type TestServer } from "../../http/fixture.ts"
import { openApp, runIn, sameApp } from "../browser.ts"

const tabs = useTabs()
let server: TestServer
const app = () => ({ url: server.url, key: fullKey })

beforeAll(async () => {
  server = await startServer()
  await server.call("POST", "/v1/rules", { body: { action: "TAP", reward: { xp: 1 } } })
})
afterAll(() => server.stop())

const xpOf = async (id: string): Promise<number | undefined> =>
  (await server.call("GET", `/v1/users/${id}`)).json.xp

const stored = `
  const request = indexedDB.open("laurel-queue:laurel")
  const database = await new Promise((done) => { request.onsuccess = () => done(request.result) })
  const count = database.transaction("events").objectStore("events").count()
  return new Promise((done) => { count.onsuccess = () => done(count.result) })`

describe("The queue in a browser", () => {
  it("is shared by tabs: every event is sent once, also while both add", async () => {
    const one = await openApp(tabs, { url: server.url })
    const other = await sameApp(one)
    let sent = 0
    await one.context().route("**/v1/events/batch", (route) => {
      sent += JSON.parse(route.request().postData()!).events.length
      return route.continue()
    })
    const add = `
      const queue = createQueue({ laurel })
      for (let n = 0; n < 60; n++) await queue.add({ userId: "tabs", action: "TAP" })
      await queue.flush()`
    await Promise.all([one, other].map((page) => runIn(page, app(), add)))
    expect([await xpOf("tabs"), sent]).toEqual([120, 120])
    expect(await runIn(one, app(), stored)).toBe(0)
  })

  it("survives the end of the page between the reply of the server and the removal", async () => {
    const page = await openApp(tabs, { url: server.url })
    const context = page.context()
    let replied: (() => void) | undefined
    const reply = new Promise<void>((done) => {
      replied = done
    })
    // The server has the events; the page never hears of that.
    await context.route(
      "**/v1/events/batch",
      async (route) => {
        await route.fetch()
        replied!()
      },
      { times: 1 },
    )
    await runIn(
      page,
      app(),
      `
      const queue = createQueue({ laurel })
      await queue.add({ userId: "crash", action: "TAP" })`,
    )
    await reply
    expect(await xpOf("crash")).toBe(1)
    const next = await sameApp(page)
    expect(await runIn(next, app(), stored)).toBe(1)
    const crashed = page.waitForEvent("crash")
    page.goto("chrome://crash").catch(() => {})
    await crashed
    await runIn(next, app(), "await createQueue({ laurel }).flush()")
    expect(await xpOf("crash")).toBe(1)
    expect(await runIn(next, app(), stored)).toBe(0)
  })

  it("sends the events that an earlier version of the client stored", async () => {
    const page = await openApp(tabs, { url: server.url })
    const left = await runIn(
      page,
      app(),
      `
      const request = indexedDB.open("laurel-queue:laurel", 1)
      request.onupgradeneeded = () => {
        request.result.createObjectStore("events", { autoIncrement: true, keyPath: "key" })
      }
      const database = await new Promise((done) => { request.onsuccess = () => done(request.result) })
      const transaction = database.transaction("events", "readwrite")
      const event = { occurredAt: new Date().toISOString(), userId: "earlier", action: "TAP", id: "earlier-1" }
      transaction.objectStore("events").add({ event })
      await new Promise((done) => { transaction.oncomplete = done })
      await createQueue({ laurel }).flush()
      const count = database.transaction("events").objectStore("events").count()
      return new Promise((done) => { count.onsuccess = () => done(count.result) })`,
    )
    expect([await xpOf("earlier"), left]).toEqual([1, 0])
  })

  it("sends by itself once there is a network again", async () => {
    const page = await openApp(tabs, { url: server.url, connectionsFail: true })
    const context = page.context()
    await context.setOffline(true)
    await runIn(
      page,
      app(),
      `
      globalThis.queue = createQueue({ laurel })
      await queue.add({ userId: "offline", action: "TAP" })
      await queue.flush().catch(() => {})`,
    )
    expect(await runIn(page, app(), stored)).toBe(1)
    const sent = context.waitForEvent("requestfinished", (request) =>
      request.url().endsWith("/batch"),
    )
    await context.setOffline(false)
    await sent
    expect(await xpOf("offline")).toBe(1)
  })

  it("says where the storage cannot be used, and works again once it can", async () => {
    const page = await openApp(tabs, { url: server.url })
    const outcome = await runIn(
      page,
      app(),
      `
      const open = indexedDB.open
      IDBFactory.prototype.open = () => { throw new DOMException("No storage", "UnknownError") }
      const queue = createQueue({ laurel })
      const event = { userId: "storage", action: "TAP" }
      const nameOf = (error) => error.name
      const refused = [await queue.add(event).catch(nameOf), await queue.flush().catch(nameOf)]
      IDBFactory.prototype.open = open
      await queue.add(event)
      await queue.flush()
      return refused`,
    )
    expect(outcome).toEqual(["UnknownError", "UnknownError"])
    expect(await xpOf("storage")).toBe(1)
  })

  it("keeps at most its number of events", async () => {
    const page = await openApp(tabs, { url: server.url })
    const outcome = await runIn(
      page,
      app(),
      `
      const queue = createQueue({ laurel: { events: { trackBatch: () => new Promise(() => {}) } } })
      await queue.add({ userId: "many", action: "TAP" })
      const request = indexedDB.open("laurel-queue:laurel")
      const database = await new Promise((done) => { request.onsuccess = () => done(request.result) })
      const transaction = database.transaction("events", "readwrite")
      for (let n = 2; n < 10_000; n++) transaction.objectStore("events").add({ event: {} })
      await new Promise((done) => { transaction.oncomplete = done })
      await queue.add({ userId: "many", action: "TAP" })
      return queue.add({ userId: "many", action: "TAP" }).catch((error) => error.name)`,
    )
    expect(outcome).toBe("QuotaExceededError")
  })
})
