/**
 * Lists: tables that scroll, links to other pages of a list, and rows of a form that can be added
 * and removed.
 */
import { limits } from "../../Limits.ts"
import { type Form, formOf } from "./Forms.ts"
import { type Content, Html, html } from "./Html.ts"
import { count } from "./Quantities.ts"

/** The texts that occur more than once, such as names that need a key beside them. */
export const repeated = (texts: ReadonlyArray<string>): ReadonlySet<string> => {
  const same = Map.groupBy(texts, (text) => text)
  return new Set(texts.filter((text) => same.get(text)!.length > 1))
}

/** Longer texts may wrap at any character, since names may have no space. */
const fixedCharactersMax = 20

const isLong = (cell: Content): boolean => {
  const text = cell instanceof Html ? cell.text : cell
  return typeof text === "string" && !text.includes("<") && text.length > fixedCharactersMax
}

const cellOf = (cell: Content): Html => html`<td${isLong(cell) && html` class="long"`}>${cell}</td>`

/** The text of a cell without the hint behind it; `undefined` if it is more than a text. */
const plainText = (cell: Content): string | undefined => {
  if (typeof cell === "string" || typeof cell === "number") return String(cell)
  if (!(cell instanceof Html)) return undefined
  const text = cell.text.replace(/ ?<span class="hint">[^<]*<\/span>$/, "")
  return /[<&]/.test(text) ? undefined : text
}

const isAmount = (cell: Content): boolean =>
  /^[+−-]?[\d,]+(\.\d+)?%?$/.test(plainText(cell) ?? "none")

/** A column without a text, such as an empty cell, may be one of numbers. */
const isEmpty = (cell: Content): boolean =>
  cell === null || cell === undefined || cell === false || /^–?$/.test(plainText(cell) ?? "text")

/**
 * A class for each column of numbers, `n2` for the second, which the style sheet aligns right. The
 * first column names its row.
 */
const numberColumns = (rows: ReadonlyArray<ReadonlyArray<Content>>): Html | undefined => {
  const columns = (rows[0] ?? []).flatMap((_, column) => {
    const cells = rows.map((row) => row[column])
    const isOfNumbers =
      column > 0 && cells.some(isAmount) && cells.every((cell) => isAmount(cell) || isEmpty(cell))
    return isOfNumbers ? [`n${column + 1}`] : []
  })
  return columns.length === 0 ? undefined : html` class="${columns.join(" ")}"`
}

/** A table. `label` names it for screen readers. A `null` cell is empty. */
export const table = (
  label: string,
  heads: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<Content>>,
): Html =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table${numberColumns(rows)}>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${cells.map(cellOf)}</tr>\n`)}</tbody></table></div>`

/** The head of a column; with an address, a link that sorts by the column. */
export interface SortHead {
  readonly label: string
  readonly address?: string
  readonly sorted?: "ascending" | "descending"
}

/** A table whose heads sort it. */
export const sortTable = (
  label: string,
  heads: ReadonlyArray<SortHead>,
  rows: ReadonlyArray<ReadonlyArray<Content>>,
): Html =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table${numberColumns(rows)}>
<thead><tr>${heads.map(
    ({ address, label, sorted }) =>
      html`<th scope="col"${sorted !== undefined && html` aria-sort="${sorted}"`}>${address === undefined ? label : html`<a href="${address}">${label}</a>`}</th>`,
  )}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${cells.map(cellOf)}</tr>\n`)}</tbody></table></div>`

/** Names and values that belong together, such as the properties of a user. */
export const properties = (pairs: ReadonlyArray<readonly [name: Content, value: Content]>): Html =>
  html`<dl class="properties">${pairs.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`

/** The figures at the top of a page. */
export const figures = (pairs: ReadonlyArray<readonly [name: Content, value: Content]>): Html =>
  html`<div class="figures">${properties(pairs)}</div>`

/**
 * Query parameters that work once: names of secrets and notices, and a user to open. Links leave
 * them out.
 */
const onceOnly = ["created", "done", "kept", "link", "open", "secret"]

/** The query parameters that choose a page of a list. */
export const listQuery = (query: URLSearchParams) => ({
  limit: query.get("limit") ?? undefined,
  cursor: query.get("cursor") ?? undefined,
})

/**
 * An address with the same query except for `changes`. A value of `undefined` or "" removes the
 * parameter.
 */
export const withQuery = (
  path: string,
  query: URLSearchParams,
  changes: Readonly<Record<string, string | number | undefined>>,
): string => {
  const changed = new URLSearchParams(query)
  for (const name of onceOnly) changed.delete(name)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") changed.delete(name)
    else changed.set(name, String(value))
  }
  const text = changed.toString()
  return text === "" ? path : `${path}?${text}`
}

interface OffsetPage {
  readonly total: number
  readonly limit: number
  readonly offset: number
  readonly hasMore: boolean
}

/** "21–40 of 57", with links to the rows before and after; nothing if all rows are shown. */
export const pager = (path: string, query: URLSearchParams, page: OffsetPage): Html | undefined => {
  const { hasMore, limit, offset, total } = page
  if (offset === 0 && !hasMore) return undefined
  const last = Math.min(offset + limit, total)
  const before = Math.max(0, offset - limit)
  return html`<nav class="pager row" aria-label="Pages of the list">
${offset > 0 && html`<a rel="prev" href="${withQuery(path, query, { offset: before || undefined })}">Previous</a>`}
<span>${offset < total ? `${offset + 1}–${last} of ${total}` : `none of ${total}`}</span>
${hasMore && html`<a rel="next" href="${withQuery(path, query, { offset: offset + limit })}">Next</a>`}</nav>`
}

/** Links that choose other rows. The link of `chosen` is marked. */
export const tabs = <Value extends string | undefined>(
  label: string,
  links: ReadonlyArray<readonly [value: Value, label: string, address: string]>,
  chosen: Value,
): Html =>
  html`<nav class="row tabs" aria-label="${label}">${links.map(
    ([value, text, address]) =>
      html`<a href="${address}"${value === chosen && html` aria-current="true"`}>${text}</a>`,
  )}</nav>`

/** The rows of a list in memory at the `offset` of the query, with their pager. */
export const offsetPage = <A>(
  path: string,
  query: URLSearchParams,
  all: ReadonlyArray<A>,
  limit: number = limits.pageMax,
): { readonly items: ReadonlyArray<A>; readonly pager: Html | undefined } => {
  const asked = Number(query.get("offset") ?? 0)
  const offset = Number.isInteger(asked) && asked > 0 ? asked : 0
  const hasMore = offset + limit < all.length
  return {
    items: all.slice(offset, offset + limit),
    pager: pager(path, query, { limit, offset, hasMore, total: all.length }),
  }
}

export interface CursorPage {
  readonly nextCursor: string | null
  /** The number of items on all pages, if known. */
  readonly total?: number
}

/** Links to the first and the next page of a list with cursors; nothing if all rows are shown. */
export const cursorPager = (
  path: string,
  query: URLSearchParams,
  { nextCursor, total }: CursorPage,
  [first, next]: readonly [first: string, next: string] = ["First", "Next"],
): Html | undefined => {
  const isLater = query.has("cursor")
  if (!isLater && nextCursor === null) return undefined
  return html`<nav class="pager row" aria-label="Pages of the list">
${isLater && html`<a href="${withQuery(path, query, { cursor: undefined })}">${first}</a>`}
${total !== undefined && html`<span>${count(total)} in all</span>`}
${nextCursor !== null && html`<a rel="next" href="${withQuery(path, query, { cursor: nextCursor })}">${next}</a>`}</nav>`
}

/** The words of `cursorPager` for a list whose newest items come first. */
export const newestFirst = ["Newest", "Older"] as const

/*
 * Rows of a form that can be added and removed, such as `where.0.path`, `where.1.path`. This works
 * without a script: the button sends the form with an `intent`, such as `add:where` or
 * `remove:where.1`, and the reply shows it again, unsaved.
 */

/** No field of a page has more parts in its name. */
const partsMax = 8
const isNumber = (part: string): boolean => /^\d{1,4}$/.test(part)

/**
 * The fields of a form as a tree of the parts of their names. The rows of a list are in the order
 * of their numbers.
 */
class Node {
  text: string | undefined
  readonly below = new Map<string, Node>()

  at(part: string): Node {
    let node = this.below.get(part)
    if (node === undefined) {
      node = new Node()
      this.below.set(part, node)
    }
    return node
  }

  find(parts: ReadonlyArray<string>): Node | undefined {
    return parts.reduce<Node | undefined>((node, part) => node?.below.get(part), this)
  }

  /** Its parts in order: numbers first, ascending. */
  parts(): ReadonlyArray<string> {
    const parts = [...this.below.keys()]
    const numbers = parts.filter(isNumber).sort((one, other) => Number(one) - Number(other))
    return [...numbers, ...parts.filter((part) => !isNumber(part))]
  }

  isBlank(ignored: ReadonlySet<string>): boolean {
    if (this.text !== undefined && this.text.trim() !== "") return false
    for (const [part, node] of this.below) {
      if (!ignored.has(part) && !node.isBlank(ignored)) return false
    }
    return true
  }

  /** Removes rows without a text; rows of inner lists first. */
  prune(ignored: ReadonlySet<string>): void {
    for (const [part, node] of this.below) {
      node.prune(ignored)
      if (isNumber(part) && node.isBlank(ignored)) this.below.delete(part)
    }
  }

  *fields(name: string): Generator<readonly [name: string, text: string]> {
    if (this.text !== undefined) yield [name, this.text]
    let row = 0
    for (const part of this.parts()) {
      const own = isNumber(part) ? String(row++) : part
      yield* this.below.get(part)!.fields(name === "" ? own : `${name}.${own}`)
    }
  }
}

const treeOf = (form: Form): Node => {
  const root = new Node()
  for (const [name, text] of form.texts()) {
    const parts = name.split(".", partsMax + 1)
    if (parts.length <= partsMax) {
      parts.reduce((node, part) => node.at(part), root).text = text
    }
  }
  return root
}

const formFrom = (root: Node): Form => formOf(root.fields(""))

/**
 * The form after the change that `intent` names, with rows numbered from 0; `undefined` if it names
 * no change of rows.
 */
export const rearranged = (form: Form, intent: string): Form | undefined => {
  const [, verb, name] = /^(add|remove):([\w.]+)$/.exec(intent) ?? []
  if (verb === undefined || name === undefined) return undefined
  const root = treeOf(form)
  const parts = name.split(".")
  if (verb === "remove") {
    root.find(parts.slice(0, -1))?.below.delete(parts.at(-1)!)
  } else if (parts.length < partsMax) {
    const list = parts.reduce((node, part) => node.at(part), root)
    const next = Math.max(-1, ...[...list.below.keys()].filter(isNumber).map(Number)) + 1
    list.at(String(next)).text = ""
  }
  return formFrom(root)
}

/**
 * The form without its blank rows. A row is blank if only fields in `ignored` have a text: these
 * always have one.
 */
export const withoutBlankRows = (form: Form, ignored: ReadonlyArray<string> = []): Form => {
  const root = treeOf(form)
  root.prune(new Set(ignored))
  return formFrom(root)
}

/** The number of rows of a list in the form. */
export const rowCount = (form: Form, name: string): number => form.indices(name, 10_000).length

/**
 * A button that adds a row. `address` shows the form again, and the browser scrolls to the list.
 */
export const addButton = (list: string, label: string, address: string): Html =>
  html`<p><button formaction="${address}#${list}" name="intent" value="add:${list}" formnovalidate>${label}</button></p>`

/**
 * A button that removes a row. `label` names the row for screen readers, since several buttons say
 * "Remove".
 */
export const removeButton = (row: string, label: string, address: string): Html =>
  html`<button formaction="${address}#${row.slice(0, row.lastIndexOf("."))}" name="intent" value="remove:${row}" formnovalidate aria-label="Remove ${label}">Remove</button>`
