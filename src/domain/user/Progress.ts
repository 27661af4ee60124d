/**
 * A user's progress at a moment, derived from the state, the definitions and the clock. A change by
 * the clock shows at once, even before a record has it: an ended quest is expired, a recurring
 * quest restarts with its period, a broken streak has 0 days.
 */
import {
  type Award,
  awardsOf,
  type Badge,
  type Lifecycle,
  minusAmount,
  type Quest,
  questPeriodEnd,
  questPeriodOf,
  repetitionsOf,
  statusAt,
} from "../project/Definition.ts"
import { definitionOf, definitionWithKey } from "../project/DefinitionKey.ts"
import { levelAt } from "../project/Level.ts"
import { isExtremum, unscaled } from "../project/Metric.ts"
import type { ProjectState } from "../project/Project.ts"
import {
  isShown,
  needName,
  type Streak,
  type StreakNeed,
  streakTime,
} from "../project/StreakDefinition.ts"
import {
  dateOf,
  firstDayOf,
  windowKinds,
  windowOfDay,
  type Zone,
  zoneOf,
} from "../values/Calendar.ts"
import { nextAbsence } from "./Absence.ts"
import { nextEndOf } from "./Expiry.ts"
import { Membership } from "./Membership.ts"
import { metricNumber, readMetric } from "./MetricState.ts"
import { reminderAt } from "./Reminder.ts"
import { isWarnable } from "./ReminderHours.ts"
import { isKept, lastPeriodOf, streakBreaksAt, streakNow, streakRisk } from "./Streak.ts"
import { pauseBeginsAt } from "./StreakPauses.ts"
import { type DayRange, firstDayOfPeriod, periodAt, type Zones } from "./StreakPeriods.ts"
import { type RepairOffer, repairOffer } from "./StreakRepair.ts"
import {
  type EarnedAward,
  hasAward,
  hasExpired,
  hasLapsed,
  isMidway,
  pointsEarned,
  presentZone,
  type QuestState,
  stepCountOf,
  streakCountOf,
  timesOf,
  type UserState,
  userZones,
} from "./User.ts"

/* Badges. */

/**
 * The user's number that the criterion of `badge` compares with its target; `undefined` for a
 * manual badge.
 */
export const criterionNumber = (
  { criteria, id }: Badge,
  user: UserState,
  project: ProjectState,
): number | undefined => {
  switch (criteria.kind) {
    case "xp":
      return user.xp
    case "points":
      return pointsEarned(user)
    case "level":
      return levelAt(project.settings.levelCurve, user.xp)
    case "quest_count":
      return user.questsCompleted
    case "action_count":
    case "action_sum":
      return user.badgeCounts.get(id) ?? 0
    case "streak": {
      if (criteria.streak !== null) return user.streaks.get(criteria.streak)?.best ?? 0
      let best = 0
      for (const streak of user.streaks.values()) best = Math.max(best, streak.best)
      return best
    }
    case "metric": {
      const metric = definitionOf(project.metrics, criteria.metric)
      if (metric === undefined) return 0
      return metricNumber(metric, user.metrics.get(metric.id)) ?? 0
    }
    case "badges": {
      let held = 0
      for (const key of criteria.badges) {
        const listed = definitionWithKey(project.badges, key)
        if (listed !== undefined && user.badges.has(listed.id)) held++
      }
      return held
    }
    case "manual":
      return undefined
  }
}

/**
 * Whether the user lacks `badge`, or a tier of it, whose target the number `reached` has reached. By
 * default the number is that of the user's state.
 */
export const qualifies = (
  badge: Badge,
  user: UserState,
  project: ProjectState,
  reached = criterionNumber(badge, user, project),
): boolean => {
  if (badge.repeatable) return repetitionsOf(badge, reached ?? 0) > timesOf(user, badge)
  const lacks = (award: Award) => reached !== undefined && reached >= award.target
  return awardsOf(badge).some((award) => lacks(award) && !hasAward(user, award))
}

/** A badge that a user has. Times are epoch milliseconds. */
export interface UserBadge {
  readonly id: string
  readonly key: string
  readonly name: string
  readonly description: string | null
  readonly icon: string | null
  readonly earnedAt: number
  /** The tiers that the user has, in the order of earning; absent: none. */
  readonly tiers?: ReadonlyArray<UserTier>
  /** How often the user has a repeatable badge. */
  readonly times?: number
}

/** A tier that a user has. */
export interface UserTier {
  readonly key: string
  readonly name: string
  readonly icon: string | null
  readonly earnedAt: number
}

/** The badges that the user has, in the order of their creation, archived badges last. */
export const badgesOf = (user: UserState, project: ProjectState): ReadonlyArray<UserBadge> => {
  if (user.badges.size === 0) return []
  const badges: Array<UserBadge> = []
  for (const badge of project.badges.values()) {
    const earned = user.badges.get(badge.id)
    if (earned === undefined) continue
    const { description, icon, id, key, name } = badge
    const tiers = tiersOf(badge, earned)
    const { earnedAt, times } = earned[0]!
    badges.push({
      id,
      key,
      name,
      description,
      icon,
      earnedAt,
      ...(tiers.length > 0 && { tiers }),
      ...(times !== undefined && { times }),
    })
  }
  return badges
}

/** An edit may have removed a tier that the user has: then it has its key as its name. */
const tiersOf = ({ tiers }: Badge, earned: ReadonlyArray<EarnedAward>): ReadonlyArray<UserTier> =>
  earned.flatMap(({ earnedAt, tier: key }) => {
    if (key === "") return []
    const { icon = null, name = key } = tiers.find((tier) => tier.key === key) ?? {}
    return [{ key, name, icon, earnedAt }]
  })

export interface BadgeProgress {
  readonly id: string
  readonly key: string
  readonly name: string
  /** Never above `target`. */
  readonly current: number
  /** Of a badge with tiers: the target of the lowest tier that the user lacks, or of the highest. */
  readonly target: number
  readonly earnedAt: number | null
  /** The tiers of the badge, lowest first; absent: it has none. */
  readonly tiers?: ReadonlyArray<TierProgress>
  /** How often the user has a repeatable badge; `current` counts towards the next time. */
  readonly times?: number
}

export interface TierProgress {
  readonly key: string
  readonly name: string
  readonly icon: string | null
  readonly target: number
  readonly earnedAt: number | null
}

/**
 * Every badge that the user has or can earn. A secret badge shows only once it is earned, and a
 * badge with a segment only to members and owners. The target of a manual badge is 1.
 */
export const badgeProgress = (
  user: UserState,
  project: ProjectState,
  now: number,
): ReadonlyArray<BadgeProgress> => {
  const membership = new Membership({ userId: user.id, user, project, now })
  const shown: Array<BadgeProgress> = []
  for (const badge of project.badges.values()) {
    const earned = user.badges.get(badge.id)
    if (earned === undefined && (badge.secret || !isShownAt(badge, now))) continue
    if (earned === undefined && !membership.has(badge.segment)) continue
    const { id, key, name } = badge
    const earnedAt = earned?.[0]?.earnedAt ?? null
    const tiers = badge.tiers.map(({ icon, key, name, target }) => {
      const has = earned?.find(({ tier }) => tier === key)
      return { key, name, icon, target, earnedAt: has?.earnedAt ?? null }
    })
    shown.push({
      id,
      key,
      name,
      ...numbersOf(badge, user, earnedAt !== null, project),
      earnedAt,
      ...(tiers.length > 0 && { tiers }),
      ...(badge.repeatable && { times: timesOf(user, badge) }),
    })
  }
  return shown
}

/** Whether users see the definition: it is active, or paused. */
export const isShownAt = (definition: Lifecycle, now: number): boolean => {
  const status = statusAt(definition, now)
  return status === "active" || status === "paused"
}

const numbersOf = (
  badge: Badge,
  user: UserState,
  earned: boolean,
  project: ProjectState,
): { readonly current: number; readonly target: number } => {
  if (badge.criteria.kind === "manual") return { current: earned ? 1 : 0, target: 1 }
  const awards = awardsOf(badge)
  const { target } = awards.find((award) => !hasAward(user, award)) ?? awards.at(-1)!
  const number = criterionNumber(badge, user, project) ?? 0
  if (badge.repeatable) {
    return { current: minusAmount(number, target * Math.floor(number / target)), target }
  }
  return { current: Math.min(number, target), target }
}

export interface QuestProgress {
  readonly questId: string
  readonly key: string
  readonly title: string
  readonly status: "not_started" | "in_progress" | "completed" | "expired"
  readonly steps: ReadonlyArray<{
    readonly key: string
    readonly current: number
    readonly target: number
  }>
  /**
   * The end of the present period, or of a quest that does not recur. Null: no end, or the quest is
   * archived.
   */
  readonly periodEndsAt: number | null
  readonly completedAt: number | null
  /** The completed quest has not paid, and waits to be claimed. */
  readonly claimable?: true
}

/**
 * All active quests whose segment the user is in, and all quests that the user has started, in the
 * order of their creation.
 */
export const questProgress = (
  user: UserState,
  project: ProjectState,
  now: number,
): ReadonlyArray<QuestProgress> => {
  const zone = zoneOf(project.settings.timezone)
  const membership = new Membership({ userId: user.id, user, project, now })
  const shown: Array<QuestProgress> = []
  for (const quest of project.quests.values()) {
    const state = standingAt(quest, user.quests.get(quest.id), zone, now)
    if (state === undefined && statusAt(quest, now) !== "active") continue
    if (state === undefined && !membership.has(quest.segment)) continue
    shown.push(showQuest(quest, state, zone, now))
  }
  return shown
}

const isOver = (quest: Quest, now: number): boolean => {
  const status = statusAt(quest, now)
  return status === "ended" || status === "archived"
}

/** The user's state in the present period; once the quest is over, the last state. */
const standingAt = (
  quest: Quest,
  state: QuestState | undefined,
  zone: Zone,
  now: number,
): QuestState | undefined => {
  if (state === undefined || (state.startedAt === null && !state.expired)) return undefined
  const isPast = state.period !== questPeriodOf(quest, zone.dayAt(now))
  return isPast && !isOver(quest, now) ? undefined : state
}

const showQuest = (
  quest: Quest,
  state: QuestState | undefined,
  zone: Zone,
  now: number,
): QuestProgress => {
  const completed = state !== undefined && state.completedAt !== null
  return {
    questId: quest.id,
    key: quest.key,
    title: quest.title,
    status:
      state === undefined
        ? "not_started"
        : completed
          ? "completed"
          : state.expired || hasExpired(quest, state, zone, now)
            ? "expired"
            : "in_progress",
    steps: quest.steps.map(({ key, target }) => ({
      key,
      current: completed ? target : Math.min(stepCountOf(state?.steps, key), target),
      target,
    })),
    periodEndsAt: periodEndsAt(quest, zone, now),
    completedAt: state?.completedAt ?? null,
    ...(isClaimable(quest, state, zone, now) && { claimable: true }),
  }
}

/** Whether a `QUEST_COMPLETE` event would be paid now. */
const isClaimable = (
  quest: Quest,
  state: QuestState | undefined,
  zone: Zone,
  now: number,
): boolean => {
  if (state?.claim !== "open" || state.period !== questPeriodOf(quest, zone.dayAt(now)))
    return false
  const status = statusAt(quest, now)
  return status === "active" || status === "ended"
}

const periodEndsAt = (quest: Quest, zone: Zone, now: number): number | null => {
  if (quest.set === "archived") return null
  if (quest.recurrence === "none" || isOver(quest, now)) return quest.endsAt
  return Math.min(questPeriodEnd(quest, zone, now), quest.endsAt ?? Number.POSITIVE_INFINITY)
}

export interface StreakProgress {
  readonly key: string
  /** The length as of now; 0 once it is broken. */
  readonly current: number
  readonly best: number
  /**
   * The first day of the last period that was kept, as a date such as `2026-11-01` in the user's
   * zone; null: none yet.
   */
  readonly lastDay: string | null
  /** Freezes left. */
  readonly freezes: number
}

/** Every streak of the project that users may have: no drafts and no archived ones. */
export const streakProgress = (
  user: UserState,
  project: ProjectState,
  now: number,
): ReadonlyArray<StreakProgress> => {
  const shown = [...project.streaks.values()].filter(isShown)
  if (shown.length === 0) return []
  const zones = userZones(user, project)
  return shown.map((definition) => showStreak(user, definition, zones, now))
}

const showStreak = (
  user: UserState,
  definition: Streak,
  zones: Zones,
  now: number,
): StreakProgress => {
  const { freezes, key } = definition
  const streak = user.streaks.get(key)
  if (streak === undefined) {
    return { key, current: 0, best: 0, lastDay: null, freezes: freezes.initial }
  }
  const last = lastPeriodOf(streak)
  const lastDay = last === undefined ? null : dateOf(firstDayOfPeriod(definition, last))
  return { key, ...streakNow(streak, definition, zones, now), best: streak.best, lastDay }
}

/** A streak in its present period, which is the last one for a streak that has ended. */
export interface StreakStanding extends StreakProgress {
  readonly definition: Streak
  readonly period: {
    /** The first day, and the end in epoch milliseconds. */
    readonly firstDay: string
    readonly endsAt: number
    readonly kept: boolean
    /** The counts of the needs, which are their targets once the period is kept. */
    readonly needs: ReadonlyArray<StreakNeed & { readonly current: number }>
  }
  /** The time at which it breaks without further events; null: it is broken, or has ended. */
  readonly breaksAt: number | null
  readonly milestones: ReadonlyArray<{ readonly target: number; readonly paid: boolean }>
  /** The days of pauses, oldest first. */
  readonly pauses: ReadonlyArray<DayRange>
  readonly repair: RepairOffer | undefined
}

/** As `streakProgress`, with everything about the present period. */
export const streakStandings = (
  user: UserState,
  project: ProjectState,
  now: number,
): ReadonlyArray<StreakStanding> => {
  const zones = userZones(user, project)
  return [...project.streaks.values()].filter(isShown).map((definition) => {
    const { key, milestones, needs } = definition
    const streak = user.streaks.get(key)
    const progress = showStreak(user, definition, zones, now)
    const present = periodAt(definition, zones, streakTime(definition, now))
    const kept = isKept(streak, present)
    const countOf = (need: StreakNeed) => streakCountOf(user, key, present, needName(need)) ?? 0
    const breaksAt =
      progress.current === 0 || streak === undefined
        ? Number.POSITIVE_INFINITY
        : streakBreaksAt(streak, definition, zones, streakTime(definition, now))
    return {
      ...progress,
      definition,
      period: {
        firstDay: dateOf(firstDayOfPeriod(definition, present)),
        endsAt: zones.at(-1)!.zone.startOfDay(firstDayOfPeriod(definition, present + 1)),
        kept,
        needs: needs.map((need) => ({
          ...need,
          current: kept ? need.target : Math.min(need.target, countOf(need)),
        })),
      },
      breaksAt: Number.isFinite(breaksAt) ? breaksAt : null,
      milestones: milestones.map(({ target }) => ({
        target,
        paid: streak?.paid?.includes(target) === true,
      })),
      pauses: streak?.pauses ?? [],
      repair: repairOffer(streak, definition, zones, now),
    }
  })
}

/* Metrics. */

export interface MetricPeriod {
  /** The first day of the current one, as a date such as `2026-11-01`. */
  readonly from: string
  readonly current: number | null
  readonly previous: number | null
}

export interface MetricProgress {
  readonly key: string
  readonly name: string
  readonly unit: string | null
  /** Whether an undone event still counts until a recount ends. */
  readonly recalculating: boolean
  readonly total: number | null
  readonly day: MetricPeriod
  readonly week: MetricPeriod
  readonly month: MetricPeriod
}

/** The user's values of every metric that is not archived, in the order of creation. */
export const metricProgress = (
  user: UserState,
  project: ProjectState,
  now: number,
): ReadonlyArray<MetricProgress> => {
  const today = presentZone(user, project).dayAt(now)
  const shown: Array<MetricProgress> = []
  for (const metric of project.metrics.values()) {
    if (metric.set === "archived") continue
    const { aggregate, decimals, id, key, name, unit } = metric
    const state = user.metrics.get(id)
    const { day, values } = readMetric(state, today)
    const recalculating = state?.recalculating === true
    const none = isExtremum(aggregate) ? null : 0
    const numberOf = (slot: number) => unscaled(values[slot] ?? none, decimals)
    const [daily, weekly, monthly] = windowKinds.map((kind, place) => ({
      from: dateOf(firstDayOf(kind, windowOfDay(kind, day))),
      current: numberOf(1 + 2 * place),
      previous: numberOf(2 + 2 * place),
    }))
    const periods = { day: daily!, week: weekly!, month: monthly! }
    shown.push({ key, name, unit, recalculating, total: numberOf(0), ...periods })
  }
  return shown
}

/* The time of the next change of a user by the clock, so that idle users need no daily check. */

/**
 * The time at which a `tick` will next decide facts, epoch milliseconds: at most `now` if a tick
 * would now, infinity if never. Exact for the present definitions; an edit may move it.
 */
export const dueAt = (user: UserState, project: ProjectState, now: number): number => {
  let due = Math.min(
    nextEndOf(user, project, now),
    nextAbsence(user, project, now)?.at ?? Number.POSITIVE_INFINITY,
    reminderAt(user, project, now),
  )
  if (user.streaks.size > 0) {
    const zones = userZones(user, project)
    const warnable = isWarnable(user, project)
    for (const definition of project.streaks.values()) {
      const streak = user.streaks.get(definition.key)
      if (streak === undefined || !isShown(definition)) continue
      due = Math.min(due, pauseBeginsAt(streak, definition, zones, now))
      if (streak.broken) continue
      const over = streakNow(streak, definition, zones, now).current === 0
      if (over) due = Math.min(due, now)
      else {
        const risk = warnable ? streakRisk(streak, definition, zones, now) : undefined
        due = Math.min(due, streakBreaksAt(streak, definition, zones, now), risk?.at ?? due)
      }
    }
  }
  if (user.quests.size > 0) {
    const zone = zoneOf(project.settings.timezone)
    for (const [questId, state] of user.quests) {
      due = Math.min(due, questEndsFor(project.quests.get(questId), state, zone, now))
    }
  }
  return due
}

const questEndsFor = (
  quest: Quest | undefined,
  state: QuestState,
  zone: Zone,
  now: number,
): number => {
  if (hasExpired(quest, state, zone, now) || hasLapsed(quest, state, zone, now)) return now
  if (quest === undefined) return Number.POSITIVE_INFINITY
  // A claim can be made after the quest has ended, until its period is over.
  if (state.claim === "open") return questPeriodEnd(quest, zone, now)
  if (!isMidway(state)) return Number.POSITIVE_INFINITY
  return Math.min(quest.endsAt ?? Number.POSITIVE_INFINITY, questPeriodEnd(quest, zone, now))
}
