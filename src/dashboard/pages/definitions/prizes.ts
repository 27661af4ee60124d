/** The fields of the prizes of a leaderboard: one row for each. */
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { Draft } from "../../view/Editing.ts"
import { type Form, group, numberField, selectField } from "../../view/Forms.ts"
import { type Html, html } from "../../view/Html.ts"
import { addButton, removeButton, rowCount } from "../../view/Lists.ts"
import {
  fieldsOf,
  rankFields,
  rowNames,
  rowRewardFields,
  rowTexts,
  typedRow,
} from "./rewardRows.ts"

type Prize = BodyOf<"leaderboards.get">["prizes"][number]

/** One more than a leaderboard may have, so that the schema refuses too many. */
const prizeRowsMax = limits.boardPrizesMax + 1

const rowOf = (index: number): string => `prizes.${index}`

export const prizeTexts = (prizes: ReadonlyArray<Prize>) =>
  prizes.flatMap((prize, index) => {
    const row = rowOf(index)
    return [
      [`${row}.window`, prize.window],
      [`${row}.percent`, String(prize.percent ?? "")],
      ...rowTexts(row, prize),
    ] as const
  })

/** The prizes of a form, unchecked. */
export const prizesOf = (form: Form) =>
  form.indices("prizes", prizeRowsMax).map((index) => {
    const row = rowOf(index)
    const percent = form.number(`${row}.percent`)
    return {
      window: form.text(`${row}.window`),
      ...(percent !== undefined && { percent }),
      ...typedRow(form, row),
    }
  })

const windows = [
  ["all_time", "all time, at the end"],
  ["daily", "each day"],
  ["weekly", "each week"],
  ["monthly", "each month"],
  ["days", "each span of days"],
] as const

const prizeRow = (draft: Draft, row: string, place: number): Html => {
  const field = fieldsOf(draft, row)
  return html`<div class="row fields" role="group" aria-label="Prize ${place}">
${selectField({ ...field("window", "Window"), options: windows })}
${rankFields(field)}
${numberField(field("percent", "Or best percent"))}
${rowRewardFields(field)}
${removeButton(row, `prize ${place}`, draft.address)}</div>`
}

export const prizeFields = (draft: Draft): Html => {
  const { address, faults, form } = draft
  return group({ legend: "Prizes", name: "prizes", faults }, [
    html`<p class="hint">Paid once to each user with these ranks when a window closes. Equal ranks all win.</p>`,
    form
      .indices("prizes", prizeRowsMax)
      .map((index, place) => prizeRow(draft, rowOf(index), place + 1)),
    rowCount(form, "prizes") < limits.boardPrizesMax && addButton("prizes", "Add prize", address),
  ])
}

/** The names of the fields, for faults. */
export const prizeNames = (form: Form) => [
  "prizes",
  ...form.indices("prizes", prizeRowsMax).flatMap((index) => {
    const row = rowOf(index)
    return [`${row}.window`, `${row}.percent`, ...rowNames(row)]
  }),
]
