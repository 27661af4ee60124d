/** Takes pictures of pages. */
import type { Page } from "playwright-core"

/** Chromium refuses a capture whose frame was replaced meanwhile, such as on a machine under load. */
const isRefused = (error: unknown): boolean => /Unable to capture screenshot/.test(String(error))
const capturesMax = 5

/** Resolves once the browser has drawn the page as it is now. */
const drawn = (page: Page) =>
  page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

/** Writes a picture of the page; asks again if the browser refuses, since that is no fault of the page. */
export const capture = async (
  page: Page,
  options: { readonly path: string; readonly fullPage?: boolean },
): Promise<void> => {
  for (let refused = 0; ; refused++) {
    await drawn(page)
    try {
      await page.screenshot(options)
      return
    } catch (error) {
      if (!isRefused(error) || refused === capturesMax) throw error
    }
  }
}
