/** The fields of the rewards of a league: one row for each. */
import { leagueOutcomes } from "../../../domain/project/League.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { Draft } from "../../view/Editing.ts"
import { type Form, group, selectField, textField } from "../../view/Forms.ts"
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

type Reward = BodyOf<"leagues.get">["rewards"][number]

/** One more than a league may have, so that the schema refuses too many. */
const rewardRowsMax = limits.leagueRewardsMax + 1

const rowOf = (index: number): string => `rewards.${index}`

export const rewardTexts = (rewards: ReadonlyArray<Reward>) =>
  rewards.flatMap((reward, index) => {
    const row = rowOf(index)
    return [
      [`${row}.division`, reward.division ?? ""],
      [`${row}.outcome`, reward.outcome ?? ""],
      ...rowTexts(row, reward),
    ] as const
  })

/** The rewards of a form, unchecked. */
export const rewardsOf = (form: Form) =>
  form.indices("rewards", rewardRowsMax).map((index) => {
    const row = rowOf(index)
    const division = form.optional(`${row}.division`)
    const outcome = form.optional(`${row}.outcome`)
    return {
      ...(division !== undefined && { division }),
      ...(outcome !== undefined && { outcome }),
      ...typedRow(form, row),
    }
  })

const outcomeLabels = { promoted: "moves up", stayed: "stays", demoted: "moves down" } as const

const outcomes = [
  ["", "any"],
  ...leagueOutcomes.map((outcome) => [outcome, outcomeLabels[outcome]] as const),
] as const

const rewardRow = (draft: Draft, row: string, place: number): Html => {
  const field = fieldsOf(draft, row)
  return html`<div class="row fields" role="group" aria-label="Reward ${place}">
${textField(field("division", "Key of the division"))}
${rankFields(field)}
${selectField({ ...field("outcome", "The user"), options: outcomes })}
${rowRewardFields(field)}
${removeButton(row, `reward ${place}`, draft.address)}</div>`
}

export const rewardFields = (draft: Draft): Html => {
  const { address, faults, form } = draft
  return group({ legend: "Rewards", name: "rewards", faults }, [
    html`<p class="hint">Paid once to each user who has such a rank in a cohort, or moves so, when a window closes. Each that matches pays. Without a division, all divisions pay.</p>`,
    form
      .indices("rewards", rewardRowsMax)
      .map((index, place) => rewardRow(draft, rowOf(index), place + 1)),
    rowCount(form, "rewards") < limits.leagueRewardsMax &&
      addButton("rewards", "Add reward", address),
  ])
}

/** The names of the fields, for faults. */
export const rewardNames = (form: Form) => [
  "rewards",
  ...form.indices("rewards", rewardRowsMax).flatMap((index) => {
    const row = rowOf(index)
    return [`${row}.division`, `${row}.outcome`, ...rowNames(row)]
  }),
]
