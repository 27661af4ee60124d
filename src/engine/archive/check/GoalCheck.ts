/** Compares the totals of an environment's shared goals with what its users have contributed. */
import { contributionsOf } from "../../../domain/decide/Goals.ts"
import type { UserState } from "../../../domain/user/User.ts"
import { type GoalTotals, placeName } from "../../actor/GoalTotals.ts"

interface Found {
  readonly goalId: string
  readonly period: number
  readonly team: number
  total: number
  contributors: number
}

export class GoalCheck {
  readonly #found = new Map<string, Found>()

  add(user: UserState): void {
    for (const [goalId, period, team, amount] of contributionsOf(user)) {
      const name = placeName({ goalId, period, team })
      const found = this.#found.get(name) ?? { goalId, period, team, total: 0, contributors: 0 }
      found.total += amount
      found.contributors++
      this.#found.set(name, found)
    }
  }

  /** Of each place of a latest period, what was counted, and what there is. */
  end(totals: GoalTotals, differs: (what: string, counted: number, found: number) => void): void {
    for (const goalId of totals.goalIds) {
      for (const [team, { contributors, period, total }] of totals.durableTotals(goalId)) {
        const place = { goalId, period, team }
        const found = this.#found.get(placeName(place))
        const gone = totals.gone.of(place)
        const name = textOf(place)
        differs(`contributed to ${name}`, total, (found?.total ?? 0) + gone.total)
        const users = (found?.contributors ?? 0) + gone.contributors
        differs(`contributors to ${name}`, contributors, users)
      }
    }
    for (const { contributors, goalId, period, team, total } of this.#found.values()) {
      const known = totals.durableOf(goalId, team)
      if (known !== undefined && known.period >= period) continue
      const name = textOf({ goalId, team })
      differs(`contributed to ${name}`, 0, total)
      differs(`contributors to ${name}`, 0, contributors)
    }
  }
}

const textOf = ({ goalId, team }: { readonly goalId: string; readonly team: number }): string =>
  team === 0 ? goalId : `${goalId} by team ${team}`
