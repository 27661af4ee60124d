/** The cohorts of a league: by division, in pages, with the users of one of them, and the close. */
import { Effect } from "effect"
import { type LaurelError, laurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { percentDecode } from "../../../http/request/RequestParts.ts"
import { noticeOf, redirectWithNotice } from "../../request/notice.ts"
import {
  mayChange,
  type PlaceVisit,
  placeForm,
  placePage,
  type Route,
} from "../../request/Route.ts"
import { confirmButton } from "../../view/Forms.ts"
import { type Content, type Html, html, isolated, titled } from "../../view/Html.ts"
import { cursorPager, listQuery, table, tabs, withQuery } from "../../view/Lists.ts"
import { count, isoTime, score as scoreText } from "../../view/Quantities.ts"
import type { Reply } from "../../view/Replies.ts"
import { userLink } from "../../view/Users.ts"
import { rankedKey } from "./ranked.ts"

type League = BodyOf<"leagues.get">
type Page = BodyOf<"leagues.cohorts">
type Cohort = BodyOf<"leagues.cohort">

const outcomeWords = { promoted: "moves up", stayed: "stays", demoted: "moves down" } as const

const cohortTable = (visit: PlaceVisit, league: League, { entries, id }: Cohort): Html => {
  const changes = mayChange(visit)
  return html`<h2>${isolated(id)}</h2>
${table(
  `Users of the cohort ${id}`,
  ["Rank", "User", rankedKey(league), "If it closed now", ...(changes ? ["Actions"] : [])],
  entries.map((entry) => {
    const { disqualified, displayName, outcome, rank, score, userId } = entry
    return [
      rank === null ? "" : count(rank),
      userLink(visit.base, userId, displayName),
      scoreText(score),
      disqualified ? "disqualified" : outcomeWords[outcome],
      ...(changes ? [disqualifyButton(visit, league, entry)] : []),
    ]
  }),
)}`
}

const disqualifyButton = (
  { base }: PlaceVisit,
  { id: leagueId, name }: League,
  { disqualified, userId }: Cohort["entries"][number],
): Html => {
  const own = `${base}/leagues/${leagueId}/members/${encodeURIComponent(userId)}`
  return disqualified
    ? confirmButton({
        id: `rank-${userId}`,
        button: "Rank again",
        title: `Rank ${titled(userId)} again in ${titled(name)}?`,
        detail: "The user has the rank of the present score. Closed windows stay as they are.",
        action: `${own}/rank`,
        danger: false,
      })
    : confirmButton({
        id: `disqualify-${userId}`,
        button: "Disqualify",
        title: `Disqualify ${titled(userId)} in ${titled(name)}?`,
        detail:
          "The user has no rank, stays in the division at the close, and wins nothing. Scores still count.",
        action: `${own}/disqualify`,
      })
}

const disqualify =
  (disqualified: boolean) =>
  (visit: PlaceVisit): Effect.Effect<Reply, LaurelError> => {
    const { ask, base, params } = visit
    const [id, userId] = [percentDecode(params.league!), percentDecode(params.user!)]
    if (id === undefined || userId === undefined) return Effect.fail(notFound)
    return Effect.map(
      ask("leagues.disqualify", { params: { id, userId }, payload: { disqualified } }),
      () =>
        redirectWithNotice(
          visit,
          `${base}/leagues/${encodeURIComponent(id)}/cohorts`,
          disqualified ? "Disqualified." : "Ranked again.",
        ),
    )
  }

/** How far the close has come, or when it comes. */
const closeText = ({ closesAt, settling, unsettled, window }: Page): Html =>
  settling
    ? html`<p>The window until ${isoTime(window.endsAt)} is closed. ${count(unsettled)} users are not settled yet.</p>`
    : closesAt === window.endsAt
      ? html`<p>The window ends and closes at ${isoTime(closesAt)}.</p>`
      : html`<p>The window ends at ${isoTime(window.endsAt)} and closes at ${isoTime(closesAt)}.</p>`

const cohortsPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  id: string,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, request, show } = visit
  const league = yield* ask("leagues.get", { params: { id } })
  const { query } = request
  const division = query.get("division") ?? league.divisions[0]!.key
  const page = yield* ask("leagues.cohorts", {
    params: { id },
    query: { ...listQuery(query), division },
  })
  const chosen = query.get("cohort") ?? page.cohorts[0]?.id
  const cohort =
    chosen === undefined
      ? undefined
      : yield* ask("leagues.cohort", { params: { id, cohort: chosen } }).pipe(
          // It may be settled by now.
          Effect.catch(() => Effect.undefined),
        )
  const path = `${base}/leagues/${league.id}/cohorts`
  const links = league.divisions.map(
    ({ key, name }) => [key, name, `${path}?division=${encodeURIComponent(key)}`] as const,
  )
  const rows = page.cohorts.map((one): ReadonlyArray<Content> => {
    const mark = one.id === chosen && html` aria-current="true"`
    return [
      html`<a href="${withQuery(path, query, { cohort: one.id })}"${mark}>${isolated(one.id)}</a>`,
      count(one.size),
    ]
  })
  return show(
    `Cohorts of ${titled(league.name)}`,
    html`${noticeOf(visit)}<p><a href="${base}/leagues/${league.id}">${isolated(league.name)}</a></p>
${closeText(page)}
${tabs("Divisions", links, division)}
${rows.length === 0 ? html`<p>No cohort yet.</p>` : table("Cohorts", ["Cohort", "Users"], rows)}
${cursorPager(path, query, page)}
${cohort && cohortTable(visit, league, cohort)}`,
  )
})

const notFound = laurelError("not_found", "No league can have this address.")

/** The number of cohorts in each division, and the way to the page of all. */
export const cohortsLine = (visit: PlaceVisit, league: League): Effect.Effect<Content, never> =>
  visit
    .ask("leagues.cohorts", {
      params: { id: league.id },
      query: { division: league.divisions[0]!.key },
    })
    .pipe(
      Effect.map(
        (page): Content =>
          html`<h2>Cohorts</h2>${closeText(page)}<p><a href="${visit.base}/leagues/${league.id}/cohorts">Users of each cohort</a></p>`,
      ),
      Effect.catch(() => Effect.undefined),
    )

export const leagueCohortRoutes: ReadonlyArray<Route> = [
  placePage("/leagues/:league/cohorts", (visit) => {
    const id = percentDecode(visit.params.league!)
    return id === undefined ? Effect.fail(notFound) : cohortsPage(visit, id)
  }),
  placeForm("/leagues/:league/members/:user/disqualify", "league.disqualify", disqualify(true)),
  placeForm("/leagues/:league/members/:user/rank", "league.rank", disqualify(false)),
]
