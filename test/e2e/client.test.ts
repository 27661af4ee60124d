/** The client while the server is killed: in Node and in a real browser. `test/client/outsider.test.ts` has an app on another origin. */
import { setTimeout as pause } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import { createLaurel, type Message } from "../../src/client/index.ts"
import { makeQueue } from "../../src/client/queue/EventQueue.ts"
import { textStorage } from "../../src/client/queue/TextStorage.ts"
import { openApp, runIn } from "../client/browser.ts"
import { useTabs } from "../dashboard/browser/tabs.ts"
import { Server, temporaryFolder } from "./program.ts"

const tabs = useTabs()
const count = 40

describe("While the server is killed and restarted", () => {
  it("the stream misses and repeats no message, and the queue counts every event once", async () => {
    const folder = await temporaryFolder()
    const first = await Server.start(folder)
    const { port } = new URL(first.url)
    const key = await first.firstKey()
    const laurel = createLaurel({ url: first.url, key })

    const received: Array<Extract<Message, { type: "event.tracked" }>> = []
    const states: Array<string> = []
    const leaving = new AbortController()
    const opened = Promise.withResolvers<void>()
    const onState = ({ kind }: { readonly kind: string }) => {
      states.push(kind)
      if (kind === "open") opened.resolve()
    }
    const { signal } = leaving
    const streamed = (async () => {
      for await (const message of laurel.stream({ events: "event.tracked", signal, onState })) {
        if (message.type === "event.tracked") received.push(message)
        if (received.length === count) leaving.abort()
      }
    })()
    const page = await openApp(tabs, { url: first.url, connectionsFail: true, statuses: [503] })
    await runIn(
      page,
      { url: first.url, key },
      `globalThis.received = []
      const leaving = new AbortController()
      globalThis.opened = Promise.withResolvers()
      const onState = ({ kind }) => kind === "open" && opened.resolve()
      globalThis.streamed = (async () => {
        for await (const { data } of laurel.stream({ events: "event.tracked", signal: leaving.signal, onState })) {
          received.push(data.userId)
          if (received.length === ${count}) leaving.abort()
        }
      })()`,
    )
    await Promise.all([opened.promise, page.evaluate("opened.promise")])

    const texts = new Map<string, string>()
    const storage = textStorage({
      getItem: (name) => texts.get(name) ?? null,
      setItem: (name, text) => texts.set(name, text),
    })
    const queue = makeQueue(storage, { laurel, name: "kill" })
    const users = Array.from({ length: count }, (_, index) => `user-${index}`)
    const add = (userId: string) => queue.add({ userId, action: "TAP" })
    await Promise.all(users.slice(0, 20).map(add))
    while (received.length < 10) await pause(10)
    const during = users.slice(20).map(add)
    await first.stop("SIGKILL")
    await Promise.all(during)
    const second = await Server.start(folder, { LAUREL_PORT: port })

    await Promise.all([streamed, page.evaluate("streamed")])
    queue.close()
    expect(received.map(({ data }) => data.userId)).toEqual(users)
    expect(await page.evaluate("received")).toEqual(users)
    expect(new Set(received.map(({ id }) => id)).size).toBe(count)
    expect(states.filter((kind) => kind === "open").length).toBeGreaterThan(1)
    expect((await laurel.users.list({ limit: 1 })).total).toBe(count)
    expect(await second.stop()).toBe(0)
  })
})
