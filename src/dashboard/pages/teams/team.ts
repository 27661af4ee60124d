/** One team: name, attributes and members, and what can be done about it. */
import { Effect } from "effect"
import { type LaurelError, laurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { percentDecode } from "../../../http/request/RequestParts.ts"
import { limits } from "../../../Limits.ts"
import { noticeOf, redirectWithNotice } from "../../request/notice.ts"
import {
  confirmed,
  mayChange,
  orPage,
  type PlaceVisit,
  placeForm,
  placePage,
  type Route,
} from "../../request/Route.ts"
import { saveRow } from "../../view/Editing.ts"
import { confirmButton, idempotencyField, jsonField, refusal, textField } from "../../view/Forms.ts"
import { type Content, type Html, html, isolated, titled } from "../../view/Html.ts"
import { cursorPager, listQuery, properties, table } from "../../view/Lists.ts"
import { isoTime } from "../../view/Quantities.ts"
import type { Reply } from "../../view/Replies.ts"
import { teamPath, userLink } from "../../view/Users.ts"
import { createTeam, inField, teamsPage } from "./teams.ts"

type Answer = Effect.Effect<Reply, LaurelError>
type Team = BodyOf<"teams.get">
type Member = BodyOf<"teams.members">["members"][number]

const fields = ["name", "attributes", "userId"]

/** The page of a team. `error` is the refusal of one of its forms. */
const teamPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  id: string,
  error?: LaurelError,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, request, show } = visit
  const team = yield* ask("teams.get", { params: { id } })
  const query = request.method === "POST" ? new URLSearchParams() : request.query
  const page = yield* ask("teams.members", { params: { id }, query: listQuery(query) })
  const path = teamPath(base, id)
  const may = mayChange(visit)
  return show(
    `Team ${titled(team.name)}`,
    html`${noticeOf(visit)}
${refusal(error, fields)}
${properties([
  ["Id", isolated(team.id)],
  ["Kind", html`<a href="${base}/teams?kind=${team.kind}"><code>${team.kind}</code></a>`],
  ["Created", isoTime(team.createdAt)],
  ["Last change", isoTime(team.updatedAt)],
])}
<h2>Members</h2>
${memberTable(base, path, page.members, may)}
${cursorPager(path, query, page)}
${may && forms(visit, team, path, error)}`,
    error,
  )
})

const memberTable = (
  base: string,
  path: string,
  members: ReadonlyArray<Member>,
  may: boolean,
): Html => {
  if (members.length === 0) return html`<p>The team has no members here.</p>`
  const remove = (userId: string): Content =>
    html`<form method="post" action="${path}/members/${encodeURIComponent(userId)}/remove">${idempotencyField()}<button aria-label="Remove ${userId}">Remove</button></form>`
  return table(
    "Members",
    ["User", "Member since", ...(may ? ["Actions"] : [])],
    members.map(({ displayName, joinedAt, userId }) => [
      userLink(base, userId, displayName),
      isoTime(joinedAt),
      ...(may ? [remove(userId)] : []),
    ]),
  )
}

const forms = (
  { form, place, request }: PlaceVisit,
  team: Team,
  path: string,
  error: LaurelError | undefined,
): Html => {
  const faults = error?.errors
  const isEdit = request.method === "POST" && form.text("version") !== ""
  const textOf = (name: string, saved: string) => (isEdit ? form.text(name) : saved)
  const name = textOf("name", team.name)
  const attributes = textOf("attributes", JSON.stringify(team.attributes, null, 2))
  const version = isEdit ? form.text("version") : String(team.version)
  return html`<form method="post" action="${path}/members" class="row fields">${idempotencyField()}
${textField({ name: "userId", label: "Id of a user", hint: "The user leaves the former team of this kind.", value: form.text("userId"), charactersMax: limits.idCharactersMax, faults })}
<button>Add member</button></form>
<h2>Edit</h2>
<form method="post" action="${path}">${idempotencyField()}<input type="hidden" name="version" value="${version}">
${textField({ name: "name", label: "Name", value: name, charactersMax: limits.titleCharactersMax, faults })}
${jsonField({ name: "attributes", label: "Attributes", hint: "A JSON object of texts, numbers and booleans.", value: attributes, rows: 6, faults })}
${saveRow(place, "Save team")}</form>
${confirmButton({
  id: "delete-team",
  button: "Delete team",
  keep: "Keep it",
  title: `Delete the team ${titled(team.name)}?`,
  detail: "All memberships end at once. This cannot be undone.",
  action: `${path}/delete`,
})}`
}

/** The answer of a form, or the team's page with the reason of a refusal. */
const orTeamPage = (visit: PlaceVisit, id: string, answer: Answer): Answer =>
  orPage(answer, (error) => teamPage(visit, id, error))

const saveTeam = (visit: PlaceVisit, id: string): Answer => {
  const { ask, base, form } = visit
  const payload = { name: form.text("name"), attributes: form.json("attributes") ?? {} }
  const saved = ask("teams.put", { params: { id }, payload, ifMatch: Number(form.text("version")) })
  const back = Effect.map(saved, () => redirectWithNotice(visit, teamPath(base, id), "Team saved."))
  return orTeamPage(visit, id, back)
}

const deleteTeam = (visit: PlaceVisit, id: string): Answer =>
  orTeamPage(
    visit,
    id,
    Effect.gen(function* () {
      yield* confirmed(visit)
      yield* visit.ask("teams.delete", { params: { id } })
      return redirectWithNotice(visit, `${visit.base}/teams`, `Team ${titled(id)} deleted.`)
    }),
  )

const addMember = (visit: PlaceVisit, id: string): Answer => {
  const userId = visit.form.text("userId")
  const added = visit.ask("teams.join", { params: { id, userId } }).pipe(
    Effect.mapError(inField("userId")),
    Effect.map(() =>
      redirectWithNotice(visit, teamPath(visit.base, id), `User ${titled(userId)} is a member.`),
    ),
  )
  return orTeamPage(visit, id, added)
}

const removeMember = (visit: PlaceVisit, id: string): Answer => {
  const userId = percentDecode(visit.params.user!)
  if (userId === undefined) return Effect.fail(notFound)
  const removed = Effect.map(visit.ask("teams.leave", { params: { id, userId } }), () =>
    redirectWithNotice(visit, teamPath(visit.base, id), `User ${titled(userId)} is no member.`),
  )
  return orTeamPage(visit, id, removed)
}

const notFound = laurelError("not_found", "No team can have this address.")

/** Answers for the team in the path, which must exist. */
const about =
  (answer: (visit: PlaceVisit, id: string) => Answer) =>
  (visit: PlaceVisit): Answer => {
    const id = percentDecode(visit.params.team!)
    return id === undefined
      ? Effect.fail(notFound)
      : Effect.flatMap(visit.ask("teams.get", { params: { id } }), () => answer(visit, id))
  }

export const userTeamRoutes: ReadonlyArray<Route> = [
  placePage("/teams", (visit) => teamsPage(visit)),
  placeForm("/teams", "team.create", createTeam),
  placePage(
    "/teams/:team",
    about((visit, id) => teamPage(visit, id)),
  ),
  placeForm("/teams/:team", "team.update", about(saveTeam)),
  placeForm("/teams/:team/delete", "team.delete", about(deleteTeam)),
  placeForm("/teams/:team/members", "team.join", about(addMember)),
  placeForm("/teams/:team/members/:user/remove", "team.leave", about(removeMember)),
]
