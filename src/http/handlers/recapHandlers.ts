/** Reads recaps: what a user did in a range of days, from the user's history. */
import { Effect } from "effect"
import type { Amounts } from "../../domain/project/Currency.ts"
import { levelAt } from "../../domain/project/Level.ts"
import { beforeDay } from "../../domain/record/MetricRecount.ts"
import { Recap } from "../../domain/record/Recap.ts"
import { presentZone, type UserState } from "../../domain/user/User.ts"
import { dateOf } from "../../domain/values/Calendar.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { RecapQuery, Recaps, Recap as ShownRecap } from "../api/Recaps.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { csv } from "./csv.ts"
import { environmentRecapOf, recapRows } from "./environmentRecap.ts"
import { readLatest } from "./readHistory.ts"
import { type Range, rangeOf } from "./recapRange.ts"
import { foundOr, userNotFound } from "./Shapes.ts"

export const recapHandlers = (engine: Engine["Service"]): Handlers<typeof Recaps> => ({
  get: {
    handle: ({ caller: { environment }, params: { id }, query }) =>
      Effect.map(recapOf(engine, environment, id, query), (body) => ({ body })),
  },
  environment: {
    handle: ({ caller: { environment }, query }) =>
      Effect.map(environmentRecapOf(engine, environment, query), (body) =>
        query.format === "csv" ? csv("recap", recapRows(body)) : { body },
      ),
  },
})

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
  const level = levelAt(project.settings.levelCurve, user.xp)
  const recap = new Recap(zone, range.from, range.to, { userId: user.id, level })
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
