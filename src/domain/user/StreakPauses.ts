/**
 * Which pauses of a definition begin for a user. A pause covers a user once: when the user reaches
 * its first day or, if it is made later, at once. So what depends on the definition and on segments
 * of that time becomes days in the user's state (`StreakState.pauses`).
 *
 * A pause that would change nothing for a streak that is over does not begin, so idle users need no
 * record. It may begin with a later event, or together with another pause that revives the streak.
 *
 * Cost: nothing for a streak without pauses; a walk over the user's periods for a streak that is over
 * and has pauses that did not begin.
 */
import { isShown, type Streak, type StreakPause } from "../project/StreakDefinition.ts"
import { noStreak, type StreakState, streakNow, withPause } from "./Streak.ts"
import { periodAt, periodOfDay, userDayAt, type Zones } from "./StreakPeriods.ts"

const none: ReadonlyArray<StreakPause> = []

/** Whether pauses change anything of a streak at `now`. */
export const takesPauses = (definition: Streak, now: number): boolean =>
  isShown(definition) && (definition.endsAt === null || now < definition.endsAt)

const unseen = ({ seen = [] }: StreakState, { pauses }: Streak): ReadonlyArray<StreakPause> =>
  pauses.filter(({ number }) => !seen.includes(number))

/** The pauses that begin by `now`, with an event of the user or by the clock. */
export const beginningPauses = (
  streak: StreakState = noStreak,
  definition: Streak,
  zones: Zones,
  now: number,
  withEvent: boolean,
): ReadonlyArray<StreakPause> => {
  if (definition.pauses.length === 0 || !takesPauses(definition, now)) return none
  const today = userDayAt(zones, now)
  const begun = unseen(streak, definition).filter(({ from }) => from <= today)
  if (begun.length === 0) return none
  if (withEvent || streakNow(streak, definition, zones, now).current > 0) {
    const since = streak.days[0]?.[0] ?? periodAt(definition, zones, now)
    return begun.filter(({ to }) => periodOfDay(definition, to) >= since)
  }
  if (streak.days.length === 0) return none
  const next = begun.reduce(
    (next, { from, to }) => withPause(next, definition, zones, [from, to], now),
    streak,
  )
  const changes =
    streakNow(next, definition, zones, now).current > 0 ||
    (["first", "length", "freezes", "best"] as const).some(
      (member) => next[member] !== streak[member],
    )
  return changes ? begun : none
}

/**
 * The time at which the next pause begins by the clock, epoch milliseconds: at most `now` if one does
 * now, infinity if none will without events.
 */
export const pauseBeginsAt = (
  streak: StreakState,
  definition: Streak,
  zones: Zones,
  now: number,
): number => {
  if (definition.pauses.length === 0) return Number.POSITIVE_INFINITY
  if (beginningPauses(streak, definition, zones, now, false).length > 0) return now
  if (!takesPauses(definition, now) || streakNow(streak, definition, zones, now).current === 0)
    return Number.POSITIVE_INFINITY
  const today = userDayAt(zones, now)
  const { zone } = zones.at(-1)!
  const at = unseen(streak, definition)
    .filter(({ from }) => from > today)
    .map(({ from }) => zone.startOfDay(from))
  const next = Math.min(...at)
  return definition.endsAt !== null && next >= definition.endsAt ? Number.POSITIVE_INFINITY : next
}
