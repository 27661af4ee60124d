/** A list of definitions: a table, its pages, and the way to the form of a new one. */
import type { PlaceVisit } from "../../request/Route.ts"
import { type Content, html } from "../../view/Html.ts"
import { type ListPage, pager, table } from "../../view/Lists.ts"
import type { Reply } from "../../view/Replies.ts"
import { mayChange } from "./editor.ts"

/** The members of the address that say which page of a list is asked for. */
export const listQuery = ({ request: { query } }: PlaceVisit) => ({
  limit: query.get("limit") ?? undefined,
  offset: query.get("offset") ?? undefined,
})

export interface DefinitionList {
  readonly title: string
  readonly path: string
  /** What the things are for, in one sentence. */
  readonly empty: Content
  /** The link to a new one. */
  readonly create: string
  readonly page: ListPage
  readonly heads: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<Content>>
  /** Stands above the table, such as links to other choices. */
  readonly above?: Content
}

export const listPage = (visit: PlaceVisit, list: DefinitionList): Reply => {
  const { base, request, show } = visit
  const { above, create, empty, heads, page, path, rows, title } = list
  return show(
    title,
    html`${mayChange(visit) && html`<p><a class="button main" href="${base}${path}/new">${create}</a></p>`}
${above}
${rows.length === 0 ? html`<p>${empty}</p>` : table(title, heads, rows)}
${pager(`${base}${path}`, request.query, page)}`,
  )
}
