/** Reminders of what ends: quests in progress, and amounts of currencies. */
import type { Profile } from "../../../src/domain/user/User.ts"
import { dateAt, dateOf, plusDays, startOf } from "./calendar.ts"
import type { Definitions } from "./Definitions.ts"
import { holdingOf } from "./holdings.ts"
import type { EndingsTold, Log } from "./log.ts"
import { begunAt, periodEndsAt, periodOf, standingIn } from "./quests.ts"
import type { Places } from "./streaks.ts"

const lateMs = 3 * 3_600_000

/** The last times before `end` at which the clock shows the hour, the latest first. */
export const hoursBefore = (
  zone: string,
  hour: number,
  days: number,
  end: number,
): ReadonlyArray<number> => {
  const dates = Array.from({ length: days + 2 }, (_, back) => plusDays(dateAt(zone, end), -back))
  return [...new Set(dates.map((date) => hourOn(zone, date, hour)))]
    .filter((at) => at < end)
    .slice(0, days)
}

/** When the clock of a place shows an hour on a date. */
const hourOn = (zone: string, date: string, hour: number): number =>
  Temporal.PlainDate.from(date).toZonedDateTime({ timeZone: zone, plainTime: { hour } })
    .epochMilliseconds

/** The reminders that are due. */
export const endingsDue = (
  log: Log,
  definitions: Definitions,
  profile: Profile,
  places: Places,
  now: number,
): EndingsTold => {
  const { reminders } = definitions.settings
  const isQuiet = reminders?.unless != null && profile.attributes[reminders.unless] === true
  if (reminders === undefined || isQuiet || log.length === 0) return { quests: [], amounts: [] }
  const { expiryDays, hour, questDays } = reminders
  const { zone } = places.at(-1)!
  return {
    quests:
      questDays === undefined ? [] : questsDue(log, definitions, zone, [questDays, hour], now),
    amounts:
      expiryDays === undefined ? [] : amountsDue(log, definitions, places, [expiryDays, hour], now),
  }
}

type When = readonly [days: number, hour: number]

/** Whether one of the times came in the last three hours, and after `since`. */
export const hasCome = (times: ReadonlyArray<number>, since: number, now: number): boolean =>
  times.some((at) => at <= now && at > now - lateMs && at > since)

const questsDue = (
  log: Log,
  { quests, settings: { timezone } }: Definitions,
  zone: string,
  [days, hour]: When,
  now: number,
): EndingsTold["quests"] =>
  quests.flatMap((quest) => {
    const { id: questId } = quest
    const period = periodOf(quest, timezone, now)
    const endsAt = periodEndsAt(quest, timezone, now)
    if (quest.set !== "published" || endsAt === null) return []
    if (standingIn(log, quest, period, timezone, now) !== "in_progress") return []
    const last = log
      .flatMap((entry) => (entry.kind === "ticked" ? entry.ended.quests : []))
      .findLast((one) => one.questId === questId)
    if (last?.period === period) return []
    const times = hoursBefore(zone, hour, days, endsAt)
    return hasCome(times, begunAt(log, questId, period)!, now) ? [{ questId, period, endsAt }] : []
  })

const amountsDue = (
  log: Log,
  definitions: Definitions,
  places: Places,
  [days, hour]: When,
  now: number,
): EndingsTold["amounts"] => {
  const { zone } = places.at(-1)!
  const told = log.flatMap((entry) => (entry.kind === "ticked" ? entry.ended.amounts : []))
  return [...new Set(["points", ...definitions.currencies.map(({ key }) => key)])].flatMap(
    (currency) => {
      const through = Math.max(
        ...told.filter((one) => one.currency === currency).map((one) => one.through),
      )
      const { courses } = definitions
      const { lots } = holdingOf(log, currency, { courses, now, places })
      const timesOf = (day: number) =>
        Array.from({ length: days }, (_, back) => hourOn(zone, dateOf(day - back), hour))
      const begun = lots.filter(({ to }) => to > through && timesOf(to).at(-1)! <= now)
      if (!begun.some(({ to }) => hasCome(timesOf(to), Number.NEGATIVE_INFINITY, now))) return []
      const endings = begun.map(
        ({ amount, to }) => [startOf(zone, dateOf(to + 1)), amount] as const,
      )
      return [{ currency, endings, through: begun.at(-1)!.to }]
    },
  )
}
