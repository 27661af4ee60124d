/**
 * The decisions about one user, in order. The model keeps nothing else of a user: it computes every
 * balance, count and state from the whole list, for each read.
 */

import type { Amounts } from "../../../src/domain/project/Currency.ts"
import type { Team } from "../../../src/domain/project/Team.ts"
import type { CapReason } from "../../../src/domain/record/BalanceFact.ts"
import type { Opening } from "../../../src/domain/record/Opening.ts"
import type { Profile } from "../../../src/domain/user/User.ts"
import type { WindowKind } from "../../../src/domain/values/Calendar.ts"
import type { Metadata } from "../../../src/domain/values/Metadata.ts"
import type { LimitPeriod } from "../../../src/domain/values/Periods.ts"
import type { Measured } from "./metrics.ts"

/** The first day of a window, by kind; absent: the entry counts for no such window. */
export type Windows = Partial<Record<WindowKind, string>>

/** Amounts that a decision gave. */
export interface Amounting {
  xp: number
  points: number
  /** Amounts of further currencies. */
  readonly currencies: Map<string, number>
  /** What the limits of currencies cut. */
  readonly capped: Array<Capped>
  /** What cannot be spent at once or ends with a day. */
  readonly endings: Array<Ending>
  /** What counts for the `earnLimit` of currencies. */
  readonly counting: Array<Earning>
  readonly badges: Array<Awarded>
  /** Personal boosts. */
  readonly owned: Array<Owned>
  /** The levels that it paid, as `currency level`. */
  readonly levels: Array<string>
  /** Freezes that were given, in the order of giving, by the key of the streak. */
  readonly frozen: Array<readonly [key: string, asked: number]>
  /** What the streaks took of them, and in which period; once the entry is complete. */
  readonly freezes: Map<string, FreezesTaken>
}

/** A personal boost that runs from `startsAt` until `endsAt`. */
export interface Owned {
  readonly key: string
  readonly startsAt: number
  readonly endsAt: number
}

export interface FreezesTaken {
  readonly period: number
  readonly amount: number
  /** What did not fit. */
  readonly cut: number
}

/** An experiment that the user entered. `before`: what the user had of its metric, if it adds up. */
export interface Entered {
  readonly experimentId: string
  readonly key: string
  readonly variant: string
  readonly before: number
}

/** A unit of an item, and the period of each kind in which it counts for limits. */
export interface Purchased {
  readonly itemId: string
  readonly periods: Readonly<Record<LimitPeriod, string>>
}

/** An event, a reward or a purchase, with what it gave. A `Spent` before a purchase has its price. */
export interface Happened extends Amounting {
  readonly kind: "event" | "reward" | "purchase"
  readonly purchase?: Purchased
  readonly sequence: number
  readonly at: number
  readonly occurredAt: number
  /** When it gave badges and completed quests; absent: at `at`. */
  readonly gaveAt?: number
  readonly action: string | undefined
  readonly metadata: Metadata | undefined
  /** The date of an event by the user's calendar at the decision. */
  readonly date: string | undefined
  windows: Windows
  /** What it scored on leaderboards, by id. */
  readonly boards: Map<string, Scored>
  /** The boosts that multiplied what it gave, by key. */
  readonly boosts: Map<string, number>
  /** The segments that the user was in, of those that a definition asked for. */
  segments: ReadonlyArray<string>
  /** The rules that rewarded it. */
  readonly uses: Array<string>
  /** Those of them of whose reward anything arrived, or was cut. */
  readonly reaching: Array<string>
  /** The currencies whose whole balances it kept until a day at least. */
  readonly kept: Array<{ readonly currency: string; readonly lastDay: number }>
  /** The steps of quests for which it counted. */
  readonly steps: Array<{
    readonly questId: string
    readonly period: string
    readonly step: string
    readonly amount: number
  }>
  readonly completions: Array<Completion>
  /** The completed quests that it claimed. */
  readonly claims: Array<InPeriod>
  /** The badges by actions for which it counted when it came, and how much. */
  readonly counted: Array<Counted>
  /** The metrics for which it counted. */
  readonly metrics: Array<Measured>
  /**
   * The streaks for which it counted: the number of the day, week or month by the user's calendar, and
   * whether the event kept it.
   */
  readonly streaks: Array<{
    readonly key: string
    readonly period: number
    readonly keeps: boolean
    /** What it added to needs, by action or key of a metric. */
    readonly added: ReadonlyMap<string, number>
  }>
  /** The milestones that it paid. */
  readonly milestones: Array<{ readonly key: string; readonly target: number }>
  readonly pausing: Pausing
  readonly entered: Array<Entered>
}

/** The pauses that began with a decision: days, and the numbers of those that did. */
export interface Pausing {
  readonly paused: Array<{ readonly key: string; readonly from: number; readonly to: number }>
  readonly seen: Array<{ readonly key: string; readonly number: number }>
}

/** `missed`: the leaderboard did not count. */
export interface Scored {
  readonly amount: number
  readonly missed: boolean
  readonly windows: Windows
}

export interface InPeriod {
  readonly questId: string
  readonly period: string
}

/** `paid`: with the completion; otherwise a claim pays, or has paid before. */
export interface Completion extends InPeriod {
  readonly paid: boolean
}

/** The user started a quest by request. */
export interface Began extends InPeriod {
  readonly entered: ReadonlyArray<Entered>
  readonly kind: "began"
  readonly sequence: number
  readonly at: number
}

/** The user was disqualified on a leaderboard, or is listed there again. */
export interface Listed {
  readonly kind: "listed"
  readonly sequence: number
  readonly at: number
  readonly boardId: string
  readonly disqualified: boolean
}

/** The user joined or left a team. */
export interface Moved {
  readonly kind: "moved"
  readonly sequence: number
  readonly at: number
  readonly team: Team
  readonly joined: boolean
}

/** An amount that cannot be spent before `at`, if it has it, and ends with its `lastDay`. */
export interface Ending {
  readonly currency: string
  readonly at: number | undefined
  readonly lastDay: number | undefined
  readonly amount: number
}

export interface Capped {
  readonly currency: string
  readonly amount: number
  readonly by: CapReason
}

/** An amount in a period, such as `week 2026-11-02`. */
export interface Earning {
  readonly currency: string
  readonly period: string
  readonly amount: number
}

export interface Counted {
  readonly badgeId: string
  readonly amount: number
}

/**
 * `target`: of the criteria that were met; absent: an operator awarded the badge. `tier`: empty for
 * a badge without tiers.
 */
export interface Awarded {
  readonly badgeId: string
  readonly tier: string
  readonly target?: number
  /** Whether it paid its reward. */
  paid?: boolean
  /** Of a repeatable badge: how often more, and how many of these times paid. */
  readonly times?: number
  paidTimes?: number
  /** Of a lost repeatable badge: how often the user still has it. */
  readonly kept?: number
  /** When it was earned, if not with the decision. */
  readonly earnedAt?: number
}

/** An undo. */
export interface Undone {
  readonly kind: "undone"
  readonly sequence: number
  readonly at: number
  readonly of: Happened
  /** The windows that were still open. */
  readonly windows: Windows
  /** The same for leaderboards, by id. */
  readonly boards: ReadonlyMap<string, Windows>
  /** The badges for which the event no longer counts. */
  readonly uncounted: ReadonlyArray<Counted>
  /** The freezes that were still there. */
  readonly freezes: ReadonlyMap<string, Omit<FreezesTaken, "cut">>
  readonly lost: ReadonlyArray<Awarded>
  /** The badges that would be lost, but are still earned. */
  readonly badges: ReadonlyArray<Awarded>
}

export interface ProfileSet {
  readonly kind: "profile"
  readonly sequence: number
  readonly at: number
  readonly change: Partial<Profile>
}

/** Pauses of streaks began, or a backfill awarded a badge, or, for a badge that counts actions, set only the count. */
export interface Backfilled extends Amounting {
  readonly kind: "backfilled"
  readonly sequence: number
  readonly at: number
  readonly counted: { readonly badgeId: string; readonly count: number } | undefined
  /** Of pauses of streaks, by the clock or by a request. */
  readonly milestones: Happened["milestones"]
  readonly pausing: Pausing
}

/** Periods that ended because time passed, and streaks that were found at risk. */
export interface Ticked {
  readonly kind: "ticked"
  readonly sequence: number
  readonly at: number
  readonly warned: ReadonlyArray<Warning>
  readonly reminded: ReadonlyArray<Reminded>
  readonly ended: EndingsTold
}

/** Quests and amounts of whose ends the user was reminded. `through`: the number of the last day. */
export interface EndingsTold {
  readonly quests: ReadonlyArray<{
    readonly questId: string
    readonly period: string
    readonly endsAt: number
  }>
  readonly amounts: ReadonlyArray<{
    readonly currency: string
    readonly endings: ReadonlyArray<readonly [expiresAt: number, amount: number]>
    readonly through: number
  }>
}

/** A user who stayed away since the day `lastDay`; `day` is that of the reminder. */
export interface Reminded {
  readonly days: number
  readonly lastDay: number
  readonly day: number
}

/** A streak at risk in a day, week or month, by its number. */
export interface Warning {
  readonly key: string
  readonly period: number
  readonly current: number
  readonly freezes: number
  readonly endsAt: number
}

/** Amounts of currencies were spent, points among them. */
export interface Spent {
  readonly kind: "spent"
  readonly sequence: number
  readonly at: number
  readonly amounts: Amounts
  /** It is the price of a purchase, which has the same sequence. */
  readonly isPrice?: true
  /** The days, weeks or months of a streak that it repaired, by number. */
  readonly repair?: { readonly key: string; readonly from: number; readonly to: number }
}

/** A spending was refunded. */
export interface Refunded {
  readonly kind: "refunded"
  readonly sequence: number
  readonly at: number
  readonly spent: Spent
}

/**
 * What the user had before. Its credits are all that the user ever earned; nothing but changes of the
 * profile and starts of quests comes before it.
 */
export interface Opened extends Amounting {
  readonly kind: "opened"
  readonly sequence: number
  readonly at: number
  readonly command: Opening
  /** What was spent before, by currency. */
  readonly spent: Amounts
  readonly runs: ReadonlyMap<string, OpenedRun>
}

/** A streak that the user had. `last`: the last period; absent: none runs. */
export interface OpenedRun {
  readonly best: number
  readonly current: number
  readonly last?: number
  /** The milestones that do not pay any more. */
  readonly paid: ReadonlyArray<number>
}

export type Entry =
  | Opened
  | Happened
  | Undone
  | Spent
  | Refunded
  | ProfileSet
  | Backfilled
  | Began
  | Moved
  | Ticked
  | Listed
export type Log = ReadonlyArray<Entry>

export const happened = (log: Log): ReadonlyArray<Happened> =>
  log.filter((entry): entry is Happened => happenings.has(entry.kind))

const happenings: ReadonlySet<string> = new Set(["event", "reward", "purchase"])

/** The decisions that were not undone. */
export const standing = (log: Log): ReadonlyArray<Happened> => {
  const undone = new Set(log.map((entry) => (entry.kind === "undone" ? entry.of : undefined)))
  return happened(log).filter((entry) => !undone.has(entry))
}

/** What gave amounts and was not undone. A backfill and an opening cannot be undone. */
export const earning = (log: Log): ReadonlyArray<Happened | Backfilled | Opened> => {
  const stands = new Set<Entry>(standing(log))
  return log.filter(
    (entry): entry is Happened | Backfilled | Opened =>
      entry.kind === "backfilled" || entry.kind === "opened" || stands.has(entry),
  )
}

/** The streak that the user had at the opening. */
export const openedRun = (log: Log, key: string): OpenedRun | undefined =>
  log.find((entry) => entry.kind === "opened")?.runs.get(key)

export const amountIn = (amounts: Amounts, key: string): number =>
  Object.entries(amounts).find(([name]) => name === key)?.[1] ?? 0

/** What a decision gave of a currency. */
export const credited = (entry: Amounting, key: string): number => {
  if (key === "xp") return entry.xp
  return key === "points" ? entry.points : (entry.currencies.get(key) ?? 0)
}
