/** A list of definitions: a table, its pages, and the way to the form of a new one. */
import { mayChange, type PlaceVisit } from "../../request/Route.ts"
import { type Content, html } from "../../view/Html.ts"
import { type CursorPage, cursorPager, table } from "../../view/Lists.ts"
import type { Reply } from "../../view/Replies.ts"

export interface DefinitionList {
  readonly title: string
  readonly path: string
  /** The purpose of these definitions, in one sentence. */
  readonly empty: Content
  /** The link to a new one. */
  readonly create: string
  readonly page: CursorPage
  readonly heads: ReadonlyArray<string>
  /** For admins, each row has one more cell: its actions. */
  readonly rows: ReadonlyArray<ReadonlyArray<Content>>
  /** Stands above the table, such as links to other choices. */
  readonly above?: Content
  readonly below?: Content
}

export const listPage = (visit: PlaceVisit, list: DefinitionList): Reply => {
  const { base, request, show } = visit
  const { above, below, create, empty, heads, page, path, rows, title } = list
  const allowed = mayChange(visit)
  return show(
    {
      text: title,
      action: allowed && html`<a class="button main" href="${base}${path}/new">${create}</a>`,
    },
    html`${above}
${rows.length === 0 ? html`<p>${empty}</p>` : table(title, allowed ? [...heads, "Actions"] : heads, rows)}
${cursorPager(`${base}${path}`, request.query, page)}
${below}`,
  )
}
