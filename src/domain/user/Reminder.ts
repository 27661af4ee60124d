/**
 * Reminders before an end: of a quest that the user has begun and not completed, of amounts that expire, and
 * of windows of leagues (`LeagueReminder.ts`).
 * The settings say how many days before the end, and the hour of the user's clock (`Absence.ts` has
 * the reminders of users who stay away, with the same hour).
 *
 * - With n days, a reminder is due when the user's clock shows the hour for the n-th last time before
 *   the end. If the user has begun the quest only later, or the server was down for more than
 *   `reminderLateMs`, it is due at the next such hour before the end, or is left out.
 * - `reminded` in the state has the last period of each quest, and the last expiry day of each currency,
 *   that a reminder was sent for. So each is sent once, over a crash, an edit of the settings, and
 *   an undo after which the user begins the quest again.
 * - A reminder of a currency names all amounts whose last n days have begun, and no earlier one did.
 *   An amount that comes later with an earlier expiry day gets none.
 *
 * Cost: a user without quests in progress and without lots costs nothing, and without the settings
 * nobody does. A due time costs a look at these quests, and at the lots of one currency after another
 * up to the first that is due later.
 */

import { limits } from "../../Limits.ts"
import { type Quest, questPeriodEnd } from "../project/Definition.ts"
import type { ProjectState, Reminders } from "../project/Project.ts"
import { type Zone, zoneOf } from "../values/Calendar.ts"
import { leagueReminders } from "./LeagueReminder.ts"
import { openLotsAt, pendingLotsAt } from "./Lots.ts"
import { daysBefore, hourBetween, isRemindable } from "./ReminderHours.ts"
import { hasExpired, isMidway, presentZone, type QuestState, type UserState } from "./User.ts"

/** A quest that ends soon. */
export interface QuestEnding {
  readonly quest: Quest
  readonly state: QuestState
  readonly endsAt: number
  readonly at: number
}

/** Amounts of a currency that expire soon, the first first. `through`: the latest expiry day. */
export interface ExpirySoon {
  readonly currency: string
  readonly endings: ReadonlyArray<{ readonly amount: number; readonly expiresAt: number }>
  readonly through: number
}

/** The reminders of quests of the user, those at most `now` are due. */
function* questReminders(
  user: UserState,
  project: ProjectState,
  now: number,
): Generator<QuestEnding> {
  const { reminders } = project.settings
  const days = reminders?.questDays
  if (days === undefined || user.quests.size === 0 || !isRemindable(user, reminders!)) return
  const zone = presentZone(user, project)
  const calendar = zoneOf(project.settings.timezone)
  for (const [questId, state] of user.quests) {
    const quest = project.quests.get(questId)
    if (quest?.set !== "published" || !isMidway(state)) continue
    if (user.reminded.get(questId) === state.period) continue
    if (hasExpired(quest, state, calendar, now)) continue
    const endsAt = Math.min(
      quest.endsAt ?? Number.POSITIVE_INFINITY,
      questPeriodEnd(quest, calendar, now),
    )
    if (endsAt === Number.POSITIVE_INFINITY) continue
    const after = Math.max(state.startedAt ?? 0, now - limits.reminderLateMs)
    const { hour } = reminders!
    const at = hourBetween(zone, hour, daysBefore(zone, hour, days, endsAt), after)
    if (at < Number.POSITIVE_INFINITY) yield { quest, state, endsAt, at }
  }
}

/** The quests of whose end the user is to be reminded now. */
export const questsEnding = (
  user: UserState,
  project: ProjectState,
  now: number,
): ReadonlyArray<QuestEnding> =>
  [...questReminders(user, project, now)].filter(({ at }) => at <= now)

/** The expiry days of a currency without a reminder yet, and from when each is due. */
function* openDays(
  user: UserState,
  key: string,
  now: number,
): Generator<readonly [day: number, amount: number, from: number]> {
  const told = user.reminded.get(key) ?? Number.NEGATIVE_INFINITY
  for (const [, to, amount] of openLotsAt(user, key, now)) if (to > told) yield [to, amount, now]
  for (const [at, amount, lastDay] of pendingLotsAt(user, key, now)) {
    if (lastDay !== undefined && lastDay > told) yield [lastDay, amount, at]
  }
}

const lotKeys = ({ expiring, pending }: UserState): ReadonlySet<string> =>
  new Set([...expiring.keys(), ...pending.keys()])

const expiryDays = (user: UserState, { settings }: ProjectState): Reminders | undefined => {
  const { reminders } = settings
  if (reminders?.expiryDays === undefined) return undefined
  if (user.expiring.size === 0 && user.pending.size === 0) return undefined
  return isRemindable(user, reminders) ? reminders : undefined
}

/** The amounts of whose end the user is to be reminded now, by currency. */
export const amountsExpiring = (
  user: UserState,
  project: ProjectState,
  now: number,
): ReadonlyArray<ExpirySoon> => {
  const reminders = expiryDays(user, project)
  if (reminders === undefined || expiryReminderAt(user, project, now) > now) return []
  const zone = presentZone(user, project)
  const { hour } = reminders
  const days = reminders.expiryDays!
  return [...lotKeys(user)].flatMap((currency) => {
    const open = [...openDays(user, currency, now)].filter(([, , from]) => from <= now)
    const begun = open.filter(([day]) => zone.hourOn(day - days + 1, hour) <= now)
    const isDue = begun.some(([day]) => lotReminderAt(zone, reminders, day, now) <= now)
    if (!isDue) return []
    const endings = begun.map(([day, amount]) => ({ amount, expiresAt: zone.startOfDay(day + 1) }))
    return [{ currency, endings, through: begun.at(-1)![0] }]
  })
}

const lotReminderAt = (
  zone: Zone,
  { expiryDays, hour }: Reminders,
  day: number,
  from: number,
): number => {
  const at = hourBetween(zone, hour, [day - expiryDays! + 1, day], from - limits.reminderLateMs)
  return Math.max(at, from)
}

/** When the next reminder of amounts is due: at most `now` if one is; infinity: none. */
const expiryReminderAt = (user: UserState, project: ProjectState, now: number): number => {
  const reminders = expiryDays(user, project)
  let next = Number.POSITIVE_INFINITY
  if (reminders === undefined) return next
  const zone = presentZone(user, project)
  for (const key of lotKeys(user)) {
    for (const [day, , from] of openDays(user, key, now)) {
      next = Math.min(next, lotReminderAt(zone, reminders, day, from))
    }
  }
  return next
}

/** When the next reminder of what ends is due: at most `now` if one is; infinity: none. */
export const reminderAt = (user: UserState, project: ProjectState, now: number): number => {
  if (project.settings.reminders === undefined) return Number.POSITIVE_INFINITY
  let next = expiryReminderAt(user, project, now)
  for (const { at } of questReminders(user, project, now)) next = Math.min(next, at)
  for (const { at } of leagueReminders(user, project, now)) next = Math.min(next, at)
  return next
}
