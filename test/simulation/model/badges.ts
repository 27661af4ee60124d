/** The badges of a user, and the numbers by which they are earned. */
import { type Badge, isCounting } from "../../../src/domain/project/Definition.ts"
import { amountFor, sumOf } from "./amounts.ts"
import { pointsEarnedOf, xpOf } from "./balances.ts"
import { satisfies } from "./conditions.ts"
import { counts, type Definitions, pays } from "./Definitions.ts"
import { levelOf } from "./levels.ts"
import { type Awarded, type Counted, type Happened, type Log, standing } from "./log.ts"
import { questCount } from "./quests.ts"
import type { Membership } from "./segments.ts"
import { grownRuns, type Places, streakOf } from "./streaks.ts"

export interface HeldBadge {
  readonly earnedAt: number
  /** The record that gave it. */
  readonly sequence: number
  readonly target?: number
}

/** The badges that the user has: earned, and not lost since. */
export const badgesOf = (log: Log): ReadonlyMap<string, HeldBadge> => {
  const held = new Map<string, HeldBadge>()
  for (const entry of log) {
    if (entry.kind === "undone") for (const badgeId of entry.lost) held.delete(badgeId)
    if ("badges" in entry) {
      const { at, badges, sequence } = entry
      for (const { badgeId, target } of badges)
        held.set(badgeId, { earnedAt: at, sequence, ...(target !== undefined && { target }) })
    }
  }
  return held
}

/** The number of events in the whole history that meet a badge's criteria, or the sum over them. */
export const countInHistory = (log: Log, badge: Badge): number =>
  sumOf(standing(log).map((entry) => amountIn(entry, badge)))

/** Whether the event meets these criteria. */
const meets = ({ action, metadata, occurredAt }: Happened, badge: Badge): boolean => {
  const { criteria, endsAt, startsAt } = badge
  if (!isCounting(criteria) || criteria.action !== action) return false
  const isInPeriod = occurredAt >= (startsAt ?? occurredAt) && occurredAt < (endsAt ?? Infinity)
  return isInPeriod && satisfies(criteria.where, metadata)
}

const amountOf = ({ metadata }: Happened, { criteria }: Badge): number =>
  isCounting(criteria) ? amountFor(criteria.sumPath, metadata) : 0

/** How much an event counts for these criteria, if its user was in the segment at that time. */
const amountIn = (event: Happened, badge: Badge): number =>
  meets(event, badge) && (badge.segment === null || event.segments.includes(badge.segment))
    ? amountOf(event, badge)
    : 0

/**
 * How many events have counted for a badge: those that the last backfill found, and each one since.
 */
export const countFor = (log: Log, badgeId: string): number => {
  let count = 0
  for (const entry of log) {
    if (entry.kind === "backfilled" && entry.counted?.badgeId === badgeId)
      count = entry.counted.count
    const of = ({ amount, badgeId: id }: Counted) => (id === badgeId ? amount : 0)
    if (entry.kind === "event" || entry.kind === "reward")
      count = sumOf([count, ...entry.counted.map(of)])
    if (entry.kind === "undone") {
      const less = sumOf(entry.uncounted.map(of))
      count = less === 0 ? count : Math.max(0, sumOf([count, -less]))
    }
  }
  return count
}

/**
 * The badges for which an undone event counts. If a backfill has counted since the event, those
 * whose criteria it meets; otherwise those for which it counted when it came.
 */
export const countedBy = (
  log: Log,
  event: Happened,
  badges: ReadonlyArray<Badge>,
): ReadonlyArray<Counted> =>
  badges.flatMap((badge) => {
    const { criteria, id } = badge
    const whenItCame = event.counted.filter(({ badgeId }) => badgeId === id)
    if (!isCounting(criteria)) return whenItCame
    const isCovered = log.some(
      (entry) =>
        entry.kind === "backfilled" &&
        entry.counted?.badgeId === id &&
        log.indexOf(entry) > log.indexOf(event),
    )
    if (!isCovered) return whenItCame
    const amount = amountIn(event, badge)
    return amount === 0 ? [] : [{ badgeId: id, amount }]
  })

/** The definitions, and the time zone that the user's days are counted in. */
export interface Place extends Definitions {
  readonly places: Places
}

/**
 * The present number that a badge's criteria compare; `undefined`: only an operator awards the
 * badge.
 */
export const numberFor = (
  log: Log,
  { criteria, id }: Badge,
  { places, settings }: Place,
  now: number,
): number | undefined => {
  // A user has level 1 only once the user exists.
  if (log.length === 0) return 0
  switch (criteria.kind) {
    case "xp":
      return xpOf(log)
    case "points":
      return pointsEarnedOf(log)
    case "level":
      return levelOf(settings.levelCurve, xpOf(log))
    case "quest_count":
      return questCount(log)
    case "action_count":
    case "action_sum":
      return countFor(log, id)
    case "streak": {
      const best = settings.streaks
        .filter(({ key }) => criteria.streak === null || key === criteria.streak)
        .map((streak) => streakOf(log, streak, places, now)?.best ?? 0)
      return Math.max(0, ...best)
    }
    case "manual":
      return undefined
  }
}

/** Adds to an event the badges for which it counts, whether or not the user has them. */
export const countForBadges = (
  badges: ReadonlyArray<Badge>,
  event: Happened,
  isIn: Membership["isIn"],
): void => {
  for (const badge of badges) {
    const isCounted = counts(badge, event.occurredAt) && meets(event, badge) && isIn(badge.segment)
    const amount = isCounted ? amountOf(event, badge) : 0
    if (amount > 0) event.counted.push({ badgeId: badge.id, amount })
  }
}

/**
 * The badges whose number the last entry of `after` has brought from below the target to it or
 * beyond.
 */
export const crossed = (
  before: Log,
  after: Log,
  definitions: Place,
  occurredAt: number,
  now: number,
  isIn: Membership["isIn"],
): ReadonlyArray<Awarded> => {
  const held = badgesOf(after)
  return definitions.badges.flatMap((badge) => {
    const { criteria, id } = badge
    if (!pays(badge, occurredAt) || held.has(id) || criteria.kind === "manual") return []
    if (criteria.kind === "streak") {
      // It does not matter which run became so long.
      const reached = definitions.settings.streaks
        .filter(({ key }) => criteria.streak === null || key === criteria.streak)
        .flatMap((streak) => grownRuns(before, after, streak, definitions.places))
        .some(({ is, was }) => was < criteria.target && is >= criteria.target)
      return reached && isIn(badge.segment) ? [{ badgeId: id, target: criteria.target }] : []
    }
    const was = numberFor(before, badge, definitions, now) ?? 0
    const is = numberFor(after, badge, definitions, now) ?? 0
    return was < criteria.target && is >= criteria.target && isIn(badge.segment)
      ? [{ badgeId: id, target: criteria.target }]
      : []
  })
}

/**
 * The badges that are lost by an undo: those that `undone` gave, and those whose number is below
 * the target now.
 */
export const lostWith = (
  before: Log,
  after: Log,
  undone: Happened,
  definitions: Place,
  now: number,
): ReadonlyArray<string> =>
  [...badgesOf(before)].flatMap(([badgeId, { sequence, target }]) => {
    if (target === undefined) return sequence === undone.sequence ? [badgeId] : []
    const badge = definitions.badges.find(({ id }) => id === badgeId)
    // Streaks keep their days.
    if (badge === undefined || badge.criteria.kind === "streak") return []
    const was = numberFor(before, badge, definitions, now)
    const is = numberFor(after, badge, definitions, now)
    return was !== undefined && is !== undefined && is < target && is < was ? [badgeId] : []
  })

/** Of the lost badges, those that are still earned by their criteria. */
export const regained = (
  after: Log,
  lost: ReadonlyArray<string>,
  definitions: Place,
  now: number,
  isIn: Membership["isIn"],
): ReadonlyArray<Awarded> =>
  definitions.badges.flatMap((badge) => {
    const { criteria, id } = badge
    if (!pays(badge, now) || criteria.kind === "manual" || !lost.includes(id)) return []
    if (!isIn(badge.segment)) return []
    const is = numberFor(after, badge, definitions, now) ?? 0
    return is >= criteria.target ? [{ badgeId: id, target: criteria.target }] : []
  })
