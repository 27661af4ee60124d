/** The pages of leagues: their divisions, and the cohorts of the present window. */
import { Effect } from "effect"
import { leagueDefaults } from "../../../domain/project/League.ts"
import { windowKinds } from "../../../domain/values/Calendar.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { Route } from "../../request/Route.ts"
import type { Draft } from "../../view/Editing.ts"
import { type Form, group, numberField, selectField, textField } from "../../view/Forms.ts"
import { type Content, type Html, html, isolated } from "../../view/Html.ts"
import { addButton, removeButton, rowCount } from "../../view/Lists.ts"
import { withoutNulls } from "./editor.ts"
import { kindRoutes } from "./kindPages.ts"
import { cohortsLine, leagueCohortRoutes } from "./leagueCohorts.ts"
import { rewardFields, rewardNames, rewardsOf, rewardTexts } from "./leagueRewards.ts"
import {
  headFields,
  periodWords,
  sharedDraft,
  sharedNames,
  sharedPatch,
  sharedTexts,
  tailFields,
} from "./lifecycle.ts"
import { rankedFields, rankedKey, rankedOf, rankedTexts } from "./ranked.ts"

type League = BodyOf<"leagues.get">

const divisionRowsMax = limits.leagueDivisionsMax + 1

const textsOf = (league: League) =>
  new Map([
    ["name", league.name],
    ...sharedTexts(league),
    ...rankedTexts(league),
    ["window", league.window],
    ["cohortSize", String(league.cohortSize)],
    ["graceMinutes", String(league.graceMinutes)],
    ...league.divisions.flatMap(({ demote, icon, key, name, promote }, index) => {
      const row = `divisions.${index}`
      return [
        [`${row}.key`, key],
        [`${row}.name`, name],
        [`${row}.icon`, icon ?? ""],
        [`${row}.promote`, String(promote)],
        [`${row}.demote`, String(demote)],
      ] as const
    }),
    ...rewardTexts(league.rewards),
  ])

/** The places of the divisions in the form. */
const divisionRows = (form: Form): ReadonlyArray<string> =>
  form.indices("divisions", divisionRowsMax).map((index) => `divisions.${index}`)

const divisionsOf = (form: Form) =>
  divisionRows(form).map((row) => ({
    key: form.text(`${row}.key`),
    name: form.text(`${row}.name`),
    icon: form.text(`${row}.icon`) || null,
    promote: form.number(`${row}.promote`) ?? null,
    demote: form.number(`${row}.demote`) ?? null,
  }))

const membersOf = (form: Form) => ({
  name: form.text("name"),
  score: rankedOf(form),
  divisions: divisionsOf(form),
  cohortSize: form.number("cohortSize") ?? null,
  window: form.text("window"),
  graceMinutes: form.number("graceMinutes") ?? null,
  rewards: rewardsOf(form),
})

const draftOf = (form: Form) => ({ ...withoutNulls(membersOf(form)), ...sharedDraft(form) })

const patchOf = (form: Form, league: League) => ({
  ...membersOf(form),
  ...sharedPatch(form, league),
})

const windowLabels = { daily: "a day", weekly: "a week", monthly: "a month" } as const

const divisionFields = (draft: Draft, row: string, place: number): Html => {
  const { address, faults, form } = draft
  const text = (name: string, label: string) =>
    textField({ name: `${row}.${name}`, label, value: form.text(`${row}.${name}`), faults })
  const number = (name: string, label: string) =>
    numberField({ name: `${row}.${name}`, label, value: form.text(`${row}.${name}`), faults })
  return html`<fieldset><legend>Division ${place}</legend><div class="row fields">
${text("key", "Key")}
${text("name", "Name")}
${text("icon", "Icon")}
${number("promote", "Move up")}
${number("demote", "Move down")}
${removeButton(row, `division ${place}`, address)}</div></fieldset>`
}

const divisionsGroup = (draft: Draft): Html => {
  const { address, faults, form } = draft
  return group({ legend: "Divisions", name: "divisions", faults }, [
    html`<p class="hint">The lowest first: users begin in it. The numbers are those of a full cohort; of a smaller one the same share moves. Once the league is active, divisions stay at their places, and new ones come last.</p>`,
    divisionRows(form).map((row, place) => divisionFields(draft, row, place + 1)),
    rowCount(form, "divisions") < limits.leagueDivisionsMax &&
      addButton("divisions", "Add division", address),
  ])
}

const rankedHint = html`Of a currency without a refill, such as <code>xp</code> or <code>points</code>, or of a metric that counts or sums. What users earn of it, or events add to it, is the score.`

const competitionFields = (draft: Draft): Content => {
  const { faults, form } = draft
  return [
    ...rankedFields(draft, ["currency", "metric"], rankedHint),
    selectField({
      name: "window",
      label: "Users compete for",
      value: form.text("window"),
      options: windowKinds.map((window) => [window, windowLabels[window]] as const),
      faults,
    }),
    numberField({
      name: "graceMinutes",
      label: "Grace in minutes",
      value: form.text("graceMinutes"),
      hint: "For so long after its end a window takes events that occurred in it. Then it closes.",
      faults,
    }),
    numberField({
      name: "cohortSize",
      label: "Users in a cohort",
      value: form.text("cohortSize"),
      faults,
    }),
  ]
}

const fields = (draft: Draft, _: undefined, isNew: boolean): Content => {
  const { faults, form } = draft
  return [
    textField({ name: "name", label: "Name", value: form.text("name"), required: true, faults }),
    headFields(draft, isNew, "name"),
    html`<p class="hint">What it ranks by, window, grace, segment and start change only while the league is a draft.</p>`,
    group({ legend: "Competition", name: "competition" }, competitionFields(draft)),
    divisionsGroup(draft),
    rewardFields(draft),
    tailFields(draft, "What occurs from then on does not count."),
  ]
}

const names = (form: Form) => [
  "name",
  ...sharedNames,
  "score",
  "score.*",
  "window",
  "graceMinutes",
  "cohortSize",
  "divisions",
  ...divisionRows(form).flatMap((row) =>
    ["key", "name", "icon", "promote", "demote"].map((name) => `${row}.${name}`),
  ),
  ...rewardNames(form),
]

const definitionRoutes = kindRoutes<League, undefined>({
  noun: "league",
  nameOf: ({ name }) => name,
  lifecycle: "period",
  loss: "The open window ends without an outcome.",
  purpose:
    "In a league, users of one division compete in small cohorts for a day, a week or a month. Then the first of each cohort move up a division, and the last move down.",
  choices: () => Effect.undefined,
  blank: new Map([
    ["ranks", "currency"],
    ["by", "xp"],
    ["window", leagueDefaults.window],
    ["cohortSize", String(leagueDefaults.cohortSize)],
    ["graceMinutes", String(leagueDefaults.graceMinutes)],
    ["divisions.0.key", "bronze"],
    ["divisions.0.name", "Bronze"],
    ["divisions.0.promote", "10"],
    ["divisions.0.demote", "0"],
    ["divisions.1.key", "silver"],
    ["divisions.1.name", "Silver"],
    ["divisions.1.promote", "7"],
    ["divisions.1.demote", "5"],
    ["divisions.2.key", "gold"],
    ["divisions.2.name", "Gold"],
    ["divisions.2.promote", "0"],
    ["divisions.2.demote", "5"],
  ]),
  textsOf,
  preset: [],
  fields,
  names,
  draftOf,
  patchOf,
  more: (visit, league) =>
    league.status === "archived" || league.status === "draft"
      ? Effect.undefined
      : cohortsLine(visit, league),
  heads: ["Ranks by", "Divisions", "For", "Period"],
  cellsIn: () =>
    Effect.succeed((league) => [
      `${rankedKey(league)}, ${windowLabels[league.window]}`,
      league.divisions.map(({ name }) => name).join(", "),
      league.segment === null ? "everyone" : isolated(league.segment),
      periodWords(league),
    ]),
})

export const leagueRoutes: ReadonlyArray<Route> = [...definitionRoutes, ...leagueCohortRoutes]
