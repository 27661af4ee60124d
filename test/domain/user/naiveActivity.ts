/** Active users and retention, counted as simply as possible from the days of each user. */

export type DaysByUser = ReadonlyMap<string, ReadonlySet<number>>

const isActiveWithin = (days: ReadonlySet<number>, from: number, to: number): boolean =>
  [...days].some((day) => day >= from && day <= to)

export const naiveDay = (users: DaysByUser, day: number) => {
  const count = (holds: (days: ReadonlySet<number>) => boolean): number =>
    [...users.values()].filter(holds).length
  return {
    daily: count((days) => days.has(day)),
    weekly: count((days) => isActiveWithin(days, day - 6, day)),
    monthly: count((days) => isActiveWithin(days, day - 29, day)),
    fresh: count((days) => days.size > 0 && Math.min(...days) === day),
  }
}

/** How many users whose first day is `began` were active `after` days later. */
export const naiveReturned = (users: DaysByUser, began: number, after: number): number =>
  [...users.values()].filter(
    (days) => days.size > 0 && Math.min(...days) === began && days.has(began + after),
  ).length
