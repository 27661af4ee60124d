/**
 * The remains of a record whose user is erased: the unit of an item that it sold or took back, its
 * contributions to shared goals, and its scores for teams. They stay
 * (`engine/actor/Sales.ts`, `engine/actor/GoalTotals.ts`, `engine/boards/TeamScores.ts`), and names no user. A journal that is folded into a snapshot from before
 * the erasure counts them from here.
 */
import { isOfTotal, type TotalFact } from "./foldGoal.ts"
import { decidedAt, type Fact, type FactOf, type JournalRecord } from "./Record.ts"

export interface Remains {
  readonly environment: string
  /** 1: one unit was sold. -1: one was refunded. Absent: neither. */
  readonly sold?: readonly [itemId: string, units: 1 | -1]
  /** Absent: the record touched no goal. */
  readonly goals?: RemainsOfGoals
  /** Absent: the record scored for no team. */
  readonly teams?: ReadonlyArray<TeamScored>
}

/** A fact that names the team that gets the amount. */
export type TeamScored = FactOf<"board.scored"> & {
  readonly team: NonNullable<FactOf<"board.scored">["team"]>
}

export interface RemainsOfGoals {
  /** When the record was decided, epoch milliseconds. */
  readonly at: number
  /** Without what they did to the parts of the user. */
  readonly facts: ReadonlyArray<TotalFact>
}

/** `undefined`: nothing is left. */
export const remainsOf = (record: JournalRecord): Remains | undefined => {
  const { facts, subject } = record
  if (subject.actor === "directory") return undefined
  const sold = soldBy(facts)
  const ofTotals = facts.filter(isOfTotal).map(withoutParts)
  const teams = subject.actor === "user" ? facts.filter(isOfTeam) : []
  if (sold === undefined && ofTotals.length === 0 && teams.length === 0) return undefined
  return {
    environment: subject.environment,
    ...(sold !== undefined && { sold }),
    ...(ofTotals.length > 0 && { goals: { at: decidedAt(record), facts: ofTotals } }),
    ...(teams.length > 0 && { teams }),
  }
}

export const isOfTeam = (fact: Fact): fact is TeamScored =>
  fact.kind === "board.scored" && fact.team !== undefined

const soldBy = (facts: ReadonlyArray<Fact>): Remains["sold"] => {
  for (const fact of facts) {
    if (fact.kind === "item.purchased") return [fact.itemId, 1]
    if (fact.kind === "item.refunded") return [fact.itemId, -1]
  }
  return undefined
}

const withoutParts = (fact: TotalFact): TotalFact => {
  if (fact.kind !== "goal.contributed") return fact
  const { drops: _, gone: __, mine: ___, ...left } = fact
  return left
}
