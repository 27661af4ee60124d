/** Metrics, recounted from all events that were not undone, for each read. */
import type { Metric } from "../../../src/domain/project/Metric.ts"
import type { MetricPeriod, MetricProgress } from "../../../src/domain/user/Progress.ts"
import type { Profile } from "../../../src/domain/user/User.ts"
import type { WindowKind } from "../../../src/domain/values/Calendar.ts"
import { dateAt, later, plusDays, windowKinds, windowOf } from "./calendar.ts"
import { find, satisfies } from "./conditions.ts"
import type { Definitions } from "./Definitions.ts"
import { type Happened, type Log, standing } from "./log.ts"

/** An event that counted for a metric: its value, and the user's date. */
export interface Measured {
  readonly metricId: string
  readonly value: number
  readonly date: string
  /** The sequence of the backfill that counted it; absent: it counted when it came. */
  readonly from?: number
}

export const zoneNow = ({ timezone }: Profile, { settings }: Definitions): string =>
  timezone ?? settings.timezone

/** The metrics that an event counts for, on this date. */
export const measure = (
  { metrics }: Definitions,
  event: Happened,
  date: string,
): ReadonlyArray<Measured> =>
  metrics.flatMap((metric) => {
    if (metric.set === "archived" || !isAsked(metric, event)) return []
    const value = valueFor(metric, event.metadata)
    return value === undefined ? [] : [{ metricId: metric.id, value, date }]
  })

const valueFor = (
  { aggregate, decimals, value }: Metric,
  metadata: Happened["metadata"],
): number | undefined => {
  if (value === null) return 1
  const found = find(metadata, value)
  if (typeof found !== "number") return undefined
  const whole = Math.sign(found) * Math.round(Math.abs(found) * 10 ** decimals)
  if (Math.abs(whole) > 1e13 || (aggregate === "sum" && whole <= 0)) return undefined
  return whole / 10 ** decimals + 0
}

/** Whether an event meets what a metric asks for, with or without a value. */
const isAsked = ({ actions, where }: Metric, { action, metadata }: Happened): boolean =>
  actions.some((one) => one === action) && satisfies(where, metadata)

/** What counts for a step or a need: events with an action, or a metric. */
export interface Counting {
  readonly action?: string
  readonly metric?: string
  readonly target: number
}

/** Whether the event meets what the metric of a step or a need asks for. */
export const asksFor = (
  { metric }: Counting,
  { metrics }: Pick<Definitions, "metrics">,
  event: Happened,
): boolean => {
  const counting = metrics.find(({ key }) => key === metric)
  return counting !== undefined && isAsked(counting, event)
}

/** What an event adds to a step or a need by a metric; `before` lacks the event. */
export const measuredTowards = (
  before: Log,
  { metric, target }: Counting,
  { metrics }: Pick<Definitions, "metrics">,
  event: Happened,
): number => {
  const counting = metrics.find(({ key }) => key === metric)
  const measured = event.metrics.find(({ metricId }) => metricId === counting?.id)
  if (counting === undefined || measured === undefined) return 0
  const { date, value } = measured
  switch (counting.aggregate) {
    case "count":
    case "sum":
      return value
    case "distinct_days":
      return measuredIn(standing(before), counting).some((one) => one.date === date) ? 0 : 1
    case "max":
    case "last":
      return value >= target ? target : 0
    case "min":
      return value <= target ? target : 0
  }
}

type Timed = Measured & Pick<Happened, "occurredAt">

const measuredIn = (entries: ReadonlyArray<Happened>, { id }: Metric): ReadonlyArray<Timed> =>
  entries.flatMap(({ metrics, occurredAt }) =>
    metrics.flatMap((one) => (one.metricId === id ? [{ ...one, occurredAt }] : [])),
  )

const aggregated = (
  { aggregate, decimals }: Metric,
  events: ReadonlyArray<Timed>,
): number | null => {
  const values = events.map(({ value }) => value)
  switch (aggregate) {
    case "count":
      return events.length
    case "distinct_days":
      return new Set(events.map(({ date }) => date)).size
    case "sum":
      return Number(values.reduce((sum, value) => sum + value, 0).toFixed(decimals))
    case "max":
      return values.length === 0 ? null : Math.max(...values)
    case "min":
      return values.length === 0 ? null : Math.min(...values)
    case "last": {
      // Of two events of one moment, the one that came later.
      const last = events.reduce<Timed | undefined>(
        (latest, event) =>
          latest === undefined || event.occurredAt >= latest.occurredAt ? event : latest,
        undefined,
      )
      return last?.value ?? null
    }
  }
}

/** The user's value of a window, which begins on the date `first`; `users`: whether it has events. */
export const valueIn = (log: Log, metric: Metric, kind: WindowKind, first: string) => {
  const events = measuredIn(standing(log), metric).filter(
    ({ date }) => windowOf(kind, date) === first,
  )
  const latest = events.reduce((at, { occurredAt }) => Math.max(at, occurredAt), 0)
  return { value: aggregated(metric, events), has: events.length > 0, latest }
}

/** The first dates of the windows in which the user has events. */
export const windowsOf = (log: Log, metric: Metric, kind: WindowKind): ReadonlyArray<string> =>
  measuredIn(standing(log), metric).map(({ date }) => windowOf(kind, date))

export const totalOf = (log: Log, metric: Metric): number | null =>
  aggregated(metric, measuredIn(standing(log), metric))

/**
 * The latest date on which an event counted since the metric was last without events, undone ones
 * included: a user does not return to an earlier date.
 */
const latestDate = (log: Log, metric: Metric): string => {
  if (metric.aggregate === "distinct_days") {
    return measuredIn(standing(log), metric).reduce((date, one) => later(date, one.date), "")
  }
  let latest = ""
  for (const [index, { kind, sequence }] of log.entries()) {
    const counted = measuredIn(standing(log.slice(0, index + 1)), metric)
    const own = kind === "event" ? measuredIn([log[index] as Happened], metric) : []
    const begun = [
      ...own.filter(({ from }) => from === undefined),
      ...counted.filter(({ from }) => from === sequence),
    ]
    for (const { date } of begun) latest = later(latest, date)
    if (counted.every(({ from }) => from !== undefined && from > sequence)) latest = ""
  }
  return latest
}

/** The user's values of all metrics that are not archived. */
export const metricsShown = (
  log: Log,
  profile: Profile,
  definitions: Definitions,
  now: number,
): ReadonlyArray<MetricProgress> =>
  definitions.metrics.flatMap((metric) => {
    if (metric.set === "archived") return []
    const { key, name, unit } = metric
    const events = measuredIn(standing(log), metric)
    const today = later(dateAt(zoneNow(profile, definitions), now), latestDate(log, metric))
    const [day, week, month] = windowKinds.map((kind): MetricPeriod => {
      const from = windowOf(kind, today)
      const before = windowOf(kind, plusDays(from, -1))
      const within = (first: string) =>
        aggregated(
          metric,
          events.filter(({ date }) => windowOf(kind, date) === first),
        )
      return { from, current: within(from), previous: within(before) }
    })
    const total = aggregated(metric, events)
    return [{ key, name, unit, recalculating: false, total, day: day!, week: week!, month: month! }]
  })

/** The metrics of an entry, with the totals after it. */
export const measuredTotals = (log: Log, entry: Happened, { metrics }: Definitions) =>
  metrics.flatMap((metric) =>
    entry.metrics.some(({ metricId }) => metricId === metric.id)
      ? [{ key: metric.key, total: totalOf(log, metric) }]
      : [],
  )

/** Counts a metric also for the events that came before it, those that were not undone. */
export const countForPast = (
  log: Log,
  metric: Metric,
  places: ReadonlyArray<{ readonly zone: string; readonly until: number }>,
  from: number,
): void => {
  for (const event of standing(log)) {
    if (event.kind !== "event" || event.action === "QUEST_COMPLETE") continue
    if (event.metrics.some(({ metricId }) => metricId === metric.id)) continue
    const value = isAsked(metric, event) ? valueFor(metric, event.metadata) : undefined
    if (value === undefined) continue
    const { zone } = places.find(({ until }) => event.at < until)!
    event.metrics.push({ metricId: metric.id, value, date: dateAt(zone, event.occurredAt), from })
  }
}
