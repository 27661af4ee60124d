/** A page of another origin in a real browser: what its script may request and read. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { localhostOf } from "../dashboard/browser/localhost.ts"
import { useTabs } from "../dashboard/browser/tabs.ts"
import { startServer, type TestServer } from "./fixture.ts"

const tabs = useTabs()
let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

/** An empty page with an origin of its own. */
const opening = async (statuses: ReadonlyArray<number> = []) => {
  const site = createServer((_, response) => {
    response
      .writeHead(200, { "content-type": "text/html" })
      .end("<!doctype html><title>App</title>")
  })
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", () => resolve()))
  onTestFinished(() => {
    site.closeAllConnections()
    site.close()
  })
  const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const page = await tabs.open({ url, statuses })
  await page.goto("/")
  return { page, origin: localhostOf(url) }
}

interface Seen {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** The reply that a script of the page reads; rejects if the browser hides it. */
const fetching = (page: Page, path: string, init: object): Promise<Seen> =>
  page.evaluate<Seen>(`(async () => {
    const reply = await fetch(${JSON.stringify(server.url + path)}, ${JSON.stringify(init)})
    return { status: reply.status, headers: Object.fromEntries(reply.headers), text: await reply.text() }
  })()`)

describe("The script of a page of another origin", () => {
  it("sends events, reads boards, and sees rate limit and request id", async () => {
    const key = server.accounts.addKey("lk_test_browser", { limit: 100, tier: "free" })
    const { page } = await opening()
    const headers = { authorization: `Bearer ${key}`, traceparent: "00-1-2-01" }
    const sent = await fetching(page, "/v1/events", {
      method: "POST",
      headers: { ...headers, "content-type": "application/json", "idempotency-key": "once" },
      body: JSON.stringify({ userId: "ada", action: "TAP" }),
    })
    expect(sent.status).toBe(200)
    const board = await fetching(page, "/v1/leaderboard", { headers })
    expect([board.status, JSON.parse(board.text).entries]).toEqual([200, []])
    expect(board.headers).toMatchObject({
      "x-request-id": expect.any(String),
      ratelimit: expect.stringContaining('"free";r=98'),
      "x-ratelimit-limit": "100",
    })
    const removed = await fetching(page, "/v1/users/ada", { method: "DELETE", headers })
    expect([removed.status, removed.headers["laurel-erased-by"]]).toEqual([204, expect.any(String)])
  })

  it("can read each problem", async () => {
    const { origin, page } = await opening([400, 401, 403, 404])
    const restrictions = { origins: new Set(["https://app.example"]), addresses: undefined }
    const elsewhere = server.accounts.addKey("lk_pub_test_elsewhere", {
      kind: "publishable",
      restrictions,
    })
    const live = server.accounts.addKey("lk_live_secret", { environmentName: "production" })
    const full = server.accounts.addKey("lk_test_browser_2")
    for (const [key, path, status, code, words] of [
      [elsewhere, "/v1/leaderboard", 403, "origin_not_allowed", origin],
      [live, "/v1/leaderboard", 403, "origin_not_allowed", "publishable key"],
      ["nobody", "/v1/leaderboard", 401, "unauthorized", "not the text of a key"],
      [full, "/v1/users/nobody", 404, "user_not_found", ""],
      [full, "/v1/nothing", 404, "not_found", ""],
      [full, "/v1/stream?userId=", 400, "invalid_request", "userId"],
    ] as const) {
      const seen = await fetching(page, path, { headers: { authorization: `Bearer ${key}` } })
      const problem = JSON.parse(seen.text)
      expect([seen.status, problem.code]).toEqual([status, code])
      expect(problem.detail).toContain(words)
      expect(seen.headers["x-request-id"]).toBe(problem.requestId)
    }
  })

  it("follows the stream of a user", async () => {
    const { page } = await opening()
    const key = server.accounts.addKey("lk_test_browser_3")
    await page.evaluate(`(async () => {
      const open = await fetch(${JSON.stringify(`${server.url}/v1/stream?userId=grace`)}, {
        headers: { authorization: "Bearer ${key}" },
      })
      window.seen = ""
      const decoder = new TextDecoder()
      const reader = open.body.getReader()
      window.first = decoder.decode((await reader.read()).value)
      ;(async () => {
        for (;;) {
          const { done, value } = await reader.read()
          if (done) return
          window.seen += decoder.decode(value)
        }
      })()
    })()`)
    expect(await page.evaluate("window.first")).toMatch(/^: /)
    const body = { userId: "grace", action: "TAP" }
    expect((await server.call("POST", "/v1/events", { key, body })).status).toBe(200)
    await page.waitForFunction(`window.seen.includes('"userId":"grace"')`)
  })
})
