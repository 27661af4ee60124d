/** The days on which a user was active: those of all events that stand. */
import { type Log, standing } from "./log.ts"

/** The first and the last date with an event, and all such dates from `since` on, in their order. */
export interface ActiveDates {
  readonly first: string
  readonly last: string
  recent: Array<string>
}

export const activityOf = (log: Log, since: string): ActiveDates | null => {
  const dates = standing(log).flatMap(({ date }) => date ?? [])
  const days = [...new Set(dates)].sort()
  if (days.length === 0) return null
  return { first: days[0]!, last: days.at(-1)!, recent: days.filter((date) => date >= since) }
}
