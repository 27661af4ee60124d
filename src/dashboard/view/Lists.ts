/** Lists: a table that scrolls by itself, and links to the pages beside the one that is shown. */
import { limits } from "../../Limits.ts"
import { type Content, Html, html } from "./Html.ts"

/** Texts of more characters than this wrap anywhere: what people named may have no space. */
const fixedCharactersMax = 20

const isLong = (cell: Content): boolean => {
  const text = cell instanceof Html ? cell.text : cell
  return typeof text === "string" && !text.includes("<") && text.length > fixedCharactersMax
}

const cellOf = (cell: Content): Html => html`<td${isLong(cell) && html` class="long"`}>${cell}</td>`

/** A table. `label` names it for screen readers; a cell may be anything, `null` is empty. */
export const table = (
  label: string,
  heads: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<Content>>,
): Html =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${cells.map(cellOf)}</tr>\n`)}</tbody></table></div>`

/** Names and values that belong together, such as the properties of a user. */
export const properties = (pairs: ReadonlyArray<readonly [name: string, value: Content]>): Html =>
  html`<dl class="properties">${pairs.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`

/** The figures that a page begins with. */
export const figures = (pairs: ReadonlyArray<readonly [name: string, value: Content]>): Html =>
  html`<div class="figures">${properties(pairs)}</div>`

/** Members of an address that a page answers once: names of secrets and notices, and a user to open. */
const onceOnly = ["created", "done", "kept", "link", "open", "secret"]

/** The members of an address that say which page of a list is asked for. */
export const listQuery = (query: URLSearchParams) => ({
  limit: query.get("limit") ?? undefined,
  offset: query.get("offset") ?? undefined,
})

/** An address with the query as it is, but for `changes`; a value of `undefined` or "" is left out. */
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

export interface ListPage {
  readonly total: number
  readonly limit: number
  readonly offset: number
  readonly hasMore: boolean
}

/** "21–40 of 57", with links to the rows before and after. Nothing where all rows are shown. */
export const pager = (path: string, query: URLSearchParams, page: ListPage): Html | undefined => {
  const { hasMore, limit, offset, total } = page
  if (offset === 0 && !hasMore) return undefined
  const last = Math.min(offset + limit, total)
  const before = Math.max(0, offset - limit)
  return html`<nav class="pager row" aria-label="Pages of the list">
${offset > 0 && html`<a rel="prev" href="${withQuery(path, query, { offset: before || undefined })}">Previous</a>`}
<span>${offset < total ? `${offset + 1}–${last} of ${total}` : `none of ${total}`}</span>
${hasMore && html`<a rel="next" href="${withQuery(path, query, { offset: offset + limit })}">Next</a>`}</nav>`
}

/** Links to other choices of the rows; `chosen` marks its own. */
export const tabs = <Value extends string | undefined>(
  label: string,
  links: ReadonlyArray<readonly [value: Value, label: string, address: string]>,
  chosen: Value,
): Html =>
  html`<nav class="row tabs" aria-label="${label}">${links.map(
    ([value, text, address]) =>
      html`<a href="${address}"${value === chosen && html` aria-current="true"`}>${text}</a>`,
  )}</nav>`

/** The rows of a list in memory that the `offset` of an address asks for, and the links beside them. */
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

/** The pages of a list that has cursors instead of numbers. */
export const cursorPager = (
  path: string,
  query: URLSearchParams,
  nextCursor: string | null,
): Html | undefined => {
  const first = query.has("cursor")
  if (!first && nextCursor === null) return undefined
  return html`<nav class="pager row" aria-label="Pages of the list">
${first && html`<a href="${withQuery(path, query, { cursor: undefined })}">Newest</a>`}
${nextCursor !== null && html`<a rel="next" href="${withQuery(path, query, { cursor: nextCursor })}">Older</a>`}</nav>`
}
