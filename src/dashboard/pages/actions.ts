/** The actions of an environment's events: how many, which definitions name them, and what nobody names. */
import { Effect } from "effect"
import { environmentId } from "../../domain/project/Directory.ts"
import { type AnyDefinition, nameOf, plurals } from "../../domain/project/Kinds.ts"
import { type NamedAction, namedActions } from "../../domain/project/NamedActions.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { mayChange, type PlaceVisit, placePage, type Route } from "../request/Route.ts"
import { type SeenAction, seenActions, unmatchedOf } from "../view/Actions.ts"
import { type Content, type Html, html, isolated } from "../view/Html.ts"
import { offsetPage, repeated, type SortHead, sortTable, tabs, withQuery } from "../view/Lists.ts"
import { pathWarning } from "../view/Paths.ts"
import { count, isoTime, percent } from "../view/Quantities.ts"
import type { Reply } from "../view/Replies.ts"

const orders: Readonly<Record<string, (one: SeenAction, other: SeenAction) => number>> = {
  name: (one, other) => (one.action < other.action ? -1 : 1),
  events: (one, other) => other.count - one.count,
  // As they come.
  last: () => 0,
}

/** How many definitions and paths a row names. */
const namedMax = 3
const pathsMax = 5

/** The first `most` of the items, one below the other; names may be long. */
const listed = (items: ReadonlyArray<Content>, most: number): Html =>
  html`<ul class="plain">${items.slice(0, most).map((item) => html`<li>${item}</li>`)}${
    items.length > most && html`<li>and ${count(items.length - most)} more</li>`
  }</ul>`

const nameIn = (one: AnyDefinition): string => `${one.noun} ${nameOf(one)}`

/** Rules of one action may have one name. */
const definitionLinks = (base: string, all: ReadonlyArray<AnyDefinition>): Html => {
  const alike = repeated(all.map(nameIn))
  return listed(
    all.map(
      (one) =>
        html`${one.noun} <a href="${base}/${plurals[one.noun]}/${one.definition.id}">${isolated(nameOf(one))}</a>${alike.has(nameIn(one)) && html` <code>${one.definition.key}</code>`}`,
    ),
    namedMax,
  )
}

/**
 * The paths of the action's metadata: those that definitions read and no event had, then those that events
 * had, with the kinds of their values and their share of the events.
 */
const pathsOf = (seen: SeenAction, read: ReadonlySet<string> = new Set()): Content => {
  const { looked, more, paths } = seen.metadata
  const had = new Set(paths.map(({ path }) => path))
  const missing = [...read].filter((path) => !had.has(path))
  const items = [
    ...missing.map((path) => {
      const warning = pathWarning({ seen: [seen] }, [seen.action], path)
      return html`<code>${path}</code> is read by a definition.${warning && html` <span class="warning">${warning}</span>`}`
    }),
    ...paths.map(
      ({ events, kinds, path }) =>
        html`<code>${path}</code> ${kinds.join(", ")}, in ${percent(events / looked)}${read.has(path) && ", is read by a definition"}`,
    ),
  ]
  return [items.length > 0 && listed(items, pathsMax), more && "Some are left out."]
}

/** What names the action, or how to name it. */
const naming = (
  { base }: PlaceVisit,
  allowed: boolean,
  { action, matched }: SeenAction,
  named: NamedAction | undefined,
): Content => {
  if (named !== undefined && matched) return definitionLinks(base, named.definitions)
  if (matched) return "every quest"
  const create =
    allowed &&
    html` <a href="${withQuery(`${base}/rules/new`, new URLSearchParams(), { action })}">Create a rule</a>`
  return named === undefined
    ? html`nothing.${create}`
    : html`${definitionLinks(base, named.definitions)}not active now.${create}`
}

const actionsPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, place, reads, show } = visit
  const { query } = visit.request
  const path = `${base}/actions`
  const project = yield* reads.readProject(environmentId(place.project.id, place.environment))
  const seen = yield* seenActions(ask)
  const { others } = yield* ask("actions.list", { query: { limit: "1" } })
  const unmatched = unmatchedOf(seen)
  const asked = query.get("sort") ?? ""
  const order = Object.hasOwn(orders, asked) ? asked : "last"
  const onlyUnmatched = query.get("named") === "no"
  const shown = (onlyUnmatched ? unmatched : seen).toSorted(orders[order])
  const head = (label: string, by?: string): SortHead => ({
    label,
    ...(by !== undefined && { address: withQuery(path, query, { sort: by, offset: undefined }) }),
    ...(by === order && { sorted: by === "name" ? "ascending" : "descending" }),
  })
  const named = namedActions(project)
  const allowed = mayChange(visit)
  const rows = offsetPage(path, query, shown)
  return show(
    "Actions",
    html`<p>The actions of the events that were received, and the definitions that name them. Events count since the environment exists; undone ones and those of erased users are among them. Of metadata only the paths are kept, with the kinds of their values and the share of events that had them, in a sample of the latest events of the action.</p>
${tabs(
  "Named",
  [
    [
      "",
      `All (${count(seen.length)})`,
      withQuery(path, query, { named: undefined, offset: undefined }),
    ],
    [
      "no",
      `Named by nothing (${count(unmatched.length)})`,
      withQuery(path, query, { named: "no", offset: undefined }),
    ],
  ],
  onlyUnmatched ? "no" : "",
)}
${
  seen.length === 0
    ? html`<p>No event was received yet. <a href="${base}/start">Send one</a>.</p>`
    : shown.length === 0
      ? html`<p>A definition names each action.</p>`
      : sortTable(
          "Actions",
          [
            head("Action", "name"),
            head("Events so far", "events"),
            head("Last received", "last"),
            head("Named by"),
            head("Metadata"),
          ],
          rows.items.map((one) => [
            html`<code>${one.action}</code>`,
            count(one.count),
            isoTime(one.lastReceivedAt),
            naming(visit, allowed, one, named.get(one.action)),
            pathsOf(one, named.get(one.action)?.paths),
          ]),
        )
}
${rows.pager}
${others.count > 0 && html`<p class="hint">${count(others.count)} more events had other actions. Each environment counts ${count(limits.actionsCountedMax)} actions, ${count(limits.actionsUnmatchedMax)} of them that nothing named.</p>`}`,
  )
})

export const actionRoutes: ReadonlyArray<Route> = [placePage("/actions", actionsPage)]
