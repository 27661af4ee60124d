/**
 * A user's values of a metric: in total, and in the current and the previous day, week and month of
 * the user's calendar.
 *
 * Invariant: the state is the aggregate of the events that counted and were not undone, each on the
 * day that its record names. `plusEvent` and `minusEvent` keep it so in any order of events.
 *
 * - The day of an event is that of the user's time zone when the event was decided. A later change
 *   of zone changes no day.
 * - `day` is the latest day on which an event counted. Slots are those of this day and the periods
 *   before; they are shifted only when an event of a later day comes, or when they are read
 *   (`readMetric`). So a day, a week or a month that ends costs nothing. A user who travelled back
 *   over the date line stays on `day` until the calendar has caught up.
 * - An event of a period before the previous one counts in the total alone.
 * - `distinct_days` keeps the days themselves, as ranges; it counts them when it is read. Beyond
 *   `metricRangesMax` the oldest ranges are forgotten but for their number of days: whether an event
 *   on such a day adds one is then read from the user's history.
 * - The undo of a maximum, a minimum, a latest value or a day may need more of the user's history
 *   than an undo reads. The state then still counts the event and is `recalculating`, until a
 *   recount of the whole history in the background replaces it (`record/MetricRecount.ts`).
 */
import { limits } from "../../Limits.ts"
import { isExtremum, type Metric, type MetricAggregate, unscaled } from "../project/Metric.ts"
import { firstDayOf, windowKinds, windowOfDay } from "../values/Calendar.ts"
import { type DayRange, unitedRanges } from "./StreakPeriods.ts"

/** An event as a metric counts it. */
export interface CountedEvent {
  readonly aggregate: MetricAggregate
  /** Scaled. For `distinct_days`: 1 if the day is new, or else 0. */
  readonly value: number
  /** The local day of the event. */
  readonly day: number
  /** Epoch milliseconds. */
  readonly occurredAt: number
}

export interface MetricState {
  readonly day: number
  /**
   * By slot: the total; then, for each kind of window, its current and its previous value. Null: no
   * event. Empty for `distinct_days`.
   */
  readonly values: ReadonlyArray<number | null>
  /** Only for `last`: when the event of each value occurred. */
  readonly times?: ReadonlyArray<number | null>
  /** Only for `distinct_days`: oldest first; no two ranges are adjacent. */
  readonly days?: ReadonlyArray<DayRange>
  /** How many days were forgotten, and the last day of the forgotten ranges. */
  readonly forgotten?: { readonly days: number; readonly through: number }
  /** The values still count an undone event. A recount is under way. */
  readonly recalculating?: true
  /**
   * A backfill counted the user's records up to this one, also those of before the metric was
   * created, which have no fact of it.
   */
  readonly backfilled?: number
}

/**
 * An event counted for a metric, or an undo took one back. `total` is the total afterwards, scaled
 * by `decimals`; null: no event of a maximum, a minimum or a latest value is left. `counted`: the
 * event; its `value` is scaled. `state`: the state after an undo; null: none is left.
 */
export type MetricChange = {
  readonly metricId: string
  readonly key: string
  readonly decimals: number
  readonly total: number | null
} & (
  | { readonly counted: Omit<CountedEvent, "occurredAt">; readonly state?: never }
  | { readonly counted?: never; readonly state: MetricState | null }
)

export const slotCount = 1 + 2 * windowKinds.length
const totalSlot = 0
const slots = Array.from({ length: slotCount }, (_, slot) => slot)
const noSlots: ReadonlyArray<null> = slots.map(() => null)

/** Whether an event of `day` counts in the slot of a state of `stateDay`. */
export const isInSlot = (slot: number, stateDay: number, day: number): boolean => {
  if (slot === totalSlot) return true
  const kind = windowKinds[(slot - 1) >>> 1]!
  return windowOfDay(kind, day) === windowOfDay(kind, stateDay) - ((slot - 1) & 1)
}

/** The first day of the slot of a state of `stateDay`; minus infinity for the total. */
export const slotFirstDay = (slot: number, stateDay: number): number => {
  if (slot === totalSlot) return Number.NEGATIVE_INFINITY
  const kind = windowKinds[(slot - 1) >>> 1]!
  return firstDayOf(kind, windowOfDay(kind, stateDay) - ((slot - 1) & 1))
}

/** `values` of a state of the day `from`, as of the day `to`, which is not earlier. */
const shifted = <A>(
  values: ReadonlyArray<A | null>,
  from: number,
  to: number,
): ReadonlyArray<A | null> => {
  if (from === to || values.length === 0) return values
  const next = [...values]
  for (const [place, kind] of windowKinds.entries()) {
    const passed = windowOfDay(kind, to) - windowOfDay(kind, from)
    if (passed === 0) continue
    const current = 1 + 2 * place
    next[current + 1] = passed === 1 ? values[current]! : null
    next[current] = null
  }
  return next
}

/** A state of the day without events. */
export const emptyOn = (day: number, aggregate: MetricAggregate): MetricState =>
  aggregate === "distinct_days"
    ? { day, values: [], days: [] }
    : { day, values: noSlots, ...(aggregate === "last" && { times: noSlots }) }

/** What events do not change. */
const marksOf = (
  state: MetricState | undefined,
): Pick<MetricState, "backfilled" | "recalculating"> => {
  const { backfilled, recalculating } = state ?? {}
  return {
    ...(recalculating !== undefined && { recalculating }),
    ...(backfilled !== undefined && { backfilled }),
  }
}

/**
 * The state after an event that counts. `place`: the event came after all that were counted, or
 * before them. Of two events of one moment, the later one gives the latest value.
 */
export const plusEvent = (
  before: MetricState | undefined,
  event: CountedEvent,
  place: "after" | "before" = "after",
): MetricState => {
  const { aggregate, day: eventDay, occurredAt } = event
  if (aggregate === "distinct_days") return { ...plusDay(before, event), ...marksOf(before) }
  const day = before === undefined ? eventDay : Math.max(before.day, eventDay)
  const values = [...shifted(before?.values ?? noSlots, before?.day ?? day, day)]
  if (aggregate !== "last") {
    for (const slot of slots) {
      // Usually the event is of the latest day: then it is in all current slots, and in no others.
      const isIn =
        eventDay === day ? slot === totalSlot || (slot & 1) === 1 : isInSlot(slot, day, eventDay)
      if (isIn) values[slot] = combined(aggregate, values[slot]!, event.value)
    }
    // Usually there is no mark, and a literal is faster than a spread.
    const hasMarks = before?.recalculating !== undefined || before?.backfilled !== undefined
    return hasMarks ? { day, values, ...marksOf(before) } : { day, values }
  }
  const times = [...shifted(before?.times ?? noSlots, before?.day ?? day, day)]
  for (const slot of slots) {
    const known = times[slot] ?? null
    if (!isInSlot(slot, day, eventDay) || (known !== null && known > occurredAt)) continue
    if (known === occurredAt && place === "before") continue
    values[slot] = event.value
    times[slot] = occurredAt
  }
  return { day, values, times, ...marksOf(before) }
}

const combined = (aggregate: MetricAggregate, before: number | null, value: number): number => {
  if (before === null) return value
  if (aggregate === "max") return Math.max(before, value)
  if (aggregate === "min") return Math.min(before, value)
  // A sum stops at the largest exact integer.
  return Math.min(Number.MAX_SAFE_INTEGER, before + value)
}

/** Whether a sum may have stopped, so that an undo cannot say what is left. */
export const isFull = ({ values }: MetricState): boolean =>
  values[totalSlot] === Number.MAX_SAFE_INTEGER

/**
 * The slots of which `event` gives the value, so that its undo needs the user's other events: those
 * with its value, or, for `last`, of its time.
 */
export const slotsGivenBy = (state: MetricState, event: CountedEvent): ReadonlyArray<number> =>
  slots.filter(
    (slot) =>
      isInSlot(slot, state.day, event.day) &&
      (event.aggregate === "last"
        ? state.times?.[slot] === event.occurredAt
        : state.values[slot] === event.value),
  )

/**
 * The state without `event`; `undefined`: no event is left. `others` are the standing events that
 * count in the slots that `slotsGivenBy` names, in the order of their records, and for
 * `distinct_days` those of its day.
 */
export const minusEvent = (
  state: MetricState,
  event: CountedEvent,
  others: ReadonlyArray<CountedEvent>,
): MetricState | undefined => {
  const left = without(state, event, others)
  return left && { ...left, ...marksOf(state) }
}

const without = (
  state: MetricState,
  event: CountedEvent,
  others: ReadonlyArray<CountedEvent>,
): MetricState | undefined => {
  const { aggregate } = event
  if (aggregate === "distinct_days") {
    return others.some(({ day }) => day === event.day) ? state : minusDay(state, event.day)
  }
  const { day } = state
  const values = [...state.values]
  if (aggregate === "count" || aggregate === "sum") {
    for (const slot of slots) {
      if (!isInSlot(slot, day, event.day)) continue
      const left = values[slot]! - event.value
      values[slot] = left === 0 ? null : left
    }
    return values[totalSlot] === null ? undefined : { day, values }
  }
  const times = state.times && [...state.times]
  for (const slot of slotsGivenBy(state, event)) {
    values[slot] = null
    if (times !== undefined) times[slot] = null
    for (const { day: otherDay, occurredAt, value } of others) {
      if (!isInSlot(slot, day, otherDay)) continue
      if (times === undefined) values[slot] = combined(aggregate, values[slot]!, value)
      else if ((times[slot] ?? occurredAt) <= occurredAt) {
        values[slot] = value
        times[slot] = occurredAt
      }
    }
  }
  if (values[totalSlot] === null) return undefined
  return times === undefined ? { day, values } : { day, values, times }
}

/**
 * The state of two users who became one at a merge. Where days were forgotten, some of them may be
 * days of both users: then the history is recounted.
 */
export const unitedMetric = (
  one: MetricState,
  other: MetricState,
  aggregate: MetricAggregate,
): MetricState => {
  const marks = { ...marksOf(one), ...marksOf(other) }
  if (aggregate === "distinct_days") {
    const through = Math.max(
      one.forgotten?.through ?? -Infinity,
      other.forgotten?.through ?? -Infinity,
    )
    const ranges = unitedRanges(one.days ?? [], other.days ?? [], through + 1)
    if (!Number.isFinite(through)) return { ...stateOf(ranges, undefined), ...marks }
    const days = Math.max(...[one, other].map((state) => daysThrough(state, through)))
    return { ...stateOf(ranges, { days, through }), ...marks, recalculating: true }
  }
  const day = Math.max(one.day, other.day)
  const mine = shifted(one.values, one.day, day)
  const theirs = shifted(other.values, other.day, day)
  if (aggregate !== "last") {
    const values = slots.map((slot) => {
      const value = theirs[slot] ?? null
      return value === null ? (mine[slot] ?? null) : combined(aggregate, mine[slot] ?? null, value)
    })
    return { day, values, ...marks }
  }
  const times = shifted(one.times ?? noSlots, one.day, day)
  const otherTimes = shifted(other.times ?? noSlots, other.day, day)
  const isLater = (slot: number) =>
    otherTimes[slot] != null && (times[slot] ?? Number.NEGATIVE_INFINITY) < otherTimes[slot]
  return {
    day,
    values: slots.map((slot) => (isLater(slot) ? theirs : mine)[slot] ?? null),
    times: slots.map((slot) => (isLater(slot) ? otherTimes : times)[slot] ?? null),
    ...marks,
  }
}

/** How many days up to `through` the state has. */
const daysThrough = (state: MetricState, through: number): number =>
  (state.forgotten?.days ?? 0) + daysWithin(state, Number.NEGATIVE_INFINITY, through)

/* Days. */

/** Whether the state of `distinct_days` has the day; `undefined`: it has forgotten that. */
export const hasDay = (state: MetricState | undefined, day: number): boolean | undefined => {
  const { days = [], forgotten } = state ?? {}
  if (forgotten !== undefined && day <= forgotten.through) return undefined
  return days.some(([first, last]) => day >= first && day <= last)
}

const plusDay = (before: MetricState | undefined, { day, value }: CountedEvent): MetricState => {
  const { days = [], forgotten } = before ?? {}
  if (value === 0) return before!
  if (forgotten !== undefined && day <= forgotten.through) {
    return { ...before!, forgotten: { ...forgotten, days: forgotten.days + 1 } }
  }
  const next: Array<DayRange> = []
  let [first, last] = [day, day]
  for (const range of days) {
    if (range[1] === day - 1) first = range[0]
    else if (range[0] === day + 1) last = range[1]
    else next.push(range)
  }
  next.push([first, last])
  next.sort(([one], [other]) => one - other)
  return stateOf(next, forgotten)
}

const minusDay = (state: MetricState, day: number): MetricState | undefined => {
  const { days = [], forgotten } = state
  if (forgotten !== undefined && day <= forgotten.through) {
    return stateOf(days, { ...forgotten, days: forgotten.days - 1 })
  }
  const left = days.flatMap<DayRange>(([first, last]) => {
    if (day < first || day > last) return [[first, last]]
    const parts: ReadonlyArray<DayRange> = [
      [first, day - 1],
      [day + 1, last],
    ]
    return parts.filter(([from, to]) => from <= to)
  })
  return left.length === 0 && (forgotten?.days ?? 0) === 0 ? undefined : stateOf(left, forgotten)
}

const stateOf = (
  ranges: ReadonlyArray<DayRange>,
  before: MetricState["forgotten"],
): MetricState => {
  const surplus = Math.max(0, ranges.length - limits.metricRangesMax)
  const days = ranges.slice(surplus)
  let forgotten = before
  for (const [first, last] of ranges.slice(0, surplus)) {
    forgotten = { days: (forgotten?.days ?? 0) + last - first + 1, through: last }
  }
  const day = days.at(-1)?.[1] ?? forgotten?.through ?? 0
  return { day, values: [], days, ...(forgotten !== undefined && { forgotten }) }
}

/** The number of days of a slot as of `day`; null: none. */
const daysOfSlot = (state: MetricState, slot: number, day: number): number | null => {
  const kind = windowKinds[(slot - 1) >>> 1]!
  const index = windowOfDay(kind, day) - ((slot - 1) & 1)
  const count = daysWithin(state, firstDayOf(kind, index), firstDayOf(kind, index + 1) - 1)
  return count === 0 ? null : count
}

/** The days from `first` to `last` on which events counted. */
const daysWithin = (state: MetricState, first: number, last: number): number => {
  let count = 0
  for (const [from, to] of state.days ?? []) {
    count += Math.max(0, Math.min(to, last) - Math.max(from, first) + 1)
  }
  return count
}

/* Reading. */

/** The total, scaled; null: no event of a maximum, a minimum or a latest value. */
export const metricTotal = (state: MetricState | undefined): number | null => {
  if (state?.days === undefined) return state?.values[totalSlot] ?? null
  return (state.forgotten?.days ?? 0) + daysWithin(state, Number.NEGATIVE_INFINITY, state.day)
}

/** The total as the number that it stands for; null: no event of an extremum. */
export const metricNumber = (
  { aggregate, decimals }: Metric,
  state: MetricState | undefined,
): number | null => unscaled(metricTotal(state) ?? (isExtremum(aggregate) ? null : 0), decimals)

/**
 * The values of all slots as of the user's day `today`, or of the state's day if that is later.
 * Null: no event.
 */
export const readMetric = (
  state: MetricState | undefined,
  today: number,
): { readonly day: number; readonly values: ReadonlyArray<number | null> } => {
  if (state === undefined) return { day: today, values: noSlots }
  const day = Math.max(today, state.day)
  if (state.days === undefined) return { day, values: shifted(state.values, state.day, day) }
  return {
    day,
    values: slots.map((slot) =>
      slot === totalSlot ? metricTotal(state) : daysOfSlot(state, slot, day),
    ),
  }
}
