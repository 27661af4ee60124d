/** The fields of one row of a reward for ranks: a prize of a leaderboard, or a reward of a league. */
import type { Draft } from "../../view/Editing.ts"
import { type Form, numberField, textField } from "../../view/Forms.ts"
import { type Html, html } from "../../view/Html.ts"
import { blankZeros, paymentNames, paymentOf, paymentTexts } from "./conditions.ts"
import { withoutNulls } from "./editor.ts"

interface Ranked {
  readonly ranks?: ReadonlyArray<number>
  readonly reward: Parameters<typeof paymentTexts>[1] & { readonly badgeId: string | null }
}

/** The texts of the fields of `row`. */
export const rowTexts = (row: string, { ranks = [], reward }: Ranked) => {
  const [from, to] = ranks
  return [
    [`${row}.ranks.0`, String(from ?? "")],
    [`${row}.ranks.1`, String(to ?? "")],
    ...blankZeros(paymentTexts(`${row}.reward`, reward)),
    [`${row}.reward.badgeId`, reward.badgeId ?? ""],
  ] as const
}

/** What is typed in `row`, unchecked. An empty last rank is the first one. */
export const typedRow = (form: Form, row: string) => {
  const from = form.number(`${row}.ranks.0`)
  const to = form.number(`${row}.ranks.1`) ?? from
  return {
    ...((from !== undefined || to !== undefined) && { ranks: [from ?? null, to] }),
    reward: withoutNulls({
      ...paymentOf(form, `${row}.reward`),
      badgeId: form.optional(`${row}.reward.badgeId`) ?? null,
    }),
  }
}

/** Makes what a field of `row` needs, from the end of its name and its label. */
export const fieldsOf =
  ({ faults, form }: Draft, row: string) =>
  (name: string, label: string) => ({
    name: `${row}.${name}`,
    label,
    value: form.text(`${row}.${name}`),
    faults,
    below: true,
  })

type FieldOf = ReturnType<typeof fieldsOf>

export const rankFields = (field: FieldOf): ReadonlyArray<Html> => [
  numberField(field("ranks.0", "First rank")),
  numberField(field("ranks.1", "Last rank")),
]

export const rowRewardFields = (
  field: FieldOf,
): Html => html`${numberField(field("reward.xp", "Xp"))}
${numberField(field("reward.points", "Points"))}
${textField(field("reward.currencies", "Further currencies"))}
${textField(field("reward.badgeId", "Id of a badge"))}
${textField(field("reward.freezes", "Freezes of streaks"))}
${textField(field("reward.boost", "Boost and minutes"))}`

/** The names of the fields, for faults. */
export const rowNames = (row: string): ReadonlyArray<string> => [
  `${row}.ranks`,
  `${row}.ranks.0`,
  `${row}.ranks.1`,
  ...paymentNames(`${row}.reward`),
  `${row}.reward.badgeId`,
]
