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

export type StoredGone = ReadonlyArray<readonly [goalId: string, team: number, gone: Gone]>

export class GoneParts {
  readonly #byGoal = new Map<string, Map<number, Gone>>()

  /** What is gone from a place. */
  of({ goalId, period, team = 0 }: GoalPlace): Pick<Gone, "total" | "contributors"> {
    const known = this.#byGoal.get(goalId)?.get(team)
    return known?.period === period ? known : nothing
  }

  /** Takes what a record did to a user's parts. */
  fold(fact: FactOf<"goal.contributed">): void {
    const { amount, drops = [], gone, mine } = fact
    if (mine === undefined)
      this.#add(fact, amount, Number(fact.first ?? 0) - Number(fact.last ?? 0))
    else if (gone !== undefined) this.#add(fact, gone, 0)
    for (const { amount, period, team } of drops) {
      this.#add(placeOf(fact.goalId, period, team), amount, Number(amount > 0))
    }
  }

  /** A durable record erased a user who had these parts. */
  erased(parts: FactOf<"user.deleted">["goals"] = []): void {
    for (const [goalId, period, team, amount] of parts) {
      this.#add(placeOf(goalId, period, team), amount, 1)
    }
  }

  #add({ goalId, period, team = 0 }: GoalPlace, amount: number, contributors: number): void {
    if (amount === 0 && contributors === 0) return
    const all = this.#byGoal.get(goalId) ?? new Map<number, Gone>()
    this.#byGoal.set(goalId, all)
    const known = all.get(team)
    if (known !== undefined && period < known.period) return
    const before = known?.period === period ? known : nothing
    all.set(team, {
      period,
      total: before.total + amount,
      contributors: before.contributors + contributors,
    })
  }

  load(stored: StoredGone): void {
    for (const [goalId, team, { contributors, period, total }] of stored) {
      this.#add(placeOf(goalId, period, team), total, contributors)
    }
  }

  /** The value for the snapshot. */
  stored(): StoredGone {
    return [...this.#byGoal].flatMap(([goalId, all]) =>
      Array.from(all, ([team, gone]) => [goalId, team, gone] as const),
    )
  }
}

const nothing = { total: 0, contributors: 0 }

const placeOf = (goalId: string, period: number, team = 0): GoalPlace => ({ goalId, period, team })
