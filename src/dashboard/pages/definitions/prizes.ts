/** The fields of the prizes of a leaderboard: one row for each. */

import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { Draft } from "../../view/Editing.ts"
import { type Form, group, numberField, selectField, textField } from "../../view/Forms.ts"
import { type Html, html } from "../../view/Html.ts"
import { addButton, removeButton, rowCount } from "../../view/Lists.ts"
import { paymentOf, paymentTexts } from "./conditions.ts"
import { withoutNulls } from "./editor.ts"

type Prize = BodyOf<"leaderboards.get">["prizes"][number]

/** One more than a leaderboard may have, so that the schema refuses too many. */
const prizeRowsMax = limits.boardPrizesMax + 1

const rowOf = (index: number): string => `prizes.${index}`

export const prizeTexts = (prizes: ReadonlyArray<Prize>) =>
  prizes.flatMap(({ percent, ranks = [], reward, window }, index) => {
    const row = rowOf(index)
    const [from, to] = ranks
    return [
      [`${row}.window`, window],
      [`${row}.ranks.0`, String(from ?? "")],
      [`${row}.ranks.1`, String(to ?? "")],
      [`${row}.percent`, String(percent ?? "")],
      ...paymentTexts(`${row}.reward`, reward).map(
        ([name, text]) => [name, text === "0" ? "" : text] as const,
      ),
      [`${row}.reward.badgeId`, reward.badgeId ?? ""],
    ] as const
  })

/** The prizes of a form, unchecked. An empty last rank is the first one. */
export const prizesOf = (form: Form) =>
  form.indices("prizes", prizeRowsMax).map((index) => {
    const row = rowOf(index)
    const from = form.number(`${row}.ranks.0`)
    const to = form.number(`${row}.ranks.1`) ?? from
    const percent = form.number(`${row}.percent`)
    return {
      window: form.text(`${row}.window`),
      ...((from !== undefined || to !== undefined) && { ranks: [from ?? null, to] }),
      ...(percent !== undefined && { percent }),
      reward: withoutNulls({
        ...paymentOf(form, `${row}.reward`),
        badgeId: form.optional(`${row}.reward.badgeId`) ?? null,
      }),
    }
  })

const windows = [
  ["all_time", "all time, at the end"],
  ["daily", "each day"],
  ["weekly", "each week"],
  ["monthly", "each month"],
] as const

const prizeRow = ({ address, faults, form }: Draft, row: string, place: number): Html => {
  const field = (name: string, label: string) => ({
    name: `${row}.${name}`,
    label,
    value: form.text(`${row}.${name}`),
    faults,
    below: true,
  })
  return html`<div class="row fields" role="group" aria-label="Prize ${place}">
${selectField({ ...field("window", "Window"), options: windows })}
${numberField(field("ranks.0", "First rank"))}
${numberField(field("ranks.1", "Last rank"))}
${numberField(field("percent", "Or best percent"))}
${numberField(field("reward.xp", "Xp"))}
${numberField(field("reward.points", "Points"))}
${textField(field("reward.currencies", "Further currencies"))}
${textField(field("reward.badgeId", "Id of a badge"))}
${textField(field("reward.freezes", "Freezes of streaks"))}
${textField(field("reward.boost", "Boost and minutes"))}
${removeButton(row, `prize ${place}`, address)}</div>`
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
    const parts = ["xp", "points", "currencies.*", "badgeId", "freezes.*", "boost.*"]
    return [
      `${row}.window`,
      `${row}.ranks`,
      `${row}.ranks.0`,
      `${row}.ranks.1`,
      `${row}.percent`,
      `${row}.reward`,
      ...parts.map((one) => `${row}.reward.${one}`),
    ]
  }),
]
