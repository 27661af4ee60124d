/** The segments of an environment. */
import { Effect } from "effect"
import { conditionOperators } from "../../../domain/project/Definition.ts"
import {
  type SegmentCondition,
  type SegmentConditionKind,
  segmentConditionKinds,
  segmentConditionNames,
} from "../../../domain/project/Segment.ts"
import { conditionKinds } from "../../../domain/user/Membership.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { Route } from "../../request/Route.ts"
import type { Draft } from "../../view/Editing.ts"
import { areaField, type Form, group, jsonField, selectField, textField } from "../../view/Forms.ts"
import { type Content, type Html, html, isolated } from "../../view/Html.ts"
import { addButton, removeButton, rowCount, table } from "../../view/Lists.ts"
import { count, isoTime } from "../../view/Quantities.ts"
import { operatorLabels, textOfValue, typedValue, wordsOfValue } from "./conditions.ts"
import { newUserId, type Trial, withoutNulls } from "./editor.ts"
import { kindRoutes } from "./kindPages.ts"
import { metadataOf, metadataPatchOf } from "./lifecycle.ts"

type Counted = BodyOf<"segments.get">
/** Only a read has the number of members. */
type Segment = Omit<Counted, "members"> & Partial<Pick<Counted, "members">>

const kindLabels: Readonly<Record<SegmentConditionKind, string>> = {
  attribute: "attribute",
  level: "level",
  balance: "balance",
  currency_level: "number or key of the level in a currency",
  badge: "badge",
  streak: "the length of a streak",
  metric: "total of a metric",
  team: "id of the team of a kind",
  account_age_days: "days since the creation",
  inactive_days: "days since the latest event",
  percent: "place in a percentage",
  experiment: "variant of an experiment",
}

const nameLabels = {
  attribute: "Attribute",
  currency: "Currency",
  badge: "Key of the badge",
  streak: "Key of the streak",
  metric: "Key of the metric",
  team: "Kind of teams",
  salt: "Salt",
  experiment: "Key of the experiment",
}

/* The conditions: a row for each. */

/** One more than a segment may have, so that the schema refuses too many. */
const rowsMax = limits.segmentConditionsMax + 1

const rowsOf = (form: Form) =>
  form.indices("conditions", rowsMax).map((index) => `conditions.${index}`)

const kindOf = (form: Form, row: string): SegmentConditionKind =>
  segmentConditionKinds.find((kind) => kind === form.text(`${row}.kind`)) ?? "attribute"

const conditionTexts = (conditions: Segment["conditions"]) =>
  conditions.flatMap((condition, index) => {
    const row = `conditions.${index}`
    const { name } = conditionKinds[condition.kind]
    return [
      [`${row}.kind`, condition.kind],
      ...(name === undefined ? [] : [[`${row}.${name}`, condition[name] ?? ""] as const]),
      [`${row}.op`, condition.op],
      // A row without any text would be taken for a blank one.
      [`${row}.value`, isHeld(condition) ? "true" : textOfValue(condition.value)],
    ] as const
  })

/** Whether the condition asks for a value, with the default of `exists`. */
const isHeld = ({ op, value }: Pick<SegmentCondition, "op" | "value">): boolean =>
  op === "exists" && value === undefined

/** The typed conditions, unchecked. */
const conditionsOf = (form: Form): ReadonlyArray<unknown> =>
  rowsOf(form).map((row) => {
    const kind = kindOf(form, row)
    const { name } = conditionKinds[kind]
    const op = form.text(`${row}.op`)
    const value = typedValue(form.text(`${row}.value`))
    return {
      kind,
      ...(name !== undefined && { [name]: form.text(`${row}.${name}`) }),
      op,
      value: op === "exists" && value === true ? undefined : value,
    }
  })

const conditionRow = ({ address, faults, form }: Draft, row: string, place: number): Html => {
  const kind = kindOf(form, row)
  const { name } = conditionKinds[kind]
  return html`<div class="row fields" role="group" aria-label="Condition ${place}">
${selectField({ name: `${row}.kind`, label: "What", value: kind, options: segmentConditionKinds.map((one) => [one, kindLabels[one]]), faults })}
<button formaction="${address}" name="intent" value="kind" formnovalidate aria-label="Show the fields of condition ${place}">Show its fields</button>
${name !== undefined && textField({ name: `${row}.${name}`, label: nameLabels[name], value: form.text(`${row}.${name}`), faults })}
${selectField({ name: `${row}.op`, label: "Comparison", value: form.text(`${row}.op`) || "eq", options: conditionOperators.map((op) => [op, operatorLabels[op]]), faults })}
${textField({ name: `${row}.value`, label: "Value", value: form.text(`${row}.value`), faults, below: true })}
${removeButton(row, `condition ${place}`, address)}</div>`
}

const conditionFields = (draft: Draft): Html => {
  const { address, faults, form } = draft
  return group({ legend: "Conditions on the user", name: "conditions", faults }, [
    selectField({
      name: "match",
      label: "In the segment",
      value: form.text("match") || "all",
      options: [
        ["all", "if all conditions hold"],
        ["any", "if any condition holds"],
      ],
      faults,
    }),
    html`<p class="hint">A value is a number, <code>true</code>, <code>false</code>, a list such as <code>["a", 2]</code>, or a text; type a text that looks like one of these in quotes: <code>"42"</code>. A place in a percentage is less than 10 for a tenth of all users.</p>`,
    rowsOf(form).map((row, place) => conditionRow(draft, row, place + 1)),
    rowCount(form, "conditions") < limits.segmentConditionsMax &&
      addButton("conditions", "Add condition", address),
  ])
}

/** A condition in words, for lists. */
const conditionWords = (condition: SegmentCondition): string => {
  const { kind, op, value } = condition
  const { name } = conditionKinds[kind]
  const what = name === undefined ? kindLabels[kind] : `${kindLabels[kind]} ${condition[name]}`
  if (op === "exists") return `${value === false ? "no " : ""}${what}`
  return `${what} ${operatorLabels[op]} ${wordsOfValue(value)}`
}

const words = ({ conditions, match }: Pick<Segment, "conditions" | "match">): string =>
  conditions.map(conditionWords).join(match === "all" ? ", and " : ", or ")

/* A try: the conditions of the form for one user. */

const trial: Trial = {
  names: ["userId"],
  fields: ({ address, faults, form }) =>
    group({ legend: "Try it before saving", name: "try", faults }, [
      textField({
        name: "userId",
        label: "User id",
        hint: "A new user, if empty.",
        value: form.text("userId"),
        faults,
      }),
      html`<p><button formaction="${address}#outcome" name="intent" value="try" formnovalidate>Try</button></p>`,
    ]),
  run: (visit, form) => {
    const userId = form.optional("userId")
    const conditions = conditionsOf(form)
    const payload = {
      userId: userId ?? newUserId(),
      match: form.text("match") || "all",
      conditions,
    }
    return Effect.map(
      visit.ask("segments.preview", { payload }),
      (
        answer,
      ) => html`<section id="outcome" aria-labelledby="outcome-title"><h2 id="outcome-title">${userId === undefined ? "A new user" : isolated(userId)} ${answer.member ? "is" : "is not"} in the segment</h2>
${table(
  "Outcome",
  ["Condition", "Holds", "The user has"],
  answer.conditions.map(({ found, holds }, index) => [
    // The reply proves that the conditions have the form of the schema.
    conditionWords(conditions[index] as SegmentCondition),
    holds ? "yes" : "no",
    found === null ? "none" : isolated(String(found)),
  ]),
)}</section>`,
    )
  },
}

/* The page of a segment. */

const textsOf = (segment: Segment) =>
  new Map([
    ["name", segment.name],
    ["description", segment.description ?? ""],
    ["match", segment.match],
    ...conditionTexts(segment.conditions),
    ["metadata", metadataOf(segment.metadata)],
  ])

const membersOf = (form: Form) => ({
  name: form.text("name"),
  description: form.text("description") || null,
  match: form.text("match") || "all",
  conditions: conditionsOf(form),
})

const draftOf = (form: Form) => {
  const metadata = metadataPatchOf(form, { metadata: {} })
  return withoutNulls({ ...membersOf(form), key: form.optional("key") ?? null, metadata })
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
        hint: html`The name for rules, quests, badges and files, such as <code>active-learners</code>. It never changes. Made from the name, if empty.`,
        faults,
      }),
    conditionFields(draft),
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
  "match",
  "conditions",
  ...rowsOf(form).flatMap((row) => [
    `${row}.kind`,
    ...segmentConditionNames.map((name) => `${row}.${name}`),
    `${row}.op`,
    `${row}.value.*`,
  ]),
  "metadata.*",
]

const membersRow = ({ members }: Segment): Content => {
  if (members === undefined) return undefined
  const { count: known, countedAt, counting } = members
  if (known === null || countedAt === null) {
    return counting ? "Its members are being counted: reload the page." : undefined
  }
  return html`${count(known)} members at ${isoTime(countedAt)}${counting && ", being counted again"}.`
}

export const segmentRoutes: ReadonlyArray<Route> = kindRoutes<Segment, undefined>({
  noun: "segment",
  nameOf: ({ name }) => name,
  lifecycle: "lasting",
  loss: "No rule, quest or badge can be for it any more.",
  purpose:
    "A segment is a set of users by conditions, such as everybody with a plan or a tenth of all users. Rules, quests and badges can be for a segment.",
  choices: () => Effect.undefined,
  blank: new Map([["conditions.0.kind", "attribute"]]),
  textsOf,
  preset: ["kind", "op"],
  fields,
  names,
  trial,
  draftOf,
  patchOf: (form, segment) => ({ ...membersOf(form), metadata: metadataPatchOf(form, segment) }),
  more: (visit, segment) => {
    if (segment.status !== "active") return Effect.undefined
    const own = `${visit.base}/users?segment=${encodeURIComponent(segment.key)}`
    return Effect.succeed(html`<p>${membersRow(segment)} <a href="${own}">Show the members</a></p>`)
  },
  heads: ["Members"],
  cellsIn: () => Effect.succeed((segment) => [words(segment)]),
})
