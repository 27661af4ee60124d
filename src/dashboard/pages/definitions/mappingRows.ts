/**
 * The rows of a source's mappings, and the fields for the rest of a tracker's messages. Fields for parts of
 * a delivery suggest the JSON Pointers of the form's sample delivery.
 */
import type { Condition } from "../../../domain/project/Definition.ts"
import { isTracker, type SourceKind } from "../../../domain/project/Source.ts"
import { pointerToken } from "../../../domain/values/jsonPointer.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { Draft } from "../../view/Editing.ts"
import { areaField, type Form, group, jsonOf, selectField, textField } from "../../view/Forms.ts"
import { type Html, html } from "../../view/Html.ts"
import { addButton, removeButton, rowCount } from "../../view/Lists.ts"
import { conditionGroup, conditionNames, conditionsOf, conditionTexts } from "./conditions.ts"

type Source = BodyOf<"sources.get">
type Mapping = Source["mappings"][number]

/** One more than a source may have, so that the schema refuses too many. */
const rowsMax = limits.sourceMappingsMax + 1

/* Pointers as texts. An empty pointer, which leads to the whole document, is a text in quotes. */

const pointerText = (pointer: string | undefined): string =>
  pointer === undefined ? "" : pointer === "" ? '""' : pointer

const pointerOf = (form: Form, name: string): string | undefined => {
  const text = form.text(name)
  return text === "" ? undefined : text === '""' ? "" : text
}

const isPlain = ([name, pointer]: readonly [string, string]): boolean =>
  /^[^\s{][^\s/]*$/.test(name) && /^\/\S*$/.test(pointer)

/** Pointers by name: a line for each, such as `amount /data/object/amount_total`, or else JSON. */
const pointersText = (pointers: Readonly<Record<string, string>> = {}): string => {
  const all = Object.entries(pointers)
  return all.every(isPlain)
    ? all.map(([name, pointer]) => `${name} ${pointer}`).join("\n")
    : JSON.stringify(pointers, null, 2)
}

/** Unchecked; `undefined` if nothing is typed. */
const pointersOf = (form: Form, name: string): unknown => {
  const text = form.text(name)
  if (text.trim() === "") return undefined
  if (text.trim().startsWith("{")) return jsonOf(text)
  return Object.fromEntries(
    form.lines(name).map((line) => {
      const [member = "", ...rest] = line.split(/\s+/)
      return [member, rest.join(" ")]
    }),
  )
}

/* The texts of a saved source, and the typed ones. */

const texts = (row: string, mapping: Mapping) =>
  [
    [`${row}.event`, mapping.event ?? ""],
    [`${row}.action`, mapping.action],
    [`${row}.userId`, pointerText(mapping.userId)],
    [`${row}.id`, pointerText(mapping.id)],
    [`${row}.occurredAt`, pointerText(mapping.occurredAt)],
    [`${row}.metadata`, pointersText(mapping.metadata)],
    ...conditionTexts(`${row}.where`, (mapping.where ?? []) as ReadonlyArray<Condition>),
  ] as const

export const mappingTexts = (mappings: ReadonlyArray<Mapping>) =>
  mappings.flatMap((mapping, index) => texts(`mappings.${index}`, mapping))

const given = (members: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

/** The typed mappings, unchecked. */
export const mappingsOf = (form: Form): ReadonlyArray<unknown> =>
  form.indices("mappings", rowsMax).map((index) => {
    const row = `mappings.${index}`
    const where = conditionsOf(form, `${row}.where`)
    return given({
      event: form.optional(`${row}.event`),
      ...(where.length > 0 && { where }),
      action: form.text(`${row}.action`),
      userId: pointerOf(form, `${row}.userId`),
      id: pointerOf(form, `${row}.id`),
      occurredAt: pointerOf(form, `${row}.occurredAt`),
      metadata: pointersOf(form, `${row}.metadata`),
    })
  })

export const mappingNames = (form: Form): ReadonlyArray<string> => [
  "mappings",
  ...form.indices("mappings", rowsMax).flatMap((index) => {
    const row = `mappings.${index}`
    return [
      ...["event", "action", "userId", "id", "occurredAt"].map((name) => `${row}.${name}`),
      `${row}.metadata.*`,
      ...conditionNames(form, `${row}.where`),
    ]
  }),
]

export const trackerTexts = ({ tracker }: Pick<Source, "tracker">) =>
  [
    ["tracker.unmapped", tracker?.unmapped ?? ""],
    ["tracker.aliases", tracker?.aliases ?? ""],
    ["tracker.own", tracker?.traits ? "yes" : ""],
    ["tracker.traits.displayName", pointerText(tracker?.traits?.displayName)],
    ["tracker.traits.attributes", pointersText(tracker?.traits?.attributes)],
  ] as const

/** The typed rules of a tracker, unchecked; `undefined` for other kinds. */
export const trackerOf = (form: Form) => {
  if (!isTracker(form.text("kind"))) return undefined
  const displayName = pointerOf(form, "tracker.traits.displayName")
  const attributes = pointersOf(form, "tracker.traits.attributes")
  return given({
    unmapped: form.optional("tracker.unmapped"),
    aliases: form.optional("tracker.aliases"),
    traits: form.text("tracker.own") === "yes" ? given({ displayName, attributes }) : undefined,
  })
}

export const trackerNames = [
  "tracker.unmapped",
  "tracker.aliases",
  "tracker.traits.displayName",
  "tracker.traits.attributes.*",
]

/* The fields. */

/** The pointers of a sample that fields suggest. */
const pointersMax = 200
const pointersList = "pointers-of-sample"

const addPointers = (value: unknown, pointer: string, all: Array<string>): void => {
  if (all.length >= pointersMax || pointer.length > limits.pointerCharactersMax) return
  if (typeof value !== "object" || value === null) {
    if (pointer !== "") all.push(pointer)
    return
  }
  for (const [name, member] of Object.entries(value)) {
    addPointers(member, `${pointer}/${pointerToken(name)}`, all)
    if (all.length >= pointersMax) return
  }
}

/** The suggestions: once on the page. Those of a batch are those of its first message. */
export const pointerSuggestions = (sample: string): Html => {
  const all: Array<string> = []
  const value = jsonOf(sample)
  const { batch } = (typeof value === "object" && value !== null ? value : {}) as {
    readonly batch?: unknown
  }
  if (typeof value === "object") addPointers(Array.isArray(batch) ? batch[0] : value, "", all)
  return html`<datalist id="${pointersList}">${all.map((one) => html`<option value="${one}">`)}</datalist>`
}

const eventHints: Readonly<Record<SourceKind, string>> = {
  stripe: "Such as invoice.paid.",
  github: "Such as pull_request.",
  json: "The type in the body.",
  segment: "Such as Order Completed; page for page views.",
  posthog: "Such as order completed; $pageview for page views.",
}

const mappingRow = (draft: Draft, row: string, place: number): Html => {
  const { address, faults, form } = draft
  const kind = form.text("kind")
  const isOfTracker = isTracker(kind)
  const field = (name: string, label: string, hint?: string) => ({
    name: `${row}.${name}`,
    label,
    value: form.text(`${row}.${name}`),
    faults,
    ...(hint !== undefined && { hint }),
  })
  const pointer = (name: string, label: string, hint?: string) =>
    textField({ ...field(name, label, hint), list: pointersList })
  return html`<fieldset><legend>Mapping ${place}</legend><div class="row fields">
${textField(field("event", "Kind of event", `${eventHints[kind as SourceKind] ?? ""} Every kind, if empty.`))}
${textField(field("action", "Action"))}
${pointer("userId", "User", isOfTracker ? "The user of the message, if empty." : "A JSON Pointer such as /data/object/id.")}
${pointer("id", "Id of the event", isOfTracker ? "That of the message, if empty." : "That of the delivery, if empty.")}
${pointer("occurredAt", "Time", "That of the service, if empty.")}
${removeButton(row, `mapping ${place}`, address)}</div>
${areaField({
  ...field("metadata", "Metadata"),
  rows: 3,
  code: true,
  below: true,
  hint: html`A line for each member: its name and a JSON Pointer, such as <code>amount /data/object/amount_total</code>.${isOfTracker && " All properties, if empty."}`,
})}
${conditionGroup(draft, { legend: "Conditions on the delivery", name: `${row}.where` }, (name) =>
  textField({ name, label: "JSON Pointer", value: form.text(name), list: pointersList, faults }),
)}</fieldset>`
}

export const mappingFields = (draft: Draft): Html => {
  const { address, faults, form } = draft
  const isOfTracker = isTracker(form.text("kind"))
  return group({ legend: "Mappings", name: "mappings", faults }, [
    html`<p class="hint">${isOfTracker ? "The first mapping that matches a message makes its event. Pointers lead into the message, such as /properties/total." : "Each mapping that matches a delivery makes one event. Pointers lead into the body."} A sample delivery below suggests them.</p>`,
    form
      .indices("mappings", rowsMax)
      .map((index, place) => mappingRow(draft, `mappings.${index}`, place + 1)),
    rowCount(form, "mappings") < limits.sourceMappingsMax &&
      addButton("mappings", "Add mapping", address),
  ])
}

/** The fields for messages of a tracker that no mapping matches. */
export const trackerFields = ({ faults, form }: Draft): Html | undefined => {
  if (!isTracker(form.text("kind"))) return undefined
  const value = (name: string) => ({ name, value: form.text(name), faults })
  return group({ legend: "Other messages", name: "tracker", faults }, [
    selectField({
      ...value("tracker.unmapped"),
      label: "Events without a mapping",
      options: [
        ["", "become an event with their name in capitals"],
        ["ignored", "are ignored"],
      ],
    }),
    selectField({
      ...value("tracker.aliases"),
      label: "Aliases",
      options: [
        ["", "merge the former id into the user"],
        ["ignored", "are ignored"],
      ],
    }),
    selectField({
      ...value("tracker.own"),
      label: "Traits",
      options: [
        ["", "all but those that name or reach a person"],
        ["yes", "those below"],
      ],
    }),
    textField({
      ...value("tracker.traits.displayName"),
      label: "Display name",
      list: pointersList,
      hint: "A JSON Pointer into the traits, such as /name.",
    }),
    areaField({
      ...value("tracker.traits.attributes"),
      label: "Attributes",
      rows: 3,
      code: true,
      below: true,
      hint: html`A line for each: its name and a JSON Pointer into the traits, such as <code>plan /company/plan</code>.`,
    }),
  ])
}
