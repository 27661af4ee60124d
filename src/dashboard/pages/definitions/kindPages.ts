/**
 * The pages of a kind of definition: the list by status, the page of each definition with its editor,
 * and the buttons that change the status. A kind states its fields, its words and its cells.
 */
import { Effect } from "effect"
import { type Status, statuses } from "../../../domain/project/Definition.ts"
import { type Noun, plurals } from "../../../domain/project/Kinds.ts"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import { mayChange, type PlaceVisit, placePage, type Route } from "../../request/Route.ts"
import { versionInput } from "../../view/Editing.ts"
import { confirmButton } from "../../view/Forms.ts"
import { type Content, type Html, html, isolated } from "../../view/Html.ts"
import { type CursorPage, listQuery, tabs, withQuery } from "../../view/Lists.ts"
import { placePath } from "../../view/Page.ts"
import { capitalized, isoTime } from "../../view/Quantities.ts"
import { usageCells, usageLine } from "../../view/Usage.ts"
import { listPage } from "./definitionList.ts"
import { type Action, actionForm, actionRoute, type Editor, editorRoutes } from "./editor.ts"
import { sharedFaults } from "./lifecycle.ts"

type Shown = Parameters<typeof sharedFaults>[1] & {
  readonly id: string
  readonly key: string
  readonly status: Status
  readonly version: number
  readonly updatedAt: string
}

/** What the frame adds to the editor of a kind. */
type OfFrame =
  | "noun"
  | "path"
  | "titleOf"
  | "find"
  | "create"
  | "update"
  | "changeFaults"
  | "canChange"
  | "above"

export interface KindPages<Definition extends Shown, Choices>
  extends Omit<Editor<Definition, Choices>, OfFrame> {
  readonly noun: Noun
  /** The name of a definition for people, and the title of its page; default: the name. */
  readonly nameOf: (definition: Definition) => string
  readonly titleOf?: (definition: Definition) => string
  /** `period`: drafts, pauses and a period; `lasting`: only active and archived ones. */
  readonly lifecycle: "period" | "lasting"
  /** What users lose by the archive. */
  readonly loss: string
  /** Whether the definition always exists. */
  readonly isBuiltIn?: (definition: Definition) => boolean
  /** What these definitions are for, in a sentence that an empty list shows. */
  readonly purpose: string
  /** The heads of the list behind name and status, and the cells of a row below them. */
  readonly heads: ReadonlyArray<string>
  readonly cellsIn: (
    visit: PlaceVisit,
  ) => Effect.Effect<(definition: Definition) => ReadonlyArray<Content>, LaurelError>
  /** Stands below the list. */
  readonly below?: (visit: PlaceVisit) => Effect.Effect<Content, LaurelError>
  /** Stands behind the status of a definition. */
  readonly remark?: (definition: Definition) => Content
  /** Stands below the status of a definition. */
  readonly more?: (
    visit: PlaceVisit,
    definition: Definition,
    allowed: boolean,
  ) => Effect.Effect<Content, LaurelError>
}

const pathOf = (noun: Noun): string => `/${plurals[noun]}`

/** Calls an operation of the kind: TypeScript does not see which reply the name of a kind has. */
const ask = <Reply>(
  visit: PlaceVisit,
  noun: Noun,
  verb: "create" | "delete" | "get" | "list" | "update",
  parts: {
    readonly params?: { readonly id: string }
    readonly query?: Readonly<Record<string, string | undefined>>
    readonly payload?: unknown
    readonly idempotencyKey?: string | undefined
    readonly ifMatch?: number | undefined
  },
): Effect.Effect<Reply, LaurelError> =>
  visit.ask(`${plurals[noun]}.${verb}`, parts) as Effect.Effect<
    unknown,
    LaurelError
  > as Effect.Effect<Reply, LaurelError>

export const kindRoutes = <Definition extends Shown, Choices>(
  kind: KindPages<Definition, Choices>,
): ReadonlyArray<Route> => {
  const { noun } = kind
  const path = pathOf(noun)
  const become =
    (status: Status): Action["change"] =>
    (visit, id, ifMatch) =>
      ask(visit, noun, "update", { params: { id }, payload: { status }, ifMatch })
  const moves = { publish: "active", pause: "paused", resume: "active" } as const
  return [
    placePage(path, (visit) => listOf(kind, visit)),
    ...editorRoutes(editorOf(kind)),
    ...(kind.lifecycle === "lasting"
      ? []
      : (["publish", "pause", "resume"] as const).map((verb) =>
          actionRoute({ noun, path, verb, change: become(moves[verb]) }),
        )),
    actionRoute({
      noun,
      path,
      verb: "archive",
      change: (visit, id, ifMatch) => ask(visit, noun, "delete", { params: { id }, ifMatch }),
    }),
  ]
}

const editorOf = <Definition extends Shown, Choices>(
  kind: KindPages<Definition, Choices>,
): Editor<Definition, Choices> => {
  const { isBuiltIn, more, nameOf, noun, remark, titleOf = nameOf } = kind
  return {
    ...kind,
    path: pathOf(noun),
    titleOf,
    find: (visit, id) => ask(visit, noun, "get", { params: { id } }),
    create: (visit, payload, idempotencyKey) =>
      ask(visit, noun, "create", { payload, idempotencyKey }),
    update: (visit, id, payload, ifMatch) =>
      ask(visit, noun, "update", { params: { id }, payload, ifMatch }),
    changeFaults: sharedFaults,
    canChange: ({ status }) => status !== "archived",
    above: (visit, definition, allowed) => {
      const { key, status, updatedAt } = definition
      const changed = isBuiltIn?.(definition) !== true && html`, changed ${isoTime(updatedAt)}`
      const row = html`<div class="row"><span>${status}, key <code>${key}</code>${changed}.${remark?.(definition)}</span>${allowed && buttonsOf(kind, visit, definition)}${allowed && status !== "archived" && copyLink(visit, noun, key)}</div>`
      return Effect.zipWith(
        usageLine(visit.base, noun, definition, visit.ask),
        more === undefined ? Effect.succeed(undefined) : more(visit, definition, allowed),
        (usage, further) => [row, usage, further, html`<h2>Definition</h2>`],
      )
    },
  }
}

/** In a sandbox: a link to the page that shows what a copy would change in production. */
const copyLink = ({ place, prefix }: PlaceVisit, noun: Noun, key: string): Html | undefined => {
  if (place.environment === "production") return undefined
  const there = placePath(prefix, { ...place, environment: "production" })
  return html`<a class="button" href="${there}/copy?only=${encodeURIComponent(`${noun}:${key}`)}">Copy to production</a>`
}

/** The buttons that change the status. */
const buttonsOf = <Definition extends Shown, Choices>(
  kind: KindPages<Definition, Choices>,
  visit: PlaceVisit,
  definition: Definition,
): Content => {
  const { isBuiltIn, lifecycle, loss, nameOf, noun } = kind
  const { id, status, version } = definition
  if (status === "archived" || isBuiltIn?.(definition) === true) return undefined
  const own = `${visit.base}${pathOf(noun)}/${id}`
  const name = nameOf(definition)
  return [
    lifecycle === "period" && [
      status === "draft" && actionForm(`${own}/publish`, "Publish", name, version),
      status === "active" && actionForm(`${own}/pause`, "Pause", name, version),
      status === "paused" && actionForm(`${own}/resume`, "Resume", name, version),
    ],
    confirmButton({
      id: `archive-${id}`,
      button: "Archive",
      confirm: `Archive ${noun}`,
      keep: "Keep it",
      title: `Archive ${name} in ${visit.place.environment}?`,
      detail: `${loss} It cannot be undone, and the key stays taken.`,
      action: `${own}/archive`,
      fields: versionInput(version),
    }),
  ]
}

/** The links to the lists by status. */
const statusTabs = (visit: PlaceVisit, path: string, shown: ReadonlyArray<Status>): Html => {
  const { query } = visit.request
  return tabs(
    "Status",
    ["", ...shown].map((status) => [
      status,
      capitalized(status || "not archived"),
      withQuery(`${visit.base}${path}`, query, { status, cursor: undefined }),
    ]),
    query.get("status") ?? "",
  )
}

const listOf = Effect.fnUntraced(function* <Definition extends Shown, Choices>(
  kind: KindPages<Definition, Choices>,
  visit: PlaceVisit,
) {
  const { below, cellsIn, heads, lifecycle, nameOf, noun, purpose } = kind
  const path = pathOf(noun)
  const { query } = visit.request
  const status = query.get("status") ?? undefined
  const page = yield* ask<CursorPage & Readonly<Record<string, unknown>>>(visit, noun, "list", {
    query: { ...listQuery(query), status },
  })
  const cells = yield* cellsIn(visit)
  const usage = yield* usageCells(visit.base, noun, visit.ask)
  const allowed = mayChange(visit)
  return listPage(visit, {
    title: capitalized(plurals[noun]),
    path,
    empty: status === undefined ? purpose : `No ${noun} has this status.`,
    create: `Create ${noun}`,
    page,
    above: statusTabs(visit, path, lifecycle === "period" ? statuses : ["active", "archived"]),
    below: below === undefined ? undefined : yield* below(visit),
    heads: [capitalized(noun), "Status", ...heads],
    rows: (page[plurals[noun]] as ReadonlyArray<Definition>).map((definition) => [
      html`<a href="${visit.base}${path}/${definition.id}">${isolated(nameOf(definition))}</a><br><code>${definition.key}</code>${usage?.(definition.id)}`,
      definition.status,
      ...cells(definition),
      ...(allowed ? [html`<div class="row">${buttonsOf(kind, visit, definition)}</div>`] : []),
    ]),
  })
})
