import { Effect } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { limits } from "../../../src/Limits.ts"
import type { Browser, DashboardServer } from "../fixture.ts"
import { startDashboard } from "../fixture.ts"

const servers: Array<DashboardServer> = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

const start = async (bounds: { readonly streamHeartbeatMs?: number } = {}) => {
  const server = await startDashboard({}, { bounds })
  servers.push(server)
  const wish = { project: "shop", environment: "sandbox", scope: "full" } as const
  const { key } = await Effect.runPromise(server.keys.create(wish))
  const owner = await server.owner()
  const { projects } = await Effect.runPromise(server.engine.readDirectory)
  const [shop] = projects.keys()
  const viewer = await server.joined(owner, "viewer", `viewer ${shop}`)
  const send = (userId = "ada") =>
    fetch(`${server.url}/v1/events`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ userId, action: "A" }),
    })
  return { server, owner, viewer, send, key }
}

/**
 * Opens the stream like a page of the dashboard. Returns the text that it sends until its end, and waits for a part
 * of it.
 */
const open = async (
  server: DashboardServer,
  browser: Browser,
  more: Record<string, string> = {},
) => {
  const cookie = [...browser.cookies].map(([name, text]) => `${name}=${text}`).join("; ")
  const reply = await fetch(`${server.url}/dashboard/shop/sandbox/stream`, {
    headers: { cookie, "sec-fetch-site": "same-origin", ...more },
  })
  expect(reply.headers.get("content-type")).toBe("text/event-stream")
  let received = ""
  const read = async () => {
    const decoder = new TextDecoder()
    for await (const part of reply.body!) received += decoder.decode(part, { stream: true })
    return received
  }
  const has = (words: string) => expect.poll(() => received).toContain(words)
  return { text: read(), has }
}

const accountNamed = async (server: DashboardServer, name: string): Promise<string> => {
  const { accounts } = await Effect.runPromise(server.engine.readDirectory)
  return [...accounts.values()].find((account) => account.name === name)!.id
}

describe("The page Live", () => {
  it("begins with the last messages sent before, without those of an erased user", async () => {
    const { key, send, server, viewer } = await start({ streamHeartbeatMs: 50 })
    await send("before")
    await send("erased-user")
    await fetch(`${server.url}/v1/users/erased-user`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${key}` },
    })
    const page = await viewer.get("/dashboard/shop/sandbox/live")
    const [, after] = /data-after="([^"]+)"/.exec(page.text)!
    const { has, text } = await open(server, viewer, { "last-event-id": after! })
    await send("later")
    await has('"userId":"later"')
    await viewer.post("/dashboard/sign-out")
    const users = [...(await text).matchAll(/"type":"event\.tracked".*"userId":"([^"]+)"/g)]
    expect(users.map(([, user]) => user)).toEqual(["before", "later"])
  })
})

describe("The stream of a page", () => {
  it("ends at its next heartbeat once the session is signed out", async () => {
    const { server, viewer } = await start({ streamHeartbeatMs: 50 })
    const { text } = await open(server, viewer)
    await viewer.post("/dashboard/sign-out")
    expect(await text).toContain("retry:")
  })

  it("ends when the role changes or the account is removed", async () => {
    const { owner, server, viewer } = await start({ streamHeartbeatMs: 50 })
    const { text } = await open(server, viewer)
    const account = await accountNamed(server, "viewer")
    await owner.post(`/dashboard/team/${account}/access`, { role: "owner" })
    await text
    const again = server.browser()
    const password = "correct horse battery"
    await again.post("/dashboard/sign-in", { email: "viewer@example.com", password })
    const second = await open(server, again)
    expect((await owner.post(`/dashboard/team/${account}/remove`)).status).toBe(303)
    await second.text
  })

  it("ends when the project is archived", async () => {
    const { owner, server, viewer } = await start({ streamHeartbeatMs: 50 })
    const { text } = await open(server, viewer)
    const { projects } = await Effect.runPromise(server.engine.readDirectory)
    const [shop] = projects.keys()
    const { status } = await owner.post(`/dashboard/projects/${shop}/archive`, { typed: "shop" })
    expect(status).toBe(303)
    expect(await text).toContain("retry:")
  })

  it("sends no message after the session has ended, heartbeat or not", async () => {
    const { send, server, viewer } = await start({ streamHeartbeatMs: 3_600_000 })
    const before = await open(server, viewer)
    await viewer.post("/dashboard/sign-out")
    await send()
    const text = await before.text
    expect(text).toContain("retry:")
    expect(text).not.toContain("data:")
  })

  it("uses at most the places of its account, and none of the places of API clients", async () => {
    const { key, server, viewer } = await start()
    const streams = []
    for (let count = 0; count < limits.streamsOfAccountMax; count++) {
      streams.push(await open(server, viewer))
    }
    const { status, text } = await viewer.get("/dashboard/shop/sandbox/stream")
    expect(status).toBe(409)
    expect(text).toContain("Close one and try again.")
    const api = await fetch(`${server.url}/v1/stream`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(api.status).toBe(200)
    await api.body!.cancel()
    await viewer.post("/dashboard/sign-out")
  })

  it("is for pages of this server alone", async () => {
    const { viewer } = await start()
    for (const site of ["cross-site", "same-site", "none"]) {
      const path = "/dashboard/shop/sandbox/stream"
      const { status } = await viewer.get(path, { "sec-fetch-site": site })
      expect(status).toBe(403)
    }
    expect((await viewer.get("/dashboard/shop/sandbox/stream", {})).status).toBe(403)
  })
})
