/** The badges of a user, and the numbers by which they are earned. */
import { type Badge, type Gives, isCounting } from "../../../src/domain/project/Definition.ts"
import { amountFor, sumOf } from "./amounts.ts"
import { pointsEarnedOf, xpOf } from "./balances.ts"
import { satisfies } from "./conditions.ts"
import { counts, type Definitions, pays } from "./Definitions.ts"
import { levelOf } from "./levels.ts"
import {
  type Awarded,
  type Counted,
  earning,
  type Happened,
  type Log,
  standing,
  type Undone,
} from "./log.ts"
import { totalOf } from "./metrics.ts"
import { questCount } from "./quests.ts"
import type { Membership } from "./segments.ts"
import { grownRuns, type Places, streakOf } from "./streaks.ts"

/** How often a number reaches the target of a repeatable badge. */
export const repetitions = ({ criteria }: Badge, number: number): number =>
  criteria.kind === "manual" ? 0 : Math.max(0, Math.floor(number / criteria.target))

/** How often a repeatable badge has paid, by decisions that were not undone. */
export const timesPaid = (log: Log, badgeId: string): number =>
  earning(log)
    .flatMap(({ badges }) => badges)
    .filter((award) => award.badgeId === badgeId)
    .reduce((sum, { paidTimes = 0 }) => sum + paidTimes, 0)

/** How often the user has a repeatable badge. */
export const timesHeld = (log: Log, badgeId: string): number =>
  awardsOf(log).get(nameOf({ badgeId, tier: "" }))?.times ?? 0

export interface HeldAward extends Awarded {
  readonly earnedAt: number
  /** The record that gave it. */
  readonly sequence: number
}

/** The name of a badge or a tier. */
export const nameOf = ({ badgeId, tier }: Pick<Awarded, "badgeId" | "tier">): string =>
  JSON.stringify([badgeId, tier])

/** The badges and tiers that the user has: earned, and not lost since, by name. */
const awardsOf = (log: Log): ReadonlyMap<string, HeldAward> => {
  const held = new Map<string, HeldAward>()
  for (const entry of log) {
    if (entry.kind === "undone") {
      for (const lost of entry.lost) {
        const { kept = 0 } = lost
        const before = held.get(nameOf(lost))
        if (kept > 0 && before !== undefined) held.set(nameOf(lost), { ...before, times: kept })
        else held.delete(nameOf(lost))
      }
    }
    if ("badges" in entry) {
      const { badges, sequence } = entry
      const at = ("gaveAt" in entry ? entry.gaveAt : undefined) ?? entry.at
      for (const award of badges) {
        const name = nameOf(award)
        const before = held.get(name)
        if (award.times === undefined) held.set(name, { earnedAt: at, ...award, sequence })
        else {
          const times = award.times + (before?.times ?? 0)
          held.set(name, { ...award, times, earnedAt: before?.earnedAt ?? at, sequence })
        }
      }
    }
  }
  return held
}

/** The awards of each badge that the user has, in the order of earning. */
export const badgesOf = (log: Log): ReadonlyMap<string, ReadonlyArray<HeldAward>> =>
  Map.groupBy(awardsOf(log).values(), ({ badgeId }) => badgeId)

/** How often badges and tiers have paid, by decisions that were not undone, by name. */
export const paidOf = (log: Log): ReadonlyMap<string, number> => {
  const paid = new Map<string, number>()
  for (const award of earning(log).flatMap(({ badges }) => badges)) {
    const times = award.paid === true ? 1 : (award.paidTimes ?? 0)
    if (times > 0) paid.set(nameOf(award), (paid.get(nameOf(award)) ?? 0) + times)
  }
  return paid
}

/** What a badge can award, lowest first: its tiers, or itself. */
export const tiersOf = ({ criteria, reward, tiers }: Badge): ReadonlyArray<ModelTier> =>
  tiers.length > 0
    ? tiers.map(({ key, reward, target }) => ({ tier: key, target, reward }))
    : [{ tier: "", target: criteria.kind === "manual" ? 0 : criteria.target, reward }]

export interface ModelTier {
  readonly tier: string
  readonly target: number
  readonly reward: Gives
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
  { badges, metrics, places, settings, streaks }: Place,
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
      const best = streaks
        .filter(({ key }) => criteria.streak === null || key === criteria.streak)
        .map((streak) => streakOf(log, streak, places, now).best)
      return Math.max(0, ...best)
    }
    case "metric": {
      const metric = metrics.find(({ key }) => key === criteria.metric)
      return metric === undefined ? 0 : (totalOf(log, metric) ?? 0)
    }
    case "badges": {
      const held = badgesOf(log)
      return badges.filter(({ id, key }) => criteria.badges.includes(key) && held.has(id)).length
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
  const held = awardsOf(after)
  return definitions.badges.flatMap((badge) => {
    const { criteria, id } = badge
    if (!pays(badge, occurredAt) || criteria.kind === "manual") return []
    const grown =
      criteria.kind === "streak"
        ? // It does not matter which run became so long.
          definitions.streaks
            .filter(({ key }) => criteria.streak === null || key === criteria.streak)
            .flatMap((streak) => grownRuns(before, after, streak, definitions.places))
        : [
            {
              was: numberFor(before, badge, definitions, now) ?? 0,
              is: numberFor(after, badge, definitions, now) ?? 0,
            },
          ]
    if (badge.repeatable) {
      const [{ is, was } = { is: 0, was: 0 }] = grown
      const times = repetitions(badge, is) - repetitions(badge, was)
      const last = after.at(-1)!
      const isGiven = "badges" in last && last.badges.some(({ badgeId }) => badgeId === id)
      if (times <= 0 || isGiven || !isIn(badge.segment)) return []
      return [{ badgeId: id, tier: "", target: criteria.target, times }]
    }
    return tiersOf(badge).flatMap(({ target, tier }) => {
      const award = { badgeId: id, tier, target }
      const reached = grown.some(({ is, was }) => was < target && is >= target)
      return reached && !held.has(nameOf(award)) && isIn(badge.segment) ? [award] : []
    })
  })
}

/** The awards that the user lacks although the number has reached their targets. */
export const lacking = (log: Log, badge: Badge, number: number): ReadonlyArray<Awarded> => {
  const held = awardsOf(log)
  if (badge.repeatable) {
    const times = repetitions(badge, number) - timesHeld(log, badge.id)
    const { target } = tiersOf(badge)[0]!
    return times > 0 ? [{ badgeId: badge.id, tier: "", target, times }] : []
  }
  return tiersOf(badge).flatMap(({ target, tier }) => {
    const award = { badgeId: badge.id, tier, target }
    return number >= target && !held.has(nameOf(award)) ? [award] : []
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
): ReadonlyArray<Awarded> =>
  [...awardsOf(before).values()].flatMap((award) => {
    const { badgeId, sequence, target } = award
    if (target === undefined) return sequence === undone.sequence ? [award] : []
    const badge = definitions.badges.find(({ id }) => id === badgeId)
    // Streaks keep their days.
    if (badge === undefined || badge.criteria.kind === "streak") return []
    const was = numberFor(before, badge, definitions, now)
    const is = numberFor(after, badge, definitions, now)
    if (award.times !== undefined) {
      const kept = Math.floor((is ?? 0) / target)
      return is! < was! && kept < award.times ? [{ ...award, kept }] : []
    }
    return was !== undefined && is !== undefined && is < target && is < was ? [award] : []
  })

/** Of the lost badges, those that are still earned by their criteria. */
export const regained = (
  after: Log,
  lost: ReadonlyArray<Awarded>,
  definitions: Place,
  now: number,
  isIn: Membership["isIn"],
): ReadonlyArray<Awarded> =>
  definitions.badges.flatMap((badge) => {
    const { criteria, id } = badge
    if (!pays(badge, now) || criteria.kind === "manual") return []
    const names = lost.filter(({ kept }) => kept === undefined).map(nameOf)
    return tiersOf(badge).flatMap(({ target, tier }) => {
      const award = { badgeId: id, tier, target }
      if (!names.includes(nameOf(award)) || !isIn(badge.segment)) return []
      return (numberFor(after, badge, definitions, now) ?? 0) >= target ? [award] : []
    })
  })

/**
 * What an undo takes of badges, and what the user has again. Badges that list others come after all of
 * these, round by round.
 */
export const afterUndo = (
  before: Log,
  bare: Undone,
  definitions: Place,
  now: number,
  isIn: Membership["isIn"],
): Undone => {
  let undone = bare
  let open = definitions.badges
  while (open.length > 0) {
    const waits = ({ criteria }: Badge) =>
      criteria.kind === "badges" && open.some(({ key }) => criteria.badges.includes(key))
    const ready = open.filter((badge) => !waits(badge)).map(({ id }) => id)
    const isReady = ({ badgeId }: Awarded) => ready.includes(badgeId)
    const lost = lostWith(before, [...before, undone], bare.of, definitions, now).filter(isReady)
    undone = { ...undone, lost: [...undone.lost, ...lost] }
    const again = regained([...before, undone], lost, definitions, now, isIn)
    undone = { ...undone, badges: [...undone.badges, ...again] }
    open = open.filter(({ id }) => !ready.includes(id))
  }
  return undone
}
