/** How the facts of a merge change the states of its two users. */
import type { Amounts } from "../project/Currency.ts"
import { newcomer, type UserState, type WindowScores } from "../user/User.ts"
import { assertBalances, assertMerge } from "../values/invariants.ts"
import type { MergeFact, UnitedPart, UnitedScore, UnitedWindows } from "./MergeRecord.ts"
import { decidedAt, type FactOf, type JournalRecord } from "./Record.ts"

/** The state after a fact of the record. */
export const applyMerge = (state: UserState, fact: MergeFact, record: JournalRecord): UserState => {
  const { sequence } = record
  const at = decidedAt(record)
  switch (fact.kind) {
    case "user.merging": {
      assertMerge(state.id, state.leadsTo === null)
      const leadsTo = { into: fact.into, frozen: sequence, done: false, at }
      return { ...state, leadsTo }
    }
    case "user.unmerged":
      assertMerge(state.id, state.leadsTo?.done === false)
      return { ...state, leadsTo: null }
    case "user.aliased": {
      const { createdAt, id, leadsTo, updatedAt } = state
      assertMerge(id, leadsTo?.done === false && leadsTo.into === fact.into)
      return {
        ...newcomer,
        id,
        sequence,
        leadsTo: { ...leadsTo!, done: true, at },
        createdAt,
        updatedAt,
      }
    }
    case "user.erasing":
      assertMerge(state.id, state.leadsTo === null && state.erasing === 0)
      return { ...state, erasing: sequence }
    case "user.merged":
      assertMerge(state.id, state.leadsTo === null)
      return withMerged(state, fact, sequence)
  }
}

/** The state of the user who stays. */
export const withMerged = (
  before: UserState,
  fact: FactOf<"user.merged">,
  sequence: number,
): UserState => {
  const { gained, lastEventAt, parts, pointsSpent, questsCompleted, totals, windows } = fact
  const maps: Record<string, ReadonlyMap<string, unknown>> = {}
  for (const part of Object.keys(parts) as ReadonlyArray<UnitedPart>) {
    const map = new Map<string, unknown>(before[part])
    for (const [key, value] of parts[part]!) {
      if (value === null) map.delete(key)
      else map.set(key, value)
    }
    maps[part] = map
  }
  const after: UserState = {
    ...before,
    ...maps,
    xp: amountIn(totals, "xp") ?? before.xp,
    scoreSequence: amountIn(gained, "xp") === undefined ? before.scoreSequence : sequence,
    points: amountIn(totals, "points") ?? before.points,
    pointsSpent,
    questsCompleted,
    lastEventAt,
    activity: fact.activity ?? before.activity,
    remindedOn: fact.remindedOn ?? before.remindedOn,
    unanswered: fact.unanswered ?? before.unanswered,
    boosts: fact.ownBoosts ?? before.boosts,
    windows: windowsOf(windows, sequence),
    boards: boardsAfter(before, fact, sequence),
    absorbed: [
      ...before.absorbed,
      ...fact.absorbed.map((one) => (one.merged === 0 ? { ...one, merged: sequence } : one)),
    ],
  }
  for (const [key, { amount, spent }] of after.balances) {
    assertBalances(key, amount, spent)
  }
  return after
}

const boardsAfter = (
  before: UserState,
  { boards }: FactOf<"user.merged">,
  sequence: number,
): UserState["boards"] => {
  if (boards === undefined) return before.boards
  const after = new Map(before.boards)
  for (const [boardId, { share, windows, ...totals }] of boards) {
    const united = { ...totals, sequence, windows: windowsOf(windows, sequence) }
    const own = share && { ...share, windows: windowsOf(share.windows, sequence) }
    after.set(boardId, { ...united, ...(own && { share: own }) })
  }
  return after
}

const windowsOf = (
  { daily, days = [], monthly, weekly }: UnitedWindows,
  sequence: number,
): UserState["windows"] => ({
  daily: scoresOf(daily, sequence),
  weekly: scoresOf(weekly, sequence),
  monthly: scoresOf(monthly, sequence),
  days: scoresOf(days, sequence),
})

const amountIn = (amounts: Amounts, key: string): number | undefined =>
  Object.hasOwn(amounts, key) ? amounts[key] : undefined

const scoresOf = (scores: ReadonlyArray<UnitedScore>, sequence: number): WindowScores => {
  const [latest, before] = scores.map((score) => ({
    ...score,
    sequence: score.sequence === 0 ? sequence : score.sequence,
  }))
  return {
    index: latest?.index ?? 0,
    xp: latest?.xp ?? 0,
    sequence: latest?.sequence ?? 0,
    indexBefore: before?.index ?? 0,
    xpBefore: before?.xp ?? 0,
    sequenceBefore: before?.sequence ?? 0,
  }
}
