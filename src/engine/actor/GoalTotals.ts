/**
 * The totals of an environment's shared goals (`decide/Goals.ts`), and the places whose rewards are not
 * paid to all.
 *
 * Invariants:
 * - The durable totals count each durable record of a user and of the project once, and a snapshot has
 *   them as of its watermark (`GoalRows.ts`).
 * - A decision also sees the records that were appended and are not durable (`#ahead`). The commits
 *   follow the appends in their order, so what is ahead is dropped when its last record is durable.
 * - A total stays when its contributors are erased, or contribute elsewhere; `gone` has their share.
 *   The records of erased users leave it in the journal (`domain/record/Remains.ts`).
 * - A goal has one total for each team, of the latest period that somebody contributed to. A place that
 *   is owed stays in `owed` when a later period begins.
 *
 * Cost: one total for each goal and team that has one. A snapshot writes those that changed.
 */
import type { GoalTotals as DecisionTotals } from "../../domain/decide/Goals.ts"
import {
  assertTotal,
  foldTotal,
  type GoalTotal,
  isOfTotal,
  type TotalFact,
} from "../../domain/record/foldGoal.ts"
import {
  decidedAt,
  type Fact,
  type FactOf,
  type JournalRecord,
} from "../../domain/record/Record.ts"
import type { RemainsOfGoals } from "../../domain/record/Remains.ts"
import type { GoalPlace } from "../../domain/user/GoalPart.ts"
import { GoalDays, type StoredDays } from "./GoalDays.ts"
import { type GoalRow, GoalRows, type OwedGoal } from "./GoalRows.ts"
import { GoneParts } from "./GoneParts.ts"

/** Names a place. No id has a space. */
export const placeName = ({ goalId, period, team = 0 }: GoalPlace): string =>
  `${goalId} ${period} ${team}`

/** Totals that are ahead of the durable ones, through the record `through`. */
interface Ahead {
  readonly total: GoalTotal | undefined
  readonly through: number
}

export class GoalTotals implements DecisionTotals {
  /** By goal, then by the number of the team. */
  readonly #durable = new Map<string, Map<number, GoalTotal>>()
  readonly #ahead = new Map<string, Map<number, Ahead>>()
  readonly #owed = new Map<string, OwedGoal>()
  /** Of the durable totals. */
  readonly gone = new GoneParts()
  readonly rows = new GoalRows()
  /** By durable records. */
  readonly days = new GoalDays()
  /** Places that records made owed, or paid, that are not durable. */
  readonly #owedAhead = new Map<string, { readonly owed: boolean; readonly through: number }>()

  readonly totalOf: DecisionTotals["totalOf"] = (goalId, team) => {
    const ahead = this.#ahead.get(goalId)?.get(team)
    return ahead === undefined ? this.durableOf(goalId, team) : ahead.total
  }

  readonly isOwed: DecisionTotals["isOwed"] = (place) => {
    const name = placeName(place)
    return this.#owedAhead.get(name)?.owed ?? this.#owed.has(name)
  }

  /** Whether any place is owed, also by records that are not durable. */
  get isAnyOwed(): boolean {
    return this.#owed.size > 0 || this.#owedAhead.values().some(({ owed }) => owed)
  }

  readonly teamsOf: DecisionTotals["teamsOf"] = (goalId) =>
    new Set([
      ...(this.#durable.get(goalId)?.keys() ?? []),
      ...(this.#ahead.get(goalId)?.keys() ?? []),
    ])

  /** The total by durable records. */
  durableOf(goalId: string, team: number): GoalTotal | undefined {
    return this.#durable.get(goalId)?.get(team)
  }

  /** The goals with a durable total. */
  get goalIds(): Iterable<string> {
    return this.#durable.keys()
  }

  /** The durable totals of a goal, by the number of the team. */
  durableTotals(goalId: string): ReadonlyMap<number, GoalTotal> {
    return this.#durable.get(goalId) ?? none
  }

  /** What is owed by durable records, in the order of the completions. */
  get owed(): ReadonlyMap<string, OwedGoal> {
    return this.#owed
  }

  /** Counts a record that was just appended. */
  readonly appended = (record: JournalRecord): void => {
    const { facts, sequence: through } = record
    for (const fact of facts) {
      if (!isOfTotal(fact)) continue
      const { goalId, team = 0 } = fact
      const total = foldTotal(this.totalOf(goalId, team), fact, decidedAt(record))
      if (total !== undefined) assertTotal(goalId, total)
      within(this.#ahead, goalId).set(team, { total, through })
      const owed = owedAfter(fact)
      if (owed !== undefined) this.#owedAhead.set(placeName(fact), { owed, through })
    }
  }

  /** Counts a fact of a durable record. */
  durable(fact: Fact, record: JournalRecord): void {
    if (!isOfTotal(fact)) return
    const { goalId, team = 0 } = fact
    this.#fold(fact, decidedAt(record))
    const ahead = this.#ahead.get(goalId)
    if ((ahead?.get(team)?.through ?? Number.POSITIVE_INFINITY) <= record.sequence) {
      ahead!.delete(team)
    }
    const name = placeName(fact)
    if ((this.#owedAhead.get(name)?.through ?? Number.POSITIVE_INFINITY) <= record.sequence) {
      this.#owedAhead.delete(name)
    }
  }

  /** A durable record erased a user who had these contributions. */
  erased(parts: FactOf<"user.deleted">["goals"]): void {
    this.#note(this.gone.erased(parts))
  }

  #note(places: ReadonlyArray<GoalPlace>): void {
    for (const { goalId, team = 0 } of places) this.#noteRow(goalId, team)
  }

  /** Counts what an erased record left. */
  left({ at, facts }: RemainsOfGoals): void {
    for (const fact of facts) this.#fold(fact, at)
  }

  #fold(fact: TotalFact, at: number): void {
    const { goalId, team = 0 } = fact
    const total = foldTotal(this.durableOf(goalId, team), fact, at)
    if (total !== undefined) within(this.#durable, goalId).set(team, total)
    if (fact.kind === "goal.contributed") {
      this.#note(this.gone.fold(fact))
      this.days.fold(fact)
    }
    this.#noteRow(goalId, team)
    this.#owe(fact, at)
  }

  #owe(fact: TotalFact, madeAt: number): void {
    const { bounds, goalId, key, name, period, team, teamId } = fact
    if (fact.kind === "goal.rewards_paid") {
      this.#owed.delete(placeName(fact))
      this.rows.owed(placeName(fact), null)
    }
    if (fact.kind !== "goal.completed" || fact.owed === undefined) return
    const ofTeam = { ...(team !== undefined && { team }), ...(teamId !== undefined && { teamId }) }
    const goal = { goalId, key, name, period, ...ofTeam, ...(bounds !== undefined && { bounds }) }
    const owed = { goal, ...fact.owed, madeAt }
    this.#owed.set(placeName(fact), owed)
    this.rows.owed(placeName(fact), owed)
  }

  /** Takes a row of the snapshot. */
  load({ goalId, gone, team, total }: GoalRow): void {
    if (total !== undefined) within(this.#durable, goalId).set(team, total)
    if (gone !== undefined) this.gone.load(goalId, team, gone)
  }

  loadDays(goalId: string, days: StoredDays): void {
    this.days.load(goalId, days)
  }

  loadOwed(owed: OwedGoal): void {
    this.#owed.set(placeName(owed.goal), owed)
  }

  /** Notes the row of a goal and a team for the next snapshot. */
  #noteRow(goalId: string, team: number): void {
    const total = this.durableOf(goalId, team)
    const gone = this.gone.latestOf(goalId, team)
    this.rows.total({ goalId, team, ...(total && { total }), ...(gone && { gone }) })
  }
}

const none: ReadonlyMap<number, GoalTotal> = new Map()

const owedAfter = (fact: TotalFact): boolean | undefined => {
  if (fact.kind === "goal.rewards_paid") return false
  return fact.kind === "goal.completed" && fact.owed !== undefined ? true : undefined
}

const within = <A>(all: Map<string, Map<number, A>>, goalId: string): Map<number, A> => {
  let found = all.get(goalId)
  if (found === undefined) {
    found = new Map()
    all.set(goalId, found)
  }
  return found
}
