/**
 * Active users, new users and what happened, by day, beside the period before: a part of the overview.
 *
 * Every figure is of days that have ended in every time zone, and so is the one beside it: a day that
 * is not over would make each change look like a fall. Charts show the days that are not over, too,
 * dotted and without a value of before. Plausible compares the same way.
 */
import { Effect } from "effect"
import { dateOf, lastWholeDay, zoneOf } from "../../domain/values/Calendar.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { BodyOf } from "../../http/contract/Operations.ts"
import { csvFile } from "../request/csvFile.ts"
import { type PlaceVisit, placePage, type Route } from "../request/Route.ts"
import { lineChart, type Point } from "../view/Charts.ts"
import { countedLine } from "../view/Counted.ts"
import { type Content, type Html, html } from "../view/Html.ts"
import { figures, tabs } from "../view/Lists.ts"
import { count, datesLabel, dayLabel, percent } from "../view/Quantities.ts"

type Day = BodyOf<"analytics.activity">["days"][number]

const lengths = [7, 30, 90] as const
const defaultLength = 30

/** The days of the period that the address asks for. */
const periodOf = ({ request }: PlaceVisit): number => {
  const asked = Number(request.query.get("days"))
  return lengths.find((days) => days === asked) ?? defaultLength
}

/** "+12 % from 1,100": how a number compares with that of the period before. */
const change = (now: number, before: number): Html => {
  if (before === 0)
    return html`<span class="hint">${now === 0 ? "as before" : "none before"}</span>`
  const share = now / before - 1
  const direction = share < 0 ? "down" : "up"
  return html`<span class="hint"><span class="${direction}">${share < 0 ? "−" : "+"}${percent(Math.abs(share))}</span> from ${count(before)}</span>`
}

/** Null: not counted yet. */
const compared = (now: number | null, before: number | null): Html =>
  now === null || before === null ? html`–` : html`${count(now)} ${change(now, before)}`

/** The number of days after the first one, on which returning users are counted. */
const returnDay = 7

type Cohort = NonNullable<BodyOf<"analytics.retention">["cohorts"]>[number]

/** The number of users for whom the day has ended, and of those who were active on it. */
const returnedOf = (cohorts: ReadonlyArray<Cohort>) => {
  const on = cohorts.flatMap(({ days }) => days.filter(({ day }) => day === returnDay))
  return {
    of: on.reduce((sum, { of }) => sum + of, 0),
    users: on.reduce((sum, { users }) => sum + users, 0),
  }
}

/** The share of users who came back, beside that of the period before. */
const returnedText = (now: ReadonlyArray<Cohort>, before: ReadonlyArray<Cohort>): Content => {
  const [present, past] = [returnedOf(now), returnedOf(before)]
  if (present.of === 0) return html`– <span class="hint">too early to tell</span>`
  const share = present.users / present.of
  if (past.of === 0)
    return html`${percent(share)} <span class="hint">of ${count(present.of)} users</span>`
  const then = past.users / past.of
  const points = Math.round(1_000 * (share - then)) / 10
  const words = points === 0 ? "as before" : `${points < 0 ? "−" : "+"}${Math.abs(points)} points`
  return html`${percent(share)} <span class="hint"><span class="${points < 0 ? "down" : "up"}">${words}</span>${points !== 0 && ` from ${percent(then)}`}</span>`
}

/** Users who began so long ago that their day 7 was in the period, or in the one before. */
const readReturned = ({ ask }: PlaceVisit, lastDay: number, length: number) => {
  const query = {
    by: "day" as const,
    from: dateOf(lastDay - returnDay - 2 * length + 1),
    to: dateOf(lastDay - returnDay),
  }
  return Effect.map(
    ask("analytics.retention", { query }),
    ({ cohorts }): Content =>
      cohorts === null ? "–" : returnedText(cohorts.slice(length), cohorts.slice(0, length)),
  )
}

const average = (days: ReadonlyArray<Day>): number | null => {
  const users = sum(days, ({ dau }) => dau)
  return users === null ? null : Math.round(users / Math.max(1, days.length))
}

const sum = (days: ReadonlyArray<Day>, of: (day: Day) => number | null): number | null =>
  days.reduce<number | null>((total, day) => {
    const number = of(day)
    return total === null || number === null ? null : total + number
  }, 0)

/** `open`: the days that are not over. */
interface Periods {
  readonly days: ReadonlyArray<Day>
  readonly before: ReadonlyArray<Day>
  readonly open: ReadonlyArray<Day>
}

const pointsOf = (
  { before, days, open }: Periods,
  of: (day: Day) => number | null,
): ReadonlyArray<Point> => [
  ...days.map((day, index) => ({
    at: dayLabel(day.date),
    value: of(day),
    before: of(before[index]!),
  })),
  ...open.map((day) => ({ at: dayLabel(day.date), value: of(day), open: true })),
]

const readPeriods = Effect.fnUntraced(function* (visit: PlaceVisit, length: number) {
  const { ask, time } = visit
  const { timezone } = yield* ask("project.get")
  const now = time()
  const lastDay = lastWholeDay(now)
  const query = {
    from: dateOf(lastDay - 2 * length + 1),
    to: dateOf(zoneOf(timezone).dayAt(now)),
  }
  // At once, so that they share a count.
  const [read, returned] = yield* Effect.all(
    [ask("analytics.activity", { query }), readReturned(visit, lastDay, length)],
    { concurrency: "unbounded" },
  )
  const periods: Periods = {
    before: read.days.slice(0, length),
    days: read.days.slice(length, 2 * length),
    open: read.days.slice(2 * length),
  }
  return { periods, read, returned }
})

/**
 * The history of an environment, for its overview: charts, and below them `totals` and other
 * figures.
 */
export const activitySection = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  totals: ReadonlyArray<readonly [name: Content, value: Content]>,
): Effect.fn.Return<Html, LaurelError> {
  const { base } = visit
  const length = periodOf(visit)
  const { periods, read, returned } = yield* readPeriods(visit, length)
  const { before, days } = periods
  const [now, then] = [days.at(-1)!, before.at(-1)!]
  const sums = (of: (day: Day) => number | null) => compared(sum(days, of), sum(before, of))
  const chart = (label: string, figure: Html, of: (day: Day) => number | null) =>
    lineChart({ label, figure, points: pointsOf(periods, of), shown: count })
  const summed = (label: string, of: (day: Day) => number | null) => chart(label, sums(of), of)
  const mean = html`${compared(average(days), average(before))} <span class="hint">a day, on average</span>`
  const activeIn = (span: number) => `Active in the ${span} days to ${dayLabel(now.date)}`
  return html`<div class="head"><h2 id="activity">Activity</h2>
${tabs(
  "Period",
  lengths.map((days) => [String(days), `${days} days`, `${base}?days=${days}#activity`]),
  String(length),
)}</div>
<p class="hint">${datesLabel(days[0]!.date, now.date)}, beside ${datesLabel(before[0]!.date, then.date)}: the last ${length} days that have ended in every time zone, and the ${length} days before. The days after are not over: they are dotted, and in no figure.</p>
<div class="charts">${chart("Daily active users", mean, ({ dau }) => dau)}
${summed("New users", ({ newUsers }) => newUsers)}
${summed("Events", ({ events }) => events)}
${summed("Xp earned", ({ xp }) => xp)}</div>
${figures([
  ...totals,
  [activeIn(7), compared(now.wau, then.wau)],
  [activeIn(30), compared(now.mau, then.mau)],
  [html`<a href="${base}/retention">Came back on day ${returnDay}</a>`, returned],
  ["Badges earned", sums(({ badges }) => badges)],
  ["Quests completed", sums(({ quests }) => quests)],
])}
<p class="hint">A user is active on a day with an event; a day is that of each user's calendar. “New users”: their first active day is in the period. “Came back on day ${returnDay}”: of the users whose day ${returnDay} after the first one was in the period, those who were active on it. Events, xp, badges and quests are as they happened: an undo takes none away. ${countedLine(read)} <a href="${base}/activity.csv?from=${read.from}&amp;to=${read.to}">Save these days as CSV</a></p>`
})

const saved = (visit: PlaceVisit) => {
  const { query } = visit.request
  const days = { from: query.get("from") ?? undefined, to: query.get("to") ?? undefined }
  return csvFile(
    visit,
    "activity",
    visit.open("analytics.activity", { query: { ...days, format: "csv" } }),
  )
}

export const activityRoutes: ReadonlyArray<Route> = [placePage("/activity.csv", saved)]
