/** The rules of an environment: what actions earn. */
import { Effect } from "effect"
import { limitPeriods } from "../../../domain/project/Definition.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import { mayChange, type PlaceVisit, placePage, type Route } from "../../request/Route.ts"
import { seenActions, unmatchedSection } from "../../view/Actions.ts"
import { type Draft, versionInput } from "../../view/Editing.ts"
import {
  checkField,
  confirmButton,
  type Form,
  group,
  numberField,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { type Content, html } from "../../view/Html.ts"
import { listQuery } from "../../view/Lists.ts"
import { isoTime } from "../../view/Quantities.ts"
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
  rewardTexts,
  rewardWords,
} from "./conditions.ts"
import {
  type Action,
  actionForm,
  actionRoute,
  type Editor,
  editorRoutes,
  listPage,
  withoutNulls,
} from "./editor.ts"

type Rule = BodyOf<"rules.get">

const path = "/rules"
const textOf = (value: number | string | null | undefined): string => String(value ?? "")

const textsOf = (rule: Rule) =>
  new Map([
    ["action", rule.action],
    ...conditionTexts("where", rule.where),
    ...rewardTexts(rule.reward),
    ["multiplierPath", textOf(rule.multiplierPath)],
    ["multiplierMin", textOf(rule.multiplierMin)],
    ["multiplierMax", textOf(rule.multiplierMax)],
    ["limit.times", textOf(rule.limit?.times)],
    ["limit.per", textOf(rule.limit?.per)],
    ["cooldownSeconds", textOf(rule.cooldownSeconds)],
    ...(rule.enabled ? [["enabled", "true"] as const] : []),
  ])

/** All members; `null` for optional ones that are empty. */
const patchOf = (form: Form) => {
  const times = form.number("limit.times")
  const per = form.text("limit.per")
  return {
    action: form.text("action"),
    where: conditionsOf(form, "where"),
    reward: rewardOf(form),
    multiplierPath: form.text("multiplierPath") || null,
    multiplierMin: form.number("multiplierMin") ?? null,
    multiplierMax: form.number("multiplierMax") ?? null,
    limit: times === undefined && per === "" ? null : { times: times ?? null, per },
    cooldownSeconds: form.number("cooldownSeconds") ?? null,
    enabled: form.checked("enabled"),
  }
}

const draftOf = (form: Form) => {
  const { reward, ...rest } = patchOf(form)
  return { ...withoutNulls(rest), reward: withoutNulls(reward) }
}

const periods = limitPeriods.map(
  (period) => [period, period === "ever" ? "ever" : `per ${period}`] as const,
)

const fields = (draft: Draft, badges: BadgeChoices): Content => {
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
    conditionFields(draft, "where"),
    rewardFields(draft, badges),
    html`<details${["multiplierPath", "multiplierMin", "multiplierMax"].some((name) => form.text(name) !== "") && html` open`}><summary>Multiply by a number of the event</summary>`,
    textField({
      name: "multiplierPath",
      label: "Path of the number",
      value: form.text("multiplierPath"),
      hint: html`Xp and points are multiplied by the number there, such as <code>cart.total</code>, and rounded down. Without a number the rule gives nothing.`,
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
    checkField({
      name: "enabled",
      label: "Enabled",
      checked: form.checked("enabled"),
      hint: "A paused rule gives nothing.",
    }),
  ]
}

const names = (form: Form) => [
  "action",
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

const dialogs = (visit: PlaceVisit, { action, id, enabled, version }: Rule): Content => {
  const own = `${visit.base}${path}/${id}`
  return [
    enabled
      ? actionForm(`${own}/pause`, "Pause", action, version)
      : actionForm(`${own}/enable`, "Enable", action, version),
    confirmButton({
      id: `delete-${id}`,
      button: "Delete",
      confirm: "Delete rule",
      keep: "Keep it",
      title: `Delete the rule for ${action} in ${visit.place.environment}?`,
      detail: "It gives nothing from now on. Rewards that users have stay. It cannot be undone.",
      action: `${own}/delete`,
      fields: versionInput(version),
    }),
  ]
}

const ruleEditor: Editor<Rule, BadgeChoices> = {
  noun: "rule",
  path,
  titleOf: ({ action }) => `Rule for ${action}`,
  find: (visit, id) => visit.ask("rules.get", { params: { id } }),
  create: (visit, payload, idempotencyKey) =>
    visit.ask("rules.create", { payload, idempotencyKey }),
  update: (visit, id, payload, ifMatch) =>
    visit.ask("rules.update", { params: { id }, payload, ifMatch }),
  choices: badgeChoices,
  blank: new Map([["enabled", "true"]]),
  textsOf,
  preset: ["op"],
  fields,
  names,
  eventOf: (form) => ({ action: form.text("action") }),
  draftOf,
  patchOf,
  canChange: () => true,
  above: (visit, rule, allowed) =>
    Effect.succeed(
      html`<div class="row"><span>${rule.enabled ? "In force" : "Paused"}, changed ${isoTime(rule.updatedAt)}</span>${allowed && dialogs(visit, rule)}</div>`,
    ),
}

const list = Effect.fnUntraced(function* (visit: PlaceVisit) {
  const allowed = mayChange(visit)
  const page = yield* visit.ask("rules.list", { query: listQuery(visit.request.query) })
  const badges = yield* badgeChoices(visit)
  const actions = yield* seenActions(visit.ask)
  return listPage(visit, {
    title: "Rules",
    path,
    empty:
      "A rule says what an action earns: xp, points or a badge for each event with this action.",
    create: "Create rule",
    page,
    below: unmatchedSection(actions),
    heads: ["Action", "Conditions", "Gives", "Limit", "State", "Changed"],
    rows: page.rules.map((rule) => [
      html`<a href="${visit.base}${path}/${rule.id}">${rule.action}</a>`,
      conditionWords(rule.where),
      [
        rewardWords(rule.reward, badges),
        rule.multiplierPath !== null && html` × <code>${rule.multiplierPath}</code>`,
      ],
      rule.limit === null
        ? "none"
        : `${rule.limit.times} ${rule.limit.per === "ever" ? "ever" : `a ${rule.limit.per}`}`,
      rule.enabled ? "in force" : "paused",
      isoTime(rule.updatedAt),
      ...(allowed ? [html`<div class="row">${dialogs(visit, rule)}</div>`] : []),
    ]),
  })
})

const enable =
  (enabled: boolean): Action["change"] =>
  (visit, id, ifMatch) =>
    visit.ask("rules.update", { params: { id }, payload: { enabled }, ifMatch })

const action = (verb: Lowercase<string>, change: Action["change"]) =>
  actionRoute({ noun: "rule", verb, path, change })

export const ruleRoutes: ReadonlyArray<Route> = [
  placePage(path, list),
  ...editorRoutes(ruleEditor),
  action("pause", enable(false)),
  action("enable", enable(true)),
  action("delete", (visit, id, ifMatch) => visit.ask("rules.delete", { params: { id }, ifMatch })),
]
