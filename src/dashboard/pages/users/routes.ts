/** The addresses of the pages about users. */
import { Effect } from "effect"
import { type LaurelError, laurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { percentDecode } from "../../../http/request/RequestParts.ts"
import type { StreamedReply } from "../../../http/stream/StreamedReply.ts"
import { limits } from "../../../Limits.ts"
import { noticeOf } from "../../request/notice.ts"
import { type PlaceVisit, placeForm, placePage, type Route } from "../../request/Route.ts"
import { commandBox, curl, eventRequest } from "../../view/Commands.ts"
import { textField } from "../../view/Forms.ts"
import { type Html, html, isolated } from "../../view/Html.ts"
import { cursorPager, listQuery, table } from "../../view/Lists.ts"
import { alert } from "../../view/Page.ts"
import { count, isoTime } from "../../view/Quantities.ts"
import { type Reply, redirect } from "../../view/Replies.ts"
import { userLink, userPath } from "../../view/Users.ts"
import {
  eraseUser,
  exportUser,
  mergeUser,
  revokeEvent,
  revokePurchase,
  revokeReward,
  revokeSpend,
  setHidden,
} from "./actions.ts"
import {
  eventPage,
  grantReward,
  profilePage,
  rewardPage,
  saveProfile,
  sendEvent,
  spendPage,
  spendPoints,
} from "./forms.ts"
import { userPage } from "./user.ts"

/* The users of an environment: a search, and a page of the list. */

type User = BodyOf<"users.get">

/**
 * Answers `?query=` with a search. With `?open=`, it leads to the user whose id is exactly the
 * query.
 */
const usersPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, request, show } = visit
  const { query } = request
  const opened = query.has("open") ? (query.get("query") ?? "") : undefined
  const exact = opened === undefined ? undefined : yield* findUser(visit, opened)
  if (exact !== undefined) return redirect(userPath(base, exact.id))
  const search = query.get("query") ?? undefined
  const segment = query.get("segment") || undefined
  const page = yield* ask("users.list", {
    query: { query: search, segment, ...listQuery(query) },
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
${segment !== undefined && textField({ name: "segment", label: "Segment", value: segment, charactersMax: limits.idCharactersMax })}
<div class="field row"><button class="main">Search</button><button name="open" value="id">Open by id</button></div></form>
${page.users.length === 0 ? emptyList(visit, search, segment) : userTable(base, page.users)}
${cursorPager(path, query, page)}`,
  )
})

/** The user with exactly this id; `undefined` also if the text is no valid id. */
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
  { base, origin, request }: PlaceVisit,
  search: string | undefined,
  segment: string | undefined,
): Html => {
  if (request.query.has("cursor")) return html`<p>The list ends before this page.</p>`
  if (segment !== undefined)
    return html`<p>No such user is in the segment ${isolated(segment)}.</p>`
  if (search !== undefined && search !== "") {
    return html`<p>No user has ${isolated(search)} in the id or name.</p>`
  }
  return html`<p>A user appears here with the first event that names the id. Send one with a key of <a href="${base}/keys">API keys</a>:</p>
${commandBox({ id: "event", label: "Send an event with curl", text: curl(origin, "$KEY", eventRequest) })}`
}

const path = "/users"
const notFound = laurelError("not_found", "No user can have this address.")

type Answer = Effect.Effect<Reply | StreamedReply, LaurelError>

/** Answers for the user in the path, who must exist: several operations would create the user. */
const about =
  (answer: (visit: PlaceVisit, user: BodyOf<"users.get">) => Answer) =>
  (visit: PlaceVisit): Answer => {
    const id = percentDecode(visit.params.user!)
    return id === undefined
      ? Effect.fail(notFound)
      : Effect.flatMap(visit.ask("users.get", { params: { id } }), (user) => answer(visit, user))
  }

export const userRoutes: ReadonlyArray<Route> = [
  placePage(path, usersPage),
  placePage(
    `${path}/:user`,
    about((visit, { id }) => userPage(visit, id)),
  ),
  placePage(
    `${path}/:user/reward`,
    about((visit, user) => rewardPage(visit, user)),
    "admin",
  ),
  placeForm(`${path}/:user/reward`, "user.reward", about(grantReward)),
  placePage(
    `${path}/:user/spend`,
    about((visit, user) => spendPage(visit, user)),
    "admin",
  ),
  placeForm(`${path}/:user/spend`, "user.spend", about(spendPoints)),
  placePage(
    `${path}/:user/event`,
    about((visit, user) => eventPage(visit, user)),
    "admin",
  ),
  placeForm(`${path}/:user/event`, "event.send", about(sendEvent)),
  placePage(
    `${path}/:user/profile`,
    about((visit, user) => profilePage(visit, user)),
    "admin",
  ),
  placeForm(`${path}/:user/profile`, "user.update", about(saveProfile)),
  placeForm(
    `${path}/:user/hide`,
    "user.hide",
    about((visit, { id }) => setHidden(visit, id, true)),
  ),
  placeForm(
    `${path}/:user/show`,
    "user.show",
    about((visit, { id }) => setHidden(visit, id, false)),
  ),
  placeForm(
    `${path}/:user/events/:event/revoke`,
    "event.revoke",
    about((visit, { id }) => revokeEvent(visit, id)),
  ),
  placeForm(
    `${path}/:user/rewards/:reward/revoke`,
    "reward.revoke",
    about((visit, { id }) => revokeReward(visit, id)),
  ),
  placeForm(
    `${path}/:user/spends/:spend/revoke`,
    "spend.revoke",
    about((visit, { id }) => revokeSpend(visit, id)),
  ),
  placeForm(
    `${path}/:user/purchases/:purchase/revoke`,
    "purchase.revoke",
    about((visit, { id }) => revokePurchase(visit, id)),
  ),
  placeForm(
    `${path}/:user/export`,
    "user.export",
    about((visit, { id }) => exportUser(visit, id)),
  ),
  placeForm(
    `${path}/:user/merge`,
    "user.merge",
    about((visit, { id }) => mergeUser(visit, id)),
  ),
  placeForm(
    `${path}/:user/erase`,
    "user.erase",
    about((visit, { id }) => eraseUser(visit, id)),
  ),
]
