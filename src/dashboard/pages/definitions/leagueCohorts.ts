/** The cohorts of a league: by division, in pages, with the users of one of them, and the close. */
import { Effect } from "effect"
import { type LaurelError, laurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { percentDecode } from "../../../http/request/RequestParts.ts"
import { type PlaceVisit, placePage, type Route } from "../../request/Route.ts"
import { type Content, type Html, html, isolated, titled } from "../../view/Html.ts"
import { cursorPager, listQuery, table, tabs, withQuery } from "../../view/Lists.ts"
import { count, isoTime, score as scoreText } from "../../view/Quantities.ts"
import type { Reply } from "../../view/Replies.ts"
import { userLink } from "../../view/Users.ts"

type League = BodyOf<"leagues.get">
type Page = BodyOf<"leagues.cohorts">
type Cohort = BodyOf<"leagues.cohort">

/** The key of what the league ranks by. */
export const rankedKey = ({ score }: League): string => score.currency ?? score.metric ?? ""

const outcomeWords = { promoted: "moves up", stayed: "stays", demoted: "moves down" } as const

const cohortTable = (base: string, league: League, { entries, id }: Cohort): Html =>
  table(
    `Users of the cohort ${id}`,
    ["Rank", "User", rankedKey(league), "If it closed now"],
    entries.map(({ displayName, outcome, rank, score, userId }) => [
      rank === null ? "" : count(rank),
      userLink(base, userId, displayName),
      scoreText(score),
      outcomeWords[outcome],
    ]),
  )

/** How far the close has come, or when it comes. */
const closeText = ({ closesAt, settling, unsettled, window }: Page): Html =>
  settling
    ? html`<p>The window until ${isoTime(window.endsAt)} is closed. ${count(unsettled)} users are not settled yet.</p>`
    : html`<p>The window ends at ${isoTime(window.endsAt)} and closes at ${isoTime(closesAt)}.</p>`

const cohortsPage = Effect.fnUntraced(function* (
  { ask, base, request, show }: PlaceVisit,
  id: string,
): Effect.fn.Return<Reply, LaurelError> {
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
  const rows = page.cohorts.map(
    (one): ReadonlyArray<Content> => [
      html`<a href="${withQuery(path, query, { cohort: one.id })}">${isolated(one.id)}</a>`,
      count(one.size),
    ],
  )
  return show(
    `Cohorts of ${titled(league.name)}`,
    html`<p><a href="${base}/leagues/${league.id}">${isolated(league.name)}</a></p>
${closeText(page)}
${tabs("Divisions", links, division)}
${rows.length === 0 ? html`<p>No cohort yet.</p>` : table("Cohorts", ["Cohort", "Users"], rows)}
${cursorPager(path, query, page)}
${cohort && cohortTable(base, league, cohort)}`,
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
          html`<h2>Cohorts</h2>${closeText(page)}<p><a href="${visit.base}/leagues/${league.id}/cohorts">Show the cohorts</a></p><h2>Definition</h2>`,
      ),
      Effect.catch(() => Effect.undefined),
    )

export const leagueCohortRoutes: ReadonlyArray<Route> = [
  placePage("/leagues/:league/cohorts", (visit) => {
    const id = percentDecode(visit.params.league!)
    return id === undefined ? Effect.fail(notFound) : cohortsPage(visit, id)
  }),
]
