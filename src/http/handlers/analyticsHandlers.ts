/** Reads active users, retention and what mechanics do, as JSON or as a table of comma-separated values. */
import { Effect } from "effect"
import {
  type ActivityOfAll,
  retentionDaysMax,
  shownRetentionDays,
} from "../../domain/user/ActivityOfAll.ts"
import {
  dateOf,
  firstDayOf,
  type WindowKind,
  windowKindOf,
  zoneOf,
} from "../../domain/values/Calendar.ts"
import { isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { DayCount } from "../../engine/actor/DayCounts.ts"
import type { Engine } from "../../engine/Engine.ts"
import type {
  ActivityQuery,
  ActivitySeries,
  Analytics,
  Retention,
  RetentionQuery,
} from "../api/Analytics.ts"
import { MechanicRow } from "../api/Mechanics.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { csv, type Row } from "./csv.ts"
import { mechanicOf, mechanicsListOf } from "./mechanicResults.ts"
import { type Range, rangeOf, shareOf, waitOf } from "./ranges.ts"
import { reminderColumns, remindersOf } from "./reminderResults.ts"

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
        query.format === "csv" ? csv("retention", body.cohorts!.map(cohortRow)) : { body },
      ),
  },
  reminders: {
    handle: ({ caller: { environment }, query }) =>
      Effect.map(remindersOf(engine, environment, query), (body) =>
        query.format === "csv" ? csv("reminders", body.days, reminderColumns) : { body },
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

const dayMs = 86_400_000
/** The latest calendar is so far behind UTC. */
const behindMsMax = 12 * 3_600_000

/** The last day that has ended in every time zone. */
const lastWholeDay = (now: number): number => Math.floor((now - behindMsMax) / dayMs) - 1

/** Active users by day. */
export const activityOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  query: typeof ActivityQuery.Type,
) {
  const { settings } = yield* engine.readProject(environment)
  const now = engine.timeIn(environment)
  const { first, last } = yield* rangeOf(query, zoneOf(settings.timezone), now)
  const { countedAt, counting, result } = yield* engine.readActiveUsers(
    environment,
    waitOf(query.format),
  )
  const counts = yield* engine.readDayCounts(environment)
  return {
    from: dateOf(first),
    to: dateOf(last),
    countedAt: isoTimeOrNull(countedAt),
    counting,
    days: Array.from({ length: last - first + 1 }, (_, place) =>
      dayShown(first + place, result, counts.on(first + place), lastWholeDay(now)),
    ),
  } satisfies typeof ActivitySeries.Type
})

const dayShown = (
  day: number,
  activity: ActivityOfAll | null,
  { badges, events, quests, xp }: DayCount,
  whole: number,
) => {
  const { daily, fresh, monthly, weekly } = activity?.on(day) ?? nobodyKnown
  return {
    date: dateOf(day),
    complete: day <= whole,
    dau: daily,
    wau: weekly,
    mau: monthly,
    newUsers: fresh,
    returningUsers: daily === null || fresh === null ? null : daily - fresh,
    stickiness: daily === null || monthly === null ? null : shareOf(daily, monthly),
    events,
    xp,
    badges,
    quests,
  }
}

const nobodyKnown = { daily: null, fresh: null, monthly: null, weekly: null }

/* Retention. */

const returnedOn = (
  activity: ActivityOfAll,
  cohorts: Range,
  day: number,
  whole: number,
): NonNullable<(typeof Retention.Type)["curve"]>[number] => {
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
  const { countedAt, counting, result } = yield* engine.readActiveUsers(
    environment,
    waitOf(query.format),
  )
  const whole = lastWholeDay(now)
  const all = { first: firstDayOf(kind, first), last: firstDayOf(kind, last + 1) - 1 }
  return {
    from: dateOf(all.first),
    to: dateOf(all.last),
    by,
    countedAt: isoTimeOrNull(countedAt),
    counting,
    cohorts: result && cohortsOf(result, kind, { first, last }, whole),
    curve:
      result &&
      Array.from({ length: retentionDaysMax + 1 }, (_, day) => returnedOn(result, all, day, whole)),
  } satisfies typeof Retention.Type
})

/** The cohorts of the windows `first` to `last`. */
const cohortsOf = (
  activity: ActivityOfAll,
  kind: WindowKind,
  { first, last }: Range,
  whole: number,
) =>
  Array.from({ length: last - first + 1 }, (_, place) => {
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

/* Tables. */

type Cohorts = NonNullable<(typeof Retention.Type)["cohorts"]>

/** The members of a mechanic's row. */
const mechanicColumns = Object.keys(MechanicRow.fields)

const cohortRow = ({ days, from, to, users }: Cohorts[number]): Row => ({
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
