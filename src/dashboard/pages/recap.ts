/** The recap of an environment: what all users did in a range of days. */
import { Effect, Result } from "effect"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { BodyOf } from "../../http/contract/Operations.ts"
import { csvFile } from "../request/csvFile.ts"
import { type PlaceVisit, placePage, type Route } from "../request/Route.ts"
import { countedLine } from "../view/Counted.ts"
import { type Content, html } from "../view/Html.ts"
import { figures, table } from "../view/Lists.ts"
import { count, countOrDash, dateLabel, datesLabel, dayLabel } from "../view/Quantities.ts"
import { daysForm, daysIn, orRangeFault } from "../view/Ranges.ts"
import type { Reply } from "../view/Replies.ts"
import { userLink } from "../view/Users.ts"

type Recap = BodyOf<"recaps.environment">

const recapPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, request, show } = visit
  const asked = daysIn(request.query)
  const found = yield* orRangeFault(ask("recaps.environment", { query: asked }))
  const address = `${base}/recap`
  if (Result.isFailure(found)) {
    return show("Recap", daysForm(address, asked, found.failure), found.failure)
  }
  const read = found.success
  return show(
    "Recap",
    html`<p>What all users did, ${datesLabel(read.from, read.to)}.</p>
${daysForm(address, read, undefined)}
${!read.complete && html`<p>Days before ${dateLabel(read.keptFrom)} are not kept, and are in no number.</p>`}
${figures([
  ["Active users", countOrDash(read.activeUsers)],
  ["New users", countOrDash(read.newUsers)],
  ["Events", count(read.totals.events)],
  ["Badges earned", count(read.totals.badges)],
  ["Quests completed", count(read.totals.quests)],
  ["Best day", bestDayText(read.bestDay)],
])}
<div class="charts"><section><h2>Earned</h2>
${table(
  "Earned",
  ["Currency", "Amount"],
  Object.entries(read.totals.currencies).map(([key, amount]) => [key, count(amount)]),
)}</section>
${
  read.streaks.length > 0 &&
  html`<section><h2>Longest streaks</h2>
${table(
  "Longest streaks",
  ["Streak", "In a row"],
  read.streaks.map(({ best, key }) => [key, count(best)]),
)}</section>`
}</div>
${topUsers(base, read.topUsers)}
<p class="hint">${countedLine(read)} An undo and the erasure of a user change no sum. A user has a recap, too: <code>GET /v1/users/{id}/recap</code>. <a href="${base}/recap.csv?from=${read.from}&amp;to=${read.to}">Save as CSV</a></p>`,
  )
})

const bestDayText = (best: Recap["bestDay"]): Content =>
  best === null ? "–" : html`${dayLabel(best.date)} <span class="hint">${count(best.xp)} xp</span>`

const topUsers = (base: string, top: Recap["topUsers"]) =>
  top !== null &&
  top.length > 0 &&
  html`<h2>Most xp</h2>
${table(
  "Most xp",
  ["Rank", "User", "Xp"],
  top.map(({ displayName, rank, userId, xp }) => [
    count(rank),
    userLink(base, userId, displayName),
    count(xp),
  ]),
)}`

const saved = (visit: PlaceVisit) =>
  csvFile(
    visit,
    "recap",
    visit.open("recaps.environment", { query: { ...daysIn(visit.request.query), format: "csv" } }),
  )

export const recapRoutes: ReadonlyArray<Route> = [
  placePage("/recap", recapPage),
  placePage("/recap.csv", saved),
]
