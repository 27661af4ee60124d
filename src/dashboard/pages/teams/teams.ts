/** The teams of users of an environment: a list, and a form that creates one. */
import { Effect, Exit } from "effect"
import { invalidRequest, type LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import { noticeOf, redirectWithNotice } from "../../request/notice.ts"
import { mayChange, orPage, type PlaceVisit } from "../../request/Route.ts"
import { saveRow } from "../../view/Editing.ts"
import { idempotencyField, refusal, textField } from "../../view/Forms.ts"
import { type Html, html, isolated, titled } from "../../view/Html.ts"
import { cursorPager, listQuery, table } from "../../view/Lists.ts"
import { isoTime } from "../../view/Quantities.ts"
import { about, type Reply } from "../../view/Replies.ts"
import { teamPath } from "../../view/Users.ts"

type Answer = Effect.Effect<Reply, LaurelError>

/** The page of the list. `error` is the refusal of the form. */
export const teamsPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  error?: LaurelError,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, request, show } = visit
  const { query } = request
  const kind = query.get("kind") || undefined
  const page = yield* ask("teams.list", { query: { kind, ...listQuery(query) } })
  const path = `${base}/teams`
  return show(
    "Teams",
    html`${noticeOf(visit)}
${refusal(error, newFields)}
<form method="get" action="${path}" class="row">
${textField({ name: "kind", label: "Kind", value: kind ?? "", charactersMax: limits.keyCharactersMax })}
<div class="field"><button>Filter</button></div></form>
${page.teams.length === 0 ? emptyList(query) : teamTable(base, page.teams)}
${cursorPager(path, query, page)}
${mayChange(visit) && createForm(visit, error)}`,
    error,
  )
})

const emptyList = (query: URLSearchParams): Html =>
  query.has("cursor")
    ? html`<p>The list ends before this page.</p>`
    : html`<p>${query.get("kind") ? "No team is of this kind." : "The environment has no teams yet."} A team is a group of users, such as a club or a class.</p>`

const teamTable = (base: string, teams: BodyOf<"teams.list">["teams"]): Html =>
  table(
    "Teams",
    ["Team", "Kind", "Last change"],
    teams.map(({ id, kind, name, updatedAt }) => [
      html`<a href="${teamPath(base, id)}">${isolated(name)}</a> <span class="quiet">${isolated(id)}</span>`,
      html`<code>${kind}</code>`,
      isoTime(updatedAt),
    ]),
  )

const newFields = ["id", "kind", "name"]

const createForm = ({ base, form, place }: PlaceVisit, error: LaurelError | undefined): Html => {
  const faults = error?.errors
  const field = (name: string, label: string, hint: string, charactersMax: number) =>
    textField({ name, label, hint, value: form.text(name), charactersMax, faults })
  return html`<h2>Create team</h2>
<form method="post" action="${base}/teams">${idempotencyField()}
${field("id", "Id", "Your id of the team. It never changes.", limits.idCharactersMax)}
${field("kind", "Kind", "Such as club or class: a user is in at most one team of each kind. It never changes.", limits.keyCharactersMax)}
${field("name", "Name", "Name for people.", limits.titleCharactersMax)}
${saveRow(place, "Create team")}</form>`
}

/** The error with the fault of a part of the address at the field of this name. */
export const inField =
  (name: string) =>
  (error: LaurelError): LaurelError => ({
    ...error,
    ...(error.errors !== undefined && {
      errors: error.errors.map((fault) =>
        fault.pointer === `path/${name}` ? { ...fault, pointer: `/${name}` } : fault,
      ),
    }),
  })

const idTaken = invalidRequest([
  { pointer: "/id", code: "invalid_value", detail: "names another team already" },
])

/** Creates a team, unless one with the id exists. */
export const createTeam = (visit: PlaceVisit): Answer => {
  const { ask, base, form } = visit
  const id = form.text("id")
  const payload = { kind: form.text("kind"), name: form.text("name") }
  const created = Effect.gen(function* () {
    const known = yield* Effect.exit(ask("teams.get", { params: { id } }))
    if (Exit.isSuccess(known)) return yield* Effect.fail(idTaken)
    const idempotencyKey = form.text("idempotencyKey") || undefined
    const team = yield* ask("teams.put", { params: { id }, payload, idempotencyKey })
    const notice = `Team ${titled(team.name)} saved.`
    return about(redirectWithNotice(visit, teamPath(base, team.id), notice), { subject: team.id })
  })
  return orPage(Effect.mapError(created, inField("id")), (error) => teamsPage(visit, error))
}
