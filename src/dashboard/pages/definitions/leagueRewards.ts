/** The fields of the rewards of a league: one row for each. */

import { leagueOutcomes } from "../../../domain/project/League.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { Draft } from "../../view/Editing.ts"
import { type Form, group, numberField, selectField, textField } from "../../view/Forms.ts"
import { type Html, html } from "../../view/Html.ts"
import { addButton, removeButton, rowCount } from "../../view/Lists.ts"
import { paymentOf, paymentTexts } from "./conditions.ts"
import { withoutNulls } from "./editor.ts"

type Reward = BodyOf<"leagues.get">["rewards"][number]

/** One more than a league may have, so that the schema refuses too many. */
const rewardRowsMax = limits.leagueRewardsMax + 1

const rowOf = (index: number): string => `rewards.${index}`

export const rewardTexts = (rewards: ReadonlyArray<Reward>) =>
  rewards.flatMap(({ division, outcome, ranks = [], reward }, index) => {
    const row = rowOf(index)
    const [from, to] = ranks
    return [
      [`${row}.division`, division ?? ""],
      [`${row}.ranks.0`, String(from ?? "")],
      [`${row}.ranks.1`, String(to ?? "")],
      [`${row}.outcome`, outcome ?? ""],
      ...paymentTexts(`${row}.reward`, reward).map(
        ([name, text]) => [name, text === "0" ? "" : text] as const,
      ),
      [`${row}.reward.badgeId`, reward.badgeId ?? ""],
    ] as const
  })

/** The rewards of a form, unchecked. An empty last rank is the first one. */
export const rewardsOf = (form: Form) =>
  form.indices("rewards", rewardRowsMax).map((index) => {
    const row = rowOf(index)
    const division = form.optional(`${row}.division`)
    const outcome = form.optional(`${row}.outcome`)
    const from = form.number(`${row}.ranks.0`)
    const to = form.number(`${row}.ranks.1`) ?? from
    return {
      ...(division !== undefined && { division }),
      ...((from !== undefined || to !== undefined) && { ranks: [from ?? null, to] }),
      ...(outcome !== undefined && { outcome }),
      reward: withoutNulls({
        ...paymentOf(form, `${row}.reward`),
        badgeId: form.optional(`${row}.reward.badgeId`) ?? null,
      }),
    }
  })

const outcomeLabels = { promoted: "moves up", stayed: "stays", demoted: "moves down" } as const

const outcomes = [
  ["", "any"],
  ...leagueOutcomes.map((outcome) => [outcome, outcomeLabels[outcome]] as const),
] as const

const rewardRow = ({ address, faults, form }: Draft, row: string, place: number): Html => {
  const field = (name: string, label: string) => ({
    name: `${row}.${name}`,
    label,
    value: form.text(`${row}.${name}`),
    faults,
    below: true,
  })
  return html`<div class="row fields" role="group" aria-label="Reward ${place}">
${textField(field("division", "Key of the division"))}
${numberField(field("ranks.0", "First rank"))}
${numberField(field("ranks.1", "Last rank"))}
${selectField({ ...field("outcome", "The user"), options: outcomes })}
${numberField(field("reward.xp", "Xp"))}
${numberField(field("reward.points", "Points"))}
${textField(field("reward.currencies", "Further currencies"))}
${textField(field("reward.badgeId", "Id of a badge"))}
${textField(field("reward.freezes", "Freezes of streaks"))}
${textField(field("reward.boost", "Boost and minutes"))}
${removeButton(row, `reward ${place}`, address)}</div>`
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
    const parts = ["xp", "points", "currencies.*", "badgeId", "freezes.*", "boost.*"]
    return [
      `${row}.division`,
      `${row}.ranks`,
      `${row}.ranks.0`,
      `${row}.ranks.1`,
      `${row}.outcome`,
      `${row}.reward`,
      ...parts.map((one) => `${row}.reward.${one}`),
    ]
  }),
]
