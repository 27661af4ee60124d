/**
 * Streaks: computed from the periods that events kept, one by one from the first to the last. An
 * event that counts says whether it keeps its period, by the needs of that time.
 *
 * A user has one calendar through all time zones: the days as the user reached them, each at its
 * place. A day that was reached does not come back, a skipped day never was, and a day that had
 * begun before the last one was over at its own place is not missed.
 *
 * Freezes that rewards gave in a period come before it is kept, and those taken back after.
 */
import type { Streak } from "../../../src/domain/project/StreakDefinition.ts"
import { sumOf } from "./amounts.ts"
import type { Place } from "./badges.ts"
import { dateAt, dateOf, numberOf, startOf } from "./calendar.ts"
import { counts, type Definitions, type Move, pays } from "./Definitions.ts"
import {
  type Amounting,
  type FreezesTaken,
  type Happened,
  happened,
  type Log,
  openedRun,
  type Spent,
  standing,
  type Warning,
} from "./log.ts"
import { measuredTowards } from "./metrics.ts"

/** The places of a user, oldest first; the last has no end. */
export type Places = ReadonlyArray<Move>

export const placesOf = (log: Log, { moves, settings }: Definitions): Places => {
  const own = log.flatMap((entry) =>
    entry.kind === "profile" && "timezone" in entry.change
      ? [{ from: entry === log[0] ? -Infinity : entry.at, zone: entry.change.timezone ?? null }]
      : [],
  )
  const seen = log[0]?.at ?? Infinity
  // A user may move in the millisecond of the first event, whose day counts in the zone before: the
  // project's at that event, also if the project moved in the same millisecond.
  const ends = [
    ...own.map(({ from }) => from).filter((end) => end >= seen),
    ...moves.map(({ until }) => until).filter((end) => end > seen),
  ].sort((one, other) => one - other)
  return [...ends, Infinity].map((until) => ({
    zone:
      own.findLast(({ from }) => from < until)?.zone ??
      moves.find((move) => Math.max(until - 1, seen) < move.until)?.zone ??
      settings.timezone,
    until,
  }))
}

const dayIn = (zone: string, ms: number): number => numberOf(dateAt(zone, ms))

/** The latest day that the user had reached by `ms`. */
export const dayAt = (places: Places, ms: number): number => {
  const been = places.filter((_, index) => index === 0 || places[index - 1]!.until <= ms)
  return Math.max(...been.map(({ until, zone }) => dayIn(zone, Math.min(ms, until - 1))))
}

const begins = new Map<string, number>()
const beginOf = (zone: string, day: number): number => {
  const name = `${zone} ${day}`
  const begin = begins.get(name) ?? startOf(zone, dateOf(day))
  begins.set(name, begin)
  return begin
}

/** The place where a day begins for the user; `undefined`: the day never was. */
const placeOf = (places: Places, day: number): string | undefined => {
  for (const [index, { until, zone }] of places.entries()) {
    const at = Math.max(places[index - 1]?.until ?? -Infinity, beginOf(zone, day))
    if (at < until) return dayIn(zone, at) === day ? zone : undefined
  }
  return undefined
}

/** The number of the day, the ISO week or the month of a day; the next one has the next number. */
export const periodOf = (every: Streak["every"], day: number): number => {
  const { dayOfWeek, month, year } = Temporal.PlainDate.from(dateOf(day))
  if (every === "week") return (day - dayOfWeek + 4) / 7
  return every === "month" ? (year - 1970) * 12 + month - 1 : day
}

const firstDayOf = (every: Streak["every"], period: number): number => {
  if (every === "week") return period * 7 - 3
  if (every === "day") return period
  const year = 1970 + Math.floor(period / 12)
  return numberOf(`${year}-${String((period % 12) + 1).padStart(2, "0")}-01`)
}

const isRest = ({ restDays }: Streak, day: number): boolean => {
  const names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
  const { dayOfWeek } = Temporal.PlainDate.from(dateOf(day))
  return restDays.some((name) => name === names[dayOfWeek - 1])
}

/** The repairs of a streak that were not refunded. */
const repairsOf = (log: Log, key: string): ReadonlyArray<Spent> => {
  const refunded = new Set(
    log.map((entry) => (entry.kind === "refunded" ? entry.spent : undefined)),
  )
  return log.filter(
    (entry): entry is Spent =>
      entry.kind === "spent" && entry.repair?.key === key && !refunded.has(entry),
  )
}

const repairedOf = (log: Log, key: string): ReadonlySet<number> => {
  const periods = new Set<number>()
  for (const { repair } of repairsOf(log, key)) {
    for (let period = repair!.from; period <= repair!.to; period++) periods.add(period)
  }
  return periods
}

/** The numbers of the periods that are not missed, because of a pause or a repair. */
const coversOf = (log: Log, streak: Streak): ReadonlySet<number> =>
  pausedOf(log, streak).union(repairedOf(log, streak.key))

/** Whether the entry pays what the runs of the streak have reached. */
const settles = (entry: Log[number] | undefined, key: string): boolean =>
  (entry?.kind === "event" && entry.streaks.some((one) => one.key === key && one.keeps)) ||
  (entry !== undefined && "pausing" in entry && entry.pausing.paused.some((one) => one.key === key))

/** The log without the repairs whose longer runs nothing has paid yet. */
const paidFor = (log: Log, key: string): Log => {
  const last = log.findLastIndex((entry) => settles(entry, key))
  return log.filter(
    (entry, index) => index <= last || entry.kind !== "spent" || entry.repair === undefined,
  )
}

/** The numbers of the periods with a day that a pause covers. */
const pausedOf = (log: Log, { every, key }: Streak): ReadonlySet<number> => {
  const covers = new Set<number>()
  for (const entry of log) {
    for (const { from, key: of, to } of "pausing" in entry ? entry.pausing.paused : []) {
      for (let day = from; of === key && day <= to; day++) covers.add(periodOf(every, day))
    }
  }
  return covers
}

/** How many periods were missed between two, both excluded, but at most `most` + 1. */
const missed = (
  covers: ReadonlySet<number>,
  streak: Streak,
  places: Places,
  last: number,
  next: number,
  most: number,
): number => {
  let count = 0
  for (let period = last + 1; period < next && count <= most; period++) {
    if (covers.has(period)) continue
    if (streak.every === "day" && !isMissed(streak, places, last, period)) continue
    count++
  }
  return count
}

const isMissed = (streak: Streak, places: Places, last: number, day: number): boolean => {
  const there = placeOf(places, day)
  if (there === undefined || isRest(streak, day)) return false
  const lastEnds = beginOf(placeOf(places, last) ?? there, last + 1)
  const isWhole = dayAt(places, beginOf(there, day + 1) - 1) === day
  return beginOf(there, day) >= lastEnds && isWhole
}

/** Whether replies show the streak. */
export const isInUse = ({ set }: Streak): boolean => set === "published" || set === "paused"

const events = (log: Log): ReadonlyArray<Happened> =>
  happened(log).filter(({ kind }) => kind === "event")

/** The periods that were kept. An undone event keeps its period. */
const keptPeriods = (log: Log, key: string): ReadonlySet<number> =>
  new Set([
    ...openedPeriods(log, key),
    ...events(log).flatMap(({ streaks }) =>
      streaks.filter((one) => one.key === key && one.keeps).map(({ period }) => period),
    ),
  ])

const openedPeriods = (log: Log, key: string): ReadonlyArray<number> => {
  const { current = 0, last = 0 } = openedRun(log, key) ?? {}
  return Array.from({ length: current }, (_, index) => last - index)
}

/** What events that were not undone added in periods that are not kept, by period and need. */
export const openCounts = (log: Log, key: string) => {
  const kept = keptPeriods(log, key)
  const counts = new Map<string, { period: number; need: string; count: number }>()
  for (const { streaks } of standing(log)) {
    for (const { added, key: of, period } of streaks) {
      if (of !== key || kept.has(period)) continue
      for (const [need, amount] of added) {
        const name = `${period} ${need}`
        const { count } = counts.get(name) ?? { count: 0 }
        counts.set(name, { period, need, count: sumOf([count, amount]) })
      }
    }
  }
  return [...counts.values()]
}

/** How an event counts for a streak; `undefined`: it does not. */
export const countedFor = (
  before: Log,
  streak: Streak,
  { places, ...definitions }: Place,
  event: Happened,
): Happened["streaks"][number] | undefined => {
  const { every, key, match, needs } = streak
  if (!counts(streak, event.occurredAt)) return undefined
  const period = periodOf(every, dayAt(places, event.occurredAt))
  if (keptPeriods(before, key).has(period)) return undefined
  const added = new Map<string, number>()
  for (const need of needs) {
    const amount =
      need.metric === undefined
        ? Number(need.action === event.action)
        : measuredTowards(before, need, definitions, event)
    if (amount > 0) added.set(need.action ?? need.metric, amount)
  }
  if (needs.length > 0 && added.size === 0) return undefined
  const reached = needs.map(({ action, metric, target }) => {
    const name = action ?? metric
    const open = openCounts(before, key).find((one) => one.period === period && one.need === name)
    return sumOf([open?.count ?? 0, added.get(name) ?? 0]) >= target
  })
  const keeps =
    needs.length === 0 || (match === "all" ? reached.every(Boolean) : reached.some(Boolean))
  return { key, period, keeps, added }
}

/** The milestones that paid the user, by records that were not undone. */
export const paidMilestones = (log: Log, key: string): ReadonlyArray<number> => [
  ...(openedRun(log, key)?.paid ?? []),
  ...[...standing(log), ...log.filter((entry) => entry.kind === "backfilled")].flatMap(
    ({ milestones }) => milestones.filter((one) => one.key === key).map(({ target }) => target),
  ),
]

/**
 * The targets of milestones whose payments were all undone, and that the last entry of `after` pays
 * again: it counts for a day, week or month of a run that is long enough.
 */
export const milestonesAgain = (
  before: Log,
  after: Log,
  streak: Streak,
  { places, ...definitions }: Place,
  event: Happened,
): ReadonlyArray<number> => {
  const { every, key, needs } = streak
  if (!counts(streak, event.occurredAt) || !pays(streak, event.occurredAt)) return []
  const period = periodOf(every, dayAt(places, event.occurredAt))
  const adds = needs.some((need) =>
    need.metric === undefined
      ? need.action === event.action
      : measuredTowards(before, need, definitions, event) > 0,
  )
  if (!keptPeriods(after, key).has(period) || (needs.length > 0 && !adds)) return []
  const run = runsOf(after, streak, places).find(({ last }) => period <= last)!
  const wasPaid = events(before).flatMap(({ milestones }) =>
    milestones.filter((one) => one.key === key).map(({ target }) => target),
  )
  const isPaid = paidMilestones(after, key)
  return streak.milestones
    .map(({ target }) => target)
    .filter((target) => target <= run.days && wasPaid.includes(target) && !isPaid.includes(target))
}

/** The targets of the milestones that the last entry of `after` reaches for the first time. */
export const newMilestones = (
  before: Log,
  after: Log,
  streak: Streak,
  places: Places,
  occurredAt: number,
): ReadonlyArray<number> => {
  if (!pays(streak, occurredAt)) return []
  const paid = paidMilestones(after, streak.key)
  const reached = grownRuns(before, after, streak, places).flatMap(({ is, was }) =>
    streak.milestones.map(({ target }) => target).filter((target) => was < target && target <= is),
  )
  return [...new Set(reached)].filter((target) => !paid.includes(target))
}

export interface Run {
  readonly first: number
  last: number
  days: number
  freezes: number
}

/** What rewards gave in each period, without what was taken back in it. */
const grantsOf = (log: Log, key: string): ReadonlyMap<number, number> => {
  const grants = new Map<number, number>()
  for (const entry of log) {
    if (!("freezes" in entry)) continue
    const { amount = 0, period = 0 } = entry.freezes.get(key) ?? {}
    const change = entry.kind === "undone" ? -amount : amount
    grants.set(period, (grants.get(period) ?? 0) + change)
  }
  return grants
}

/** The runs of periods in a row, oldest first, and the freezes that wait for the next one. */
const walkOf = (log: Log, streak: Streak, places: Places) => {
  const { freezes, key } = streak
  const covers = coversOf(log, streak)
  const runs: Array<Run> = []
  let waiting = 0
  const grants = [...grantsOf(log, key)].filter(([, change]) => change !== 0)
  const steps = [
    ...[...keptPeriods(log, key)].map((period) => ({ period, change: 0 })),
    ...grants.map(([period, change]) => ({ period, change })),
  ].sort((one, other) => one.period - other.period || other.change - one.change)
  for (const { change, period } of steps) {
    let run = runs.at(-1)
    const without =
      run === undefined ? 0 : missed(covers, streak, places, run.last, period, run.freezes)
    const isOver = run === undefined || without > run.freezes
    if (change !== 0 && isOver) {
      const room = Math.max(0, freezes.max - freezes.initial - waiting)
      waiting = Math.max(0, waiting + Math.min(change, room))
    } else if (change !== 0) {
      const left = run!.freezes - without
      const room = Math.max(0, freezes.max - left)
      run!.freezes += Math.max(-left, Math.min(change, room))
    } else {
      if (run === undefined || isOver) {
        const initial = Math.min(freezes.max, freezes.initial + waiting)
        run = { first: period, last: period, days: 0, freezes: initial }
        runs.push(run)
        waiting = 0
      } else run.freezes -= without
      run.last = period
      run.days++
      if (freezes.everyDays !== null && run.days % freezes.everyDays === 0)
        run.freezes = Math.max(run.freezes, Math.min(freezes.max, run.freezes + 1))
    }
  }
  return { runs, waiting }
}

export const runsOf = (log: Log, streak: Streak, places: Places) => walkOf(log, streak, places).runs

/** Gives the freezes of `to`, the last entry of the log, to the streaks as far as they fit. */
export const giveFreezes = (
  log: Log,
  to: Amounting,
  { streaks }: Pick<Definitions, "streaks">,
  places: Places,
  now: number,
): void => {
  for (const [key, asked] of to.frozen) {
    const streak = takerOf(streaks, key, now)
    if (streak === undefined) continue
    const { current, freezes } = streakOf(log, streak, places, now)
    const { initial, max } = streak.freezes
    const { waiting } = walkOf(log, streak, places)
    const room = Math.max(0, max - (current > 0 ? freezes : initial + waiting))
    const fitting = Math.min(asked, room)
    const before = to.freezes.get(key) ?? { amount: 0, cut: 0 }
    const amount = before.amount + fitting
    const period = periodOf(streak.every, dayAt(places, now))
    if (asked > 0) to.freezes.set(key, { period, amount, cut: before.cut + asked - fitting })
  }
}

/** A streak that takes freezes. */
export const takerOf = (streaks: ReadonlyArray<Streak>, key: string, now: number) =>
  streaks.find((one) => one.key === key && isInUse(one) && now < (one.endsAt ?? Infinity))

/** The freezes of an entry that an undo finds. */
export const freezesLeft = (
  log: Log,
  given: Amounting,
  { streaks }: Pick<Definitions, "streaks">,
  places: Places,
  now: number,
): ReadonlyMap<string, Omit<FreezesTaken, "cut">> =>
  new Map(
    [...given.freezes].flatMap(([key, { amount: asked }]) => {
      const streak = takerOf(streaks, key, now)
      if (streak === undefined) return []
      const { current, freezes } = streakOf(log, streak, places, now)
      const left = current > 0 ? freezes : walkOf(log, streak, places).waiting
      const amount = Math.min(asked, left)
      const period = periodOf(streak.every, dayAt(places, now))
      return amount === 0 ? [] : [[key, { period, amount }] as const]
    }),
  )

export interface StreakView {
  readonly current: number
  readonly best: number
  readonly freezes: number
  readonly lastDay: string | null
}

/** A streak as it stands at `now`. */
export const streakOf = (log: Log, definition: Streak, places: Places, now: number): StreakView => {
  const { runs, waiting } = walkOf(log, definition, places)
  const run = runs.at(-1)
  const { initial, max } = definition.freezes
  const had = openedRun(log, definition.key)?.best ?? 0
  if (run === undefined) {
    return { current: 0, best: had, freezes: Math.min(max, initial + waiting), lastDay: null }
  }
  const best = Math.max(had, ...runs.map(({ days }) => days))
  const { endsAt, every } = definition
  const lastDay = dateOf(firstDayOf(every, run.last))
  // Nothing changes a streak after its end.
  const present = periodOf(every, dayAt(places, Math.min(now, (endsAt ?? Infinity) - 1)))
  const covers = coversOf(log, definition)
  const left = run.freezes - missed(covers, definition, places, run.last, present, run.freezes)
  return left < 0
    ? { current: 0, best, freezes: waiting, lastDay }
    : { current: run.days, best, freezes: left, lastDay }
}

/** The pauses of the definition that begin by now, with an event that counts or without one. */
export const beginningPauses = (
  log: Log,
  definition: Streak,
  places: Places,
  now: number,
  withEvent: boolean,
): Streak["pauses"] => {
  const { endsAt, every, key, pauses } = definition
  if (!isInUse(definition) || now >= (endsAt ?? Infinity)) return []
  const seen = log.flatMap((entry) =>
    "pausing" in entry ? entry.pausing.seen.filter((one) => one.key === key) : [],
  )
  const today = dayAt(places, now)
  const begun = pauses.filter(
    ({ from, number }) => from <= today && seen.every((one) => one.number !== number),
  )
  const kept = keptPeriods(log, key)
  const was = streakOf(log, definition, places, now)
  if (withEvent || was.current > 0) {
    const since = kept.size === 0 ? periodOf(every, today) : Math.min(...kept)
    return begun.filter(({ to }) => periodOf(every, to) >= since)
  }
  if (kept.size === 0 || begun.length === 0) return []
  const paused = begun.map(({ from, to }) => ({ key, from, to }))
  const after = [...log, { kind: "trial", pausing: { paused, seen: [] } }] as unknown as Log
  const latest = (of: Log) => runsOf(of, definition, places).at(-1)
  const is = streakOf(after, definition, places, now)
  const [one, other] = [latest(log), latest(after)]
  const isSame =
    is.current === 0 &&
    is.best === was.best &&
    one!.first === other!.first &&
    one!.days === other!.days &&
    one!.freezes === other!.freezes
  return isSame ? [] : begun
}

/** The first missed period that no freeze covered after the last streak that ended, up to the present. */
export const brokenPeriods = (
  log: Log,
  definition: Streak,
  places: Places,
  now: number,
): { readonly from: number; readonly to: number; readonly daysAgo: number } | undefined => {
  const { endsAt, every } = definition
  const runs = runsOf(log, definition, places)
  const isRunning = streakOf(log, definition, places, now).current > 0
  const run = runs.at(isRunning ? -2 : -1)
  if (run === undefined) return undefined
  const covers = coversOf(log, definition)
  const today = dayAt(places, now)
  const present = periodOf(every, dayAt(places, Math.min(now, (endsAt ?? Infinity) - 1)))
  for (let period = run.last + 1; period < present; period++) {
    if (missed(covers, definition, places, run.last, period + 1, run.freezes) <= run.freezes)
      continue
    return { from: period, to: present - 1, daysAgo: today - (firstDayOf(every, period + 1) - 1) }
  }
  return undefined
}

/** The warnings that are due: one for each period, once its last hours have begun. */
export const warningsDue = (
  log: Log,
  { streaks }: Pick<Definitions, "streaks">,
  places: Places,
  now: number,
): ReadonlyArray<Warning> =>
  streaks.flatMap((definition) => {
    const { atRisk, every, key } = definition
    if (atRisk === null || !pays(definition, now)) return []
    const { current, freezes } = streakOf(log, definition, places, now)
    const period = periodOf(every, dayAt(places, now))
    const kept = keptPeriods(log, key)
    const isOpen = current > 0 && !kept.has(period) && !coversOf(log, definition).has(period)
    if (!isOpen || (every === "day" && !isMissed(definition, places, Math.max(...kept), period)))
      return []
    const endsAt = beginOf(places.at(-1)!.zone, firstDayOf(every, period + 1))
    const isLast = endsAt >= (definition.endsAt ?? Infinity)
    const isWarned = log.some(
      (entry) =>
        entry.kind === "ticked" &&
        entry.warned.some((one) => one.key === key && one.period === period),
    )
    const isEarly = now < endsAt - atRisk.hoursBefore * 3_600_000
    return isLast || isWarned || isEarly ? [] : [{ key, period, current, freezes, endsAt }]
  })

/** What became of the present period and the 40 before it, as `2026-11-01 kept`. */
export const calendarOf = (
  log: Log,
  definition: Streak,
  places: Places,
  now: number,
): ReadonlyArray<string> => {
  if (!isInUse(definition)) return []
  const { endsAt, every, key, startsAt } = definition
  const { runs } = walkOf(log, definition, places)
  const kept = keptPeriods(log, key)
  const present = periodOf(every, dayAt(places, Math.min(now, (endsAt ?? Infinity) - 1)))
  const begun = periodOf(every, dayAt(places, Math.max(log[0]!.at, startsAt ?? -Infinity)))
  const first = Math.min(begun, ...kept)
  const covers = coversOf(log, definition)
  const paused = pausedOf(log, definition)
  const nameOf = (period: number): string => {
    if (kept.has(period)) return "kept"
    if (paused.has(period)) return "paused"
    if (every === "day" && isRest(definition, period)) return "rest"
    const last = Math.max(...[...kept].filter((one) => one < period))
    const before = Number.isFinite(last) ? last : period - 1
    if (every === "day" && !isMissed(definition, places, before, period)) return "skipped"
    if (repairedOf(log, key).has(period)) return "repaired"
    if (period === present && (endsAt === null || now < endsAt)) return "open"
    const run = runs.findLast((one) => one.first < period)
    const reaches = (one: Run) =>
      period < one.last ||
      missed(covers, definition, places, one.last, period + 1, one.freezes) <= one.freezes
    return run !== undefined && reaches(run) ? "frozen" : "missed"
  }
  return Array.from({ length: 41 }, (_, index) => present - 40 + index)
    .filter((period) => period >= first)
    .map((period) => `${dateOf(firstDayOf(every, period))} ${nameOf(period)}`)
}

/** The lengths, before and after, of the runs that the last entry of `after` made longer. */
export const grownRuns = (
  before: Log,
  after: Log,
  definition: Streak,
  places: Places,
): ReadonlyArray<{ readonly was: number; readonly is: number }> => {
  // A repair pays nothing, and neither does an entry that is about something else.
  const isPaid = settles(after.at(-1), definition.key)
  const were = runsOf(isPaid ? paidFor(before, definition.key) : before, definition, places)
  return runsOf(after, definition, places).map((run) => {
    const parts = were.filter(({ first, last }) => first >= run.first && last <= run.last)
    return { was: Math.max(0, ...parts.map(({ days }) => days)), is: run.days }
  })
}
