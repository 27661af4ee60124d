/** The audit log: all entries for owners, the entries of an environment for its admins. */
import { Effect } from "effect"
import type {
  AuditActor,
  AuditChange,
  AuditEntry,
  AuditQuery,
} from "../../accounts/audit/AuditLog.ts"
import { userSubject } from "../../accounts/audit/userSubject.ts"
import { environmentId } from "../../domain/project/Directory.ts"
import type { Fault, LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { type MemberVisit, type PlaceVisit, placePage, type Route } from "../request/Route.ts"
import { selectField, textField } from "../view/Forms.ts"
import { type Html, html, isolated } from "../view/Html.ts"
import { cursorPager, newestFirst, table, withQuery } from "../view/Lists.ts"
import { badge } from "../view/Page.ts"
import { time } from "../view/Quantities.ts"
import type { Reply } from "../view/Replies.ts"

const day = 86_400_000
const daysKept = limits.auditKeptMs / day

/** The epoch milliseconds at which a UTC day begins; `NaN` if the text is no day. */
const beginOf = (text: string): number =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN

interface Asked {
  readonly query: AuditQuery
  readonly faults: ReadonlyArray<Fault>
  readonly hasFilter: boolean
}

/**
 * The subjects that a text may mean. In an environment it may be a user id, which the log stores as
 * a hash.
 */
const onOf = (
  text: string | undefined,
  place: PlaceVisit["place"] | undefined,
  secret: string | null,
): AuditQuery["on"] => {
  if (text === undefined || place === undefined) return text === undefined ? undefined : [text]
  const environment = environmentId(place.project.id, place.environment)
  return [text, userSubject(secret, environment, text)]
}

const askedFor = (
  asked: URLSearchParams,
  place: PlaceVisit["place"] | undefined,
  secret: string | null,
): Asked => {
  const text = (name: string) => asked.get(name)?.trim() || undefined
  const [from, to] = [text("from"), text("to")]
  const cursor = /^\d{1,15}$/.exec(asked.get("cursor") ?? "")?.[0]
  const days = { from: from && beginOf(from), to: to && beginOf(to) }
  const query = {
    before: cursor === undefined ? undefined : Number(cursor),
    by: text("by"),
    action: text("action"),
    on: onOf(text("on"), place, secret),
    projectId: place?.project.id ?? text("project"),
    environment: place?.environment,
    from: days.from || undefined,
    until: days.to ? days.to + day : undefined,
  }
  const faults = (["from", "to"] as const).flatMap((name) =>
    Number.isNaN(days[name])
      ? [{ pointer: `/${name}`, code: "invalid_value", detail: "must be a day such as 2026-11-22" }]
      : [],
  )
  const hasFilter = ["by", "action", "on", "project", "from", "to"].some((name) => text(name))
  return { query, faults, hasFilter }
}

const actorNames = {
  operator: "command line",
  server: "server",
  visitor: "a visitor",
} as const

/** A link to all entries of the same actor. */
const actorCell = (actor: AuditActor, path: string, asked: URLSearchParams): Html => {
  const [id, name] =
    typeof actor === "string"
      ? [actor, actorNames[actor]]
      : [actor.id, "email" in actor ? actor.email : `key ${actor.key}`]
  return html`<a href="${withQuery(path, asked, { by: id, cursor: undefined })}">${name}</a>`
}

const changeText = ({ field, from, to }: AuditChange): Html =>
  html`<br><span class="quiet"><code>${field}</code>: ${isolated(from || "none")} → ${isolated(to || "none")}</span>`

const subjectCell = (
  { changes = [], detail, subject }: AuditEntry,
  { directory }: MemberVisit,
): Html => {
  const email = directory.accounts.get(subject)?.email
  const name = email ?? (subject !== "" && html`<code>${subject}</code>`)
  return html`${typeof name === "string" ? isolated(name) : name} ${detail !== email && detail}${changes.map(changeText)}`
}

const whereCell = ({ environment, projectId }: AuditEntry, { directory }: MemberVisit) =>
  projectId !== null &&
  html`${directory.projects.get(projectId)?.name ?? projectId} ${environment && badge(environment)}`

const filters = (
  { actions, directory, request }: MemberVisit,
  isOfAll: boolean,
  faults: ReadonlyArray<Fault>,
): Html => {
  const value = (name: string) => request.query.get(name) ?? ""
  const projects = [...directory.projects.values()].map(({ id, name }) => [id, name] as const)
  return html`<form method="get" class="row">
${textField({ name: "by", label: "Who", type: "search", value: value("by") })}
${selectField({ name: "action", label: "Action", value: value("action"), options: [["", "all"], ...actions.map((action) => [action, action] as const)] })}
${textField({ name: "on", label: "On", type: "search", value: value("on") })}
${isOfAll && selectField({ name: "project", label: "Project", value: value("project"), options: [["", "all"], ...projects] })}
${textField({ name: "from", label: "From", type: "date", value: value("from"), faults })}
${textField({ name: "to", label: "To", type: "date", value: value("to"), faults })}
<div class="field"><button>Filter</button></div></form>
<p class="hint">Who: a part of an e-mail address, or the id of a key. On: the id of what was changed${
    !isOfAll && "; of a user, the log has a hash of the id"
  }. Days begin at 00:00 UTC.</p>`
}

const logPage = Effect.fnUntraced(function* (
  visit: MemberVisit,
  place?: PlaceVisit["place"],
): Effect.fn.Return<Reply, LaurelError> {
  const { audit, request, show } = visit
  const { path, query: asked } = request
  const { faults, hasFilter, query } = askedFor(asked, place, visit.directory.hashSecret)
  const { entries, next, searchedBackTo } = yield* audit.read(query)
  const isOfAll = place === undefined
  const project = isOfAll ? ["Project"] : []
  const heads = ["Time", "Who", "Action", ...project, "Address", "On", "Request"]
  const rows = entries.map((entry) => [
    time(entry.at),
    actorCell(entry.by, path, asked),
    html`<code>${entry.action}</code>`,
    ...(isOfAll ? [whereCell(entry, visit)] : []),
    entry.address,
    subjectCell(entry, visit),
    entry.requestId !== "" && html`<code>${entry.requestId}</code>`,
  ])
  return show(
    "Audit log",
    html`<p>The log records who changed what, when and from where, in the dashboard, with API keys, and by the command line. What a key changes of users is in their history. Entries are kept for ${daysKept} days${
      isOfAll && `, the newest ${limits.auditEntriesMax.toLocaleString("en")} of them`
    }.</p>
${filters(visit, isOfAll, faults)}
${entries.length > 0 && table("Audit log", heads, rows)}
${
  searchedBackTo !== undefined &&
  html`<p class="hint">${limits.auditSearchedMax.toLocaleString("en")} entries were searched, back to ${time(searchedBackTo)}. Choose Older to search the ones before.</p>`
}
${
  entries.length === 0 &&
  searchedBackTo === undefined &&
  html`<p>${
    hasFilter || query.before !== undefined
      ? "No entry matches."
      : "The log is empty: the first change makes an entry."
  }</p>`
}
${cursorPager(path, asked, { nextCursor: next === undefined ? null : String(next) }, newestFirst)}`,
    faults.length > 0 ? 400 : 200,
  )
})

export const logRoutes: ReadonlyArray<Route> = [
  { method: "GET", path: "/log", access: "owner", answer: (visit) => logPage(visit) },
  placePage("/log", (visit) => logPage(visit, visit.place), "admin"),
]
