/**
 * Each page of the dashboard in a real browser. The list of routes names the pages, so new ones are
 * covered.
 */
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { routes } from "../../../src/dashboard/Dashboard.ts"
import type { Route } from "../../../src/dashboard/request/Route.ts"
import { dashboardPrefix } from "../../../src/dashboard/view/Assets.ts"
import { accessibilityFaults } from "./axe.ts"
import { localhostOf } from "./localhost.ts"
import { type Sample, samplePath, startSample } from "./sample.ts"
import { useTabs } from "./tabs.ts"

const tabs = useTabs()
let sample: Sample

beforeAll(async () => {
  sample = await startSample()
})
afterAll(() => sample.server.stop())

/** Whether the address answers an owner with a page; others answer with a file or a stream. */
const isPage = async (path: string): Promise<boolean> => {
  const { owner, server } = sample
  const cookie = [...owner.cookies].map(([name, text]) => `${name}=${text}`).join("; ")
  const left = new AbortController()
  const { headers, status } = await fetch(`${localhostOf(server.url)}${path}`, {
    headers: { cookie, "sec-fetch-site": "same-origin" },
    signal: left.signal,
  })
  left.abort()
  expect({ path, status }).toEqual({ path, status: 200 })
  const isFile = headers.get("content-disposition")?.startsWith("attachment") === true
  return !isFile && headers.get("content-type")!.startsWith("text/html")
}

/** Buttons that open a dialog, one for each text. */
const openers = async (page: Page): Promise<ReadonlyArray<string>> => {
  const ids = await page
    .locator("button[command=show-modal]")
    .evaluateAll((buttons) =>
      buttons.map((button) => [button.textContent, button.getAttribute("commandfor")] as const),
    )
  return [...new Map(ids.toReversed()).values()].map((id) => id!)
}

/** The number of pages of a test, which share a tab. */
const groupSize = 6

const wide = { width: 1280, height: 800 }
const widest = { width: 1920, height: 1080 }
const narrow = { width: 390, height: 844 }

/** The pixels by which the page is wider than the window. */
const overhang = (page: Page): Promise<number> =>
  page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

/** Tables that hide columns at the right, and buttons whose text is larger than they are. */
const hiddenParts = (page: Page): Promise<ReadonlyArray<string>> =>
  page
    .locator(".scroll, button:visible:not(.first)")
    .evaluateAll((parts) =>
      parts
        .filter(
          ({ clientHeight, clientWidth, scrollHeight, scrollWidth }) =>
            scrollWidth > clientWidth || scrollHeight > clientHeight,
        )
        .map((part) => part.getAttribute("aria-label") ?? part.textContent),
    )

/** Opens a dialog by keyboard and leaves it by Escape. Returns its faults. */
const faultsOfDialog = async (page: Page, id: string): Promise<ReadonlyArray<string>> => {
  const opener = page.locator(`button[commandfor="${id}"][command=show-modal]`)
  await opener.focus()
  await page.keyboard.press("Enter")
  const dialog = page.locator(`dialog[id="${id}"]`)
  await dialog.waitFor()
  const faults = [...(await accessibilityFaults(page, `dialog[id="${id}"]`))]
  const harmless = dialog.locator(":focus:not(.danger, .main)")
  if ((await harmless.count()) === 0) faults.push("the focus is on nothing harmless")
  await page.keyboard.press("Escape")
  await dialog.waitFor({ state: "hidden" })
  const returned = await opener.evaluate((element) => element.matches(":focus"))
  if (!returned) faults.push("the focus does not return to the button that opened it")
  return faults.map((fault) => `dialog ${id}: ${fault}`)
}

/**
 * The faults of a page. The side column is much the same on all pages, so `whole` includes it for
 * one page of a group.
 */
const faultsOfPage = async (
  page: Page,
  path: string,
  whole: boolean,
): Promise<ReadonlyArray<string>> => {
  await page.setViewportSize(wide)
  await page.goto(path)
  await page.locator("details").evaluateAll((all) => {
    for (const details of all) details.setAttribute("open", "")
  })
  const part = whole ? "html" : { exclude: [".side"] }
  const faults = [...(await accessibilityFaults(page, part))]
  for (const viewport of [widest, wide]) {
    await page.setViewportSize(viewport)
    const parts = await hiddenParts(page)
    faults.push(...parts.map((part) => `at ${viewport.width} pixels a part of ${part} is hidden`))
  }
  for (const id of await openers(page)) faults.push(...(await faultsOfDialog(page, id)))
  await page.setViewportSize(narrow)
  const pixels = await overhang(page)
  if (pixels > 0) faults.push(`${pixels} pixels wider than a window of ${narrow.width}`)
  return faults.map((fault) => `${path}: ${fault}`)
}

describe("In a browser", () => {
  const pathOf = (route: Route) => dashboardPrefix + samplePath(route, sample.params)
  const getRoutes = routes.filter(({ method }) => method === "GET")

  /** The faults of those pages, all in one tab. */
  const faultsOf = async (these: ReadonlyArray<Route>, signedIn: boolean) => {
    const { owner, server } = sample
    const page = await tabs.open({ url: server.url, ...(signedIn && { cookiesOf: owner }) })
    const faults: Array<string> = []
    for (const [index, path] of these.map(pathOf).entries()) {
      if (await isPage(path)) faults.push(...(await faultsOfPage(page, path, index === 0)))
    }
    return faults
  }

  const signedIn = getRoutes.filter(({ access }) => access !== "anyone")
  const groups = Array.from({ length: Math.ceil(signedIn.length / groupSize) }, (_, index) =>
    signedIn.slice(index * groupSize, (index + 1) * groupSize),
  )

  it.each(groups.map((group) => [group[0]!.path, group] as const))(
    "each page from %j on, with each of its dialogs, is accessible in light and dark, and fits wide and narrow windows",
    async (_, group) => {
      expect(await faultsOf(group, true)).toEqual([])
    },
  )

  it("each page for people who are signed out is accessible in light and dark, and fits wide and narrow windows", async () => {
    const signedOut = getRoutes.filter(({ access }) => access === "anyone")
    expect(await faultsOf(signedOut, false)).toEqual([])
  })

  it("most addresses answer with a page, the others with a file or a stream", async () => {
    const are = await Promise.all(getRoutes.map((route) => isPage(pathOf(route))))
    expect(are.filter(Boolean).length).toBeGreaterThan(are.length / 2)
  })

  it("the address of each form redirects to a page, for a reload or a copied address", async () => {
    const { owner } = sample
    const pages = new Set(getRoutes.map(({ path }) => path))
    const forms = routes.filter(({ method, path }) => method === "POST" && !pages.has(path))
    expect(forms.length).toBeGreaterThan(20)
    const params = { ...sample.params, passkey: "one", id: "one", role: "one" }
    for (const path of forms.map((route) => dashboardPrefix + samplePath(route, params))) {
      const { location, status } = await owner.get(path)
      const above = location !== null && path.startsWith(location)
      expect([path, status, above]).toEqual([path, 303, true])
      const signedOut = /^\/dashboard\/(join|reset|setup|sign-in)$/.test(location!)
      if (!signedOut)
        expect({ path, status: (await owner.get(location!)).status }).toEqual({ path, status: 200 })
    }
  })

  it("the menu of a narrow screen opens by a key, is accessible, and closes with Escape", async () => {
    const { owner, server } = sample
    const page = await tabs.open({ url: server.url, cookiesOf: owner })
    await page.setViewportSize(narrow)
    await page.goto("/dashboard/shop/sandbox/rules")
    const badges = page.getByRole("link", { name: "Badges", exact: true })
    expect(await badges.isVisible()).toBe(false)
    await page.getByRole("button", { name: "Menu" }).press("Enter")
    await badges.waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.keyboard.press("Escape")
    await badges.waitFor({ state: "hidden" })
    await page.getByRole("button", { name: "Menu" }).press("Enter")
    await badges.click()
    await page.getByRole("heading", { level: 1, name: "Badges" }).waitFor()
  })

  it("a page of production says so in a word, is accessible, and fits a narrow screen", async () => {
    const { owner, server } = sample
    const page = await tabs.open({ url: server.url, cookiesOf: owner })
    await page.setViewportSize(narrow)
    await page.goto("/dashboard/shop/production/keys")
    const badge = page.locator(".place .badge.production")
    expect(await badge.textContent()).toBe("production")
    expect(await accessibilityFaults(page)).toEqual([])
    expect(await overhang(page)).toBe(0)
  })
})
