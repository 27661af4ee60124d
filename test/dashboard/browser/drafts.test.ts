/** The form of each kind of definition keeps typed texts: over Back, a row, a try, and a sign-in. */
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { plurals } from "../../../src/domain/project/Kinds.ts"
import { password } from "../fixture.ts"
import { startWorld, type World } from "../pages/definitions/world.ts"
import { useTabs } from "./tabs.ts"

const tabs = useTabs()
const base = "/dashboard/shop/sandbox"
const kinds = Object.values(plurals)

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.server.stop())

const isReady = (page: Page) => page.locator("main h1").waitFor()

/** Types into every text field of the form, and returns the texts. */
const typeAll = async (page: Page, mark: string): Promise<ReadonlyMap<string, string>> => {
  const typed = new Map<string, string>()
  const fields = page.locator(
    "main form[method=post] :is(input[type=text], textarea, input:not([type]))[name]:visible",
  )
  for (const field of await fields.all()) {
    const name = (await field.getAttribute("name"))!
    await field.fill(`${mark} ${name}`)
    typed.set(name, `${mark} ${name}`)
  }
  for (const day of await page.locator("main form[method=post] input[type=date]").all()) {
    await day.fill("2026-12-24")
    typed.set((await day.getAttribute("name"))!, "2026-12-24")
  }
  // The last field has its change only once it loses the focus.
  await page.locator("h1").click()
  return typed
}

const textsOf = async (page: Page, names: Iterable<string>): Promise<Map<string, string>> => {
  const texts = new Map<string, string>()
  for (const name of names) texts.set(name, await page.locator(`[name="${name}"]`).inputValue())
  return texts
}

describe("A new definition of each kind", () => {
  it.each(kinds)("of %s keeps its texts over a visit to another page", async (kind) => {
    const page = await tabs.open({ url: world.server.url, cookiesOf: world.owner })
    await page.goto(`${base}/${kind}/new`)
    const typed = await typeAll(page, "back")
    expect(typed.size).toBeGreaterThan(0)
    await page.goto(`${base}/users`)
    await page.goBack()
    await isReady(page)
    expect(await textsOf(page, typed.keys())).toEqual(typed)
    const add = page.locator("main button[value^='add:']").first()
    if ((await add.count()) === 0) return
    // A row comes from the server, with all that was typed.
    await add.click()
    await page.waitForURL(/\/draft/)
    const names = [...typed.keys()]
    expect(await textsOf(page, names)).toEqual(typed)
    await page.goto(`${base}/users`)
    await page.goBack()
    await isReady(page)
    expect(await textsOf(page, names)).toEqual(typed)
  })

  it("of each kind has its texts again after the session ended and the person signed in", async () => {
    for (const kind of kinds) {
      const page = await tabs.open({ url: world.server.url, cookiesOf: world.owner })
      await page.goto(`${base}/${kind}/new`)
      const typed = await typeAll(page, "signed")
      await page.context().clearCookies()
      await page.reload()
      await page.getByLabel("E-mail address", { exact: true }).fill("ada@example.com")
      await page.getByLabel("Password").fill(password)
      await page.getByRole("button", { name: "Sign in", exact: true }).click()
      await page.waitForURL(new RegExp(`/${kind}/new$`))
      await isReady(page)
      expect([kind, await textsOf(page, typed.keys())]).toEqual([kind, typed])
      await page.close()
    }
  })
})
