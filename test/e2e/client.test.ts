/** The client while the server is killed: in Node and in a real browser. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as pause } from "node:timers/promises"
import { describe, expect, it, onTestFinished } from "vitest"
import { createLaurel, type Message } from "../../src/client/index.ts"
import { makeQueue } from "../../src/client/queue/EventQueue.ts"
import { textStorage } from "../../src/client/queue/TextStorage.ts"
import { builtModules, openApp, runIn } from "../client/browser.ts"
import { localhostOf } from "../dashboard/browser/localhost.ts"
import { useTabs } from "../dashboard/browser/tabs.ts"
import { patience, Server, temporaryFolder } from "./program.ts"

const tabs = useTabs()
const count = 40

describe("While the server is killed and restarted", patience, () => {
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

describe("An app on another origin", patience, () => {
  it("shows its user's level and the board live, with a token of its own backend", async () => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    const url = localhostOf(server.url)
    const key = await server.firstKey()
    const laurel = createLaurel({ url: server.url, key })
    await laurel.rules.create({ action: "LESSON_DONE", reward: { xp: 60 } })
    await laurel.project.update({ clientActions: ["LESSON_DONE"] })

    const files = await builtModules()
    const page = `<!doctype html><html lang="en"><title>App</title><link rel="icon" href="data:,">
      <laurel-profile user="ada" live></laurel-profile><laurel-leaderboard user="ada" live></laurel-leaderboard>
      <script type="module">
        import { createLaurel } from "/index.js"
        import "/elements.js"
        const key = async () => (await fetch("/token")).text()
        globalThis.laurel = createLaurel({ url: "${url}", key })
        for (const element of document.querySelectorAll("[live]")) element.client = laurel
      </script>`
    const backend = createServer(async ({ url: path = "" }, reply) => {
      const module = files.get(path.slice(1))
      reply.setHeader("content-type", module === undefined ? "text/html" : "text/javascript")
      if (path === "/token") reply.end((await laurel.users.createToken("ada", {})).token)
      else reply.end(module ?? page)
    })
    onTestFinished(() => void backend.close())
    await new Promise<void>((done) => backend.listen(0, "127.0.0.1", done))
    const { port } = backend.address() as AddressInfo

    // The first event creates the user.
    const options = { statuses: [404], connectionsFail: true }
    const tab = await tabs.open({ url: `http://localhost:${port}`, ...options })
    await tab.goto("/")
    await tab.getByText("Nothing yet").first().waitFor()
    const event = `{ userId: "ada", action: "LESSON_DONE" }`
    await tab.evaluate(`laurel.events.track(${event})`)
    await tab.getByText("Level 1 · 60 XP · Rank 1").waitFor()
    await laurel.events.track({ userId: "ada", action: "LESSON_DONE" })
    await tab.getByText("Level 2 · 120 XP · Rank 1").waitFor()
    await tab.getByRole("row", { name: "1 ada 2 120" }).waitFor()
    expect(await server.stop()).toBe(0)
  })
})
