/** Reads active users, retention and what mechanics do, as JSON or as a table of comma-separated values. */
import { Effect, Stream } from "effect"
import {
  type ActivityOfAll,
  retentionDaysMax,
  shownRetentionDays,
} from "../../domain/user/ActivityOfAll.ts"
import {
  dateOf,
  dayOf,
  firstDayOf,
  windowKindOf,
  windowOfDay,
  type Zone,
  zoneOf,
} from "../../domain/values/Calendar.ts"
import { type Fault, invalidRequest, type LaurelError } from "../../domain/values/Errors.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { DayCount } from "../../engine/actor/DayCounts.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type {
  ActivityQuery,
  ActivitySeries,
  Analytics,
  Retention,
  RetentionQuery,
} from "../api/Analytics.ts"
import { MechanicRow } from "../api/Mechanics.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import type { StreamedReply } from "../stream/StreamedReply.ts"
import { mechanicOf, mechanicsListOf } from "./mechanicResults.ts"

export const analyticsHandlers = (engine: Engine["Service"]): Handlers<typeof Analytics> => ({
  activity: {
    handle: ({ caller: { environment }, query }) =>
      Effect.map(activityOf(engine, environment, query), (body) =>
        query.format === "csv" ? csv("activity", body.days) : { body },
      ),
  },
  retention: {
    handle: ({ caller: { environment }, query }) =>
      Effect.map(retentionOf(engine, environment, query), (body) =>
        query.format === "csv" ? csv("retention", body.cohorts.map(cohortRow)) : { body },
      ),
  },
  mechanics: {
    handle: ({ caller: { environment }, query }) =>
      Effect.map(mechanicsListOf(engine, environment, query), (body) =>
        query.format === "csv" ? csv("mechanics", body.mechanics, mechanicColumns) : { body },
      ),
  },
  mechanic: {
    handle: ({ caller: { environment }, params: { key, kind }, query }) =>
      Effect.map(mechanicOf(engine, environment, kind, key, query), (body) =>
        query.format === "csv"
          ? csv("mechanic", body.days, ["date", "completions", "xp"])
          : { body },
      ),
  },
})

/* Days. */

interface Range {
  readonly first: number
  readonly last: number
}

type By = keyof typeof windowKindOf

/** How many periods there are without `from`. */
const defaultCount: Readonly<Record<By, number>> = { day: 30, week: 12, month: 12 }

/** The periods that a request asks for, by their indexes, as of `now` in `zone`. */
const rangeOf = (
  { by = "day", from, to }: typeof RetentionQuery.Type,
  zone: Zone,
  now: number,
): Effect.Effect<Range, LaurelError<"invalid_request">> => {
  const kind = windowKindOf[by]
  const today = zone.dayAt(now)
  const lastDay = to === undefined ? today : dayOf(to)!
  const last = windowOfDay(kind, lastDay)
  const earliest = today - limits.analyticsDaysMax
  const outOfRange = (pointer: string, detail: string): Fault => {
    return { pointer, code: "out_of_range", detail }
  }
  const wanted = from === undefined ? last - defaultCount[by] + 1 : windowOfDay(kind, dayOf(from)!)
  // Without `from`, what is too long ago is left out.
  const first = from === undefined ? Math.max(wanted, windowOfDay(kind, earliest - 1) + 1) : wanted
  const faults: Array<Fault> = []
  if (firstDayOf(kind, first) < earliest) {
    const detail = `its ${by} must begin at most ${limits.analyticsDaysMax} days ago`
    faults.push(outOfRange("query/from", detail))
  }
  if (first > last) {
    faults.push(
      from === undefined
        ? outOfRange("query/to", `must be at most ${limits.analyticsDaysMax} days ago`)
        : outOfRange("query/to", "must not be before from"),
    )
  }
  // The day has begun in every time zone.
  if (lastDay > today + 1) faults.push(outOfRange("query/to", "must not be in the future"))
  return faults.length > 0 ? Effect.fail(invalidRequest(faults)) : Effect.succeed({ first, last })
}

const dayMs = 86_400_000
/** The latest calendar is so far behind UTC. */
const behindMsMax = 12 * 3_600_000

/** The last day that has ended in every time zone. */
const lastWholeDay = (now: number): number => Math.floor((now - behindMsMax) / dayMs) - 1

const decimals = 10_000

const shareOf = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.round((decimals * part) / whole) / decimals

/** Active users by day. */
export const activityOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  query: typeof ActivityQuery.Type,
) {
  const { settings } = yield* engine.readProject(environment)
  const now = engine.timeIn(environment)
  const { first, last } = yield* rangeOf(query, zoneOf(settings.timezone), now)
  const { activity, countedAt, counting } = yield* engine.readActiveUsers(environment)
  const counts = yield* engine.readDayCounts(environment)
  return {
    from: dateOf(first),
    to: dateOf(last),
    countedAt: isoTime(countedAt),
    counting,
    days: Array.from({ length: last - first + 1 }, (_, place) =>
      dayShown(first + place, activity, counts.on(first + place), lastWholeDay(now)),
    ),
  } satisfies typeof ActivitySeries.Type
})

const dayShown = (
  day: number,
  activity: ActivityOfAll,
  { badges, events, quests, xp }: DayCount,
  whole: number,
) => {
  const { daily, fresh, monthly, weekly } = activity.on(day)
  return {
    date: dateOf(day),
    complete: day <= whole,
    dau: daily,
    wau: weekly,
    mau: monthly,
    newUsers: fresh,
    returningUsers: daily - fresh,
    stickiness: shareOf(daily, monthly),
    events,
    xp,
    badges,
    quests,
  }
}

/* Retention. */

const returnedOn = (
  activity: ActivityOfAll,
  cohorts: Range,
  day: number,
  whole: number,
): (typeof Retention.Type)["curve"][number] => {
  let of = 0
  let users = 0
  for (let began = cohorts.first; began <= Math.min(cohorts.last, whole - day); began++) {
    of += activity.returned(began, 0)
    users += activity.returned(began, day)
  }
  return { day, of, users, share: shareOf(users, of) }
}

const sizeOf = (activity: ActivityOfAll, { first, last }: Range): number => {
  let users = 0
  for (let day = first; day <= last; day++) users += activity.returned(day, 0)
  return users
}

/** Retention by cohorts. */
export const retentionOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  query: typeof RetentionQuery.Type,
) {
  const { settings } = yield* engine.readProject(environment)
  const { by = "day" } = query
  const kind = windowKindOf[by]
  const now = engine.timeIn(environment)
  const { first, last } = yield* rangeOf(query, zoneOf(settings.timezone), now)
  const { activity, countedAt, counting } = yield* engine.readActiveUsers(environment)
  const whole = lastWholeDay(now)
  const all = { first: firstDayOf(kind, first), last: firstDayOf(kind, last + 1) - 1 }
  const cohorts = Array.from({ length: last - first + 1 }, (_, place) => {
    const days = {
      first: firstDayOf(kind, first + place),
      last: firstDayOf(kind, first + place + 1) - 1,
    }
    return {
      from: dateOf(days.first),
      to: dateOf(days.last),
      users: sizeOf(activity, days),
      days: shownRetentionDays.map((day) => returnedOn(activity, days, day, whole)),
    }
  })
  return {
    from: dateOf(all.first),
    to: dateOf(all.last),
    by,
    countedAt: isoTime(countedAt),
    counting,
    cohorts,
    curve: Array.from({ length: retentionDaysMax + 1 }, (_, day) =>
      returnedOn(activity, all, day, whole),
    ),
  } satisfies typeof Retention.Type
})

/* Tables. */

const cellText = (cell: string | number | boolean | null | undefined): string => {
  if (typeof cell !== "string") return `${cell ?? ""}`
  const text = /^[=+\-@\t]/.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** The members of a mechanic's row. */
const mechanicColumns = Object.keys(MechanicRow.fields)

type Row = Readonly<Record<string, string | number | boolean | null>>

const cohortRow = ({ days, from, to, users }: (typeof Retention.Type)["cohorts"][number]): Row => ({
  from,
  to,
  users,
  ...Object.fromEntries(
    days.flatMap(({ day, of, share, users: returned }) => [
      [`d${day}Of`, of],
      [`d${day}Users`, returned],
      [`d${day}Share`, share],
    ]),
  ),
})

/**
 * A table with a head line, by RFC 4180. Without `columns` there is at least one row. A text that a
 * spreadsheet would take for a formula gets an apostrophe.
 */
export const csv = (
  name: string,
  rows: ReadonlyArray<Row>,
  columns: ReadonlyArray<string> = Object.keys(rows[0]!),
): StreamedReply => {
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))]
  const text = lines.map((cells) => `${cells.map(cellText).join(",")}\r\n`).join("")
  return {
    contentType: "text/csv; charset=utf-8",
    headers: ["Content-Disposition", `attachment; filename="${name}.csv"`],
    stream: Stream.make(text),
  }
}
