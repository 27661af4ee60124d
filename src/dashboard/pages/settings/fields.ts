/** The form of an environment's settings: name, time zone, level curve, streaks, actions of clients. */
import { createHash } from "node:crypto"
import { type LevelCurve, levelCurveKinds } from "../../../domain/project/Level.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { Draft } from "../../view/Editing.ts"
import {
  areaField,
  type Form,
  group,
  numberField,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { addButton, removeButton, rowCount } from "../../view/Rows.ts"

export type Settings = BodyOf<"project.get">

const streakRowsMax = limits.streaksMax + 1
const zones = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")]

/** Changes with each change of the settings; they have no time of their own. */
export const versionOf = ({
  clientActions,
  levelCurve,
  name,
  streaks,
  timezone,
}: Settings): string =>
  createHash("sha256")
    .update(JSON.stringify([name, timezone, levelCurve, streaks, clientActions]))
    .digest("base64url")
    .slice(0, 16)

const curveTexts = ({ kind, ...members }: LevelCurve) => [
  ["levelCurve.kind", kind] as const,
  ...Object.entries(members).map(
    ([name, value]) =>
      [`levelCurve.${name}`, Array.isArray(value) ? value.join("\n") : String(value)] as const,
  ),
]

export const textsOf = ({ clientActions, levelCurve, name, streaks, timezone }: Settings) =>
  new Map([
    ["name", name],
    ["timezone", timezone],
    ...curveTexts(levelCurve),
    ...streaks.flatMap(({ actions, freezes, key }, index) => {
      const row = `streaks.${index}`
      return [
        [`${row}.key`, key],
        [`${row}.actions`, actions.join("\n")],
        [`${row}.freezes.initial`, String(freezes.initial)],
        [`${row}.freezes.max`, String(freezes.max)],
        [`${row}.freezes.everyDays`, String(freezes.everyDays ?? "")],
      ] as const
    }),
    ["clientActions", clientActions.join("\n")],
  ])

const kindOf = (form: Form): LevelCurve["kind"] =>
  levelCurveKinds.find((kind) => kind === form.text("levelCurve.kind")) ?? "quadratic"

/** The members of the chosen kind: fields of another kind are not shown. */
const curveOf = (form: Form) => {
  const kind = kindOf(form)
  const number = (name: string) => form.number(`levelCurve.${name}`) ?? null
  switch (kind) {
    case "quadratic":
      return { kind, base: number("base") }
    case "linear":
      return { kind, xpPerLevel: number("xpPerLevel") }
    case "geometric":
      return { kind, base: number("base"), factor: number("factor") }
    case "table": {
      const thresholds = wordsOf(form, "levelCurve.thresholds").map(numberOf)
      return { kind, thresholds }
    }
  }
}

const numberOf = (text: string): number | string =>
  Number.isFinite(Number(text)) ? Number(text) : text

const wordsOf = (form: Form, name: string): ReadonlyArray<string> =>
  form
    .text(name)
    .split(/[\s,;]+/)
    .filter((word) => word !== "")

const streaksOf = (form: Form) =>
  form.indices("streaks", streakRowsMax).map((index) => {
    const row = `streaks.${index}`
    const number = (name: string) => form.number(`${row}.freezes.${name}`)
    return {
      key: form.text(`${row}.key`),
      actions: wordsOf(form, `${row}.actions`),
      freezes: {
        initial: number("initial"),
        max: number("max"),
        everyDays: number("everyDays") ?? null,
      },
    }
  })

/** The change to what the form says. A name like that of the project is none of the environment's own. */
export const patchOf = (form: Form, projectName: string) => {
  const name = form.text("name")
  return {
    name: name === "" || name === projectName ? null : name,
    timezone: form.text("timezone"),
    levelCurve: curveOf(form),
    streaks: streaksOf(form),
    clientActions: wordsOf(form, "clientActions"),
  }
}

const curveLabels: Readonly<Record<LevelCurve["kind"], string>> = {
  quadratic: "quadratic: each level takes a constant amount more",
  linear: "linear: every level takes the same",
  geometric: "geometric: each level takes a constant factor more",
  table: "table: the xp of each level",
}

const curveMembers: Readonly<Record<LevelCurve["kind"], ReadonlyArray<string>>> = {
  quadratic: ["base"],
  linear: ["xpPerLevel"],
  geometric: ["base", "factor"],
  table: ["thresholds"],
}

const curveField = ({ faults, form }: Draft, kind: LevelCurve["kind"], member: string): Html => {
  const name = `levelCurve.${member}`
  const field = { name, value: form.text(name), faults }
  switch (member) {
    case "thresholds":
      return areaField({
        ...field,
        label: "Thresholds",
        hint: "The xp at which each level begins, from 0, one a line. The last one begins the top level.",
        rows: 8,
        below: true,
      })
    case "factor":
      return numberField({ ...field, label: "Factor", hint: "Such as 1.5." })
    case "xpPerLevel":
      return numberField({ ...field, label: "Xp of each level" })
    default:
      return kind === "quadratic"
        ? numberField({ ...field, label: "Base", hint: "Half of the xp of level 1." })
        : numberField({ ...field, label: "Xp of level 1" })
  }
}

const curveGroup = (draft: Draft): Html => {
  const { address, faults, form } = draft
  const kind = kindOf(form)
  return group({ legend: "Levels", name: "levelCurve", faults }, [
    html`<div class="row fields">${selectField({
      name: "levelCurve.kind",
      label: "Curve",
      value: kind,
      options: levelCurveKinds.map((one) => [one, curveLabels[one]]),
      faults,
    })}<button formaction="${address}" name="intent" value="kind" formnovalidate>Show its fields</button></div>`,
    curveMembers[kind].map((member) => curveField(draft, kind, member)),
  ])
}

const streakRow = ({ address, faults, form }: Draft, row: string, place: number): Html => {
  const number = (name: string, label: string, hint: string) =>
    numberField({
      name: `${row}.freezes.${name}`,
      label,
      hint,
      value: form.text(`${row}.freezes.${name}`),
      faults,
    })
  return html`<fieldset><legend>Streak ${place}</legend>
${textField({ name: `${row}.key`, label: "Key", value: form.text(`${row}.key`), hint: "Users' days are stored under it.", faults })}
${areaField({ name: `${row}.actions`, label: "Actions", value: form.text(`${row}.actions`), rows: 2, hint: "One event a day with one of these counts. Every action, if empty.", faults, below: true })}
<div class="row fields">${number("initial", "Freezes at first", "Each forgives a missed day.")}
${number("max", "Most freezes", "As many as at first, if empty.")}
${number("everyDays", "One more every … days", "Never, if empty.")}</div>
<p>${removeButton(row, `streak ${place}`, address)}</p></fieldset>`
}

export const fields = (draft: Draft): Content => {
  const { address, faults, form } = draft
  return [
    textField({
      name: "name",
      label: "Name",
      value: form.text("name"),
      hint: "Shown to people. That of the project, if empty.",
      faults,
    }),
    textField({
      name: "timezone",
      label: "Time zone",
      value: form.text("timezone"),
      list: "zones",
      hint: "Of days, weeks and months, and of users without a zone of their own.",
      required: true,
      faults,
    }),
    html`<datalist id="zones">${zones.map((zone) => html`<option value="${zone}">`)}</datalist>`,
    curveGroup(draft),
    group({ legend: "Streaks", name: "streaks", faults }, [
      html`<p class="hint">A streak counts consecutive days with an event, in the user's time zone.</p>`,
      form
        .indices("streaks", streakRowsMax)
        .map((index, place) => streakRow(draft, `streaks.${index}`, place + 1)),
      rowCount(form, "streaks") < limits.streaksMax && addButton("streaks", "Add streak", address),
    ]),
    areaField({
      name: "clientActions",
      label: "Actions of clients",
      value: form.text("clientActions"),
      rows: 3,
      hint: "Actions that users may send themselves, with a user token, one a line. A user can send them at any time and with any metadata. None, if empty.",
      faults,
      below: true,
    }),
  ]
}

export const names = (form: Form): ReadonlyArray<string> => [
  "name",
  "timezone",
  "levelCurve",
  "levelCurve.kind",
  ...curveMembers[kindOf(form)].map((member) => `levelCurve.${member}.*`),
  "streaks",
  ...form.indices("streaks", streakRowsMax).flatMap((index) => {
    const row = `streaks.${index}`
    const freezes = ["initial", "max", "everyDays"].map((name) => `${row}.freezes.${name}`)
    return [`${row}.key`, `${row}.actions.*`, ...freezes]
  }),
  "clientActions.*",
]
