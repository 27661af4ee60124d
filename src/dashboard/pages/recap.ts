/** The recap of an environment: what all users did in a range of days. */
import { Effect } from "effect"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { BodyOf } from "../../http/contract/Operations.ts"
import { csvFile } from "../request/csvFile.ts"
import { type PlaceVisit, placePage, type Route } from "../request/Route.ts"
import { countedLine } from "../view/Counted.ts"
import { html, isolated } from "../view/Html.ts"
import { figures, table } from "../view/Lists.ts"
import { count, dayLabel } from "../view/Quantities.ts"
import type { Reply } from "../view/Replies.ts"
import { userPath } from "../view/Users.ts"

type Recap = BodyOf<"recaps.environment">

/** The days that the address asks for. */
const daysOf = ({ request: { query } }: PlaceVisit) => ({
  from: query.get("from") || undefined,
  to: query.get("to") || undefined,
})

const recapPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, show } = visit
  const read = yield* ask("recaps.environment", { query: daysOf(visit) })
  return show(
    "Recap",
    html`<p>What all users did from ${dayLabel(read.from)} to ${dayLabel(read.to)}.</p>
<form method="get" action="${base}/recap" class="row fields">
<label>From <input type="date" name="from" value="${read.from}"></label>
<label>To <input type="date" name="to" value="${read.to}"></label>
<button>Show</button></form>
${!read.complete && html`<p>Days before ${dayLabel(read.keptFrom)} are not kept, and are in no number.</p>`}
${figures([
  ["Active users", read.activeUsers === null ? "–" : count(read.activeUsers)],
  ["New users", read.newUsers === null ? "–" : count(read.newUsers)],
  ["Events", count(read.totals.events)],
  ["Badges earned", count(read.totals.badges)],
  ["Quests completed", count(read.totals.quests)],
  ["Best day", bestDayText(read.bestDay)],
])}
<h2>Earned</h2>
${table(
  "Earned",
  ["Currency", "Amount"],
  Object.entries(read.totals.currencies).map(([key, amount]) => [key, count(amount)]),
)}
${
  read.streaks.length > 0 &&
  html`<h2>Longest streaks</h2>
${table(
  "Longest streaks",
  ["Streak", "In a row"],
  read.streaks.map(({ best, key }) => [key, count(best)]),
)}`
}
${topUsers(base, read.topUsers)}
<p class="hint">${countedLine(read)} An undo and the erasure of a user change no sum. A user has a recap, too: <code>GET /v1/users/{id}/recap</code>. <a href="${base}/recap.csv?from=${read.from}&amp;to=${read.to}">Save as CSV</a></p>`,
  )
})

const bestDayText = (best: Recap["bestDay"]): string =>
  best === null ? "–" : `${dayLabel(best.date)}, ${count(best.xp)} xp`

const topUsers = (base: string, top: Recap["topUsers"]) =>
  top !== null &&
  top.length > 0 &&
  html`<h2>Most xp</h2>
${table(
  "Most xp",
  ["Rank", "User", "Xp"],
  top.map(({ displayName, rank, userId, xp }) => [
    count(rank),
    html`<a href="${userPath(base, userId)}">${isolated(displayName ?? userId)}</a>`,
    count(xp),
  ]),
)}`

const saved = (visit: PlaceVisit) =>
  csvFile(
    visit,
    "recap",
    visit.open("recaps.environment", { query: { ...daysOf(visit), format: "csv" } }),
  )

export const recapRoutes: ReadonlyArray<Route> = [
  placePage("/recap", recapPage),
  placePage("/recap.csv", saved),
]
