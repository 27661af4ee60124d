/** The reference as Markdown: complete, and served. */
import { OpenApi } from "effect/http-api"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Api } from "../../../src/http/api/Api.ts"
import { type Document, indexText, pagesOf } from "../../../src/http/docs/Markdown.ts"
import { startServer, type TestServer } from "../fixture.ts"

const document = OpenApi.fromApi(Api) as unknown as Document
const pages = pagesOf(document)

describe("The pages of the reference", () => {
  it("have each operation once", () => {
    const shown = pages.flatMap(({ text }) =>
      [...text.matchAll(/^`((?:GET|POST|PUT|PATCH|DELETE) \S+)`$/gm)].map(([, line]) => line!),
    )
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(shown.toSorted()).toEqual(operations.toSorted())
  })

  it("explain every shape that they name, and leave no reference unresolved", () => {
    const names = Object.keys(document.components.schemas)
    for (const { text } of pages) {
      const explained = new Set([...text.matchAll(/^### (\w+)$/gm)].map(([, name]) => name))
      for (const [, kind] of text.matchAll(/^(?:- `[^`]+` \(|Body: )([A-Z]\w+)/gm)) {
        if (names.includes(kind!)) expect(explained).toContain(kind)
      }
      expect(text).not.toMatch(/\$ref|\[object Object\]|undefined/)
    }
  })

  it("say of a member its type, its bounds, whether it is required, and what it means", () => {
    const { text } = pages.find(({ title }) => title === "Users")!
    expect(text).toContain("- `amount` (integer 1 to 1000000000): Points to spend.")
    expect(text).toContain("- `points` ({ spent: integer, total: integer }, required): ")
  })
})

describe("The server", () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.stop())

  it("serves llms.txt, and each page to which it leads, as text", async () => {
    const reply = await fetch(`${server.url}/llms.txt`)
    expect(reply.headers.get("content-type")).toBe("text/plain; charset=utf-8")
    const index = await reply.text()
    expect(index).toBe(indexText(document, pages))
    const links = [...index.matchAll(/\((\/docs\/\S+\.md)\)/g)].map(([, path]) => path!)
    expect(links).toHaveLength(pages.length)
    for (const [place, path] of links.entries()) {
      const page = await fetch(server.url + path)
      expect(page.headers.get("content-type")).toBe("text/markdown; charset=utf-8")
      expect(await page.text()).toBe(pages[place]!.text)
    }
    expect((await fetch(`${server.url}/docs/nothing.md`)).status).toBe(404)
  })
})
