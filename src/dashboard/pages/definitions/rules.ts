/** The rules of an environment: what actions earn. */
import { Effect } from "effect"
import { limitPeriods } from "../../../domain/values/Periods.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { Route } from "../../request/Route.ts"
import { seenActions, unmatchedSection } from "../../view/Actions.ts"
import type { Draft } from "../../view/Editing.ts"
import { type Form, group, numberField, selectField, textField } from "../../view/Forms.ts"
import { type Content, html } from "../../view/Html.ts"
import { pathWarning } from "../../view/Paths.ts"
import {
  type BadgeChoices,
  badgeChoices,
  conditionFields,
  conditionNames,
  conditionsOf,
  conditionTexts,
  conditionWords,
  rewardFields,
  rewardNames,
  rewardOf,
  rewardPatch,
  rewardTexts,
  rewardWords,
} from "./conditions.ts"
import { eventTrial, withoutNulls } from "./editor.ts"
import { kindRoutes } from "./kindPages.ts"
import {
  headFields,
  periodWords,
  sharedDraft,
  sharedNames,
  sharedPatch,
  sharedTexts,
  tailFields,
} from "./lifecycle.ts"

type Rule = BodyOf<"rules.get">

const textOf = (value: number | string | null | undefined): string => String(value ?? "")

const textsOf = (rule: Rule) =>
  new Map([
    ["name", rule.name ?? ""],
    ...sharedTexts(rule),
    ["action", rule.action],
    ...conditionTexts("where", rule.where),
    ...rewardTexts(rule.reward),
    ["multiplierPath", textOf(rule.multiplierPath)],
    ["multiplierMin", textOf(rule.multiplierMin)],
    ["multiplierMax", textOf(rule.multiplierMax)],
    ["limit.times", textOf(rule.limit?.times)],
    ["limit.per", textOf(rule.limit?.per)],
    ["cooldownSeconds", textOf(rule.cooldownSeconds)],
  ])

/** The members of a rule alone; `null` for optional ones that are empty. */
const membersOf = (form: Form) => {
  const times = form.number("limit.times")
  const per = form.text("limit.per")
  return {
    name: form.text("name") || null,
    action: form.text("action"),
    where: conditionsOf(form, "where"),
    reward: rewardOf(form),
    multiplierPath: form.text("multiplierPath") || null,
    multiplierMin: form.number("multiplierMin") ?? null,
    multiplierMax: form.number("multiplierMax") ?? null,
    limit: times === undefined && per === "" ? null : { times: times ?? null, per },
    cooldownSeconds: form.number("cooldownSeconds") ?? null,
  }
}

const draftOf = (form: Form) => {
  const { reward, ...rest } = membersOf(form)
  return { ...withoutNulls(rest), ...sharedDraft(form), reward: withoutNulls(reward) }
}

const patchOf = (form: Form, rule: Rule) => ({
  ...membersOf(form),
  reward: rewardPatch(form, rule.reward),
  ...sharedPatch(form, rule),
})

const periods = limitPeriods.map(
  (period) => [period, period === "ever" ? "ever" : `per ${period}`] as const,
)

const fields = (draft: Draft, badges: BadgeChoices, isNew: boolean): Content => {
  const { faults, form } = draft
  const number = (name: string, label: string, hint?: string) =>
    numberField({ name, label, value: form.text(name), faults, ...(hint && { hint }) })
  return [
    textField({
      name: "action",
      label: "Action",
      value: form.text("action"),
      hint: html`The events that earn the reward, such as <code>LESSON_DONE</code>.`,
      required: true,
      faults,
    }),
    textField({ name: "name", label: "Name", value: form.text("name"), faults }),
    headFields(draft, isNew, "name or the action"),
    conditionFields(draft, "where", [form.text("action")]),
    rewardFields(draft, badges),
    html`<details${["multiplierPath", "multiplierMin", "multiplierMax"].some((name) => form.text(name) !== "") && html` open`}><summary>Multiply by a number of the event</summary>`,
    textField({
      name: "multiplierPath",
      label: "Path of the number",
      value: form.text("multiplierPath"),
      hint: html`Xp and points are multiplied by the number there, such as <code>cart.total</code>, and rounded down. Without a number the rule gives nothing.`,
      warning: pathWarning(draft, [form.text("action")], form.text("multiplierPath"), true),
      faults,
    }),
    number("multiplierMin", "At least", "0, if empty."),
    number("multiplierMax", "At most", `${limits.multiplierMax}, if empty.`),
    html`</details>`,
    group({ legend: "Limit", name: "limit", faults }, [
      number("limit.times", "Times", "How often a user gets the reward. No limit, if empty."),
      selectField({
        name: "limit.per",
        label: "Period",
        value: form.text("limit.per"),
        options: [["", "no limit"], ...periods],
        hint: "Days, weeks and months are those of the project's time zone.",
        faults,
      }),
    ]),
    number(
      "cooldownSeconds",
      "Cooldown in seconds",
      "The shortest time between two events of a user that the rule rewards. None, if empty.",
    ),
    tailFields(draft, "What occurs from then on earns nothing."),
  ]
}

const names = (form: Form) => [
  "action",
  "name",
  ...sharedNames,
  ...conditionNames(form, "where"),
  ...rewardNames,
  "multiplierPath",
  "multiplierMin",
  "multiplierMax",
  "limit",
  "limit.times",
  "limit.per",
  "cooldownSeconds",
]

export const ruleRoutes: ReadonlyArray<Route> = kindRoutes<Rule, BadgeChoices>({
  noun: "rule",
  nameOf: ({ action, name }) => name ?? action,
  titleOf: ({ action, name }) => name ?? `Rule for ${action}`,
  lifecycle: "period",
  loss: "It gives nothing from now on. Rewards that users have stay.",
  purpose:
    "A rule says what an action earns: xp, points or a badge for each event with this action.",
  choices: badgeChoices,
  blank: new Map(),
  filled: ["action"],
  textsOf,
  preset: ["op"],
  fields,
  names,
  trial: eventTrial("rule", (form) => ({ action: form.text("action") }), draftOf),
  draftOf,
  patchOf,
  heads: ["Conditions", "Gives", "Limit", "Period"],
  cellsIn: (visit) =>
    Effect.map(badgeChoices(visit), (badges) => (rule) => [
      conditionWords(rule.where),
      [
        rewardWords(rule.reward, badges),
        rule.multiplierPath !== null && html` × <code>${rule.multiplierPath}</code>`,
      ],
      rule.limit === null
        ? "none"
        : `${rule.limit.times} ${rule.limit.per === "ever" ? "ever" : `a ${rule.limit.per}`}`,
      periodWords(rule),
    ]),
  below: (visit) =>
    Effect.map(seenActions(visit.ask), (seen) => unmatchedSection(visit.base, seen)),
})
