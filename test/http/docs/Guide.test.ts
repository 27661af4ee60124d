/** The guide at `/guide`: its links, and its pages in a real browser. */
import { readFileSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { addressOf, guidePages, guidePictures, root } from "../../../src/http/docs/Guide.ts"
import { contentOf, renderGuide } from "../../../src/http/docs/GuideHtml.ts"
import { accessibilityFaults } from "../../dashboard/browser/axe.ts"
import { useTabs } from "../../dashboard/browser/tabs.ts"
import { startServer, type TestServer } from "../fixture.ts"

const pages = renderGuide()
const linksOf = (html: string) => [...html.matchAll(/ href="([^"]*)"/g)].map(([, href]) => href!)
const idsOf = (html: string) => [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id!)

describe("A page of the guide", () => {
  it("links only to pages and headings that exist", () => {
    const pictures = guidePictures.map(({ address }) => address)
    const others = ["/docs", "/guide/style.css", "data:,", ...pictures]
    for (const [address, html] of pages) {
      for (const href of linksOf(html)) {
        if (/^https?:/.test(href) || others.includes(href)) continue
        const [path, hash] = href.split("#") as [string, string?]
        const target = pages.get(path === "" ? address : path)
        expect([address, href, target !== undefined]).toEqual([address, href, true])
        if (hash)
          expect([address, href, idsOf(target!).includes(hash)]).toEqual([address, href, true])
      }
    }
  })

  it("has each heading, each link to a page and each block of code of its file", () => {
    for (const page of guidePages) {
      const text = readFileSync(new URL(page.path, root), "utf8")
      const html = pages.get(addressOf(page))!
      const fenced = (text.match(/^ *```/gm)?.length ?? 0) / 2
      // A block may be indented in place of fences.
      expect(html.match(/<pre /g)?.length ?? 0).toBeGreaterThanOrEqual(fenced)
      const plain = text.replace(/^ *```[\s\S]*?^ *```/gm, "")
      const headings = plain.match(/^#{1,6} /gm)!.length
      expect([page.path, html.match(/<main[\s\S]*/)![0].match(/<h\d /g)!.length]).toEqual([
        page.path,
        headings,
      ])
    }
  })

  it("shows HTML of a text as text, and counts equal headings", () => {
    const html = contentOf(
      "# A `<b>`\n\n## Same\n\n## Same\n\n```sh\necho '<i>' & done\n```\n\n[a](nowhere.ts) [b](quests.md#x)",
      "src/client/event.md",
    )
    expect(html).toBe(
      `<h1 id="a-b">A <code>&lt;b&gt;</code></h1>\n<h2 id="same">Same</h2>\n<h2 id="same-1">Same</h2>\n` +
        `<pre tabindex="0"><code>echo &#39;&#60;i&#62;&#39; &#38; done</code></pre>\n<p>a <a href="/guide/quests#x">b</a></p>\n`,
    )
  })

  it("shows the description of a picture that is not the guide's own", () => {
    const both = `<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="b.png">\n  <img src="a.png" alt="Two schemes">\n</picture>`
    for (const [text, shown] of [
      [both, "Two schemes"],
      ["![One scheme](a.png)", "One scheme"],
    ] as const) {
      const html = contentOf(`# A\n\n${text}\n\nB`, "README.md")
      expect(html).toBe(`<h1 id="a">A</h1>\n<p><em>${shown}</em></p>\n<p>B</p>\n`)
    }
  })
})

describe("/guide", () => {
  const tabs = useTabs()
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.stop())

  it("is served without a key, with a page for each file", async () => {
    for (const address of pages.keys()) {
      const { headers, status, text } = await server.call("GET", address, { key: null })
      expect([address, status, headers["content-type"]]).toEqual([
        address,
        200,
        "text/html; charset=utf-8",
      ])
      expect(text).toBe(pages.get(address))
    }
    expect((await server.call("GET", "/guide/none", { key: null })).status).toBe(404)
  })

  it("shows its pictures, in light and dark, under its policy", async () => {
    expect(guidePictures.length).toBeGreaterThan(2)
    for (const { address, path, text } of guidePictures) {
      const shown = await server.call("GET", address, { key: null })
      expect(shown).toMatchObject({ status: 200, text })
      expect(readFileSync(new URL(path, root), "utf8")).toMatch(/<title>.+<\/title>\n<desc>/)
    }
    const page = await tabs.open({ url: server.url })
    await page.goto("/guide/features")
    const picture = page.getByRole("img", { name: /^One event is decided in memory/ })
    const width = await picture.evaluate((img: { naturalWidth: number }) => img.naturalWidth)
    expect(width).toBe(1000)
    await page.goto("/guide/event.svg")
    const ground = () => page.evaluate("getComputedStyle(document.querySelector('.ground')).fill")
    expect(await ground()).toBe("rgb(255, 255, 255)")
    await page.emulateMedia({ colorScheme: "dark" })
    expect(await ground()).toBe("rgb(16, 20, 18)")
  })

  it("can be read by everyone, on a phone and on a wide screen", { timeout: 300_000 }, async () => {
    const page = await tabs.open({ url: server.url })
    for (const address of pages.keys()) {
      await page.goto(address)
      expect([address, await accessibilityFaults(page)]).toEqual([address, []])
      for (const width of [375, 1920]) {
        await page.setViewportSize({ width, height: 900 })
        const wide = await page.evaluate("document.documentElement.scrollWidth")
        expect([address, width, wide]).toEqual([address, width, width])
      }
    }
    await page
      .getByRole("navigation")
      .getByRole("link", { name: "A streak in two minutes" })
      .click()
    await page.getByRole("heading", { level: 1, name: "A streak in two minutes" }).waitFor()
  })
})
