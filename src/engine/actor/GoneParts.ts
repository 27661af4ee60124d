/**
 * What the total of a goal has from contributions that no user has any more: of erased users, and of
 * users who have left the team and contributed elsewhere since. The contributions of the users and these
 * add up to the total (`archive/check/GoalCheck.ts`).
 *
 * Invariant: of the latest period of each goal and team, the sums do not depend on the order of the
 * additions.
 */
import type { FactOf } from "../../domain/record/Record.ts"
import type { GoalPlace } from "../../domain/user/GoalPart.ts"

export interface Gone {
  readonly period: number
  /** Scaled by the decimals of the metric. */
  readonly total: number
  readonly contributors: number
}

export class GoneParts {
  readonly #byGoal = new Map<string, Map<number, Gone>>()

  /** What is gone from a place. */
  of({ goalId, period, team = 0 }: GoalPlace): Pick<Gone, "total" | "contributors"> {
    const known = this.#byGoal.get(goalId)?.get(team)
    return known?.period === period ? known : nothing
  }

  /** What is gone from the latest period; `undefined`: nothing. */
  latestOf(goalId: string, team: number): Gone | undefined {
    return this.#byGoal.get(goalId)?.get(team)
  }

  /** Takes what a record did to a user's parts; returns the places that it touched. */
  fold(fact: FactOf<"goal.contributed">): ReadonlyArray<GoalPlace> {
    const { amount, drops = [], gone = 0, mine } = fact
    if (mine !== undefined) this.#add(fact, gone, 0)
    else this.#add(fact, amount, Number(fact.first ?? 0) - Number(fact.last ?? 0))
    const places = drops.map(({ period, team = 0 }) => ({ goalId: fact.goalId, period, team }))
    for (const [index, place] of places.entries()) {
      const { amount } = drops[index]!
      this.#add(place, amount, Number(amount > 0))
    }
    return places
  }

  /** A durable record erased a user who had these parts; returns their places. */
  erased(parts: FactOf<"user.deleted">["goals"] = []): ReadonlyArray<GoalPlace> {
    return parts.map(([goalId, period, team, amount]) => {
      const place = { goalId, period, team }
      this.#add(place, amount, 1)
      return place
    })
  }

  #add({ goalId, period, team = 0 }: GoalPlace, amount: number, contributors: number): void {
    if (amount === 0 && contributors === 0) return
    const known = this.latestOf(goalId, team)
    if (known !== undefined && period < known.period) return
    const before = known?.period === period ? known : nothing
    this.load(goalId, team, {
      period,
      total: before.total + amount,
      contributors: before.contributors + contributors,
    })
  }

  load(goalId: string, team: number, gone: Gone): void {
    const all = this.#byGoal.get(goalId) ?? new Map<number, Gone>()
    this.#byGoal.set(goalId, all.set(team, gone))
  }
}

const nothing = { total: 0, contributors: 0 }
