/** The hooks for React: rendered on a server, and in a real browser on the real server. */
import { join } from "node:path"
import type { Page } from "playwright-core"
import { rolldown } from "rolldown"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createLaurel } from "../../src/client/index.ts"
import { localhostOf } from "../dashboard/browser/localhost.ts"
import { useTabs } from "../dashboard/browser/tabs.ts"
import { fullKey, startServer, type TestServer } from "../http/fixture.ts"
import { openApp } from "./browser.ts"

const folder = join(import.meta.dirname, "react")
const tabs = useTabs()
let server: TestServer
let script: string
let app: ReactServer

interface Props {
  readonly user: string
  readonly initial?: unknown
}

/**
 * The exports of `react/server.ts`. The types of React declare parts of the DOM, which these tests
 * do not have: `tsc -p test/client/react` checks that folder.
 */
interface ReactServer {
  readonly rendered: (props: Props) => string
  readonly renderedAlone: () => string
}

const appScript = async (): Promise<string> => {
  const bundled = await rolldown({
    input: join(folder, "app.ts"),
    platform: "browser",
    transform: { define: { "process.env.NODE_ENV": '"development"' } },
  })
  const { output } = await bundled.generate({ format: "esm", codeSplitting: false })
  await bundled.close()
  return output[0].code
}

const track = (userId: string) =>
  server.call("POST", "/v1/events", { body: { userId, action: "TAP" } })

const progressOf = (user: string) =>
  createLaurel({ url: server.url, key: fullKey }).users.progress(user)

beforeAll(async () => {
  server = await startServer()
  await server.call("POST", "/v1/rules", { body: { action: "TAP", reward: { xp: 60 } } })
  const board = { key: "tappers", name: "Tappers", score: { currency: "xp" } }
  expect((await server.call("POST", "/v1/leaderboards", { body: board })).status).toBe(201)
  const pin = { key: "pin", name: "Pin", price: { points: 4 } }
  expect((await server.call("POST", "/v1/items", { body: pin })).status).toBe(201)
  const criteria = { kind: "action_count", action: "TAP", target: 2 }
  await server.call("POST", "/v1/badges", { body: { name: "Twice", criteria } })
  const taps = { key: "taps", name: "Taps", score: { currency: "xp" }, target: 900 }
  expect((await server.call("POST", "/v1/goals", { body: taps })).status).toBe(201)
  const daily = { key: "daily", name: "Daily", needs: [{ action: "TAP" }] }
  expect((await server.call("POST", "/v1/streaks", { body: daily })).status).toBe(201)
  const league = {
    key: "league",
    name: "League",
    score: { currency: "xp" },
    divisions: [
      { key: "bronze", name: "Bronze", promote: 1, demote: 0 },
      { key: "silver", name: "Silver", promote: 0, demote: 1 },
    ],
  }
  expect((await server.call("POST", "/v1/leagues", { body: league })).status).toBe(201)
  script = await appScript()
  app = (await import(join(folder, "server.ts"))) as ReactServer
})
afterAll(() => server.stop())

/** A page with what the server rendered, and the app on it. Collects the requests to the API. */
const openRendered = async (
  props: Props,
  statuses: ReadonlyArray<number> = [],
  key = fullKey,
): Promise<{
  readonly page: Page
  readonly requests: ReadonlyArray<string>
  readonly answered: ReadonlyArray<string>
}> => {
  const page = await openApp(tabs, { url: server.url, statuses }, app.rendered(props))
  const [requests, answered]: [Array<string>, Array<string>] = [[], []]
  const note = (list: Array<string>, url: string) => {
    const { pathname } = new URL(url)
    if (pathname.startsWith("/v1/")) list.push(pathname)
  }
  page.on("request", (request) => note(requests, request.url()))
  page.on("response", (response) => note(answered, response.url()))
  await page.route("**/app.js", (route) =>
    route.fulfill({ contentType: "text/javascript", body: script }),
  )
  await page.evaluate(`(async () => {
    const { hydrate, show } = await import("/app.js")
    const { createLaurel } = await import("/client/index.js")
    const client = createLaurel(${JSON.stringify({ url: localhostOf(server.url), key, retries: 0 })})
    const root = hydrate(document.querySelector("main"), { ...${JSON.stringify(props)}, client })
    globalThis.show = (user) => show(root, { user, client })
    globalThis.leave = () => root.unmount()
  })()`)
  return { page, requests, answered }
}

describe("The hooks", () => {
  it("render the initial data on a server, and send no request there", async () => {
    await track("rendered")
    const html = app.rendered({ user: "rendered", initial: await progressOf("rendered") })
    expect(html).toContain("Level 1, 60 xp")
    expect(html).toContain('<laurel-badges user="rendered" refresh-seconds="0"></laurel-badges>')
    expect(app.rendered({ user: "rendered" })).toContain("Wait")
    expect(app.rendered({ user: "rendered", initial: null })).toContain("Nothing yet")
  })

  it("give their client to the components of the elements, with their words", async () => {
    await track("tim")
    const { page } = await openRendered({ user: "tim" })
    const list = page.getByRole("list", { name: "Your badges" })
    await list.getByText("1 / 2").waitFor()
    await page
      .getByTitle("Year")
      .getByText(/^1 events, rank \d$/)
      .waitFor()
    await track("tim")
    await page.evaluate(`document.querySelector("laurel-badges").refresh()`)
    await list.getByText("Twice · earned").waitFor()
  })

  it("buy an item, and leave the purchase of the element to the page", async () => {
    const reward = { type: "points", amount: 9 }
    await server.call("POST", "/v1/users/tim/rewards", { body: reward })
    const { page } = await openRendered({ user: "tim" })
    const hook = page.getByTitle("Buy")
    await hook.filter({ hasText: "Bought 0" }).click()
    await hook.filter({ hasText: "Bought 1" }).waitFor()
    await page.getByRole("button", { name: "Buy for 4 points" }).click()
    await expect.poll(() => page.title()).toBe("Asked for pin")
    await page.getByText("You have 5 points").waitFor()
    const { json } = await server.call("GET", "/v1/users/tim/purchases")
    expect(json.purchases.length).toBe(1)
  })

  it("give a goal, a streak and the cohort of a league, and null where there is none", async () => {
    await track("lin")
    const { page } = await openRendered({ user: "lin" }, [404])
    const season = page.getByTitle("Season")
    await season.getByText(/^\[60,"none",1,\[.*\d lin"/).waitFor()
    await page.evaluate(`show("nobody")`)
    await season.getByText(/^\[null,"none",null,null\]$/).waitFor()
  })

  it("say so when there is no provider", () => {
    expect(() => app.renderedAlone()).toThrow("There is no LaurelProvider")
  })

  it("take over a rendered page, follow the user live, and share a stream", async () => {
    await track("ada")
    const { answered, page, requests } = await openRendered({
      user: "ada",
      initial: await progressOf("ada"),
    })
    const levels = page.getByRole("status").filter({ hasText: /Level/ })
    await page.getByRole("listitem").filter({ hasText: "ada" }).waitFor()
    // One stream for both levels, and one for the news.
    const streams = (paths: ReadonlyArray<string>) => paths.filter((path) => path === "/v1/stream")
    await expect.poll(() => streams(answered).length).toBe(2)
    await track("ada")
    await levels.filter({ hasText: "Level 2, 120 xp" }).nth(1).waitFor()
    await page.getByText("badge.earned").waitFor()
    expect(requests.filter((path) => path === "/v1/users/ada").length).toBe(1)
    expect(streams(requests).length).toBe(2)
  })

  it("show another user, read again when asked, and ask no more once they left the page", async () => {
    await track("grace")
    const { page, requests } = await openRendered({ user: "nobody-yet" }, [404])
    await page.getByText("Nothing yet").nth(1).waitFor()
    await page.evaluate(`show("grace")`)
    await page.getByText("Level 1, 60 xp").nth(1).waitFor()
    await track("newcomer")
    await page.getByRole("button", { name: "Board of grace" }).click()
    await page.getByRole("listitem").filter({ hasText: "newcomer" }).waitFor()
    await page.evaluate("leave()")
    const before = requests.length
    await track("grace")
    expect(requests.length).toBe(before)
    expect(await page.locator("main").innerText()).toBe("")
  })

  it("give the code of a refusal", async () => {
    const { page } = await openRendered({ user: "ada" }, [401], "lk_test_wrong")
    await page.getByText("unauthorized").nth(1).waitFor()
  })
})
