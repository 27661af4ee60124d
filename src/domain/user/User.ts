/**
 * The state of one user. `decide/` decides commands, `record/applyUser.ts` applies facts,
 * `message/UserReply.ts` replies.
 *
 * A state is immutable. It shares unchanged parts with its predecessor, and empty parts with all
 * users.
 */
import { limits } from "../../Limits.ts"
import type { BoardWindow } from "../project/BoardDefinition.ts"
import type { OwnBoost } from "../project/Boost.ts"
import {
  type Award,
  awardName,
  type Badge,
  type Quest,
  questPeriodOf,
  statusAt,
} from "../project/Definition.ts"
import type { Exposure } from "../project/Experiment.ts"
import type { ProjectState } from "../project/Project.ts"
import type { TeamMembership } from "../project/Team.ts"
import { type PastZone, type TimedWindow, type Zone, zoneAt, zoneOf } from "../values/Calendar.ts"
import type { PeriodCounts } from "../values/Periods.ts"
import type { ActiveDays } from "./ActiveDays.ts"
import type { Unanswered } from "./Comeback.ts"
import type { GoalParts } from "./GoalPart.ts"
import type { LeagueState } from "./LeagueState.ts"
import { type Expiring, type PendingLots, sumOfDays } from "./Lots.ts"
import type { MetricState } from "./MetricState.ts"
import type { Purchases } from "./Purchases.ts"
import type { StreakCounts, StreakState } from "./Streak.ts"
import type { Zones } from "./StreakPeriods.ts"

/* Quests. */

export type StepCounts = { readonly [step: string]: number }

/** The count of a step. It reads only own members, since a key may be `constructor`. */
export const stepCountOf = (steps: StepCounts | undefined, step: string): number =>
  steps !== undefined && Object.hasOwn(steps, step) ? steps[step]! : 0

/** A user's state in a quest. */
export interface QuestState {
  /**
   * The index of the window of a recurring quest to which this state belongs; 0 for other quests.
   */
  readonly period: number
  /**
   * The counts of this period by step key, also after completion. A step without a count is absent.
   */
  readonly steps: StepCounts
  readonly startedAt: number | null
  readonly completedAt: number | null
  /** Whether the quest ended before the user completed it. */
  readonly expired: boolean
  /** Completions over all periods. */
  readonly times: number
  /** Set if the user started the quest by request: an undo of its progress does not end it. */
  readonly joined?: true
  /**
   * `open`: the quest is completed and waits to be claimed. `paid`: a claim has paid, also if the
   * completion was undone since; so the quest does not pay again in this period.
   */
  readonly claim?: "open" | "paid"
  /**
   * Completions of this period, and claims that paid, by users who were merged, besides the one that
   * counts; absent: 0.
   */
  readonly also?: number
  readonly alsoPaid?: number
}

/** Whether the quest is in progress: started, neither completed nor expired. */
export const isMidway = ({ completedAt, expired, startedAt }: QuestState): boolean =>
  startedAt !== null && completedAt === null && !expired

/** Whether a quest in progress is over at `now`. `quest`: `undefined` if it no longer exists. */
export const hasExpired = (
  quest: Quest | undefined,
  state: QuestState,
  zone: Zone,
  now: number,
): boolean => {
  if (!isMidway(state)) return false
  if (quest === undefined) return true
  const status = statusAt(quest, now)
  return (
    status === "archived" ||
    status === "ended" ||
    state.period !== questPeriodOf(quest, zone.dayAt(now))
  )
}

/** Whether the claim of a completed quest, which waited to be made, is no longer possible. */
export const hasLapsed = (
  quest: Quest | undefined,
  { claim, period }: QuestState,
  zone: Zone,
  now: number,
): boolean =>
  claim === "open" &&
  (quest === undefined ||
    quest.set === "archived" ||
    period !== questPeriodOf(quest, zone.dayAt(now)))

export interface Profile {
  readonly displayName: string | null
  /** An IANA time zone; null: the time zone of the project. */
  readonly timezone: string | null
  readonly attributes: { readonly [name: string]: string | number | boolean }
  /** Hidden from all leaderboards. */
  readonly hidden: boolean
}

/** A badge or a tier of a badge that the user has. */
export interface EarnedAward {
  /** The key of the tier; empty: the badge had no tiers. */
  readonly tier: string
  readonly earnedAt: number
  /** The target when it was earned; absent for a granted badge. */
  readonly target?: number
  /** How often the user has a repeatable badge; absent for other badges. */
  readonly times?: number
}

/** The awards of a badge, in the order in which the user earned them; at least one. */
export type EarnedBadge = ReadonlyArray<EarnedAward>

/** Whether the user has the award. */
export const hasAward = (
  { badges }: Pick<UserState, "badges">,
  { badge, tier }: Pick<Award, "badge" | "tier">,
): boolean => badges.get(badge.id)?.some((earned) => earned.tier === (tier?.key ?? "")) === true

/** The names by which holders are counted: those of the user's badges, and of their tiers. */
export const heldNames = ({ badges }: Pick<UserState, "badges">): ReadonlyArray<string> =>
  Array.from(badges, ([id, awards]) => [
    id,
    ...awards.flatMap(({ tier }) => (tier === "" ? [] : [awardName(id, tier)])),
  ]).flat()

/** How often the user has a repeatable badge. */
export const timesOf = (user: Pick<UserState, "badges"> | undefined, { id }: Badge): number =>
  user?.badges.get(id)?.[0]?.times ?? 0

/** The uses of a rule with a limit or a cooldown. */
export interface RuleUse {
  /** The uses in each of the latest periods. */
  readonly periods: PeriodCounts
  /** The times of the latest and the earliest event that the rule rewarded. */
  readonly lastAt: number
  readonly firstAt: number
  /** The `countedSince` of the rule when these uses were counted. */
  readonly since?: number
}

/**
 * How many events of the user a rule rewarded that were not undone, at least one, and the user's day of
 * the first. An undo moves that day only if no event is left.
 */
export interface RuleReach {
  readonly times: number
  readonly firstDay: number
}

/**
 * The xp of the user's latest window of a kind, and of the window before, which is needed until the
 * latest is stored.
 */
export interface WindowScores {
  readonly index: number
  readonly xp: number
  readonly sequence: number
  readonly indexBefore: number
  readonly xpBefore: number
  readonly sequenceBefore: number
}

/** What a user scored for a team, over all time and in windows. */
export interface TeamShare {
  /** The number of the team. */
  readonly team: number
  readonly total: number
  readonly windows: UserState["windows"]
}

/**
 * A share of a window that `TeamShare` has lost, or of a team that the user has left, although its prize may
 * still be due (`TeamShares.ts`).
 */
export interface KeptShare {
  /** The number of the team. */
  readonly team: number
  readonly window: BoardWindow
  /** 0: all time. */
  readonly index: number
}

/**
 * What a user scored on a leaderboard (`decide/Boards.ts`). `counted`: what counted over all time;
 * `missed`: what was earned while the board did not count, of a whole board; `sequence`: the latest
 * record that counted, 0: none.
 */
export interface BoardScores {
  readonly counted: number
  readonly missed: number
  readonly sequence: number
  readonly windows: UserState["windows"]
  /** What counted for the team that got the latest score; only on a board of teams. */
  readonly share?: TeamShare | undefined
  /** Oldest first; absent: none. */
  readonly kept?: ReadonlyArray<KeptShare> | undefined
  /** The board does not list the user, whose scores still count. */
  readonly disqualified?: true
}

/** The balance of a currency other than xp and points. */
export interface Balance {
  readonly amount: number
  /** What was spent and neither refunded nor forgiven (`spentAfter`). */
  readonly spent: number
  /** From when the next amount of `refill` is waited for; absent: the currency never had any. */
  readonly since?: number
}

/** The id of a user who was merged into another, or will be: it leads to `into`. */
export interface LeadsTo {
  readonly into: string
  /** The record that froze the user. */
  readonly frozen: number
  /** Whether the merge has ended. Until then the state is that of the frozen user. */
  readonly done: boolean
  /** The time of the latest record of the merge, epoch milliseconds. */
  readonly at: number
}

/** A user who was merged into this one. */
export interface AbsorbedUser {
  readonly userId: string
  /** The record that froze the user: its history is that of this record and those before. */
  readonly frozen: number
  /** The record of this user that took the other in. */
  readonly merged: number
  /** As in `UserState`; absent: none. */
  readonly lastReward?: number
  readonly lastSpend?: number
  readonly lastPurchase?: number
  readonly badgeRecounts?: ReadonlyArray<readonly [badgeId: string, upTo: number]>
}

/** The state of a user. Times are epoch milliseconds. */
export interface UserState {
  readonly id: string
  /** The sequence of the last record applied. */
  readonly sequence: number
  readonly xp: number
  /** The sequence of the record that set `xp`: the user who reached a score first leads the tie. */
  readonly scoreSequence: number
  readonly points: number
  /** The spent points whose source was not revoked. `pointsEarned` has them. */
  readonly pointsSpent: number
  /** By the key of the currency; xp and points are not among them. */
  readonly balances: ReadonlyMap<string, Balance>
  /** What was credited in periods of an `earnLimit` and not revoked, by the key of the currency. */
  readonly earnings: ReadonlyMap<string, PeriodCounts>
  /** What cannot be spent yet, by the key of the currency. */
  readonly pending: ReadonlyMap<string, PendingLots>
  /** What ends with a day, and what has ended, by the key of the currency. */
  readonly expiring: ReadonlyMap<string, Expiring>
  /** Those of the board `xp`, which has no windows of days. */
  readonly windows: Readonly<Record<TimedWindow, WindowScores>>
  /** By the id of the leaderboard; one that no record scored on is absent. */
  readonly boards: ReadonlyMap<string, BoardScores>
  /** By the id of the league; one in which the user never had a place is absent. */
  readonly leagues: ReadonlyMap<string, LeagueState>
  readonly profile: Profile
  readonly badges: ReadonlyMap<string, EarnedBadge>
  /** How often an award has paid the user, by its name (`awardName`), also after it was lost. */
  readonly badgesPaid: ReadonlyMap<string, number>
  /** How often a level has paid the user, by its name (`levelName`), also after it was lost. */
  readonly levelsPaid: ReadonlyMap<string, number>
  /**
   * The count or the sum of each `action_count` or `action_sum` badge, also after the badge is
   * earned.
   */
  readonly badgeCounts: ReadonlyMap<string, number>
  /** By badge: the last record of the history that a backfill has counted. */
  readonly badgeRecounts: ReadonlyMap<string, number>
  readonly quests: ReadonlyMap<string, QuestState>
  /** Completions of all quests. */
  readonly questsCompleted: number
  /** The time zones before the present one. */
  readonly pastZones: ReadonlyArray<PastZone<string | null>>
  readonly streaks: ReadonlyMap<string, StreakState>
  /** By the key of the streak. */
  readonly streakCounts: ReadonlyMap<string, StreakCounts>
  readonly ruleUses: ReadonlyMap<string, RuleUse>
  /** By the id of the rule; one that rewarded no event is absent. */
  readonly rulesReached: ReadonlyMap<string, RuleReach>
  /** The sequence of the latest reward by request, spend and purchase; 0: none. */
  readonly lastReward: number
  readonly lastSpend: number
  readonly lastPurchase: number
  /** By the id of the item; an item that the user never bought is absent. */
  readonly purchases: ReadonlyMap<string, Purchases>
  /** Contributions to shared goals, by the id of the goal. */
  readonly goals: ReadonlyMap<string, GoalParts>
  /** By the id of the metric; a metric that no event counted for is absent. */
  readonly metrics: ReadonlyMap<string, MetricState>
  /** By the kind of team; one that was deleted stays until the user joins another. */
  readonly teams: ReadonlyMap<string, TeamMembership>
  /** The personal boosts that rewards gave, ended ones included, in the order of the rewards. */
  readonly boosts: ReadonlyArray<OwnBoost>
  /** By the id of the experiment; one that the user has not entered is absent. */
  readonly experiments: ReadonlyMap<string, Exposure>
  /** Null: the user is a user, and not the former id of another. */
  readonly leadsTo: LeadsTo | null
  /** The users who were merged into this one, also those whose merges came through another. */
  readonly absorbed: ReadonlyArray<AbsorbedUser>
  /** The record that began the erasure of the user and of those merged into it; 0: none. */
  readonly erasing: number
  readonly createdAt: number
  readonly updatedAt: number
  /** When the latest event occurred, also if it was revoked; 0: the user had no event. */
  readonly lastEventAt: number
  /** Null: the user has no event that was not revoked. */
  readonly activity: ActiveDays | null
  /** The local day of the latest reminder (`Absence.ts`); null: none was sent. */
  readonly remindedOn: number | null
  /**
   * The reminders of what ends (`Reminder.ts`): by the id of a quest its last period with a
   * reminder, by the key of a currency the last expiry day with one.
   */
  readonly reminded: ReadonlyMap<string, number>
  /** The reminders of the last day that no event has followed (`Comeback.ts`). */
  readonly unanswered: ReadonlyArray<Unanswered>
}

export const noneAbsorbed: UserState["absorbed"] = []
export const noneUnanswered: UserState["unanswered"] = []

/** Whether the id is that of a user who was merged into another: only the id is left. */
export const isAlias = ({ leadsTo }: Pick<UserState, "leadsTo">): boolean => leadsTo?.done === true

export const emptyProfile: Profile = {
  displayName: null,
  timezone: null,
  attributes: {},
  hidden: false,
}

const noScores: WindowScores = {
  index: 0,
  xp: 0,
  sequence: 0,
  indexBefore: 0,
  xpBefore: 0,
  sequenceBefore: 0,
}

export const noWindows: UserState["windows"] = {
  daily: noScores,
  weekly: noScores,
  monthly: noScores,
  days: noScores,
}

export const noBoardScores: BoardScores = {
  counted: 0,
  missed: 0,
  sequence: 0,
  windows: noWindows,
}

/** Whether a leaderboard does not list the user. */
export const isDisqualified = ({ boards }: Pick<UserState, "boards">, boardId: string): boolean =>
  boards.size > 0 && boards.get(boardId)?.disqualified === true

// biome-ignore lint/suspicious/noExplicitAny: it is empty, so it holds values of any kind
const none: ReadonlyMap<string, any> = new Map()

/** The state from which the first record of a user makes one. */
export const newcomer: UserState = {
  id: "",
  sequence: 0,
  xp: 0,
  scoreSequence: 0,
  points: 0,
  pointsSpent: 0,
  balances: none,
  earnings: none,
  pending: none,
  expiring: none,
  windows: noWindows,
  boards: none,
  leagues: none,
  profile: emptyProfile,
  badges: none,
  badgesPaid: none,
  levelsPaid: none,
  badgeCounts: none,
  badgeRecounts: none,
  quests: none,
  questsCompleted: 0,
  pastZones: [],
  streaks: none,
  streakCounts: none,
  ruleUses: none,
  rulesReached: none,
  lastReward: 0,
  lastSpend: 0,
  lastPurchase: 0,
  purchases: none,
  goals: none,
  metrics: none,
  teams: none,
  boosts: [],
  experiments: none,
  leadsTo: null,
  absorbed: noneAbsorbed,
  erasing: 0,
  createdAt: 0,
  updatedAt: 0,
  lastEventAt: 0,
  activity: null,
  remindedOn: null,
  reminded: none,
  unanswered: noneUnanswered,
}

/** The first metric whose recount is under way. */
export const recountedMetric = ({ metrics }: UserState): string | undefined => {
  if (metrics.size > 0) for (const [id, state] of metrics) if (state.recalculating) return id
  return undefined
}

/** The time zone of the user's calendar now: the user's own, or the project's. */
export const presentZone = (
  user: Pick<UserState, "profile"> | undefined,
  { settings }: Pick<ProjectState, "settings">,
): Zone => zoneOf(user?.profile.timezone ?? settings.timezone)

/** The time zones of a user's days: the user's own, or the project's while the user has none. */
export const userZones = (user: UserState | undefined, project: ProjectState): Zones => {
  const { pastZones = [], settings } = project
  if (user === undefined) return zoneOf(settings.timezone).alone
  const own = user.profile.timezone
  if (user.pastZones.length === 0 && (own !== null || pastZones.length === 0)) {
    return zoneOf(own ?? settings.timezone).alone
  }
  const { createdAt } = user
  const moves = pastZones.filter(({ until }) => until > createdAt)
  const ends = [...moves, ...user.pastZones]
    .map(({ until }) => until)
    .sort((one, other) => one - other)
  return [...ends, Number.POSITIVE_INFINITY].map((until) => ({
    zone: zoneOf(
      zoneAt(user.pastZones, own, until - 1) ??
        zoneAt(pastZones, settings.timezone, Math.max(until - 1, createdAt)),
    ),
    until,
  }))
}

/** The user's time zone at `at`, or the project's while the user has none. */
export const userZoneAt = (user: UserState | undefined, project: ProjectState, at: number): Zone =>
  userZones(user, project).find(({ until }) => at < until)!.zone

/**
 * The time zone of the project's days for an event of this user that occurred at `at`. An event
 * from before the user was created counts in the zone of the creation.
 */
export const projectZoneAt = (
  user: UserState | undefined,
  { pastZones, settings }: ProjectState,
  at: number,
): Zone =>
  user === undefined || pastZones === undefined
    ? zoneOf(settings.timezone)
    : zoneOf(zoneAt(pastZones, settings.timezone, Math.max(at, user.createdAt)))

/**
 * What counts for a need (`needName`) of a period that is not kept; `undefined`: the period is older
 * than all that the state has counts of, and no event counts for it.
 */
export const streakCountOf = (
  user: UserState | undefined,
  key: string,
  period: number,
  need: string,
): number | undefined => {
  const known = user?.streakCounts.get(key)
  if (known === undefined) return 0
  const counts = known.find((one) => one.period === period)?.counts
  if (counts !== undefined) return Object.hasOwn(counts, need) ? counts[need]! : 0
  return known.length >= limits.streakCountsMax && period < known[0]!.period ? undefined : 0
}

/** What expired of a currency, and was not revoked. */
export const expiredOf = ({ expiring }: Pick<UserState, "expiring">, key: string): number => {
  const lots = expiring.get(key)
  return lots === undefined ? 0 : sumOfDays(lots.expired)
}

/** What the user earned of a currency and was not revoked, spent and expired amounts included. */
export const earnedOf = (user: UserState, key: string): number => {
  const { amount, spent } = balanceOf(user, key)
  return amount + spent + expiredOf(user, key)
}

/** The points that the user earned and that were not revoked, spent and expired ones included. */
export const pointsEarned = (user: UserState): number => earnedOf(user, "points")

/**
 * The spent amount after a revocation with a `shortfall`: the missing amount was spent, and no
 * longer counts as earned.
 */
export const spentAfter = (spent: number, shortfall: number): number =>
  Math.max(0, spent - shortfall)

const noBalance: Balance = { amount: 0, spent: 0 }

/** The user's balance of the currency with this key. */
export const balanceOf = (user: UserState | undefined, key: string): Balance => {
  if (user === undefined) return noBalance
  if (key === "xp") return { amount: user.xp, spent: 0 }
  if (key === "points") return { amount: user.points, spent: user.pointsSpent }
  return user.balances.get(key) ?? noBalance
}
