/** The users of an environment: a search, filters, an order, and a page of the list. */
import { Effect, Result } from "effect"
import type { Fault, LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import { csvFile } from "../../request/csvFile.ts"
import { noticeOf } from "../../request/notice.ts"
import type { PlaceVisit } from "../../request/Route.ts"
import { commandBox, curl, eventRequest } from "../../view/Commands.ts"
import { numberField, refusal, textField } from "../../view/Forms.ts"
import { type Html, html, isolated } from "../../view/Html.ts"
import { cursorPager, listQuery, type SortHead, sortTable, withQuery } from "../../view/Lists.ts"
import { alert } from "../../view/Page.ts"
import { count, isoTime } from "../../view/Quantities.ts"
import { type Reply, redirect } from "../../view/Replies.ts"
import { userLink, userPath } from "../../view/Users.ts"

type User = BodyOf<"users.get">
type UserPage = BodyOf<"users.list">

/** The fields beside the search. */
const fields = [
  "levelMin",
  "levelMax",
  "badge",
  "segment",
  "attributeName",
  "attributeValue",
  "activeSince",
] as const

const textOf = ({ request: { query } }: PlaceVisit, name: string): string =>
  (query.get(name) ?? "").trim()

/** The parameters of the API that the address asks for. */
const askedIn = (visit: PlaceVisit) => {
  const of = (name: string) => textOf(visit, name) || undefined
  const [name, since] = [of("attributeName"), of("activeSince")]
  const value = textOf(visit, "attributeValue")
  return {
    query: of("query"),
    levelMin: of("levelMin"),
    levelMax: of("levelMax"),
    badge: of("badge"),
    segment: of("segment"),
    attribute: name && `${encodeURIComponent(name)}:${encodeURIComponent(value)}`,
    activeSince: since && (/^\d{4}-\d\d-\d\d$/.test(since) ? `${since}T00:00:00Z` : since),
    sort: of("sort"),
    order: of("order"),
  }
}

/** The fields that show the faults of a parameter of another name. */
const fieldOf: Readonly<Record<string, string>> = { attribute: "attributeName" }

/** The error with pointers to the fields of the form; `undefined`: the form does not show it. */
const shownError = (error: LaurelError): LaurelError | undefined => {
  if (error.code === "segment_not_found" || error.code === "badge_not_found") return error
  if (error.code !== "invalid_request") return undefined
  const faults: Array<Fault> = []
  for (const fault of error.errors ?? []) {
    const name = fault.pointer.slice("query/".length)
    const field = fieldOf[name] ?? name
    if (!(fields as ReadonlyArray<string>).includes(field)) return undefined
    faults.push({ ...fault, pointer: `/${field}` })
  }
  return { ...error, errors: faults }
}

/**
 * Answers `?query=` with a search. With `?open=`, it leads to the user whose id is exactly the
 * query.
 */
export const usersPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, request, show } = visit
  const { query } = request
  const opened = query.has("open") ? (query.get("query") ?? "") : undefined
  const exact = opened === undefined ? undefined : yield* findUser(visit, opened)
  if (exact !== undefined) return redirect(userPath(base, exact.id))
  const asked = askedIn(visit)
  const listed = yield* Effect.result(
    ask("users.list", { query: { ...asked, ...listQuery(query) } }),
  )
  const error = Result.isFailure(listed) ? shownError(listed.failure) : undefined
  if (Result.isFailure(listed) && error === undefined) return yield* Effect.fail(listed.failure)
  return show(
    "Users",
    html`${noticeOf(visit)}
${opened !== undefined && alert(html`No user has the id ${isolated(opened)}.`)}
${refusal(error, fields, "Nothing was looked up")}
${searchForm(visit, error?.errors)}
${Result.isSuccess(listed) && listOf(visit, listed.success)}`,
    error,
  )
})

/** The user with exactly this id; `undefined` also if the text is no valid id. */
const findUser = ({ ask }: PlaceVisit, id: string): Effect.Effect<User | undefined, LaurelError> =>
  Effect.catch(ask("users.get", { params: { id } }), (error) =>
    error.code === "user_not_found" || error.code === "invalid_request"
      ? Effect.succeed(undefined)
      : Effect.fail(error),
  )

/** The search, and below it the filters, which are open while one has a text. */
const searchForm = (visit: PlaceVisit, faults: ReadonlyArray<Fault> | undefined): Html => {
  const value = (name: string) => ({ name, value: textOf(visit, name), faults })
  const key = { charactersMax: limits.idCharactersMax }
  const isFiltered = fields.some((name) => textOf(visit, name) !== "")
  const kept = ["sort", "order", "limit"].filter((name) => textOf(visit, name) !== "")
  return html`<form method="get" action="${visit.base}/users" role="search">
<div class="row">${textField({
    name: "query",
    label: "Id or name",
    type: "search",
    value: textOf(visit, "query"),
    charactersMax: limits.searchCharactersMax,
  })}
<div class="field row"><button class="main">Search</button><button name="open" value="id">Open by id</button></div></div>
<details${isFiltered && html` open`}><summary>Filters</summary>
<div class="row filters">
${numberField({ ...value("levelMin"), label: "Level from" })}
${numberField({ ...value("levelMax"), label: "Level to" })}
${textField({ ...value("activeSince"), label: "Active since (UTC)", type: "date" })}
${textField({ ...value("badge"), ...key, label: "Has the badge (key)" })}
${textField({ ...value("segment"), ...key, label: "In the segment (key)" })}
${textField({ ...value("attributeName"), label: "Attribute", charactersMax: limits.attributeNameCharactersMax })}
${textField({ ...value("attributeValue"), label: "Value of the attribute", charactersMax: limits.attributeTextCharactersMax })}
</div>
<div class="row"><button class="main">Apply</button>${isFiltered && html`<a href="${withQuery(`${visit.base}/users`, visit.request.query, { ...Object.fromEntries(fields.map((name) => [name, undefined])), cursor: undefined })}">Remove all filters</a>`}</div></details>
${kept.map((name) => html`<input type="hidden" name="${name}" value="${textOf(visit, name)}">`)}</form>`
}

const listOf = (visit: PlaceVisit, page: UserPage): Html => {
  const { base, request } = visit
  const path = `${base}/users`
  const cut = page.users.length === 0 && page.nextCursor !== null
  return html`${page.users.length > 0 ? userTable(visit, page.users) : !cut && emptyList(visit)}
${
  cut &&
  html`<p>None of the users that were looked at matches. <a href="${withQuery(path, request.query, { cursor: page.nextCursor! })}">Look at more users</a></p>`
}
${!cut && cursorPager(path, request.query, page)}
${page.users.length > 0 && html`<p class="hint"><a href="${withQuery(`${path}.csv`, request.query, { cursor: undefined, limit: undefined })}">Save as CSV</a> all users of this list, not only this page.</p>`}`
}

/** A head that sorts by its column; a column that sorts already turns the order around. */
const headOf =
  ({ base, request: { query } }: PlaceVisit) =>
  (label: string, by?: "createdAt" | "id" | "lastEventAt" | "xp"): SortHead => {
    if (by === undefined) return { label }
    const isSorted = (query.get("sort") || "id") === by
    const ascending = by === "id" || query.get("order") === "asc"
    const order = by !== "id" && isSorted && !ascending ? "asc" : undefined
    const changes = { sort: by === "id" ? undefined : by, order, cursor: undefined }
    const address = withQuery(`${base}/users`, query, changes)
    return {
      label,
      address,
      ...(isSorted && { sorted: ascending ? "ascending" : "descending" }),
    }
  }

const userTable = (visit: PlaceVisit, users: ReadonlyArray<User>): Html => {
  const head = headOf(visit)
  const heads = [
    head("User", "id"),
    head("Level"),
    head("Xp", "xp"),
    head("Points"),
    head("Badges"),
    head("Last event", "lastEventAt"),
    head("Created", "createdAt"),
    head("Leaderboards"),
  ]
  return sortTable(
    "Users",
    heads,
    users.map(({ badges, createdAt, displayName, hidden, id, lastEventAt, level, points, xp }) => [
      userLink(visit.base, id, displayName),
      count(level),
      count(xp),
      count(points),
      count(badges.length),
      lastEventAt === null ? html`<span class="hint">never</span>` : isoTime(lastEventAt),
      isoTime(createdAt),
      hidden ? "hidden" : "shown",
    ]),
  )
}

const emptyList = (visit: PlaceVisit): Html => {
  const { base, origin, request } = visit
  if (request.query.has("cursor")) return html`<p>The list ends before this page.</p>`
  const search = textOf(visit, "query")
  const filters = fields.filter((name) => textOf(visit, name) !== "")
  if (filters.length === 1 && filters[0] === "segment")
    return html`<p>No such user is in the segment ${isolated(textOf(visit, "segment"))}.</p>`
  if (filters.length > 0) return html`<p>No user matches all of the filters.</p>`
  if (search !== "") return html`<p>No user has ${isolated(search)} in the id or name.</p>`
  return html`<p>A user appears here with the first event that names the id. Send one with a key of <a href="${base}/keys">API keys</a>:</p>
${commandBox({ id: "event", label: "Send an event with curl", text: curl(origin, "$KEY", eventRequest) })}`
}

export const savedUsers = (visit: PlaceVisit) =>
  csvFile(visit, "users", visit.open("users.list", { query: { ...askedIn(visit), format: "csv" } }))
