/**
 * Renews the pictures of the documentation, in `.github`: `npm run pictures`, and after it
 * `-- dashboard` or `-- elements` for a part of them.
 */
import path from "node:path"
import type { Browser as Chromium, Page } from "playwright-core"
import { openGallery } from "../../../src/client/build/gallery.ts"
import { dashboardPrefix } from "../../../src/dashboard/view/Assets.ts"
import { capture } from "./capture.ts"
import { findChromium, launch } from "./chromium.ts"
import { localhostOf } from "./localhost.ts"
import { ask, type Sample, startSample } from "./sample.ts"
import { fillSchool, setWebhooks } from "./school.ts"

const folder = path.resolve(import.meta.dirname, "../../../.github")
const base = `${dashboardPrefix}/shop/sandbox`

const save = (page: Page, name: string) => capture(page, { path: path.join(folder, name) })

const openPage = async (
  browser: Chromium,
  { owner, server }: Sample,
  address: string,
  viewport: { readonly width: number; readonly height: number },
): Promise<Page> => {
  const url = localhostOf(server.url)
  const context = await browser.newContext({ baseURL: url, viewport, colorScheme: "light" })
  await context.addCookies([...owner.cookies].map(([name, value]) => ({ name, value, url })))
  const page = await context.newPage()
  await page.goto(address)
  return page
}

const dashboardPictures = async (browser: Chromium): Promise<void> => {
  const sample = await startSample({ longNames: false })
  try {
    await fillSchool(sample, { longNames: false })
    const account = { email: "ada@example.com", name: "Ada Lovelace" }
    await sample.owner.post(`${dashboardPrefix}/account/profile`, account)
    await setWebhooks(sample, "disabled")
    const wide = { width: 1280, height: 840 }
    await save(await openPage(browser, sample, base, wide), "dashboard.png")
    const user = await openPage(browser, sample, `${base}/users/ada`, wide)
    await save(user, "dashboard-user.png")
    const rule = `${base}/rules/${sample.params.rule}`
    await save(await openPage(browser, sample, rule, wide), "dashboard-rule.png")
    const live = await openPage(browser, sample, `${base}/live`, { width: 390, height: 700 })
    await live.getByRole("status").filter({ hasText: "Connected." }).waitFor()
    for (let pupil = 1; pupil <= 6; pupil++) {
      const event = { userId: `pupil-${pupil}`, action: "LESSON_DONE", metadata: { score: 93 } }
      await ask(sample.server.url, sample.key, "POST", "/events", event)
    }
    await live.getByText("event.tracked").nth(6).waitFor()
    await save(live, "dashboard-live.png")
  } finally {
    await sample.server.stop()
  }
}

const galleryPictures = async (browser: Chromium): Promise<void> => {
  const gallery = await openGallery()
  try {
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme })
      await page.goto(gallery.url)
      await page.getByRole("table", { name: "Leaderboard" }).getByText("Cl\u00e9o").waitFor()
      await page.getByRole("img", { name: /^Ada, .* longest streak/ }).waitFor()
      for (const text of ["380 XP to level 7", "Ambassador", "lessons 6 / 20", "Golden frame"]) {
        await page.getByText(text).waitFor()
      }
      const name = colorScheme === "dark" ? "elements-dark.png" : "elements.png"
      await capture(page, { path: path.join(folder, name), fullPage: true })
    }
  } finally {
    await gallery.close()
  }
}

const [part] = process.argv.slice(2)
const browser = await launch(await findChromium(process.env))
try {
  if (part !== "elements") await dashboardPictures(browser)
  if (part !== "dashboard") await galleryPictures(browser)
} finally {
  await browser.close()
}
