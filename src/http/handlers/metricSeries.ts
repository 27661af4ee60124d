/** Reads metrics as series: the windows of a range of days, of one user or of all users. */
import { Effect } from "effect"
import { definitionNotFound } from "../../domain/decide/Kind.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import { isExtremum, type Metric, unscaled } from "../../domain/project/Metric.ts"
import { beforeDay, type MetricRecount, recountOf } from "../../domain/record/MetricRecount.ts"
import { decidedAt } from "../../domain/record/Record.ts"
import { MetricDays } from "../../domain/user/MetricSeries.ts"
import { presentZone } from "../../domain/user/User.ts"
import {
  dateOf,
  dayOf,
  firstDayOf,
  type WindowKind,
  windowKindOf,
  windowOfDay,
  type Zone,
  zoneOf,
} from "../../domain/values/Calendar.ts"
import { type Fault, invalidRequest, type LaurelError } from "../../domain/values/Errors.ts"
import { isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { MetricSeriesQuery } from "../api/MetricSeries.ts"
import { readLatest } from "./readHistory.ts"
import { foundOr, userNotFound } from "./Shapes.ts"

/** The windows of a series, by their indexes. */
interface Range {
  readonly by: keyof typeof windowKindOf
  readonly kind: WindowKind
  readonly first: number
  readonly last: number
}

/** How many windows a series has without `from`. */
const defaultCount: Readonly<Record<Range["by"], number>> = { day: 30, week: 12, month: 12 }

const dayMs = 86_400_000

/** The range that a request asks for, as of `now` in `zone`. */
const rangeOf = (
  { by = "day", from, to }: typeof MetricSeriesQuery.Type,
  zone: Zone,
  now: number,
): Effect.Effect<Range, LaurelError<"invalid_request">> => {
  const today = zone.dayAt(now)
  const kind = windowKindOf[by]
  const lastDay = to === undefined ? today : dayOf(to)!
  const last = windowOfDay(kind, lastDay)
  const firstDay = from === undefined ? firstDayOf(kind, last - defaultCount[by] + 1) : dayOf(from)!
  const earliest = today - limits.metricSeriesDaysMax
  const outOfRange = (pointer: string, detail: string): Fault => {
    return { pointer, code: "out_of_range", detail }
  }
  const faults: Array<Fault> = []
  if (firstDay < earliest) {
    const pointer = from === undefined ? "query/to" : "query/from"
    faults.push(outOfRange(pointer, `must be at most ${limits.metricSeriesDaysMax} days ago`))
  }
  if (firstDay > lastDay) faults.push(outOfRange("query/to", "must not be before from"))
  // The day has begun in every time zone.
  if (lastDay > today + 1) faults.push(outOfRange("query/to", "must not be in the future"))
  return faults.length > 0
    ? Effect.fail(invalidRequest(faults))
    : Effect.succeed({ by, kind, first: windowOfDay(kind, firstDay), last })
}

const datesOf = ({ by, first, kind, last }: Range) => ({
  by,
  from: dateOf(firstDayOf(kind, first)),
  to: dateOf(firstDayOf(kind, last + 1) - 1),
})

/** A point for each window. */
const pointsOf = <Value extends { readonly value: number }, More extends object>(
  { aggregate, decimals }: Metric,
  { first, kind, last }: Range,
  values: ReadonlyMap<number, Value>,
  more: (value: Value | undefined) => More,
) => {
  const none = isExtremum(aggregate) ? null : 0
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, place) => {
    const found = values.get(first + place)
    return {
      from: dateOf(firstDayOf(kind, first + place)),
      value: unscaled(found?.value ?? none, decimals),
      ...more(found),
    }
  })
}

const metricIn = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  idOrKey: string,
) {
  const { metrics } = yield* engine.readProject(environment)
  return yield* foundOr(definitionOf(metrics, idOrKey), definitionNotFound("metric"))
})

/** The series of all users together. */
export const seriesOfAll = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  idOrKey: string,
  query: typeof MetricSeriesQuery.Type,
) {
  const metric = yield* metricIn(engine, environment, idOrKey)
  const { settings } = yield* engine.readProject(environment)
  const range = yield* rangeOf(query, zoneOf(settings.timezone), engine.timeIn(environment))
  const { countedAt, counting, windows } = yield* engine.readMetricSeries(environment, {
    metricId: metric.id,
    kind: range.kind,
    from: firstDayOf(range.kind, range.first),
  })
  const users = (value: { readonly users: number } | undefined) => ({ users: value?.users ?? 0 })
  return {
    key: metric.key,
    unit: metric.unit,
    ...datesOf(range),
    countedAt: isoTimeOrNull(countedAt),
    counting,
    points: windows === null ? null : pointsOf(metric, range, windows, users),
  }
})

/** The series of a user, read from the latest records of the user's history. */
export const seriesOfUser = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  userId: string,
  idOrKey: string,
  query: typeof MetricSeriesQuery.Type,
) {
  const user = yield* foundOr(yield* engine.readUser(environment, userId), userNotFound)
  const metric = yield* metricIn(engine, environment, idOrKey)
  const zone = presentZone(user, yield* engine.readProject(environment))
  const asked = yield* rangeOf(query, zone, engine.timeIn(environment))
  const firstDay = firstDayOf(asked.kind, asked.first)
  const events = recountOf(user, yield* engine.readProject(environment), metric.id)
  const read = daysOf(engine, environment, userId, metric, events, firstDay)
  const { completeFrom, days } = yield* read
  // The first window whose days were all read.
  const first = Math.max(asked.first, windowOfDay(asked.kind, completeFrom - 1) + 1)
  const range = { ...asked, first: completeFrom <= firstDay ? asked.first : first }
  return {
    userId,
    key: metric.key,
    unit: metric.unit,
    ...datesOf(range),
    truncated: range.first > asked.first,
    points: pointsOf(metric, range, days.by(range.kind), () => ({})),
  }
})

/**
 * The user's values by day. They have every event of the day `completeFrom` and later, which is
 * `firstDay` unless the history is too long.
 */
const daysOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  userId: string,
  { aggregate }: Metric,
  events: MetricRecount,
  firstDay: number,
) {
  const days = new MetricDays(aggregate)
  const most = limits.metricSeriesRecordsMax
  const cutAt = yield* readLatest(engine, environment, userId, most, (record) => {
    if (decidedAt(record) < beforeDay(firstDay)) return false
    for (const event of events.eventsOf(record)) days.add(event)
    return true
  })
  // What was not read occurred by then, on the next day at the latest in any time zone.
  const completeFrom =
    cutAt === undefined ? firstDay : Math.max(firstDay, Math.floor(cutAt / dayMs) + 2)
  return { days, completeFrom }
})
