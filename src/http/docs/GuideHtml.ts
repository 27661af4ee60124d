/**
 * The pages of the guide as HTML. A link to a page of the guide leads to that page; a link to another
 * file of the repository is shown without its target, and a picture that is none of the guide's own by its
 * description, since the package has neither.
 */
import { readFileSync } from "node:fs"
import { Marked, type Tokens } from "marked"
import {
  addressOf,
  type GuidePage,
  guidePages,
  guidePictures,
  root,
  sections,
  styleAddress,
} from "./Guide.ts"

/** The HTML of each page, by its address. */
export const renderGuide = (): ReadonlyMap<string, string> => {
  const texts = new Map(
    guidePages.map((page) => [page, readFileSync(new URL(page.path, root), "utf8")]),
  )
  const titles = new Map([...texts].map(([page, text]) => [page, titleOf(text)]))
  return new Map(
    [...texts].map(([page, text]) => [
      addressOf(page),
      frameOf(page, titles, contentOf(text, page.path)),
    ]),
  )
}

const titleOf = (text: string): string => /^# (.+)$/m.exec(text)![1]!

/** The content of a page. `path`: of its file, which its links are relative to. */
export const contentOf = (text: string, path: string): string => {
  const seen = new Map<string, number>()
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ depth, tokens }: Tokens.Heading) {
        const content = this.parser.parseInline(tokens)
        const id = anchorOf(this.parser.parseInline(tokens, this.parser.textRenderer), seen)
        return `<h${depth} id="${id}">${content}</h${depth}>\n`
      },
      link({ href, tokens }: Tokens.Link) {
        const content = this.parser.parseInline(tokens)
        const target = targetOf(href, path)
        return target === undefined ? content : `<a href="${escaped(target)}">${content}</a>`
      },
      // A picture of two schemes has its description in its image.
      html({ text }: Tokens.HTML | Tokens.Tag) {
        const [, description] = /^<picture>[\s\S]*? alt="([^"]*)"/.exec(text) ?? []
        return description === undefined ? text : `<p><em>${description}</em></p>\n`
      },
      image({ href, text: description }: Tokens.Image) {
        const { pathname } = new URL(href, new URL(path, "file:///"))
        const picture = guidePictures.find((each) => `/${each.path}` === pathname)
        return picture === undefined
          ? `<em>${escaped(description)}</em>`
          : `<a href="${picture.address}"><img src="${picture.address}" alt="${escaped(description)}"></a>`
      },
      code: ({ text: code }: Tokens.Code) =>
        `<pre tabindex="0"><code>${escaped(code)}</code></pre>\n`,
      table({ header, rows }: Tokens.Table) {
        const cellsOf = (cells: ReadonlyArray<Tokens.TableCell>, name: "td" | "th") =>
          cells.map(({ text: cell, tokens }) => {
            // A header without text would be read out as nothing.
            const tag = cell === "" ? "td" : name
            return `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`
          })
        const body = rows.map((row) => `<tr>${cellsOf(row, "td").join("")}</tr>`).join("\n")
        const head = `<thead><tr>${cellsOf(header, "th").join("")}</tr></thead>`
        return `<div class="table" tabindex="0"><table>${head}<tbody>${body}</tbody></table></div>\n`
      },
    },
  })
  return marked.parse(text, { async: false })
}

/**
 * Where a link of the file at `path` leads in the guide; `undefined`: to a file that is no page of it.
 */
const targetOf = (href: string, path: string): string | undefined => {
  if (/^(?:https?:|mailto:|#)/.test(href)) return href
  const base = new URL(path, "file:///")
  const { hash, pathname } = new URL(href, base)
  const page = guidePages.find((each) => `/${each.path}` === pathname)
  return page === undefined ? undefined : addressOf(page) + hash
}

/** The anchor of a heading, as code hosts make it: `seen` counts equal ones. */
const anchorOf = (heading: string, seen: Map<string, number>): string => {
  const plain = heading
    .replace(/&[a-z0-9#]+;/g, "")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, "")
    .replaceAll(" ", "-")
  const before = seen.get(plain) ?? 0
  seen.set(plain, before + 1)
  return before === 0 ? plain : `${plain}-${before}`
}

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const frameOf = (
  page: GuidePage,
  titles: ReadonlyMap<GuidePage, string>,
  content: string,
): string => {
  const link = (each: GuidePage) => {
    const current = each === page ? ` aria-current="page"` : ""
    return `<li><a href="${addressOf(each)}"${current}>${escaped(titles.get(each)!)}</a></li>`
  }
  const navigation = sections.map((section) => {
    const pages = guidePages.filter((each) => each.section === section)
    return `<h2>${section}</h2><ul>${pages.map(link).join("")}</ul>`
  })
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>${escaped(titles.get(page)!)} · Laurel</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${styleAddress}">
    <meta name="viewport" content="width=device-width, initial-scale=1">
  </head>
  <body>
    <a class="skip" href="#content">Skip to the content</a>
    <header><a href="/guide">Laurel</a> <a href="/docs">API reference</a></header>
    <nav aria-label="Pages">${navigation.join("")}</nav>
    <main id="content">${content}</main>
  </body>
</html>
`
}

export const guideStyle = `:root { color-scheme: light dark; --line: light-dark(#dcdcd6, #343a40); --quiet: light-dark(#5b635e, #9ba5a0);
  --wash: light-dark(#f4f5f2, #1a1e21); --link: light-dark(#17613a, #7fd6a5); font: 16px/1.6 system-ui, sans-serif }
body { display: grid; grid-template: auto 1fr / 250px minmax(0, 1fr); max-width: 1180px; margin: 0 auto; padding: 0 24px; gap: 0 48px;
  color: light-dark(#1c211e, #e8ebe9); background: light-dark(#fff, #121416) }
header { grid-column: 1 / -1; display: flex; gap: 24px; padding: 16px 0; border-bottom: 1px solid var(--line) }
header a:first-of-type { font-weight: 700 }
nav { padding: 24px 0; font-size: 0.9rem }
nav h2 { font-size: 0.8rem; margin: 16px 0 4px; color: var(--quiet); font-weight: 600 }
nav ul { list-style: none; margin: 0; padding: 0 }
nav a { display: block; padding: 4px 0; text-decoration: none }
nav a[aria-current] { font-weight: 600; color: inherit }
main { padding: 24px 0 96px; max-width: 760px }
a { color: var(--link) }
h1 { line-height: 1.2 }
h2 { margin-top: 2em }
pre { background: var(--wash); border: 1px solid var(--line); border-radius: 8px; padding: 12px 16px; overflow-x: auto; font-size: 0.85rem; line-height: 1.5 }
code { font-family: ui-monospace, monospace; font-size: 0.9em; overflow-wrap: anywhere }
pre code { overflow-wrap: normal; font-size: inherit }
img { max-width: 100%; height: auto }
.table { overflow-x: auto }
table { border-collapse: collapse; font-size: 0.9rem }
th, td { text-align: start; vertical-align: top; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line) }
.skip:not(:focus) { position: absolute; inset-inline-start: -9999px }
@media (max-width: 800px) { body { display: block } nav { padding-bottom: 0 } }
@media print { nav, header { display: none } }
`
