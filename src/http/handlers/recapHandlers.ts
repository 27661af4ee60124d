/** Reads recaps: what a user did in a range of days, from the user's history. */
import { Effect } from "effect"
import type { Amounts } from "../../domain/project/Currency.ts"
import { levelAt } from "../../domain/project/Level.ts"
import { beforeDay } from "../../domain/record/MetricRecount.ts"
import { Recap } from "../../domain/record/Recap.ts"
import { presentZone, type UserState } from "../../domain/user/User.ts"
import { dateOf, dayOf, type Zone } from "../../domain/values/Calendar.ts"
import { type Fault, invalidRequest, type LaurelError } from "../../domain/values/Errors.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { RecapQuery, Recaps, Recap as ShownRecap } from "../api/Recaps.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { readLatest } from "./readHistory.ts"
import { foundOr, userNotFound } from "./Shapes.ts"

export const recapHandlers = (engine: Engine["Service"]): Handlers<typeof Recaps> => ({
  get: {
    handle: ({ caller: { environment }, params: { id }, query }) =>
      Effect.map(recapOf(engine, environment, id, query), (body) => ({ body })),
  },
})

interface Range {
  readonly from: number
  readonly to: number
}

/** The days that a request asks for, as of `now` in `zone`. */
const rangeOf = (
  query: typeof RecapQuery.Type,
  zone: Zone,
  now: number,
): Effect.Effect<Range, LaurelError<"invalid_request">> => {
  const today = zone.dayAt(now)
  const to = query.to === undefined ? today : dayOf(query.to)!
  const from = dayOf(query.from ?? `${dateOf(to).slice(0, 4)}-01-01`)!
  const faults: Array<Fault> = []
  if (to > today) {
    const detail = "must not be in the future"
    faults.push({ pointer: "query/to", code: "out_of_range", detail })
  }
  if (from > to) {
    const detail = "must not be after to"
    faults.push({ pointer: "query/from", code: "out_of_range", detail })
  }
  if (to - from > limits.recapDaysMax) {
    const detail = `must be at most ${limits.recapDaysMax} days before to`
    faults.push({ pointer: "query/from", code: "out_of_range", detail })
  }
  return faults.length > 0 ? Effect.fail(invalidRequest(faults)) : Effect.succeed({ from, to })
}

/** A user's recap, as the API shows it. */
export const recapOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  userId: string,
  query: typeof RecapQuery.Type,
) {
  const user = yield* foundOr(yield* engine.readUser(environment, userId), userNotFound)
  const project = yield* engine.readProject(environment)
  const zone = presentZone(user, project)
  const range = yield* rangeOf(query, zone, engine.timeIn(environment))
  const recap = new Recap(zone, range.from, range.to, levelAt(project.settings.levelCurve, user.xp))
  const cutAt = yield* readLatest(engine, environment, userId, limits.recapRecordsMax, (record) => {
    recap.add(record)
    return true
  })
  // A record counts on the day of its decision or earlier.
  const truncated = cutAt !== undefined && cutAt >= beforeDay(range.from)
  const read = { truncated, whole: cutAt === undefined }
  const standing = yield* standingOf(engine, environment, user)
  return { ...shown(user, range, recap, read), standing } satisfies typeof ShownRecap.Type
})

/** `truncated`: records of the range were not read. `whole`: every record was read. */
interface Read {
  readonly truncated: boolean
  readonly whole: boolean
}

const shown = (
  { id, profile }: UserState,
  { from, to }: Range,
  recap: Recap,
  { truncated, whole }: Read,
) => {
  const { activeDays, badges, bestDay, earned, events, levels, quests, streaks } = recap
  return {
    userId: id,
    displayName: profile.displayName,
    from: dateOf(from),
    to: dateOf(to),
    truncated,
    totals: {
      events,
      activeDays,
      currencies: withBoth(earned),
      badges: badges.length,
      quests,
    },
    level: levels,
    bestDay:
      bestDay === undefined
        ? null
        : { date: dateOf(bestDay.day), xp: bestDay.xp, events: bestDay.events },
    streaks: [...streaks]
      .map(([key, best]) => ({ key, best }))
      .sort((one, other) => other.best - one.best || (one.key < other.key ? -1 : 1)),
    actions: recap.actions.slice(0, limits.recapActionsMax),
    firsts: whole
      ? recap.firsts
          .slice(0, limits.recapActionsMax)
          .map(({ action, at }) => ({ action, at: isoTime(at) }))
      : null,
    badges: badges.slice(0, limits.recapBadgesMax).map(({ at, badgeId, key, name, tier }) => ({
      id: badgeId,
      key,
      name,
      ...(tier !== undefined && { tier }),
      earnedAt: isoTime(at),
    })),
  }
}

/** The user's present place on the all-time board of xp. */
const standingOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  { id }: UserState,
) {
  const rank = yield* engine.readRank(environment, id)
  if (rank === null) return null
  const { total } = yield* engine.readBoard(environment, { limit: 1, offset: 0 })
  return { rank, total, topPercent: Math.ceil((100 * rank) / total) }
})

/** Xp and points are listed if nothing was earned, too. */
const withBoth = (earned: ReadonlyMap<string, number>): Amounts => ({
  xp: 0,
  points: 0,
  ...Object.fromEntries(earned),
})
