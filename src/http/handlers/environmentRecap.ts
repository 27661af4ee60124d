/** The recap of an environment: what its users did together in a range of days. */
import { Effect } from "effect"
import type { ActivityOfAll } from "../../domain/user/ActivityOfAll.ts"
import { dateOf, type WindowKind, windowKinds, zoneOf } from "../../domain/values/Calendar.ts"
import { type Fault, invalidRequest } from "../../domain/values/Errors.ts"
import { isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { EnvironmentRecap, EnvironmentRecapQuery } from "../api/Recaps.ts"
import { waitOf } from "./ranges.ts"
import { type Range, rangeOf } from "./recapRange.ts"
import { avatarNow } from "./Shapes.ts"

/** The recap of an environment, as the API shows it. */
export const environmentRecapOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  query: typeof EnvironmentRecapQuery.Type,
) {
  const { settings } = yield* engine.readProject(environment)
  const zone = zoneOf(settings.timezone)
  const now = engine.timeIn(environment)
  const asked = yield* rangeOf(query, zone, now)
  const keptFrom = zone.dayAt(now) - limits.analyticsDaysMax
  if (asked.to < keptFrom) return yield* Effect.fail(invalidRequest([tooLongAgo]))
  const range = { from: Math.max(asked.from, keptFrom), to: asked.to }
  const wait = waitOf(query.format)
  const { from, to } = range
  const [active, began] = yield* Effect.all(
    [
      engine.readUsersOfRange(environment, from, to, wait),
      engine.readActiveUsers(environment, wait),
    ],
    { concurrency: 2 },
  )
  const sums = yield* sumsOf(engine, environment, range, began.result)
  const isEmpty = sums.totals.currencies.xp === 0
  return {
    from: dateOf(asked.from),
    to: dateOf(asked.to),
    keptFrom: dateOf(keptFrom),
    complete: asked.from >= keptFrom,
    countedAt: isoTimeOrNull(began.countedAt && active.countedAt),
    counting: active.counting || began.counting,
    activeUsers: active.result?.users ?? null,
    ...sums,
    topUsers: isEmpty ? [] : yield* topUsersOf(engine, environment, asked, zone),
  } satisfies typeof EnvironmentRecap.Type
})

/** A row for each number of a recap. */
export const recapRows = (recap: typeof EnvironmentRecap.Type) => {
  const row = (figure: string, value: number | string | null, key: string | null = null) => ({
    figure,
    key,
    value,
  })
  const { bestDay, streaks, topUsers, totals } = recap
  return [
    row("from", recap.from),
    row("to", recap.to),
    row("activeUsers", recap.activeUsers),
    row("newUsers", recap.newUsers),
    row("events", totals.events),
    ...Object.entries(totals.currencies).map(([key, amount]) => row("earned", amount, key)),
    row("badges", totals.badges),
    row("quests", totals.quests),
    ...(bestDay === null ? [] : [row("bestDayXp", bestDay.xp, bestDay.date)]),
    ...streaks.map(({ best, key }) => row("longestStreak", best, key)),
    ...(topUsers ?? []).map(({ userId, xp }) => row("topUserXp", xp, userId)),
  ]
}

const tooLongAgo: Fault = {
  pointer: "query/to",
  code: "out_of_range",
  detail: `must be at most ${limits.analyticsDaysMax} days ago`,
}

/** What the counts of days add up to. */
const sumsOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  { from, to }: Range,
  activity: ActivityOfAll | null,
) {
  const counts = yield* engine.readDayCounts(environment)
  const others = yield* engine.readRecapDays(environment)
  const earned = new Map<string, number>()
  const runs = new Map<string, number>()
  const totals = { events: 0, badges: 0, quests: 0 }
  let xp = 0
  let newUsers = activity === null ? null : 0
  let bestDay: { date: string; xp: number; events: number } | null = null
  for (let day = from; day <= to; day++) {
    const count = counts.on(day)
    totals.events += count.events
    totals.badges += count.badges
    totals.quests += count.quests
    xp += count.xp
    if (activity !== null) newUsers! += activity.on(day).fresh
    const best = bestDay ?? { xp: 0, events: 0 }
    if (count.xp > best.xp || (count.xp === best.xp && count.events > best.events)) {
      bestDay = { date: dateOf(day), xp: count.xp, events: count.events }
    }
    const { earned: amounts, runs: lengths } = others.on(day)
    for (const [key, amount] of amounts) earned.set(key, (earned.get(key) ?? 0) + amount)
    for (const [key, length] of lengths) runs.set(key, Math.max(runs.get(key) ?? 0, length))
  }
  return {
    newUsers,
    totals: { ...totals, currencies: { xp, points: 0, ...Object.fromEntries(earned) } },
    bestDay,
    streaks: [...runs]
      .map(([key, best]) => ({ key, best }))
      .sort((one, other) => other.best - one.best || (one.key < other.key ? -1 : 1)),
  }
})

/** The kind of window that has exactly these days; `undefined`: none. */
const windowOf = (zone: ReturnType<typeof zoneOf>, { from, to }: Range): WindowKind | undefined =>
  windowKinds.find((kind) => {
    const { endsAt, startsAt } = zone.windowBounds(kind, zone.windowAt(kind, zone.startOfDay(from)))
    return startsAt === zone.startOfDay(from) && endsAt === zone.startOfDay(to + 1)
  })

/**
 * The users with the most xp of the range: the board of a day, a week or a month has them. Null: the
 * range is none, or the board no longer has it.
 */
const topUsersOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  range: Range,
  zone: ReturnType<typeof zoneOf>,
) {
  const window = windowOf(zone, range)
  if (window === undefined) return null
  const query = { window, at: dateOf(range.from), limit: limits.recapTopUsersMax, offset: 0 }
  const read = engine.readBoard(environment, query)
  const page = yield* Effect.catch(read, () => Effect.succeed(undefined))
  if (page === undefined || page.filling || page.total === 0) return null
  return page.entries.map(({ displayName, rank, score: xp, userId }) => ({
    rank,
    userId,
    displayName,
    ...avatarNow(engine, environment, userId),
    xp,
  }))
})
