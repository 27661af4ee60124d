/**
 * The day of an event, a day whose only event is undone, and reminders of users who stay away. `user/ActiveDays.ts` has the days.
 *
 * Whether another event of the day stands is read from the user's history: back to the latest such
 * event, or else to the time at which the day began, since no event is decided before it occurred. If
 * the day was the first one, the records since then also have the next one. Only a user all of whose
 * known days are undone, and who has older ones, needs the whole history.
 */
import { dayMember, eventDayOf } from "../record/EventDay.ts"
import { beforeDay } from "../record/MetricRecount.ts"
import { HistoryNeeded, type Past } from "../record/Past.ts"
import type { FactOf, JournalRecord } from "../record/Record.ts"
import { nextAbsence } from "../user/Absence.ts"
import { type ActiveDays, daysOf, isActiveOn, withDay, withoutDay } from "../user/ActiveDays.ts"
import { presentZone, type UserState } from "../user/User.ts"
import type { Draft } from "./Draft.ts"

/** The member of the fact of an event that names its day. */
export const eventDay = ({ occurredAt, project, user }: Draft): ReturnType<typeof dayMember> =>
  dayMember(occurredAt, presentZone(user, project).dayAt(occurredAt))

/** Adds the reminder that is due at `draft.now`. */
export const remindOfAbsence = ({ facts, now, project, user }: Draft): void => {
  const absence = user && nextAbsence(user, project, now)
  if (absence === undefined || absence.at > now) return
  const { day, days, lastDay } = absence
  facts.push({ kind: "user.inactive", days, lastDay, day })
}

/** What an undo does to the user's active days; `undefined`: nothing. */
export const activityLeft = (
  { activity }: UserState,
  found: JournalRecord,
  past: Past | undefined,
): FactOf<"activity.reverted"> | undefined | HistoryNeeded => {
  const day = eventDayOf(found)
  if (activity === null || day === undefined || !isActiveOn(activity, day)) return undefined
  const left = withoutDay(activity, day)
  if (past === undefined) {
    const isWhole = left === undefined && day !== activity.firstDay
    return historyOf(found.sequence, day, isWhole)
  }
  const others = past.days
    .filter(({ sequence }) => sequence !== found.sequence && !past.isRevoked(sequence))
    .map((other) => other.day)
  if (others.includes(day)) return undefined
  return { kind: "activity.reverted", activity: daysAfter(activity, left, day, others) }
}

/** The user's records until one has another event of the day, or none before can have one. */
const historyOf = (undone: number, day: number, isWhole: boolean): HistoryNeeded => {
  let looked = 0
  let isFound = false
  return new HistoryNeeded((past, at) => {
    for (; looked < past.days.length && !isFound; looked++) {
      const other = past.days[looked]!
      isFound = other.day === day && other.sequence !== undone && !past.isRevoked(other.sequence)
    }
    return isFound || (!isWhole && at < beforeDay(day))
  })
}

const daysAfter = (
  { firstDay }: ActiveDays,
  left: ActiveDays | undefined,
  day: number,
  others: ReadonlyArray<number>,
): ActiveDays | null => {
  if (left === undefined) return others.reduce<ActiveDays | null>(withDay, null)
  if (day !== firstDay) return left
  return {
    ...left,
    firstDay: others.reduce((first, one) => Math.min(first, one), daysOf(left)[0]!),
  }
}
