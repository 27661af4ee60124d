/** Whether a user gets reminders, and the hours of the user's clock at which they are sent. */
import type { ProjectState, Reminders } from "../project/Project.ts"
import type { Zone } from "../values/Calendar.ts"
import type { UserState } from "./User.ts"

/** Whether the user gets reminders. */
export const isRemindable = ({ profile }: UserState, { unless }: Reminders): boolean =>
  unless === null || profile.attributes[unless] !== true

/** Whether the user gets warnings of streaks, which no settings of reminders need. */
export const isWarnable = (
  user: UserState,
  { settings: { reminders } }: Pick<ProjectState, "settings">,
): boolean => reminders === undefined || isRemindable(user, reminders)

/** When a reminder that is due on the local days `first` to `last` is sent; infinity: never. */
export const hourBetween = (
  zone: Zone,
  hour: number,
  [first, last]: readonly [number, number],
  after: number,
): number => {
  for (let day = Math.max(first, zone.dayAt(after)); day <= last; day++) {
    const at = zone.hourOn(day, hour)
    if (at > after) return at
  }
  return Number.POSITIVE_INFINITY
}

/** The days on which the hour comes for the last `days` times before `end`. */
export const daysBefore = (
  zone: Zone,
  hour: number,
  days: number,
  end: number,
): readonly [number, number] => {
  const day = zone.dayAt(end - 1)
  const last = zone.hourOn(day, hour) < end ? day : day - 1
  return [last - days + 1, last]
}
