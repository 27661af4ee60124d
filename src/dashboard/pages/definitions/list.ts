/** A list of definitions: a table, its pages, and the way to the form of a new one. */
import { Effect } from "effect"
import type { AuditAction } from "../../../accounts/audit/AuditLog.ts"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import { mayChange, type PlaceVisit, placeForm, type Route } from "../../request/Route.ts"
import { refusal } from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { type ListPage, pager, table } from "../../view/Lists.ts"
import { type Reply, redirect } from "../../view/Replies.ts"

export interface DefinitionList {
  readonly title: string
  readonly path: string
  /** The purpose of these definitions, in one sentence. */
  readonly empty: Content
  /** The link to a new one. */
  readonly create: string
  readonly page: ListPage
  readonly heads: ReadonlyArray<string>
  /** For those who may change things, each has one more cell: its actions. */
  readonly rows: ReadonlyArray<ReadonlyArray<Content>>
  /** Stands above the table, such as links to other choices. */
  readonly above?: Content
}

export const listPage = (visit: PlaceVisit, list: DefinitionList): Reply => {
  const { base, request, show } = visit
  const { above, create, empty, heads, page, path, rows, title } = list
  const allowed = mayChange(visit)
  return show(
    title,
    html`${allowed && html`<p><a class="button main" href="${base}${path}/new">${create}</a></p>`}
${above}
${rows.length === 0 ? html`<p>${empty}</p>` : table(title, allowed ? [...heads, "Actions"] : heads, rows)}
${pager(`${base}${path}`, request.query, page)}`,
  )
}

/** A form of one button, which changes a definition at once. `name` tells it apart for screen readers. */
export const actionForm = (action: string, label: string, name: string): Html =>
  html`<form method="post" action="${action}"><button aria-label="${label} ${name}">${label}</button></form>`

export interface Action {
  /** Of the definition that the address names, such as `rule`. */
  readonly noun: Lowercase<string>
  readonly verb: Lowercase<string>
  /** The list, such as `/rules`. */
  readonly path: string
  readonly change: (visit: PlaceVisit, id: string) => Effect.Effect<unknown, LaurelError>
  /** The page that follows; the list, if not given. */
  readonly next?: (visit: PlaceVisit, id: string) => string
}

/** A button: what it does to a definition, then the next page. */
export const actionRoute = ({ change, next, noun, path, verb }: Action): Route =>
  placeForm(`${path}/:${noun}/${verb}`, `${noun}.${verb}` satisfies AuditAction, (visit) => {
    const id = visit.params[noun]!
    const list = `${visit.base}${path}`
    return change(visit, id).pipe(
      Effect.as(redirect(next === undefined ? list : next(visit, id))),
      Effect.catch((error) =>
        Effect.succeed(
          visit.show(
            "Nothing was changed",
            html`${refusal(error, [])}<p><a href="${list}">Back to the list</a></p>`,
            error,
          ),
        ),
      ),
    )
  })
