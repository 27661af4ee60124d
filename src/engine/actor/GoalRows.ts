/**
 * The rows of the snapshot for the totals of shared goals (`GoalTotals.ts`): one for each goal and team,
 * and one for each place that is owed. `GoalDays.ts` has those of the days.
 *
 * Invariants:
 * - A snapshot writes the rows that changed since the last one, as of its watermark, in the
 *   transaction that sets the watermark.
 * - A row does not change once it was noted. So the snapshot encodes the rows later, in its short turns.
 *
 * Cost: a reference for each row that changed. A snapshot begins with an exchange of two maps.
 */

import { Effect } from "effect"
import type { Gives } from "../../domain/project/Definition.ts"
import { emptyTotal, type GoalTotal } from "../../domain/record/foldGoal.ts"
import type { RewardedGoal } from "../../domain/record/Payment.ts"
import { compositeKey, keyParts, rangeOf } from "../../storage/Keys.ts"
import type { Broken, Entry, Storage } from "../../storage/Storage.ts"
import { eachBody, encodeValue, jsonOf } from "../../storage/Values.ts"
import { Changed } from "../records/Changed.ts"
import { goalDaysPrefix, type StoredDays } from "./GoalDays.ts"
import type { Gone } from "./GoneParts.ts"

export interface GoalRow {
  readonly goalId: string
  readonly team: number
  readonly total?: GoalTotal
  readonly gone?: Gone
}

/** The rewards of a place that is complete. */
export interface OwedGoal {
  readonly goal: RewardedGoal
  readonly reward: Gives
  /** The contribution, scaled, that the reward needs. */
  readonly min: number
  /** When it was completed. Users who were created later are others with the same id. */
  readonly madeAt: number
}

interface TakesRows {
  readonly load: (row: GoalRow) => void
  readonly loadOwed: (owed: OwedGoal) => void
  readonly loadDays: (goalId: string, days: StoredDays) => void
}

const goalsPrefix = "goals"
const goalsOwedPrefix = "goalsOwed"

/** A row without what the key has, in about half the bytes of its JSON. */
type StoredRow = readonly [
  total:
    | readonly [
        period: number,
        teamId: string | null,
        total: number,
        contributors: number,
        reached: number,
        completedAt: number | null,
        rewarded: number | null,
      ]
    | null,
  gone?: readonly [period: number, total: number, contributors: number],
]

const storedOf = ({ gone, total }: GoalRow): StoredRow => {
  const { completedAt, contributors, period, reached, rewarded, teamId = null } = total ?? nothing
  const numbers = [contributors, reached, completedAt, rewarded] as const
  const first = total === undefined ? null : ([period, teamId, total.total, ...numbers] as const)
  return gone === undefined ? [first] : [first, [gone.period, gone.total, gone.contributors]]
}

const nothing = emptyTotal(0)

const rowOf = (goalId: string, team: number, [first, gone]: StoredRow): GoalRow => ({
  goalId,
  team,
  ...(first !== null && { total: totalOf(first) }),
  ...(gone !== undefined && {
    gone: { period: gone[0], total: gone[1], contributors: gone[2] },
  }),
})

const totalOf = (stored: NonNullable<StoredRow[0]>): GoalTotal => {
  const [period, teamId, total, contributors, reached, completedAt, rewarded] = stored
  const before = emptyTotal(period, teamId ?? undefined)
  return { ...before, total, contributors, reached, completedAt, rewarded }
}

/** By the name of the place. `null`: nothing is owed any more. */
type Owed = ReadonlyMap<string, OwedGoal | null>

export class GoalRows {
  readonly #rows = new Changed<GoalRow>()
  readonly #owed = new Changed<OwedGoal | null>()

  total(row: GoalRow): void {
    this.#rows.note(`${row.goalId} ${row.team}`, row)
  }

  owed(place: string, owed: OwedGoal | null): void {
    this.#owed.note(place, owed)
  }

  /** A snapshot begins. Returns its rows, which are those of now whenever they are read. */
  begin(environment: string): Iterable<Entry> {
    return entriesOf(environment, this.#rows.begin().values(), this.#owed.begin())
  }

  /** The snapshot that began last has ended. */
  ended(): void {
    this.#rows.ended()
    this.#owed.ended()
  }
}

function* entriesOf(environment: string, rows: Iterable<GoalRow>, owed: Owed): Generator<Entry> {
  const table = "meta"
  for (const row of rows) {
    const key = compositeKey(goalsPrefix, environment, row.goalId, row.team)
    yield { table, key, value: encodeValue(JSON.stringify(storedOf(row))) }
  }
  for (const [name, one] of owed) {
    const value = one === null ? null : encodeValue(JSON.stringify(one))
    yield { table, key: compositeKey(goalsOwedPrefix, environment, name), value }
  }
}

/** Takes a row of the snapshot; passes over other values of `meta`. */
export const loadGoalRow = (
  key: Uint8Array,
  body: Uint8Array,
  of: (environment: string) => TakesRows,
): void => {
  const [kind, environment, goalId, team] = keyParts(key)
  if (kind === goalsPrefix) {
    const row = rowOf(goalId as string, team as number, jsonOf<StoredRow>(body))
    of(environment as string).load(row)
  } else if (kind === goalsOwedPrefix) of(environment as string).loadOwed(jsonOf<OwedGoal>(body))
  else if (kind === goalDaysPrefix) {
    of(environment as string).loadDays(goalId as string, jsonOf<StoredDays>(body))
  }
}

/** Loads the rows of the snapshot. */
export const loadGoals = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  of: (environment: string) => TakesRows,
): Effect.fn.Return<void, Broken> {
  for (const prefix of [goalsPrefix, goalsOwedPrefix, goalDaysPrefix]) {
    const range = { table: "meta", ...rangeOf(compositeKey(prefix)) } as const
    yield* eachBody(storage, range, (key, body) => loadGoalRow(key, body, of))
  }
})
