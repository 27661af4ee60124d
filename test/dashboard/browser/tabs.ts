/**
 * Tabs of a real browser. A file of tests has one browser, a tab has a profile of its own. A test fails on everything that
 * its tabs report: errors of scripts, of the console, of the content security policy.
 */
import { type BrowserContext, type Browser as Chromium, chromium, type Page } from "playwright-core"
import { afterAll, beforeAll, expect, inject, onTestFinished } from "vitest"
import type { Browser } from "../fixture.ts"

export interface TabOptions {
  /** The server's address, under the name `localhost`. */
  readonly url: string
  /** Whose cookies it begins with. */
  readonly cookiesOf?: Browser
  /** Replies of 400 and above that the test expects; a browser reports each. */
  readonly statuses?: ReadonlyArray<number>
  /** Connections may fail, since the test ends the server. */
  readonly connectionsFail?: boolean
  readonly javaScriptEnabled?: boolean
}

export interface Tabs {
  readonly open: (options: TabOptions) => Promise<Page>
}

/** The server's address as a browser should ask for it. */
export const localhostOf = (url: string): string => url.replace("//127.0.0.1:", "//localhost:")

/** Starts the browser of a file of tests. */
export const useTabs = (): Tabs => {
  let browser: Chromium | undefined
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())
  return { open: (options) => openTab(browser!, options) }
}

export const launch = async (found = inject("chromium")): Promise<Chromium> => {
  if ("missing" in found) throw new Error(found.missing)
  const { env, executablePath } = found
  return chromium.launch({
    executablePath,
    env: { ...(process.env as Record<string, string>), ...env },
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  })
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
  context.setDefaultTimeout(20_000)
  const faults = collectFaults(context, (text) => {
    const [, status] = /server responded with a status of (\d+)/.exec(text) ?? []
    if (status !== undefined) return statuses.includes(Number(status))
    return connectionsFail && /net::ERR_(CONNECTION|INCOMPLETE|EMPTY|NETWORK)/.test(text)
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
