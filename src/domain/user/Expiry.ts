/**
 * The expiry of amounts: a credit of a currency with `expiry` ends with a last day of the user's
 * calendar. `Lots.ts` has the lots.
 *
 * - The last day is fixed when the credit is decided: an edit of the definition changes no lot. It is
 *   not before the day of the receipt, nor before the day from which the credit can be spent.
 * - With `inactivityDays`, an event moves the last day of all lots: the balance ends when no event
 *   has occurred for so many days.
 * - The day of the user is the latest day that the user has reached (`userDayAt`): a change of zone
 *   ends a lot at another time, and never returns one.
 * - A lot that has ended is gone for all decisions and reads, also before a record has it. Each
 *   decision records first what has ended by then; the agenda sends a tick at the midnight.
 * - What is pending does not end. It ends as soon as it could be spent.
 */
import type { Currency, Expiry } from "../project/Currency.ts"
import type { ProjectState } from "../project/Project.ts"
import { dateOf } from "../values/Calendar.ts"
import {
  type DayLots,
  noLots,
  openLotsAt,
  type PendingLot,
  pendingLotsAt,
  splitAt,
  sumOfDays,
} from "./Lots.ts"
import { userDayAt, type Zones } from "./StreakPeriods.ts"
import { type UserState, userZones } from "./User.ts"

/** A refund lives at least so many days after its day. */
export const refundDays = 7

/** The user's day. */
export const todayOf = (user: UserState | undefined, project: ProjectState, now: number): number =>
  userDayAt(userZones(user, project), now)

/** The last day of a credit for what occurred on the day `day`. `active`: the day of the last event. */
export const lastDayOf = (
  { expiry, pendingDays }: Pick<Currency, "expiry" | "pendingDays">,
  days: { readonly day: number; readonly today: number; readonly active: number },
): number | undefined => {
  if (expiry === null) return undefined
  const { active, day, today } = days
  const spendable = day + (pendingDays ?? 0)
  return Math.max(endOf(expiry, day, active, spendable), spendable, today)
}

const endOf = (expiry: Expiry, day: number, active: number, spendable: number): number => {
  if ("afterDays" in expiry) return day + expiry.afterDays
  if ("inactivityDays" in expiry) return Math.max(day, active) + expiry.inactivityDays
  return nextDate(expiry.yearlyOn, spendable)
}

const dayMs = 86_400_000

/** The first day from `day` on with this month and day. The 29th of February may be the 28th. */
const nextDate = (monthDay: string, day: number): number => {
  const [month, date] = monthDay.split("-").map(Number) as [number, number]
  const year = Number(dateOf(day).slice(0, 4))
  const inYear = (of: number) => {
    const last = new Date(Date.UTC(of, month, 0)).getUTCDate()
    return Date.UTC(of, month - 1, Math.min(date, last)) / dayMs
  }
  return inYear(year) >= day ? inYear(year) : inYear(year + 1)
}

/** The lots that have ended by `now`, for each currency with lots. */
export const endedLots = (
  user: UserState | undefined,
  project: ProjectState,
  now: number,
): ReadonlyArray<readonly [key: string, today: number, ended: DayLots]> => {
  if (user === undefined || (user.expiring.size === 0 && user.pending.size === 0)) return noLots
  const today = todayOf(user, project, now)
  return lotKeys(user).flatMap((key) => {
    const { ended } = splitAt(openLotsAt(user, key, now), today)
    return ended.length === 0 ? [] : [[key, today, ended] as const]
  })
}

const lotKeys = ({ expiring, pending }: UserState): ReadonlyArray<string> => [
  ...expiring.keys(),
  ...pending.keys().filter((key) => !expiring.has(key)),
]

/** What has ended of a currency by `now`, and no record has yet. */
export const endedOf = (
  user: UserState | undefined,
  project: ProjectState,
  key: string,
  now: number,
): number => {
  if (user === undefined || (!user.expiring.has(key) && !user.pending.has(key))) return 0
  return sumOfDays(splitAt(openLotsAt(user, key, now), todayOf(user, project, now)).ended)
}

/** An amount that will end. */
export interface Ending {
  readonly amount: number
  readonly expiresAt: number
}

/** What will end of a currency, the next first; also of what is pending. */
export const endingsOf = (
  user: UserState,
  project: ProjectState,
  key: string,
  now: number,
): ReadonlyArray<Ending> => {
  if (!user.expiring.has(key) && !user.pending.has(key)) return noLots
  const zones = userZones(user, project)
  const { left } = splitAt(openLotsAt(user, key, now), userDayAt(zones, now))
  const endings = left.map(([, to, amount]) => ({ amount, expiresAt: endOfDay(to, zones) }))
  for (const [at, amount, lastDay] of pendingLotsAt(user, key, now)) {
    if (lastDay === undefined) continue
    endings.push({ amount, expiresAt: Math.max(at, endOfDay(lastDay, zones)) })
  }
  return endings.sort((one, other) => one.expiresAt - other.expiresAt)
}

const endOfDay = (day: number, zones: Zones): number => zones.at(-1)!.zone.startOfDay(day + 1)

/**
 * When the next lot ends: at most `now` if one has ended; infinity: none will. A pending lot may join a
 * lot of later days when it is released, and ends with it.
 */
export const nextEndOf = (user: UserState, project: ProjectState, now: number): number => {
  if (user.expiring.size === 0 && user.pending.size === 0) return Number.POSITIVE_INFINITY
  const zones = userZones(user, project)
  const today = userDayAt(zones, now)
  const firstEnd = (key: string, at: number): number => {
    const [first] = openLotsAt(user, key, at)
    if (first === undefined) return Number.POSITIVE_INFINITY
    return today > first[1] ? now : endOfDay(first[1], zones)
  }
  let next = Number.POSITIVE_INFINITY
  for (const key of lotKeys(user)) {
    next = Math.min(next, firstEnd(key, now))
    for (const [at, , lastDay] of pendingLotsAt(user, key, now)) {
      if (lastDay !== undefined) next = Math.min(next, Math.max(at, firstEnd(key, at)))
    }
  }
  return next
}

/** Whether a lot of a currency ends before `lastDay`. */
export const endsBefore = (user: UserState, key: string, now: number, lastDay: number): boolean => {
  const [first] = openLotsAt(user, key, now)
  if (first !== undefined && first[1] < lastDay) return true
  const ends = ([, , day = lastDay]: PendingLot) => day < lastDay
  return pendingLotsAt(user, key, now).some(ends)
}

/** Whether time may take something from the user. */
export const mayExpire = ({ expiring, pending }: UserState): boolean => {
  for (const { open } of expiring.values()) if (open.length > 0) return true
  for (const lots of pending.values()) if (lots.some((lot) => lot[2] !== undefined)) return true
  return false
}
