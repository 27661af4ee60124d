/**
 * Tabs of a real browser. A file of tests has one browser, a tab has a profile of its own. A test
 * fails on everything that its tabs report: errors of scripts, of the console, of the content
 * security policy.
 */
import type { BrowserContext, Browser as Chromium, Page } from "playwright-core"
import { afterAll, beforeAll, expect, inject, onTestFinished } from "vitest"
import { waitMs } from "../../waitMs.ts"
import type { Browser } from "../fixture.ts"
import { launch } from "./chromium.ts"
import { localhostOf } from "./localhost.ts"

export interface TabOptions {
  /** The server's address, under the name `localhost`. */
  readonly url: string
  /** The browser whose cookies the tab gets. */
  readonly cookiesOf?: Browser
  /** Expected statuses of 400 and above; a browser reports each as an error. */
  readonly statuses?: ReadonlyArray<number>
  /** Connections may fail, since the test stops the server. */
  readonly connectionsFail?: boolean
  readonly javaScriptEnabled?: boolean
}

export interface Tabs {
  readonly open: (options: TabOptions) => Promise<Page>
}

/** Starts the browser of a file of tests. */
export const useTabs = (): Tabs => {
  let browser: Chromium | undefined
  beforeAll(async () => {
    browser = await launch(inject("chromium"))
  })
  afterAll(() => browser?.close())
  return { open: (options) => openTab(browser!, options) }
}

const openTab = async (browser: Chromium, options: TabOptions): Promise<Page> => {
  const { connectionsFail = false, cookiesOf, javaScriptEnabled = true, statuses = [] } = options
  const url = localhostOf(options.url)
  const context = await browser.newContext({
    baseURL: url,
    javaScriptEnabled,
    locale: "en-GB",
    timezoneId: "UTC",
    reducedMotion: "reduce",
    permissions: ["clipboard-read", "clipboard-write"],
  })
  context.setDefaultTimeout(waitMs)
  const faults = collectFaults(context, (text) => {
    const [, status] = /server responded with a status of (\d+)/.exec(text) ?? []
    if (status !== undefined) return statuses.includes(Number(status))
    return connectionsFail && /net::ERR_(CONNECTION|INCOMPLETE|EMPTY|INTERNET|NETWORK)/.test(text)
  })
  onTestFinished(async () => {
    await context.close()
    expect(faults).toEqual([])
  })
  if (cookiesOf !== undefined) {
    await context.addCookies([...cookiesOf.cookies].map(([name, value]) => ({ name, value, url })))
  }
  return context.newPage()
}

const collectFaults = (
  context: BrowserContext,
  isExpected: (text: string) => boolean,
): ReadonlyArray<string> => {
  const faults: Array<string> = []
  context.on("console", (message) => {
    const text = message.text()
    const isFault = message.type() === "error" || text.includes("Content Security Policy")
    if (isFault && !isExpected(text)) faults.push(`${message.location().url}: ${text}`)
  })
  context.on("weberror", (error) => faults.push(String(error.error())))
  return faults
}
