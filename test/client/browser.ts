/** Pages that use the client's package in a real browser, on the address of a server. */
import type { Page } from "playwright-core"
import { bundle, type Entry, entries } from "../../src/client/build/entries.ts"
import { localhostOf } from "../dashboard/browser/localhost.ts"
import type { TabOptions, Tabs } from "../dashboard/browser/tabs.ts"

let modules: Promise<ReadonlyMap<string, string>> | undefined
/** The text of each module of the package, by the name of its file. */
export const builtModules = (): Promise<ReadonlyMap<string, string>> => {
  modules ??= bundle(Object.keys(entries) as Array<Entry>).then(
    (chunks) => new Map(chunks.map(({ code, fileName }) => [fileName, code])),
  )
  return modules
}

export interface Script {
  readonly url: string
  readonly key: string
}

/** A page `/app` with `body`, and the modules of the package under `/client/`. */
export const openApp = async (tabs: Tabs, options: TabOptions, body = ""): Promise<Page> => {
  const page = await tabs.open(options)
  await serveApp(page, body)
  await page.goto("/app")
  return page
}

const serveApp = async (page: Page, body: string): Promise<void> => {
  const files = await builtModules()
  await page.context().route("**/client/*.js", (route) => {
    const name = new URL(route.request().url()).pathname.slice("/client/".length)
    return route.fulfill({ contentType: "text/javascript", body: files.get(name)! })
  })
  const html = `<!doctype html><html lang="en"><title>App</title><link rel="icon" href="data:,"><main>${body}</main>`
  await page
    .context()
    .route("**/app", (route) => route.fulfill({ contentType: "text/html", body: html }))
}

/** Another tab of the same app. */
export const sameApp = async (page: Page): Promise<Page> => {
  const other = await page.context().newPage()
  await other.goto("/app")
  return other
}

/** Runs `body` in the page, with `laurel` and what `modules` export. */
export const runIn = <T>(page: Page, server: Script, body: string): Promise<T> => {
  const { key, url } = server
  return page.evaluate<T>(`(async () => {
    const { createLaurel } = await import("/client/index.js")
    const { createQueue } = await import("/client/queue.js")
    const laurel = createLaurel(${JSON.stringify({ url: localhostOf(url), key, retries: 0 })})
    ${body}
  })()`)
}
