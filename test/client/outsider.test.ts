/**
 * An app that nobody here serves: a page on an origin of its own with a back end of a few lines, in a real browser, on the
 * real server.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, it, onTestFinished } from "vitest"
import { localhostOf } from "../dashboard/browser/localhost.ts"
import { useTabs } from "../dashboard/browser/tabs.ts"
import { createKey, Server, temporaryFolder } from "../e2e/program.ts"
import { builtModules } from "./browser.ts"

const tabs = useTabs()

/** Serves one page and the client's modules, and gives the user who is signed in a token. Resolves with its origin. */
const startBackend = async (
  page: () => string,
  token: () => Promise<Response>,
): Promise<string> => {
  const modules = await builtModules()
  const backend = createServer(async ({ url = "/" }, response) => {
    const isModule = url.startsWith("/client/")
    response.setHeader("content-type", isModule ? "text/javascript" : "text/html")
    if (isModule) return response.end(modules.get(url.slice("/client/".length)))
    if (url !== "/laurel-token") return response.end(page())
    response.end(((await (await token()).json()) as { readonly token: string }).token)
  })
  backend.listen(0, "127.0.0.1")
  await once(backend, "listening")
  onTestFinished(() => {
    backend.closeAllConnections()
    backend.close()
  })
  return `http://localhost:${(backend.address() as AddressInfo).port}`
}

it("shows its user's level and board live, and a page elsewhere nothing", async () => {
  const folder = await temporaryFolder()
  const secret = await createKey(folder)
  let server: Server | undefined
  let boardKey = ""
  const page =
    (): string => `<!doctype html><html lang="en"><title>School</title><link rel="icon" href="data:,">
    <main><h1>School</h1><p id="level"></p>
    <laurel-leaderboard url="${localhostOf(server!.url)}" key="${boardKey}" label="All time"></laurel-leaderboard></main>
    <script type="module">
      import { createLaurel } from "/client/index.js"
      import "/client/elements.js"
      const board = document.querySelector("laurel-leaderboard")
      board.addEventListener("laurel-error", ({ detail }) => (document.title = detail.code))
      const key = async () => (await fetch("/laurel-token")).text()
      const laurel = createLaurel({ url: "${localhostOf(server!.url)}", key })
      const show = async () => {
        const { level, xp } = await laurel.users.get("ada")
        document.querySelector("#level").textContent = "Level " + level + ", " + xp + " xp"
        await board.refresh()
      }
      await show()
      for await (const _message of laurel.stream({ onState: ({ kind }) => (document.body.dataset.state = kind) })) await show()
    </script>`
  const token = () =>
    fetch(`${server!.url}/v1/users/ada/tokens`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret.key}`, "content-type": "application/json" },
      body: "{}",
    })
  const origin = await startBackend(page, token)
  const elsewhere = await startBackend(page, token)
  const published = await createKey(folder, "--kind", "publishable", "--origin", origin)
  boardKey = published.key
  server = await Server.start(folder)
  const send = (method: string, path: string, body: unknown) =>
    server!.request(secret.key, method, path, body)
  const rule = { action: "LESSON_DONE", reward: { xp: 60 } }
  expect((await send("POST", "/v1/rules", rule)).status).toBe(201)
  const learn = (userId: string) => send("POST", "/v1/events", { userId, action: "LESSON_DONE" })
  for (const userId of ["grace", "grace", "ada"]) await learn(userId)

  const app = await tabs.open({ url: origin })
  await app.goto("/")
  await app.getByText("Level 1, 60 xp").waitFor()
  const rows = app.getByRole("table", { name: "All time" }).getByRole("row")
  await rows.nth(2).waitFor()
  expect(await rows.allInnerTexts()).toEqual([
    "Rank\tName\tLevel\tXP",
    "1\tgrace\t2\t120",
    "2\tada\t1\t60",
  ])
  await app.locator("body[data-state=open]").waitFor()
  await learn("ada")
  await learn("ada")
  await app.getByText("Level 2, 180 xp").waitFor()
  await app.getByRole("row", { name: "1 ada 2 180" }).waitFor()

  const other = await tabs.open({ url: elsewhere, statuses: [403] })
  await other.goto("/")
  await other.waitForFunction(`document.title === "origin_not_allowed"`)
  await other.getByText("Cannot be shown now").waitFor()
})
