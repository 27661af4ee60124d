/**
 * Writes a PNG of each page of the dashboard at three widths, light and dark, with a school's
 * data: `npm run screenshots -- FOLDER`, and after it parts of the paths that are wanted.
 */
import { mkdir } from "node:fs/promises"
import path from "node:path"
import type { Browser as Chromium } from "playwright-core"
import { routes } from "../../../src/dashboard/Dashboard.ts"
import { environmentPath } from "../../../src/dashboard/request/Route.ts"
import { dashboardPrefix } from "../../../src/dashboard/view/Assets.ts"
import { capture } from "./capture.ts"
import { findChromium, launch } from "./chromium.ts"
import { localhostOf } from "./localhost.ts"
import { ask, type Sample, samplePath, startSample } from "./sample.ts"
import { fillSchool, setWebhooks } from "./school.ts"

const windows = [
  { width: 375, height: 812 },
  { width: 1280, height: 800 },
  { width: 1920, height: 1080 },
]
const fileName = (address: string): string =>
  address
    .slice(dashboardPrefix.length + 1)
    .replace(/\b(?:\w{3}_)[0-9a-z_]+/g, "one")
    .replaceAll("/", "-") || "home"

const shoot = async (
  browser: Chromium,
  sample: Sample,
  address: string,
  signedIn: boolean,
  folder: string,
): Promise<void> => {
  const url = localhostOf(sample.server.url)
  for (const viewport of windows) {
    for (const colorScheme of ["light", "dark"] as const) {
      const context = await browser.newContext({ baseURL: url, viewport, colorScheme })
      if (signedIn) {
        const cookies = [...sample.owner.cookies].map(([name, value]) => ({ name, value, url }))
        await context.addCookies(cookies)
      }
      const page = await context.newPage()
      await page.goto(address)
      if (address.endsWith("/live")) {
        await page.getByRole("status").filter({ hasText: "Connected." }).waitFor()
        const event = { userId: "pupil-1", action: "LESSON_DONE", metadata: { score: 93 } }
        for (let sent = 0; sent < 3; sent++) {
          await ask(sample.server.url, sample.key, "POST", "/events", event)
        }
        await page.getByText("event.tracked").nth(3).waitFor()
      }
      const file = `${fileName(address)}-${viewport.width}-${colorScheme}.png`
      // Live has up to 200 rows.
      const fullPage = !address.endsWith("/live")
      await capture(page, { path: path.join(folder, file), fullPage })
      await context.close()
    }
  }
}

const [folder, ...wanted] = process.argv.slice(2)
if (folder === undefined) throw new Error("Give a folder: npm run screenshots -- FOLDER")
await mkdir(folder, { recursive: true })
const browser = await launch(await findChromium(process.env))
const sample = await startSample()
try {
  await fillSchool(sample, { longNames: true })
  for (const route of routes) {
    const address = route.method === "GET" ? samplePath(route, sample.params) : undefined
    if (address === undefined) continue
    const isWanted =
      wanted.length === 0 ||
      wanted.some(
        (part) => address.includes(part) || (part === "overview" && route.path === environmentPath),
      )
    const isFile = /\/(stream|export|\w+\.csv)$/.test(address)
    if (!isWanted || isFile) continue
    const isOverview = route.path === environmentPath
    if (isOverview) await setWebhooks(sample, "disabled")
    await shoot(browser, sample, dashboardPrefix + address, route.access !== "anyone", folder)
    if (isOverview) await setWebhooks(sample, "enabled")
  }
} finally {
  await browser.close()
  await sample.server.stop()
}
