/** Reads active users, retention and what mechanics do, as JSON or as a table of comma-separated values. */
import { Effect } from "effect"
import type { ActivityOfAll } from "../../domain/user/ActivityOfAll.ts"
import { dateOf, lastWholeDay, zoneOf } from "../../domain/values/Calendar.ts"
import { isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { DayCount } from "../../engine/actor/DayCounts.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { ActivityQuery, ActivitySeries, Analytics, Retention } from "../api/Analytics.ts"
import { MechanicRow } from "../api/Mechanics.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { csv, type Row } from "./csv.ts"
import { mechanicOf, mechanicsListOf } from "./mechanicResults.ts"
import { rangeOf, shareOf, waitOf } from "./ranges.ts"
import { reminderColumns, remindersOf } from "./reminderResults.ts"
import { retentionOf } from "./retentionResults.ts"

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
