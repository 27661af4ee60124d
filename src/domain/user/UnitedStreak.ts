/**
 * The streak of two merged users. It is recomputed from the periods, freezes, pauses and repairs of
 * both, so their order does not matter.
 */
import { type FreezeGrant, noStreak, type StreakState, streakNow, walked } from "./Streak.ts"
import { joined, type StreakRules, unitedRanges, type Zones } from "./StreakPeriods.ts"

/**
 * The streak of two users who became one at a merge: it has the periods of both. Its best run is at
 * least that of each. Of a target that paid both, `paid` has two.
 */
export const unitedStreak = (
  one: StreakState,
  other: StreakState,
  definition: StreakRules,
  zones: Zones,
  now: number,
): StreakState => {
  const [early, late] = [one, other].toSorted(
    (a, b) => (a.forgotten?.last ?? 0) - (b.forgotten?.last ?? 0),
  ) as [StreakState, StreakState]
  const { forgotten } = late
  const bestForgotten = Math.max(
    early.bestForgotten ?? 0,
    late.bestForgotten ?? 0,
    early.forgotten?.days ?? 0,
  )
  const paid = [...(one.paid ?? []), ...(other.paid ?? [])]
  const owed = [...new Set([...(one.owed ?? []), ...(other.owed ?? [])])].filter(
    (target) => !paid.includes(target),
  )
  const from = (forgotten?.last ?? Number.NEGATIVE_INFINITY) + 1
  const before = {
    ...noStreak,
    days: unitedRanges(one.days, other.days, from),
    grants: unitedGrants(one.grants, other.grants, from),
    waitedBefore: (one.waitedBefore ?? 0) + (other.waitedBefore ?? 0),
    ...unitedCovers(one, other),
    ...(forgotten !== undefined && { forgotten, bestForgotten }),
    ...(paid.length > 0 && { paid }),
    ...(owed.length > 0 && { owed }),
    ...warnedOf(one, other),
  }
  const next = walked(before, definition, zones)
  const broken = one.broken && other.broken && streakNow(next, definition, zones, now).current === 0
  const best = Math.max(one.best, other.best)
  // More days may shorten a run, and so may another calendar.
  return best > next.best ? { ...next, best, bestForgotten: best, broken } : { ...next, broken }
}

const unitedCovers = (
  one: StreakState,
  other: StreakState,
): Pick<StreakState, "pauses" | "repairs" | "seen"> => {
  const pauses = joined([...(one.pauses ?? []), ...(other.pauses ?? [])])
  const seen = [...new Set([...(one.seen ?? []), ...(other.seen ?? [])])]
  const repairs = [...(one.repairs ?? []), ...(other.repairs ?? [])]
  repairs.sort(([, last], [, otherLast]) => last - otherLast)
  return {
    ...(pauses.length > 0 && { pauses }),
    ...(repairs.length > 0 && { repairs }),
    ...(seen.length > 0 && { seen }),
  }
}

const warnedOf = (...parts: ReadonlyArray<StreakState>): Pick<StreakState, "warned"> => {
  const warned = parts.flatMap((part) => part.warned ?? [])
  return warned.length === 0 ? {} : { warned: Math.max(...warned) }
}

/** The given freezes from the period `from` on, of both. */
const unitedGrants = (
  one: ReadonlyArray<FreezeGrant> = [],
  other: ReadonlyArray<FreezeGrant> = [],
  from: number,
): ReadonlyArray<FreezeGrant> => {
  const sums = new Map<number, number>()
  for (const [period, amount] of [...one, ...other]) {
    if (period >= from) sums.set(period, (sums.get(period) ?? 0) + amount)
  }
  return [...sums].filter(([, amount]) => amount !== 0).sort(([a], [b]) => a - b)
}
