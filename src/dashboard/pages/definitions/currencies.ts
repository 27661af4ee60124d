/** The currencies of an environment: what users earn and spend. */
import { Effect } from "effect"
import { earnPeriods } from "../../../domain/project/Currency.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import type { Route } from "../../request/Route.ts"
import type { Draft } from "../../view/Editing.ts"
import {
  areaField,
  checkField,
  type Form,
  group,
  jsonField,
  jsonOf,
  numberField,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { type Content, html } from "../../view/Html.ts"
import { count } from "../../view/Quantities.ts"
import { eventTrial, withoutNulls } from "./editor.ts"
import { kindRoutes } from "./kindPages.ts"
import { levelsFields, levelsNames, levelsOf, levelsTexts, levelsWords } from "./levelForms.ts"
import { metadataOf, metadataPatchOf } from "./lifecycle.ts"

type Currency = BodyOf<"currencies.get">

const isBuiltIn = ({ key }: Currency): boolean => key === "xp" || key === "points"

const textsOf = (currency: Currency) => {
  const { description, earnLimit, max, metadata, name, pendingDays, refill, spendable } = currency
  const [[ends, value] = []] = Object.entries(currency.expiry ?? {})
  return new Map([
    ["name", name],
    ["description", description ?? ""],
    ...(spendable ? [["spendable", "true"] as const] : []),
    ["max", textOf(max)],
    ["earnLimit.amount", textOf(earnLimit?.amount)],
    ["earnLimit.per", textOf(earnLimit?.per)],
    ["refill.amount", textOf(refill?.amount)],
    ["refill.everyMinutes", textOf(refill?.everyMinutes)],
    ["pendingDays", textOf(pendingDays)],
    ["expiry.kind", textOf(ends)],
    [ends === "yearlyOn" ? "expiry.yearlyOn" : "expiry.days", textOf(value)],
    ...levelsTexts(currency.levels),
    ["metadata", metadataOf(metadata)],
  ])
}

const textOf = (value: number | string | null | undefined): string => String(value ?? "")

const earnLimitOf = (form: Form) => {
  const amount = form.number("earnLimit.amount")
  const per = form.text("earnLimit.per")
  return amount === undefined && per === "" ? null : { amount: amount ?? null, per }
}

const refillOf = (form: Form) => {
  const amount = form.number("refill.amount")
  const everyMinutes = form.number("refill.everyMinutes")
  return amount === undefined && everyMinutes === undefined
    ? null
    : { amount: amount ?? null, everyMinutes: everyMinutes ?? null }
}

const expiryOf = (form: Form) => {
  const kind = form.text("expiry.kind")
  if (kind === "") return null
  return { [kind]: kind === "yearlyOn" ? form.text("expiry.yearlyOn") : form.number("expiry.days") }
}

const membersOf = (form: Form) => ({
  name: form.text("name"),
  description: form.text("description") || null,
  spendable: form.checked("spendable"),
  max: form.number("max") ?? null,
  earnLimit: earnLimitOf(form),
  refill: refillOf(form),
  pendingDays: form.number("pendingDays") ?? null,
  expiry: expiryOf(form),
  levels: levelsOf(form),
})

const draftOf = (form: Form) => ({
  ...withoutNulls({ ...membersOf(form), key: form.optional("key") ?? null }),
  metadata: jsonOf(form.text("metadata")),
})

const limitFields = (draft: Draft): Content => {
  const { faults, form } = draft
  return [
    numberField({
      name: "max",
      label: "Maximum",
      value: form.text("max"),
      hint: "A credit raises a balance at most to this amount; the rest is lost. None, if empty.",
      faults,
    }),
    group({ legend: "Limit of what a user earns", name: "earnLimit", faults }, [
      numberField({
        name: "earnLimit.amount",
        label: "Amount",
        value: form.text("earnLimit.amount"),
        hint: "The most that a user is credited in a period. No limit, if empty.",
        faults,
      }),
      selectField({
        name: "earnLimit.per",
        label: "Period",
        value: form.text("earnLimit.per"),
        options: [["", "no limit"], ...earnPeriods.map((per) => [per, `per ${per}`] as const)],
        hint: "Days, weeks and months are those of the user's time zone.",
        faults,
      }),
    ]),
    group({ legend: "Refill with time", name: "refill", faults }, [
      numberField({
        name: "refill.amount",
        label: "Amount",
        value: form.text("refill.amount"),
        hint: "Added to each balance up to the maximum, as hearts or energy. None, if empty.",
        faults,
      }),
      numberField({
        name: "refill.everyMinutes",
        label: "Every … minutes",
        value: form.text("refill.everyMinutes"),
        faults,
      }),
    ]),
    numberField({
      name: "pendingDays",
      label: "Pending days",
      value: form.text("pendingDays"),
      hint: "The days after which a credit can be spent. At once, if empty.",
      faults,
    }),
    expiryFields({ faults, form }),
    levelsFields(draft),
  ]
}

const expiryFields = ({ faults = [], form }: Pick<Draft, "faults" | "form">): Content => {
  // A fault names a member of the API. The form has one field for two of these members.
  const own = faults.map((fault) => ({
    ...fault,
    pointer: fault.pointer.replace(/^\/expiry\/(afterDays|inactivityDays)$/, "/expiry/days"),
  }))
  return group({ legend: "Expiry", name: "expiry", faults: own }, [
    selectField({
      name: "expiry.kind",
      label: "Credits end",
      value: form.text("expiry.kind"),
      options: [
        ["", "never"],
        ["afterDays", "so many days after the event"],
        ["inactivityDays", "so many days after the last event"],
        ["yearlyOn", "on one day of each year"],
      ],
      hint: "At the end of a day of the user's time zone. An edit changes only later credits.",
      faults: own,
    }),
    numberField({
      name: "expiry.days",
      label: "Days",
      value: form.text("expiry.days"),
      faults: own,
    }),
    textField({
      name: "expiry.yearlyOn",
      label: "Month and day",
      value: form.text("expiry.yearlyOn"),
      hint: "Such as 12-31.",
      faults: own,
    }),
  ])
}

const fields = (draft: Draft, _: undefined, isNew: boolean): Content => {
  const { faults, form } = draft
  return [
    textField({ name: "name", label: "Name", value: form.text("name"), required: true, faults }),
    areaField({
      name: "description",
      label: "Description",
      value: form.text("description"),
      rows: 2,
      faults,
    }),
    isNew &&
      textField({
        name: "key",
        label: "Key",
        value: form.text("key"),
        hint: html`The name for code, rewards and files, such as <code>gems</code>. It never changes. Made from the name, if empty.`,
        faults,
      }),
    checkField({
      name: "spendable",
      label: "Spendable",
      checked: form.checked("spendable"),
      hint: "Users can spend it. Points always are, xp never.",
    }),
    limitFields(draft),
    jsonField({
      name: "metadata",
      label: "Metadata",
      value: form.text("metadata"),
      hint: "A JSON object for your app.",
      faults,
    }),
  ]
}

const names = (form: Form) => [
  "name",
  "description",
  "key",
  "spendable",
  "max",
  "earnLimit",
  "earnLimit.amount",
  "earnLimit.per",
  "refill",
  "refill.amount",
  "refill.everyMinutes",
  "pendingDays",
  "expiry",
  "expiry.afterDays",
  "expiry.inactivityDays",
  "expiry.yearlyOn",
  ...levelsNames(form),
  "metadata.*",
]

const expiryText = ({ expiry }: Currency): string => {
  if (expiry === null) return "never"
  if (expiry.afterDays !== undefined) return `after ${count(expiry.afterDays)} days`
  if (expiry.inactivityDays !== undefined) return `${count(expiry.inactivityDays)} days inactive`
  return `on ${expiry.yearlyOn}`
}

export const currencyRoutes: ReadonlyArray<Route> = kindRoutes<Currency, undefined>({
  noun: "currency",
  nameOf: ({ name }) => name,
  lifecycle: "lasting",
  loss: "Nobody can earn or spend it any more, and its balances are no longer shown.",
  isBuiltIn,
  purpose: "A currency is what users earn and spend.",
  choices: () => Effect.undefined,
  blank: new Map([["spendable", "true"]]),
  textsOf,
  preset: [],
  fields,
  names,
  trial: eventTrial(
    "currency",
    () => ({ action: "" }),
    draftOf,
    "An action for which a rule or a quest pays.",
  ),
  draftOf,
  patchOf: (form, currency) => ({ ...membersOf(form), metadata: metadataPatchOf(form, currency) }),
  heads: ["Spendable", "Maximum", "Earned at most", "Refill", "Expiry", "Levels"],
  cellsIn: () =>
    Effect.succeed((currency) => [
      currency.spendable ? "yes" : "no",
      currency.max === null ? "none" : count(currency.max),
      currency.earnLimit === null
        ? "no limit"
        : `${count(currency.earnLimit.amount)} a ${currency.earnLimit.per}`,
      currency.refill === null
        ? "none"
        : `${count(currency.refill.amount)} every ${count(currency.refill.everyMinutes)} min`,
      expiryText(currency),
      levelsWords(currency.levels),
    ]),
})
