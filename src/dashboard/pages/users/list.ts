/** The users of an environment: a search, and a page of the list. */
import { Effect } from "effect"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import { noticeOf } from "../../request/notice.ts"
import type { PlaceVisit } from "../../request/Route.ts"
import { commandBox, curl, eventRequest } from "../../view/Commands.ts"
import { isolated } from "../../view/Foreign.ts"
import { textField } from "../../view/Forms.ts"
import { type Html, html } from "../../view/Html.ts"
import { listQuery, pager, table } from "../../view/Lists.ts"
import { alert } from "../../view/Page.ts"
import { count, isoTime } from "../../view/Quantities.ts"
import { type Reply, redirect } from "../../view/Replies.ts"
import { userLink, userPath } from "../../view/Users.ts"

type User = BodyOf<"users.get">

/** Answers `?query=` with a search, `?open=` with the page of the user that has exactly this id. */
export const usersPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, request, show } = visit
  const { query } = request
  const opened = query.has("open") ? (query.get("query") ?? "") : undefined
  const exact = opened === undefined ? undefined : yield* findUser(visit, opened)
  if (exact !== undefined) return redirect(userPath(base, exact.id))
  const search = query.get("query") ?? undefined
  const page = yield* ask("users.list", {
    query: { query: search, ...listQuery(query) },
  })
  const path = `${base}/users`
  return show(
    "Users",
    html`${noticeOf(visit)}
${opened !== undefined && alert(html`No user has the id ${isolated(opened)}.`)}
<form method="get" action="${path}" role="search" class="row">
${textField({
  name: "query",
  label: "Id or name",
  type: "search",
  value: search ?? "",
  charactersMax: limits.searchCharactersMax,
})}
<div class="field row"><button class="main">Search</button><button name="open" value="id">Open by id</button></div></form>
${page.users.length === 0 ? emptyList(visit, search, page.total) : userTable(base, page.users)}
${pager(path, query, page)}`,
  )
})

/** The user with exactly this id; `undefined` also for a text that is no id. */
const findUser = ({ ask }: PlaceVisit, id: string): Effect.Effect<User | undefined, LaurelError> =>
  Effect.catch(ask("users.get", { params: { id } }), (error) =>
    error.code === "user_not_found" || error.code === "invalid_request"
      ? Effect.succeed(undefined)
      : Effect.fail(error),
  )

const userTable = (base: string, users: ReadonlyArray<User>): Html =>
  table(
    "Users",
    ["User", "Level", "Xp", "Points", "Badges", "Leaderboards", "Last change"],
    users.map(({ badges, displayName, hidden, id, level, points, updatedAt, xp }) => [
      userLink(base, id, displayName),
      count(level),
      count(xp),
      count(points),
      count(badges.length),
      hidden ? "hidden" : "shown",
      isoTime(updatedAt),
    ]),
  )

const emptyList = (
  { base, origin }: PlaceVisit,
  search: string | undefined,
  total: number,
): Html => {
  if (total > 0) return html`<p>The list ends before this page.</p>`
  if (search !== undefined && search !== "") {
    return html`<p>No user has ${isolated(search)} in the id or name.</p>`
  }
  return html`<p>A user appears here with the first event that names the id. Send one with a key of <a href="${base}/keys">API keys</a>:</p>
${commandBox({ id: "event", label: "Send an event with curl", text: curl(origin, "$KEY", eventRequest) })}`
}
