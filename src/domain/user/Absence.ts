/**
 * Reminders of users who stay away: a message for other systems, so many days after the user's last
 * active day, at an hour of the user's clock.
 *
 * - The state has the day of the latest reminder (`remindedOn`), so that each is sent once, over a
 *   crash and over an edit of the settings. A user who returns and stays away again gets them again,
 *   since the days count from the new last day.
 * - A reminder that is more than a day late is left out: a server that was down, and settings that
 *   were just switched on, remind nobody of last year.
 */
import type { ProjectState } from "../project/Project.ts"
import { lastDayOf } from "./ActiveDays.ts"
import { presentZone, type UserState } from "./User.ts"

/** A reminder: the days since `lastDay`, the day on which it is due, and the time. */
export interface Absence {
  readonly days: number
  readonly lastDay: number
  readonly day: number
  readonly at: number
}

const dayMs = 86_400_000

/**
 * The next reminder of a user without further events; its time is at most `now` if it is due. Of
 * several that are due, the latest one.
 */
export const nextAbsence = (
  user: UserState,
  project: ProjectState,
  now: number,
): Absence | undefined => {
  const { reminders } = project.settings
  if (reminders === undefined || user.activity === null) return undefined
  const { hour, inactiveDays, unless } = reminders
  if (unless !== null && user.profile.attributes[unless] === true) return undefined
  const zone = presentZone(user, project)
  const lastDay = lastDayOf(user.activity)
  let due: Absence | undefined
  for (const days of inactiveDays) {
    const day = lastDay + days
    if (user.remindedOn !== null && day <= user.remindedOn) continue
    const at = zone.hourOn(day, hour)
    if (at <= now - dayMs) continue
    if (at > now) return due ?? { days, lastDay, day, at }
    due = { days, lastDay, day, at }
  }
  return due
}
