/** Opening balances: what a user brings along, if it fits the definitions. */
import type { Amounts } from "../../../src/domain/project/Currency.ts"
import type { Opening } from "../../../src/domain/record/Opening.ts"
import { limits } from "../../../src/Limits.ts"
import { nameOf, type Place, tiersOf } from "./badges.ts"
import { numberOf } from "./calendar.ts"
import { activeIn, endOf } from "./credits.ts"
import { type Awarded, amountIn, type Ending, type Opened, type OpenedRun } from "./log.ts"
import { dayAt, isInUse, periodOf } from "./streaks.ts"

type Had = Pick<
  Opened,
  "badges" | "currencies" | "endings" | "levels" | "points" | "spent" | "runs" | "xp"
>

/** What the user had, for a log; `undefined`: the command is refused. */
export const openedBy = (command: Opening, place: Place, now: number): Had | undefined => {
  const { balances = {}, earned = {} } = command
  const totals: Amounts = { ...balances, ...earned }
  const isWhole = Object.entries(totals).every(([key, total]) => {
    const amount = amountIn(balances, key)
    const fits = key === "xp" ? total === amount : total >= amount
    return fits && activeIn(place, key) !== undefined
  })
  const endings = endingsOf(command, place, now)
  const runs = runsOf(command, place, now)
  const badges = badgesOf(command, place, now)
  if (!isWhole || endings === undefined || runs === undefined || badges === undefined) {
    return undefined
  }
  const keys = Object.keys(totals)
  return {
    xp: amountIn(totals, "xp"),
    points: amountIn(totals, "points"),
    currencies: new Map(Object.entries(totals).filter(([key]) => key !== "xp" && key !== "points")),
    spent: Object.fromEntries(
      keys.map((key) => [key, amountIn(totals, key) - amountIn(balances, key)]),
    ),
    endings,
    runs,
    badges,
    levels: Object.keys(totals).flatMap((key) => {
      const { of, table = [] } = activeIn(place, key)!.levels ?? {}
      const reached = amountIn(of === "balance" ? balances : totals, key)
      return table.filter(({ from }) => from <= reached).map((level) => `${key} ${level.key}`)
    }),
  }
}

const endingsOf = (
  { balances = {}, expiring = {} }: Opening,
  place: Place,
  now: number,
): Array<Ending> | undefined => {
  const today = dayAt(place.places, now)
  const endings: Array<Ending> = []
  const given = new Map(Object.entries(expiring))
  for (const key of new Set([...Object.keys(balances), ...given.keys()])) {
    const expiry = activeIn(place, key)?.expiry ?? null
    let rest = amountIn(balances, key)
    for (const { amount, lastDay } of given.get(key) ?? []) {
      const day = numberOf(lastDay)
      if (expiry === null || day < today) return undefined
      endings.push({ currency: key, at: undefined, lastDay: day, amount })
      rest -= amount
    }
    if (rest < 0) return undefined
    if (expiry === null || rest === 0) continue
    const lastDay = endOf(expiry, { day: today, today, active: 0 }, 0)
    endings.push({ currency: key, at: undefined, lastDay, amount: rest })
  }
  return endings
}

const runsOf = (
  { streaks = {} }: Opening,
  place: Place,
  now: number,
): ReadonlyMap<string, OpenedRun> | undefined => {
  const runs = new Map<string, OpenedRun>()
  for (const [key, { best, current, lastDay }] of Object.entries(streaks)) {
    const streak = place.streaks.find((one) => one.key === key && isInUse(one))
    if (streak === undefined || best < current) return undefined
    const paid = streak.milestones.map(({ target }) => target).filter((target) => target <= best)
    if (current === 0) runs.set(key, { best, current, paid })
    else {
      if (lastDay === undefined) return undefined
      const last = periodOf(streak.every, numberOf(lastDay))
      if (last > periodOf(streak.every, dayAt(place.places, now))) return undefined
      runs.set(key, { best, current, last, paid })
    }
  }
  return runs
}

const badgesOf = (
  { badges = [] }: Opening,
  place: Place,
  now: number,
): Array<Awarded> | undefined => {
  const had: Array<Awarded> = []
  for (const { badge: key, earnedAt, tier = "" } of badges) {
    const badge = place.badges.find((one) => one.key === key)
    if (badge === undefined || (badge.set !== "published" && badge.set !== "paused")) {
      return undefined
    }
    if (badge.repeatable || earnedAt > now + limits.occurredAtFutureMs) return undefined
    if (tiersOf(badge).every((one) => one.tier !== tier)) return undefined
    const award = { badgeId: badge.id, tier, paid: true, earnedAt: Math.min(earnedAt, now) }
    if (had.some((other) => nameOf(other) === nameOf(award))) return undefined
    had.push(award)
  }
  return had
}
