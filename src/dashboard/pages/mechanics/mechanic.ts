/** What one mechanic does: its days, where people stop, how long it takes, and who comes back. */
import { Effect } from "effect"
import { plurals } from "../../../domain/project/Kinds.ts"
import { mechanicNouns } from "../../../domain/user/MechanicTally.ts"
import { type LaurelError, laurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import type { PlaceVisit } from "../../request/Route.ts"
import { lineChart, shareBar } from "../../view/Charts.ts"
import { countedLine } from "../../view/Counted.ts"
import { type Content, type Html, html, isolated, titled } from "../../view/Html.ts"
import { figures, table } from "../../view/Lists.ts"
import {
  count,
  dateLabel,
  datesLabel,
  dayLabel,
  duration,
  percent,
  score,
} from "../../view/Quantities.ts"
import type { Reply } from "../../view/Replies.ts"
import { daysOf, periodTabs } from "./list.ts"

type Mechanic = BodyOf<"analytics.mechanic">
type Returned = NonNullable<Mechanic["firstWeek"]>["reached"][number]

/** The mechanic that the address names. */
export const paramsOf = ({ params }: PlaceVisit) => {
  const kind = mechanicNouns.find((noun) => noun === params.mechanicKind)
  const key = params.mechanic
  return kind === undefined || key === undefined
    ? Effect.fail(laurelError("not_found", "No mechanic has this address."))
    : Effect.succeed({ kind, key })
}

/** What `completions` of each kind are, as a title. */
const happened: Readonly<Record<Mechanic["kind"], string>> = {
  rule: "Events rewarded",
  quest: "Completions",
  badge: "Awards",
  streak: "Periods kept",
  leaderboard: "Prizes won",
  league: "Places taken",
  boost: "Events and rewards multiplied",
  item: "Units bought",
  goal: "Completions",
}

/** What a user of each kind did. */
const reached: Readonly<Record<Mechanic["kind"], string>> = {
  rule: "Users rewarded",
  quest: "Users who started it",
  badge: "Users who have it",
  streak: "Users who kept a period",
  leaderboard: "Users with a score",
  league: "Users who had a place",
  boost: "Users",
  item: "Users who bought it",
  goal: "Users who contributed",
}

export const mechanicPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, show } = visit
  const params = yield* paramsOf(visit)
  const days = daysOf(visit)
  const read = yield* ask("analytics.mechanic", { params, query: { days: String(days) } })
  const path = `${base}/mechanics/${read.kind}/${read.id}`
  return show(
    `${titled(read.name)}: what it did`,
    html`<p><a href="${base}/mechanics">All mechanics</a> · <a href="${base}/${plurals[read.kind]}/${read.id}">The ${read.kind}</a>, ${read.status}</p>
${figures(figuresOf(read))}
${periodTabs(visit, path)}
${daysSection(read)}
${stepsSection(read)}
${partsSection(read)}
${timeSection(read)}
${firstWeekSection(read)}
${leftOutSection(read)}
<p class="hint">Users: since the ${read.kind} exists, of ${count(read.allUsers)} in all; an undo takes them away. ${datesLabel(read.from, read.to)}: with today, which is not over, and before any undo. ${countedLine(read)} <a href="${path}/days.csv?days=${days}">Save the days as CSV</a></p>`,
  )
})

const figuresOf = (read: Mechanic): ReadonlyArray<readonly [string, Content]> => {
  const { completed, completions, days, kind, perDay, share, users, xp } = read
  const all: ReadonlyArray<readonly [string, Content] | undefined> = [
    users === null
      ? undefined
      : [
          reached[kind],
          html`${count(users)}${share !== null && html` <span class="hint">${percent(share)} of all users</span>`}`,
        ],
    (kind === "quest" || kind === "goal") && completed !== null
      ? [
          kind === "quest" ? "Users who completed it" : "Users who got the reward",
          html`${count(completed)}${users !== null && users > 0 && html` <span class="hint">${percent(completed / users)} of those who ${kind === "quest" ? "started" : "contributed"}</span>`}`,
        ]
      : undefined,
    completions === null
      ? undefined
      : [
          `${happened[kind]} in ${days.length} days`,
          html`${count(completions)} <span class="hint">${score(perDay!)} a day</span>`,
        ],
    xp === null ? undefined : [`Xp given in ${days.length} days`, count(xp)],
  ]
  return all.filter((figure) => figure !== undefined)
}

const daysSection = ({ days, kind, xp }: Mechanic): Content => {
  if (days.length === 0) return undefined
  const chart = (label: string, of: (day: Mechanic["days"][number]) => number) =>
    lineChart({
      label,
      shown: count,
      points: days.map((day, n) => ({
        at: dayLabel(day.date),
        value: of(day),
        open: n === days.length - 1,
      })),
    })
  return html`<div class="charts">${chart(happened[kind], ({ completions }) => completions)}
${xp !== null && chart("Xp given", (day) => day.xp)}</div>`
}

const stepsSection = ({ funnel, steps, users }: Mechanic): Content => {
  if (steps.length === 0) return undefined
  if (users === 0) return html`<h2>Where people stop</h2><p>Nobody has started the quest.</p>`
  return html`<h2>Where people stop</h2>
<div class="charts"><div>${table(
    "Users by finished steps",
    ["Finished steps", "Users", "Of those who started"],
    funnel.map(({ finished, share, users }) => [
      finished === 0
        ? "started"
        : finished === 1
          ? "1 or more"
          : `${finished}${finished < steps.length ? " or more" : ", all"}`,
      count(users),
      share === null ? null : html`${percent(share)}${shareBar(share)}`,
    ]),
  )}</div>
<div>${table(
    "Users by step",
    ["Step", "Target", "Began", "Finished", "Have it to do"],
    steps.map(({ begun, finished, key, target, waiting }) => [
      html`<code>${key}</code>`,
      count(target),
      count(begun),
      count(finished),
      count(waiting),
    ]),
  )}</div></div>
<p class="hint">Of a quest that repeats: the latest period of each user.</p>`
}

const partWords: Readonly<Partial<Record<Mechanic["kind"], readonly [string, string]>>> = {
  badge: ["Tiers", "Tier"],
  streak: ["Milestones", "Longest streak"],
  league: ["Divisions", "Division now"],
}

const partsSection = ({ kind, parts }: Mechanic): Content => {
  const [title, head] = partWords[kind] ?? []
  if (parts.length === 0 || title === undefined) return undefined
  return html`<h2>${title}</h2>
${table(
  title,
  [head!, "Users", "Share"],
  parts.map(({ name, share, users }) => [
    isolated(name),
    count(users),
    share === null ? null : html`${percent(share)}${shareBar(share)}`,
  ]),
)}`
}

const timeSection = ({ kind, timeToComplete: times }: Mechanic): Content => {
  if (times === null) return undefined
  const shown = (seconds: number) => (seconds === 0 ? "at once" : duration(1_000 * seconds))
  return html`<h2>Time to ${kind === "badge" ? "the award" : "completion"}</h2>
${figures([
  ["A tenth of the users, within", shown(times.p10)],
  ["A quarter, within", shown(times.p25)],
  ["Half, within", shown(times.median)],
  ["Three quarters, within", shown(times.p75)],
  ["Nine tenths, within", shown(times.p90)],
])}
<p class="hint">${timeWords(kind, times.users)}; rounded down.</p>`
}

const timeWords = (kind: Mechanic["kind"], number: number): string => {
  if (kind === "goal") {
    const of = number === 1 ? "one completion" : `${count(number)} teams`
    return `Of ${of}, from the beginning of the goal or of its latest period`
  }
  return kind === "badge"
    ? `Of ${count(number)} users, from the creation of the user to the first award`
    : `Of ${count(number)} users, from the start of the quest to its completion`
}

const firstWeekSection = ({ firstWeek, kind }: Mechanic): Content => {
  if (firstWeek === null) return undefined
  const { note, others, reached, since } = firstWeek
  const did = kind === "quest" ? "completed it" : kind === "badge" ? "earned it" : "were rewarded"
  return html`<h2>Who comes back</h2>
<p>Users who ${did} in their first week beside those who did not. ${note}</p>
${
  reached.every(({ of }) => of === 0) && others.every(({ of }) => of === 0)
    ? html`<p>The first week of nobody who began since ${dateLabel(since)} has ended.</p>`
    : table(
        "Who comes back",
        ["Day", `Of those who ${did}`, "Of the others"],
        reached.map((row, n) => [`Day ${row.day}`, cameBack(row), cameBack(others[n]!)]),
      )
}
<p class="hint">Of users who began on ${dateLabel(since)}, the first day of the definition, or later, and for whom the day has ended. They came back on that very day after their first one.</p>`
}

const cameBack = ({ of, share, users }: Returned): Html =>
  share === null
    ? html`<span class="hint">nobody yet</span>`
    : html`${percent(share)} <span class="hint">${count(users)} of ${count(of)}</span>${shareBar(share)}`

const figureWords: Readonly<Record<string, string>> = {
  users: "Users",
  completed: "Users who got the reward",
  completions: "How often it happened",
  xp: "Xp",
  timeToComplete: "Time to completion",
  firstWeek: "Who comes back",
}

const leftOutSection = ({ leftOut }: Mechanic): Content =>
  leftOut.length > 0 &&
  html`<details><summary>What is not known</summary><ul>${leftOut.map(
    ({ figure, reason }) => html`<li>${figureWords[figure] ?? figure}: ${reason}</li>`,
  )}</ul></details>`
