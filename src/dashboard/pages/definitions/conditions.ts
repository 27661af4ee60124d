/** The editor of conditions, for rules, steps of quests and criteria of badges. */

import { Effect } from "effect"
import {
  type Condition,
  type ConditionValue,
  conditionOperators,
  type Scalar,
} from "../../../domain/project/Definition.ts"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import { limits } from "../../../Limits.ts"
import type { PlaceVisit } from "../../request/Route.ts"
import type { Draft } from "../../view/Editing.ts"
import { type Form, group, jsonOf, numberField, selectField, textField } from "../../view/Forms.ts"
import { type Html, html } from "../../view/Html.ts"
import { addButton, removeButton, rowCount } from "../../view/Lists.ts"
import { pathWarning } from "../../view/Paths.ts"
import { count } from "../../view/Quantities.ts"

export const operatorLabels: Readonly<Record<Condition["op"], string>> = {
  eq: "is",
  ne: "is not",
  gt: "is greater than",
  gte: "is at least",
  lt: "is less than",
  lte: "is at most",
  in: "is one of",
  exists: "has a value",
  contains: "contains",
}

const isScalar = (value: unknown): value is Scalar =>
  value === null ||
  typeof value === "boolean" ||
  typeof value === "string" ||
  (typeof value === "number" && Number.isFinite(value))

/** False for 1e999 and the like: JSON cannot write such a number again. */
const isList = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item !== "number" || Number.isFinite(item))

/**
 * The value of a typed text. A number, `true`, `false`, `null`, a list or a quoted text is read as
 * JSON; anything else is the text itself. `undefined` for an empty text.
 */
export const typedValue = (text: string): unknown => {
  const value = jsonOf(text)
  return value === undefined || isScalar(value) || isList(value) ? value : text.trim()
}

/** The text that stands for a value in a field. */
export const textOfValue = (value: ConditionValue | undefined): string => {
  if (value === undefined) return ""
  const plain = typeof value === "string" && !/[\r\n]/.test(value) && typedValue(value) === value
  return plain ? value : JSON.stringify(value)
}

/** A value in words, for lists. */
export const wordsOfValue = (value: ConditionValue | undefined): string =>
  Array.isArray(value) ? value.join(", ") : textOfValue(value)

/** The fields of conditions, named below `name`. */
export const conditionTexts = (
  name: string,
  conditions: ReadonlyArray<Condition>,
): ReadonlyArray<readonly [name: string, text: string]> =>
  conditions.flatMap(({ op, path, value }, index) => {
    const row = `${name}.${index}`
    return [
      [`${row}.path`, path],
      [`${row}.op`, op],
      [`${row}.value`, textOfValue(value)],
    ] as const
  })

/** The typed conditions, unchecked. */
export const conditionsOf = (form: Form, name: string): ReadonlyArray<unknown> =>
  form.indices(name, rowsMax).map((index) => {
    const row = `${name}.${index}`
    return {
      path: form.text(`${row}.path`),
      op: form.text(`${row}.op`),
      value: typedValue(form.text(`${row}.value`)),
    }
  })

/** One more than a definition may have, so that the schema refuses too many. */
const rowsMax = limits.conditionsMax + 1

/** The names of the fields, for `refusal`. */
export const conditionNames = (form: Form, name: string): ReadonlyArray<string> => [
  name,
  ...form.indices(name, rowsMax).flatMap((index) => {
    const row = `${name}.${index}`
    return [`${row}.path`, `${row}.op`, `${row}.value.*`]
  }),
]

/** The conditions on the metadata of events of `actions`. */
export const conditionFields = (
  draft: Draft,
  name: string,
  actions: ReadonlyArray<string>,
): Html => {
  const pathField = (field: string): Html => {
    const { faults, form } = draft
    const value = form.text(field)
    const warning = pathWarning(draft, actions, value)
    return textField({ name: field, label: "Path", value, warning, faults })
  }
  return conditionGroup(
    draft,
    { legend: "Conditions on the metadata", name },
    pathField,
    metadataHint,
  )
}

const metadataHint = html`<p class="hint">All must hold. A path leads into the event's metadata, such as <code>cart.total</code>. A value is a number, <code>true</code>, <code>false</code>, <code>null</code>, a list such as <code>["a", 2]</code>, or a text; type a text that looks like one of these in quotes: <code>"42"</code>.</p>`

/** The rows of conditions named below `name`. `pathField`: the field of the path with a name. */
export const conditionGroup = (
  draft: Draft,
  { legend, name }: { readonly legend: string; readonly name: string },
  pathField: (name: string) => Html,
  hint?: Html,
): Html => {
  const { address, faults, form } = draft
  return group({ legend, name, faults }, [
    hint,
    form
      .indices(name, rowsMax)
      .map((index, place) => conditionRow(draft, `${name}.${index}`, place + 1, pathField)),
    rowCount(form, name) < limits.conditionsMax && addButton(name, "Add condition", address),
  ])
}

const conditionRow = (
  { address, faults, form }: Draft,
  row: string,
  place: number,
  pathField: (name: string) => Html,
): Html =>
  html`<div class="row fields" role="group" aria-label="Condition ${place}">
${pathField(`${row}.path`)}
${selectField({ name: `${row}.op`, label: "Comparison", value: form.text(`${row}.op`) || "eq", options: conditionOperators.map((op) => [op, operatorLabels[op]]), faults })}
${textField({ name: `${row}.value`, label: "Value", value: form.text(`${row}.value`), faults, below: true })}
${removeButton(row, `condition ${place}`, address)}</div>`

/** Conditions in words, for lists. */
export const conditionWords = (conditions: ReadonlyArray<Condition>): string =>
  conditions
    .map(({ op, path, value }) =>
      value === undefined || (op === "exists" && value === true)
        ? `${path} ${operatorLabels[op]}`
        : op === "exists"
          ? `${path} has no value`
          : `${path} ${operatorLabels[op]} ${wordsOfValue(value)}`,
    )
    .join("; ")

/* The reward of a rule, a quest or a badge: its fields and their values. */

/** Badges that a definition may give; `undefined` if there are too many for a list. */
export type BadgeChoices = ReadonlyArray<readonly [id: string, name: string]> | undefined

export const badgeChoices = (visit: PlaceVisit): Effect.Effect<BadgeChoices, LaurelError> =>
  Effect.map(
    visit.ask("badges.list", { query: { limit: String(limits.pageMax) } }),
    ({ badges, hasMore }) => (hasMore ? undefined : badges.map(({ id, name }) => [id, name])),
  )

interface Reward {
  readonly xp: number
  readonly points: number
  readonly currencies?: { readonly [key: string]: number }
  readonly badgeId: string | null
  readonly freezes?: { readonly [key: string]: number }
  readonly boost?: { readonly key: string; readonly minutes: number }
}

/** Amounts as a text: "gems 5, hearts 1". */
export const amountsText = (amounts: { readonly [key: string]: number } = {}): string =>
  Object.entries(amounts)
    .map(([key, amount]) => `${key} ${amount}`)
    .join(", ")

/** The amounts of a text in the form of `amountsText`; `undefined` if it is empty. */
export const amountsOf = (text: string): { readonly [key: string]: unknown } | undefined => {
  const parts = text.split(",").map((part) => part.trim())
  if (parts.every((part) => part === "")) return undefined
  return Object.fromEntries(
    parts.map((part) => {
      const [key = "", amount = "", ...rest] = part.split(/\s+/)
      const isNumber = /^[0-9]+$/.test(amount) && rest.length === 0
      return [key, isNumber ? Number(amount) : [amount, ...rest].join(" ")]
    }),
  )
}

/** The boost of a reward as a text: "double-xp 60". */
export const boostText = (boost: Reward["boost"]): string =>
  boost === undefined ? "" : `${boost.key} ${boost.minutes}`

/** The boost of a text in the form of `boostText`; `undefined` if it is empty. */
export const boostOf = (text: string) => {
  const [given] = Object.entries(amountsOf(text) ?? {})
  return given === undefined ? undefined : { key: given[0], minutes: given[1] }
}

/** The amounts of a reward, in fields named below `name`. */
export const paymentTexts = (name: string, { boost, currencies, freezes, points, xp }: Reward) =>
  [
    [`${name}.xp`, String(xp)],
    [`${name}.points`, String(points)],
    [`${name}.currencies`, amountsText(currencies)],
    [`${name}.freezes`, amountsText(freezes)],
    [`${name}.boost`, boostText(boost)],
  ] as const

export const rewardTexts = (reward: Reward) =>
  [...paymentTexts("reward", reward), ["reward.badgeId", reward.badgeId ?? ""]] as const

/** Amounts of 0 as empty fields. */
export const blankZeros = <Name extends string>(
  texts: ReadonlyArray<readonly [name: Name, text: string]>,
) => texts.map(([name, text]) => [name, text === "0" ? "" : text] as const)

export const paymentNames = (name: string) => [
  name,
  `${name}.xp`,
  `${name}.points`,
  `${name}.currencies.*`,
  `${name}.freezes.*`,
  `${name}.boost.*`,
]

export const rewardNames = [...paymentNames("reward"), "reward.badgeId"]

/** Amounts of a saved definition that the form no longer has are removed by `null`. */
const withRemoved = <
  A extends { readonly currencies: object | null; readonly freezes: object | null },
>(
  reward: A,
  { currencies = {}, freezes = {} }: Reward,
): A => ({
  ...reward,
  currencies: mergedOver(currencies, reward.currencies),
  freezes: mergedOver(freezes, reward.freezes),
})

export const mergedOver = (saved: object, typed: object | null): object | null =>
  typed && { ...Object.fromEntries(Object.keys(saved).map((key) => [key, null])), ...typed }

export const rewardPatch = (form: Form, reward: Reward) => withRemoved(rewardOf(form), reward)

export const paymentPatch = (form: Form, name: string, reward: Reward) =>
  withRemoved(paymentOf(form, name), reward)

/** `null` where nothing is typed. */
export const paymentOf = (form: Form, name: string) => ({
  xp: form.number(`${name}.xp`) ?? null,
  points: form.number(`${name}.points`) ?? null,
  currencies: amountsOf(form.text(`${name}.currencies`)) ?? null,
  freezes: amountsOf(form.text(`${name}.freezes`)) ?? null,
  boost: boostOf(form.text(`${name}.boost`)) ?? null,
})

export const rewardOf = (form: Form) => ({
  ...paymentOf(form, "reward"),
  badgeId: form.optional("reward.badgeId") ?? null,
})

/** What is typed; null: nothing, or only 0. */
export const typedPayment = (form: Form, name: string) => {
  const { boost, currencies, freezes, points, xp } = paymentOf(form, name)
  const typed = {
    ...(xp !== null && xp !== 0 && { xp }),
    ...(points !== null && points !== 0 && { points }),
    ...(currencies !== null && { currencies }),
    ...(freezes !== null && { freezes }),
    ...(boost !== null && { boost }),
  }
  return Object.keys(typed).length === 0 ? null : typed
}

/** The fields of amounts, named below `name`. */
export const paymentFields = ({ faults, form }: Pick<Draft, "faults" | "form">, name: string) => [
  numberField({ name: `${name}.xp`, label: "Xp", value: form.text(`${name}.xp`), faults }),
  numberField({
    name: `${name}.points`,
    label: "Points",
    value: form.text(`${name}.points`),
    hint: "A balance separate from xp.",
    faults,
  }),
  textField({
    name: `${name}.currencies`,
    label: "Further currencies",
    value: form.text(`${name}.currencies`),
    hint: html`The key and the amount of each, such as <code>gems 5, hearts 1</code>.`,
    faults,
    below: true,
  }),
  textField({
    name: `${name}.freezes`,
    label: "Freezes of streaks",
    value: form.text(`${name}.freezes`),
    hint: html`The key of the streak and the number of each, such as <code>daily 1</code>.`,
    faults,
    below: true,
  }),
  textField({
    name: `${name}.boost`,
    label: "Personal boost",
    value: form.text(`${name}.boost`),
    hint: html`The key of a personal boost and its minutes, such as <code>double-xp 60</code>.`,
    faults,
    below: true,
  }),
]

export const rewardFields = ({ faults, form }: Draft, badges: BadgeChoices): Html => {
  const given = form.text("reward.badgeId")
  const field = { name: "reward.badgeId", label: "Badge", value: given, faults }
  return group({ legend: "Reward", name: "reward", faults }, [
    paymentFields({ faults, form }, "reward"),
    badges === undefined
      ? textField({ ...field, hint: "The id of a badge." })
      : selectField({
          ...field,
          options: [
            ["", "none"],
            ...badges.map(([id, name]) => [id, name] as const),
            ...(given === "" || badges.some(([id]) => id === given)
              ? []
              : [[given, given] as const]),
          ],
        }),
  ])
}

/** A reward in words, for lists. */
export const rewardWords = (
  { badgeId, boost, currencies, freezes, points, xp }: Reward,
  badges: BadgeChoices,
): string => {
  const name = badges?.find(([id]) => id === badgeId)?.[1] ?? badgeId
  const parts = [
    xp > 0 && `${count(xp)} xp`,
    points > 0 && `${count(points)} ${points === 1 ? "point" : "points"}`,
    currencies !== undefined && amountsText(currencies),
    badgeId !== null && `badge ${name}`,
    freezes !== undefined && `freezes ${amountsText(freezes)}`,
    boost !== undefined && `boost ${boost.key} for ${boost.minutes} minutes`,
  ].filter((part) => part !== false)
  return parts.length === 0 ? "nothing" : parts.join(", ")
}
