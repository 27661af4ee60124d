/** The shared goals of an environment, with how far everyone or each team has come. */
import { Effect } from "effect"
import { questRecurrences } from "../../../domain/project/Definition.ts"
import { goalDefaults } from "../../../domain/project/Goal.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import type { PlaceVisit, Route } from "../../request/Route.ts"
import { lineChart } from "../../view/Charts.ts"
import type { Draft } from "../../view/Editing.ts"
import { type Form, group, numberField, selectField, textField } from "../../view/Forms.ts"
import { type Content, html, isolated } from "../../view/Html.ts"
import { figures, table } from "../../view/Lists.ts"
import { count, dayLabel } from "../../view/Quantities.ts"
import { userLink } from "../../view/Users.ts"
import {
  type BadgeChoices,
  badgeChoices,
  blankZeros,
  rewardFields,
  rewardNames,
  rewardOf,
  rewardPatch,
  rewardTexts,
  rewardWords,
  typedPayment,
} from "./conditions.ts"
import { eventTrial, withoutNulls } from "./editor.ts"
import { goalPeriodRoutes, periodButtons } from "./goalPeriod.ts"
import { type KindPages, kindRoutes } from "./kindPages.ts"
import {
  headFields,
  periodWords,
  sharedDraft,
  sharedNames,
  sharedPatch,
  sharedTexts,
  tailFields,
} from "./lifecycle.ts"

/** A reply to a change has no progress. */
type Goal = BodyOf<"goals.update"> & Partial<Pick<BodyOf<"goals.get">, "progress">>
type Progress = NonNullable<Goal["progress"]>

const textsOf = (goal: Goal) =>
  new Map([
    ["name", goal.name],
    ...sharedTexts(goal),
    ["score.currency", goal.score.currency ?? ""],
    ["score.metric", goal.score.metric ?? ""],
    ["scope", goal.scope],
    ["teamKind", goal.teamKind ?? ""],
    ["target", String(goal.target)],
    ["recurrence", goal.recurrence],
    ["minContribution", String(goal.minContribution)],
    ...blankZeros(rewardTexts(goal.reward)),
  ])

const scoreOf = (form: Form) => {
  const currency = form.optional("score.currency")
  const metric = form.optional("score.metric")
  return { ...(currency !== undefined && { currency }), ...(metric !== undefined && { metric }) }
}

const membersOf = (form: Form) => ({
  name: form.text("name"),
  score: scoreOf(form),
  scope: form.text("scope") || null,
  teamKind: form.optional("teamKind") ?? null,
  target: form.number("target") ?? null,
  recurrence: form.text("recurrence") || null,
  minContribution: form.number("minContribution") ?? null,
})

/** A goal need not give anything. */
const givesNothing = (form: Form): boolean =>
  typedPayment(form, "reward") === null && form.optional("reward.badgeId") === undefined

const draftOf = (form: Form) => ({
  ...withoutNulls(membersOf(form)),
  ...sharedDraft(form),
  ...(!givesNothing(form) && { reward: withoutNulls(rewardOf(form)) }),
})

const patchOf = (form: Form, goal: Goal) => ({
  ...membersOf(form),
  ...sharedPatch(form, goal),
  reward: givesNothing(form) ? null : rewardPatch(form, goal.reward),
})

const recurrenceLabels = {
  none: "never",
  daily: "each day",
  weekly: "each week",
  monthly: "each month",
} as const

const scopes = [
  ["everyone", "everyone together"],
  ["team", "each team of a kind"],
] as const

const scoreFields = ({ faults, form }: Draft): Content => [
  html`<p class="hint">What counts, who shares the target and how often the goal begins again change only while the goal is a draft.</p>`,
  textField({
    name: "score.currency",
    label: "Currency",
    value: form.text("score.currency"),
    hint: html`The key of a currency without a refill, such as <code>xp</code>. What users earn of it counts. Empty for a metric.`,
    faults,
  }),
  textField({
    name: "score.metric",
    label: "Metric",
    value: form.text("score.metric"),
    hint: "The key of a metric that counts or sums, in place of a currency.",
    faults,
  }),
  selectField({
    name: "scope",
    label: "Target of",
    value: form.text("scope"),
    options: scopes,
    faults,
  }),
  textField({
    name: "teamKind",
    label: "Kind of team",
    value: form.text("teamKind"),
    hint: html`For a target of each team, such as <code>club</code>.`,
    faults,
  }),
  selectField({
    name: "recurrence",
    label: "Begins again",
    value: form.text("recurrence"),
    options: questRecurrences.map((one) => [one, recurrenceLabels[one]] as const),
    hint: "Days, weeks and months are those of the project's time zone.",
    faults,
  }),
]

const fields = (draft: Draft, badges: BadgeChoices, isNew: boolean): Content => {
  const { faults, form } = draft
  return [
    textField({ name: "name", label: "Name", value: form.text("name"), required: true, faults }),
    headFields(draft, isNew, "name"),
    group({ legend: "What counts", name: "counts" }, scoreFields(draft)),
    numberField({
      name: "target",
      label: "Target",
      value: form.text("target"),
      hint: "In units of the currency or the metric. At the present total or below it, the goal is complete at once.",
      required: true,
      faults,
    }),
    rewardFields(draft, badges),
    numberField({
      name: "minContribution",
      label: "Least contribution",
      value: form.text("minContribution"),
      hint: "Who contributed at least this gets the reward when the target is reached.",
      faults,
    }),
    tailFields(draft, "From then on nothing counts for it."),
  ]
}

const names = () => [
  "name",
  ...sharedNames,
  "score",
  "score.currency",
  "score.metric",
  "scope",
  "teamKind",
  "target",
  "recurrence",
  "minContribution",
  ...rewardNames,
]

/** Numbers of metrics may have decimals. */
const amount = (value: number): string =>
  Number.isInteger(value) ? count(value) : value.toLocaleString("en")

const rewardedWords = ({ completedAt, rewarded }: Progress): string => {
  if (completedAt === null) return "not yet"
  return rewarded === null ? "being paid" : `${count(rewarded)} users`
}

const progressOf = (goal: Goal, progress: Progress): Content =>
  figures([
    ["Total", `${amount(progress.total)} of ${count(goal.target)}`],
    ["Reached", `${progress.percent}%`],
    ["Contributors", count(progress.contributors)],
    ["Reward paid", rewardedWords(progress)],
  ])

/** The contributions of each of the last days. */
const chartOf = (visit: PlaceVisit, goal: Goal): Effect.Effect<Content> => {
  const asked = visit.ask("goals.days", { params: { id: goal.id }, query: {} })
  return Effect.map(Effect.result(asked), (found): Content => {
    const days = found._tag === "Success" ? found.success.days : []
    if (days.every(({ contributed }) => contributed === 0)) return undefined
    const isOpen = goal.status === "active" || goal.status === "paused"
    const points = days.map(({ contributed, date }, at) => ({
      at: dayLabel(date),
      value: contributed,
      open: isOpen && at === days.length - 1,
    }))
    return html`<div class="charts">${lineChart({ label: "Contributed by day", shown: amount, points })}</div>`
  })
}

const teamsShown = 20

/** The teams with the highest totals. */
const teamsOf = (visit: PlaceVisit, goal: Goal): Effect.Effect<Content> => {
  const query = { limit: String(teamsShown) }
  const asked = visit.ask("goals.teams", { params: { id: goal.id }, query })
  return Effect.map(Effect.result(asked), (found): Content => {
    const teams = found._tag === "Success" ? found.success.teams : []
    if (teams.length === 0) return html`<p>No team has contributed in the present period.</p>`
    const rows = teams.map(({ team, ...progress }) => [
      html`<a href="${visit.base}/teams/${encodeURIComponent(team.id)}">${isolated(team.name)}</a>`,
      amount(progress.total),
      `${progress.percent}%`,
      count(progress.contributors),
      rewardedWords(progress),
    ])
    return html`<h2>Teams</h2>
${table(`Teams of ${goal.name}`, ["Team", "Total", "Reached", "Contributors", "Reward paid"], rows)}`
  })
}

const contributorsShown = 10

/** The users with the highest contributions. */
const topOf = (visit: PlaceVisit, goal: Goal): Effect.Effect<Content> => {
  const query = { limit: String(contributorsShown) }
  const asked = visit.ask("goals.contributors", { params: { id: goal.id }, query })
  return Effect.map(Effect.result(asked), (found): Content => {
    const top = found._tag === "Success" ? found.success.contributors : []
    if (top === null)
      return html`<h2>Top contributors</h2><p>They are being counted: reload the page in a moment.</p>`
    if (top.length === 0) return undefined
    const rows = top.map(({ contribution, displayName, rewarded, team, userId }) => [
      userLink(visit.base, userId, displayName),
      team === null ? "" : isolated(team.name),
      amount(contribution),
      rewarded ? "paid" : "",
    ])
    return html`<h2>Top contributors</h2>
${table(`Top contributors of ${goal.name}`, ["User", "Team", "Contribution", "Reward"], rows)}`
  })
}

const whoseWords = ({ scope, teamKind }: Goal): Content =>
  scope === "everyone" ? "everyone" : html`each team of kind ${isolated(teamKind ?? "")}`

const goalKind: KindPages<Goal, BadgeChoices> = {
  noun: "goal",
  nameOf: ({ name }) => name,
  lifecycle: "period",
  loss: "Nothing counts for it from now on. The rewards of a completion are still paid.",
  purpose:
    "A goal is a target that users reach together, such as 1,000 km in a month. Each contributor gets the reward.",
  choices: badgeChoices,
  blank: new Map([
    ["score.currency", "xp"],
    ["scope", goalDefaults.scope],
    ["recurrence", goalDefaults.recurrence],
    ["minContribution", String(goalDefaults.minContribution)],
  ]),
  textsOf,
  preset: [],
  fields,
  names,
  trial: eventTrial(
    "goal",
    () => ({ action: "" }),
    draftOf,
    "An action that gives the currency or counts for the metric.",
  ),
  draftOf,
  patchOf,
  more: (visit, goal, allowed) => {
    if (goal.status === "draft") return Effect.undefined
    const state =
      goal.scope === "team"
        ? teamsOf(visit, goal)
        : Effect.succeed(goal.progress == null ? undefined : progressOf(goal, goal.progress))
    return Effect.map(
      Effect.all([state, chartOf(visit, goal), topOf(visit, goal)]),
      (sections): Content => [allowed && periodButtons(visit, goal), ...sections],
    )
  },
  heads: ["Target", "Reached", "Gives", "For", "Period"],
  cellsIn: (visit) =>
    Effect.map(badgeChoices(visit), (badges) => (goal) => [
      html`${count(goal.target)} ${goal.score.currency ?? goal.score.metric ?? ""}<br>of ${whoseWords(goal)}`,
      goal.progress == null
        ? ""
        : html`${goal.progress.percent}%<br>${count(goal.progress.contributors)} users`,
      rewardWords(goal.reward, badges),
      goal.segment === null ? "everyone" : isolated(goal.segment),
      [
        goal.recurrence !== "none" && html`again ${recurrenceLabels[goal.recurrence]}<br>`,
        periodWords(goal),
      ],
    ]),
}

export const goalRoutes: ReadonlyArray<Route> = [...goalPeriodRoutes, ...kindRoutes(goalKind)]
