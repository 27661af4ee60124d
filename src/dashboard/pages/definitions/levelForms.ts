/** Fields of levels: the curve of xp or of a currency, and the named levels of a currency. */
import { levelBases } from "../../../domain/project/Currency.ts"
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
import { addButton, removeButton, rowCount } from "../../view/Lists.ts"
import { paymentFields, paymentNames, paymentTexts, typedPayment } from "./conditions.ts"

/* A curve, whose fields have names below `name`. */

type CurveKind = LevelCurve["kind"]

export const curveTexts = (name: string, { kind, ...members }: LevelCurve) => [
  [`${name}.kind`, kind] as const,
  ...Object.entries(members).map(
    ([member, value]) =>
      [`${name}.${member}`, Array.isArray(value) ? value.join("\n") : String(value)] as const,
  ),
]

export const curveKindOf = (form: Form, name: string): CurveKind | undefined =>
  levelCurveKinds.find((kind) => kind === form.text(`${name}.kind`))

/** The members of the kind. The form shows no fields of other kinds. */
export const curveOf = (form: Form, name: string, kind: CurveKind) => {
  const number = (member: string) => form.number(`${name}.${member}`) ?? null
  switch (kind) {
    case "quadratic":
      return { kind, base: number("base") }
    case "linear":
      return { kind, xpPerLevel: number("xpPerLevel") }
    case "geometric":
      return { kind, base: number("base"), factor: number("factor") }
    case "table":
      return { kind, thresholds: form.words(`${name}.thresholds`).map(numberOf) }
  }
}

const numberOf = (text: string): number | string =>
  Number.isFinite(Number(text)) ? Number(text) : text

export const curveLabels: Readonly<Record<CurveKind, string>> = {
  quadratic: "quadratic: each level takes a constant amount more",
  linear: "linear: every level takes the same",
  geometric: "geometric: each level takes a constant factor more",
  table: "table: the amount of each level",
}

const curveMembers: Readonly<Record<CurveKind, ReadonlyArray<string>>> = {
  quadratic: ["base"],
  linear: ["xpPerLevel"],
  geometric: ["base", "factor"],
  table: ["thresholds"],
}

export const curveNames = (name: string, kind: CurveKind | undefined): ReadonlyArray<string> => [
  `${name}.kind`,
  ...(kind === undefined ? [] : curveMembers[kind].map((member) => `${name}.${member}.*`)),
]

export const curveFields = (draft: Draft, name: string, kind: CurveKind): Content =>
  curveMembers[kind].map((member) => curveField(draft, name, kind, member))

const curveField = (
  { faults, form }: Draft,
  curve: string,
  kind: CurveKind,
  member: string,
): Html => {
  const name = `${curve}.${member}`
  const field = { name, value: form.text(name), faults }
  switch (member) {
    case "thresholds":
      return areaField({
        ...field,
        label: "Thresholds",
        hint: "The amount at which each level begins, from 0, one a line. The last one begins the top level.",
        rows: 8,
        below: true,
      })
    case "factor":
      return numberField({ ...field, label: "Factor", hint: "Such as 1.5." })
    case "xpPerLevel":
      return numberField({ ...field, label: "Amount of each level" })
    default:
      return kind === "quadratic"
        ? numberField({ ...field, label: "Base", hint: "Half of the amount of level 1." })
        : numberField({ ...field, label: "Amount of level 1" })
  }
}

/* The levels of a currency: none, named ones, or those of a curve. */

type Levels = NonNullable<BodyOf<"currencies.get">["levels"]>

const curveName = "levels.curve"
const named = "named"

/** One more than a currency may have, so that the schema refuses too many. */
const rowsMax = limits.currencyLevelsMax + 1

const rowsOf = (form: Form): ReadonlyArray<string> =>
  form.text(`${curveName}.kind`) === named
    ? form.indices("levels.table", rowsMax).map((index) => `levels.table.${index}`)
    : []

export const levelsTexts = (levels: Levels | null) => {
  if (levels === null) return []
  const { curve, of, table = [] } = levels
  return [
    ["levels.of", of] as const,
    ...(curve === undefined
      ? [[`${curveName}.kind`, named] as const]
      : curveTexts(curveName, curve)),
    ...table.flatMap(({ from, icon, key, name, reward }, index) => {
      const row = `levels.table.${index}`
      return [
        [`${row}.key`, key],
        [`${row}.name`, name],
        [`${row}.from`, String(from)],
        [`${row}.icon`, icon ?? ""],
        ...paymentTexts(`${row}.reward`, reward),
        [`${row}.reward.badgeId`, reward.badgeId ?? ""],
      ] as const
    }),
  ]
}

/** The typed levels, unchecked. */
export const levelsOf = (form: Form) => {
  const of = form.text("levels.of") || "earned"
  const kind = curveKindOf(form, curveName)
  if (kind !== undefined) return { of, curve: curveOf(form, curveName, kind) }
  if (form.text(`${curveName}.kind`) !== named) return null
  const table = rowsOf(form).map((row) => {
    const icon = form.text(`${row}.icon`)
    const badgeId = form.optional(`${row}.reward.badgeId`)
    const payment = typedPayment(form, `${row}.reward`)
    const reward = badgeId === undefined ? payment : { ...payment, badgeId }
    return {
      key: form.text(`${row}.key`),
      name: form.text(`${row}.name`),
      from: form.number(`${row}.from`) ?? null,
      ...(icon !== "" && { icon }),
      ...(reward !== null && { reward }),
    }
  })
  return { of, table }
}

const basisLabels = { earned: "what a user earned", balance: "what a user has" }

export const levelsFields = (draft: Draft): Html => {
  const { address, faults, form } = draft
  const kind = curveKindOf(form, curveName)
  const choice = form.text(`${curveName}.kind`)
  return group({ legend: "Levels", name: "levels", faults }, [
    html`<div class="row fields">${selectField({
      name: `${curveName}.kind`,
      label: "Levels",
      value: choice,
      options: [
        ["", "none"],
        [named, "named: such as bronze, silver and gold"],
        ...levelCurveKinds.map((one) => [one, curveLabels[one]] as const),
      ],
      faults,
    })}<button formaction="${address}" name="intent" value="kind" formnovalidate>Show its fields</button></div>`,
    choice !== "" &&
      selectField({
        name: "levels.of",
        label: "By",
        value: form.text("levels.of") || "earned",
        options: levelBases.map((basis) => [basis, basisLabels[basis]] as const),
        hint: "What a user has falls when it is spent or ends: with an expiry on one day of each year, a level is a status that must be earned again.",
        faults,
      }),
    kind !== undefined && curveFields(draft, curveName, kind),
    choice === named && [
      html`<p class="hint">Lowest first. A level begins at an amount, and pays a user once, ever, when the amount grows to it.</p>`,
      rowsOf(form).map((row, place) => levelRow(draft, row, place + 1)),
      rowCount(form, "levels.table") < limits.currencyLevelsMax &&
        addButton("levels.table", "Add level", address),
    ],
  ])
}

const levelRow = ({ address, faults, form }: Draft, row: string, place: number): Html =>
  html`<fieldset><legend>Level ${place}</legend><div class="row fields">
${textField({ name: `${row}.key`, label: "Key", value: form.text(`${row}.key`), faults })}
${textField({ name: `${row}.name`, label: "Name", value: form.text(`${row}.name`), faults })}
${numberField({ name: `${row}.from`, label: "From", value: form.text(`${row}.from`), faults })}
${textField({ name: `${row}.icon`, label: "Icon", value: form.text(`${row}.icon`), faults })}
${removeButton(row, `level ${place}`, address)}</div>
<div class="row fields">${paymentFields({ faults, form }, `${row}.reward`)}
${textField({ name: `${row}.reward.badgeId`, label: "Id of a badge", value: form.text(`${row}.reward.badgeId`), faults })}</div></fieldset>`

export const levelsNames = (form: Form): ReadonlyArray<string> => [
  "levels",
  "levels.of",
  ...curveNames(curveName, curveKindOf(form, curveName)),
  "levels.table",
  ...rowsOf(form).flatMap((row) => [
    ...["key", "name", "from", "icon"].map((member) => `${row}.${member}`),
    ...paymentNames(`${row}.reward`),
    `${row}.reward.badgeId`,
  ]),
]

/** The levels in words, for lists. */
export const levelsWords = (levels: Levels | null): string => {
  if (levels === null) return "none"
  const { curve, of, table = [] } = levels
  const what = curve === undefined ? table.map(({ name }) => name).join(", ") : curve.kind
  return of === "earned" ? what : `${what}, by balance`
}
