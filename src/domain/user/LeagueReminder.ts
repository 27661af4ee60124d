/**
 * Reminders before the end of a window of a league in which the user has a place in a cohort. With
 * `leagueDays` of n, a reminder is due when the user's clock shows the hour for the n-th last time
 * before the end (`Reminder.ts`).
 *
 * - `reminded` in the state has the last window of each league that a reminder was sent for. So each
 *   is sent once, over a crash, an edit of the settings, and a merge.
 * - A user who has had an event since the hour needs no reminder for it: a user who joins with an event
 *   on the last day after the hour gets none. The next hour before the end counts again. A user who
 *   joins by a reward gets the reminder at once: the state does not tell when a place was taken.
 * - A user who is hidden or disqualified has no rank, and gets no reminder.
 * - Reminders count to the end of the window, or of the league if that is earlier. The grace does not count.
 *
 * Cost: a user without a place in a league costs nothing. A due time costs a look at each place.
 */
import { limits } from "../../Limits.ts"
import type { League } from "../project/League.ts"
import type { ProjectState } from "../project/Project.ts"
import { zoneOf } from "../values/Calendar.ts"
import type { LeagueEntry } from "./LeagueState.ts"
import { daysBefore, hourBetween, isRemindable } from "./ReminderHours.ts"
import { presentZone, type UserState } from "./User.ts"

/** A window of a league that ends soon. `division`: the user's, an index. */
export interface LeagueClosing {
  readonly league: League
  readonly division: number
  readonly entry: LeagueEntry
  readonly startsAt: number
  readonly endsAt: number
  readonly at: number
}

/** Whether the user has a place in a window that is not settled. */
export const isInLeagues = ({ leagues }: UserState): boolean => {
  for (const { entry } of leagues.values()) if (entry !== null) return true
  return false
}

/** The reminders of leagues of the user, those at most `now` are due. */
export function* leagueReminders(
  user: UserState,
  project: ProjectState,
  now: number,
): Generator<LeagueClosing> {
  const { reminders } = project.settings
  if (reminders?.leagueDays === undefined) return
  if (user.leagues.size === 0 || user.profile.hidden || !isRemindable(user, reminders)) return
  const { hour, leagueDays: days } = reminders
  const zone = presentZone(user, project)
  const calendar = zoneOf(project.settings.timezone)
  const after = Math.max(user.lastEventAt, now - limits.reminderLateMs)
  for (const [leagueId, { disqualified, division, entry }] of user.leagues) {
    const league = project.leagues.get(leagueId)
    if (league?.set !== "published" || entry === null || disqualified === true) continue
    const { window } = entry
    if ((user.reminded.get(leagueId) ?? Number.NEGATIVE_INFINITY) >= window) continue
    const bounds = calendar.windowBounds(league.window, window)
    const endsAt = Math.min(league.endsAt ?? Number.POSITIVE_INFINITY, bounds.endsAt)
    if (endsAt <= now) continue
    const at = hourBetween(zone, hour, daysBefore(zone, hour, days, endsAt), after)
    if (at < Number.POSITIVE_INFINITY) {
      yield { league, division, entry, startsAt: bounds.startsAt, endsAt, at }
    }
  }
}

/** The windows whose end the user must be reminded of now. */
export const leaguesClosing = (
  user: UserState,
  project: ProjectState,
  now: number,
): ReadonlyArray<LeagueClosing> =>
  [...leagueReminders(user, project, now)].filter(({ at }) => at <= now)
