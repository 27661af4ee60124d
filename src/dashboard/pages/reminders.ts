/** Reminders: how many were sent, and how many users came back within a day. */
import { Effect } from "effect"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { BodyOf } from "../../http/contract/Operations.ts"
import { csvFile } from "../request/csvFile.ts"
import { type PlaceVisit, placePage, type Route } from "../request/Route.ts"
import { type Html, html } from "../view/Html.ts"
import { table } from "../view/Lists.ts"
import { count, datesLabel, dayLabel, percent } from "../view/Quantities.ts"
import type { Reply } from "../view/Replies.ts"

type Results = BodyOf<"analytics.reminders">
type Total = Results["totals"][number]

/** What each kind of reminder tells. */
const tells: { readonly [Kind in Total["kind"]]: string } = {
  "user.inactive": "No event for days",
  "streak.at_risk": "Streak at risk",
  "quest.ending": "Quest ends soon",
  "currency.expiring": "Amounts expire soon",
  "league.closing": "League closes soon",
}

const nameOf = (kind: Total["kind"]): Html => html`${tells[kind]} <code class="hint">${kind}</code>`

const shareText = ({ share }: Pick<Total, "share">): string =>
  share === null ? "–" : percent(share)

const remindersPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, show } = visit
  const read = yield* ask("analytics.reminders")
  const sent = read.totals.reduce((sum, total) => sum + total.sent, 0)
  const settings = html`<a href="${base}/settings">Settings</a> say which are sent; those of streaks have their own.`
  return show(
    "Reminders",
    html`<p>Messages to your systems about users who stay away, and about what ends soon, and how many users had an event within 24 hours.</p>
${
  sent === 0
    ? html`<p>No reminder was sent in the days ${datesLabel(read.from, read.to)}. ${settings}</p>`
    : html`${table("Reminders", ["Reminder", "Sent", "Came back", "Share"], read.totals.map(totalRow))}
<p>This shows no cause: some of these users would have come back without a reminder. An <a href="${base}/experiments">experiment</a> with a control group that gets none measures the difference.</p>
<h2>Days</h2>
${table("Days", ["Day", "Reminder", "Sent", "Came back", "Share"], read.days.toReversed().map(dayRow))}
<p class="hint">A day is one of UTC. “So far”: 24 hours have not passed for all of them.</p>
<p class="hint">${datesLabel(read.from, read.to)}. ${settings} <a href="${base}/reminders.csv">Save as CSV</a></p>`
}`,
  )
})

const totalRow = (total: Total) => [
  nameOf(total.kind),
  count(total.sent),
  count(total.returned),
  shareText(total),
]

const dayRow = ({ complete, date, ...day }: Results["days"][number]) => [
  dayLabel(date),
  nameOf(day.kind),
  count(day.sent),
  html`${count(day.returned)}${!complete && html` <span class="hint">so far</span>`}`,
  shareText(day),
]

const saved = (visit: PlaceVisit) =>
  csvFile(visit, "reminders", visit.open("analytics.reminders", { query: { format: "csv" } }))

export const reminderRoutes: ReadonlyArray<Route> = [
  placePage("/reminders", remindersPage),
  placePage("/reminders.csv", saved),
]
