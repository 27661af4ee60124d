/**
 * Retention: how many users come back, by the day, week or month in which they began; of all users, of a
 * segment, or of a variant of an experiment.
 */
import { Effect, Result } from "effect"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { BodyOf } from "../../http/contract/Operations.ts"
import { limits } from "../../Limits.ts"
import { csvFile } from "../request/csvFile.ts"
import { type PlaceVisit, placePage, type Route } from "../request/Route.ts"
import { lineChart } from "../view/Charts.ts"
import { countedLine } from "../view/Counted.ts"
import { selectField } from "../view/Forms.ts"
import { type Html, html, isolated } from "../view/Html.ts"
import { figures, tabs, withQuery } from "../view/Lists.ts"
import { count, datesLabel, dayLabel, percent } from "../view/Quantities.ts"
import { daysForm, daysIn, orRangeFault } from "../view/Ranges.ts"
import type { Reply } from "../view/Replies.ts"

type Retention = BodyOf<"analytics.retention">
type Cohort = NonNullable<Retention["cohorts"]>[number]
type Curve = NonNullable<Retention["curve"]>
type Returned = Curve[number]

const kinds = [
  ["day", "Days"],
  ["week", "Weeks"],
  ["month", "Months"],
] as const

/** The periods of cohorts that the address asks for. */
const byOf = ({ request }: PlaceVisit): Retention["by"] => {
  const asked = request.query.get("by")
  return kinds.find(([by]) => by === asked)?.[0] ?? "week"
}

/* Whose retention. The parameter `of` is `segment:KEY` or `experiment:KEY:VARIANT`; none: all users. */

type Users = Pick<Retention, "experiment" | "segment" | "variant">

const usersAsked = ({ request }: PlaceVisit) => {
  const [kind, key, variant] = (request.query.get("of") ?? "").split(":")
  if (kind === "segment" && key !== undefined) return { segment: key }
  return kind === "experiment" && key !== undefined && variant !== undefined
    ? { experiment: key, variant }
    : {}
}

const all = String(limits.pageMax)

/** A field that chooses the users; `undefined`: there is nothing to choose from. */
const usersField = Effect.fnUntraced(function* ({ ask, request }: PlaceVisit) {
  const { segments } = yield* ask("segments.list", { query: { limit: all } })
  const { experiments } = yield* ask("experiments.list", { query: { limit: all } })
  if (segments.length === 0 && experiments.length === 0) return undefined
  return selectField({
    name: "of",
    label: "Users",
    value: request.query.get("of") ?? "",
    options: [
      ["", "All users"],
      ...segments.map(({ key, name }) => [`segment:${key}`, `Segment: ${name}`] as const),
      ...experiments.flatMap(({ key, name, variants }) =>
        variants.map(
          (one) =>
            [`experiment:${key}:${one.key}`, `Experiment: ${name}, variant ${one.key}`] as const,
        ),
      ),
    ],
  })
})

/** What the page shows, in a sentence. */
const purpose = ({ experiment, segment, variant }: Users): Html => {
  if (segment !== null) {
    return html`<p>Of the users who are in the segment ${isolated(segment)} now, the share who were active again so many days after their first active day. A segment by level, balance or activity has more of those who came back: others never reached it.</p>`
  }
  return experiment === null
    ? html`<p>The share of users who were active again so many days after their first active day.</p>`
    : html`<p>Of the users who entered the experiment ${isolated(experiment)} with the variant ${isolated(variant ?? "")}, the share who were active so many days after the day on which they entered.</p>`
}

/** The days of the figures. */
const featured = [1, 7, 30] as const

/** Days that a smaller share of the users has reached are dotted. */
const fewShare = 0.1

const retentionPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, request, show } = visit
  const by = byOf(visit)
  const asked = daysIn(request.query)
  const query = { by, ...asked, ...usersAsked(visit) }
  const found = yield* orRangeFault(ask("analytics.retention", { query }))
  const path = `${base}/retention`
  const choice = [
    tabs(
      "Cohorts",
      kinds.map(([kind, label]) => [kind, label, withQuery(path, request.query, { by: kind })]),
      by,
    ),
    daysForm(
      path,
      Result.isSuccess(found) ? found.success : asked,
      Result.isFailure(found) ? found.failure : undefined,
      { kept: { by }, others: yield* usersField(visit) },
    ),
  ]
  if (Result.isFailure(found)) return show("Retention", choice, found.failure)
  const read = found.success
  const { cohorts, curve } = read
  return show(
    "Retention",
    html`${purpose(read)}
${choice}
${cohorts !== null && curve !== null && cohortsSection(base, read, cohorts, curve)}
<p class="hint">${datesLabel(read.from, read.to)}. A day is that of each user's calendar. ${countedLine(read)} <a href="${withQuery(`${path}.csv`, request.query, { by })}">Save as CSV</a></p>`,
  )
})

const cohortsSection = (
  base: string,
  { by, experiment, from, segment, to }: Retention,
  cohorts: ReadonlyArray<Cohort>,
  curve: Curve,
): Html => {
  const users = cohorts.reduce((sum, cohort) => sum + cohort.users, 0)
  const days = datesLabel(from, to)
  if (users === 0 && (segment !== null || experiment !== null)) {
    return html`<p>None of these users ${experiment === null ? "began" : "entered"} in the days ${days}.</p>`
  }
  return users === 0
    ? html`<p>Nobody began in the days ${days}. A user begins with the first event. <a href="${base}/start">Send one</a>.</p>`
    : html`${figures([
        [experiment === null ? "Users who began" : "Users who entered", count(users)],
        ...featured.map((day) => [`Came back on day ${day}`, featuredOf(curve[day]!)] as const),
      ])}
${lineChart({
  label: "Retention",
  axis: "Day",
  least: 1,
  shown: percent,
  points: curve.map(({ day, of, share }) => ({
    at: `Day ${day}`,
    value: share,
    open: of < fewShare * users,
  })),
})}
<p class="hint">A day counts users for whom it has ended. Dotted: it has for fewer than a tenth of these users.</p>
<h2>Cohorts</h2>
${cohortTable(by, cohorts)}
<p class="hint">“So far”: not all users of the cohort have reached the day; the share is that of those who have.</p>`
}

const featuredOf = ({ of, share, users }: Returned): Html =>
  share === null
    ? html`–`
    : html`${percent(share)} <span class="hint">${count(users)} of ${count(of)}</span>`

const cohortTable = (by: Retention["by"], cohorts: ReadonlyArray<Cohort>): Html => {
  const days = cohorts[0]!.days.map(({ day }) => day)
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Cohorts"><table class="${[2, ...days.map((_, place) => place + 3)].map((column) => `n${column}`).join(" ")}">
<thead><tr><th scope="col">Began</th><th scope="col">Users</th>${days.map((day) => html`<th scope="col">Day ${day}</th>`)}</tr></thead>
<tbody>${cohorts
    .toReversed()
    .map(
      (cohort) =>
        html`<tr><th scope="row">${beganIn(by, cohort)}</th><td>${count(cohort.users)}</td>${cohort.days.map((day) => shareCell(day, cohort.users))}</tr>\n`,
    )}</tbody></table></div>`
}

const beganIn = (by: Retention["by"], { from, to }: Cohort): string =>
  by === "day" ? dayLabel(from) : `${dayLabel(from)} – ${dayLabel(to)}`

/** The shades of cells, by the least share of each. */
const shades = [0.5, 0.35, 0.2, 0.1, Number.MIN_VALUE] as const

const shareCell = ({ of, share, users }: Returned, cohort: number): Html => {
  if (share === null) return html`<td></td>`
  const shade = shades.length - shades.findIndex((least) => share >= least)
  const level = shade > shades.length ? 0 : shade
  return html`<td class="share${level}" title="${count(users)} of ${count(of)}">${percent(share)}${of < cohort && html` <span class="hint">so far</span>`}</td>`
}

const saved = (visit: PlaceVisit) =>
  csvFile(
    visit,
    "retention",
    visit.open("analytics.retention", {
      query: {
        by: byOf(visit),
        ...daysIn(visit.request.query),
        ...usersAsked(visit),
        format: "csv",
      },
    }),
  )

export const retentionRoutes: ReadonlyArray<Route> = [
  placePage("/retention", retentionPage),
  placePage("/retention.csv", saved),
]
