/** The days on which a user was active: those of all events that stand; reminders of users who stay away. */
import type { ProjectSettings } from "../../../src/domain/project/Project.ts"
import type { Profile } from "../../../src/domain/user/User.ts"
import { type Log, type Reminded, standing } from "./log.ts"

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

/** The reminder that is due: the latest of those whose hour came within a day, if none came after it. */
export const remindersDue = (
  log: Log,
  { reminders }: ProjectSettings,
  profile: Profile,
  zone: string,
  now: number,
): ReadonlyArray<Reminded> => {
  const last = activityOf(log, "")?.last
  if (reminders === undefined || last === undefined) return []
  const { hour, inactiveDays, unless } = reminders
  if (unless !== null && profile.attributes[unless] === true) return []
  const sent = log.flatMap((entry) => (entry.kind === "ticked" ? entry.reminded : []))
  const due = inactiveDays.filter((days) => {
    const date = Temporal.PlainDate.from(last).add({ days })
    const at = date.toZonedDateTime({ timeZone: zone, plainTime: { hour } }).epochMilliseconds
    return at <= now && now < at + 86_400_000 && sent.every(({ day }) => day < dayOf(date))
  })
  if (due.length === 0) return []
  const days = Math.max(...due)
  const lastDay = dayOf(Temporal.PlainDate.from(last))
  return [{ days, lastDay, day: lastDay + days }]
}

const dayOf = (date: Temporal.PlainDate): number =>
  Temporal.PlainDate.from("1970-01-01").until(date).days
