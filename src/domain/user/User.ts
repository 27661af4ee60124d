/**
 * One user's state. What a command decides is in `decide/`, how facts change the state in `applyUser.ts`, what
 * the caller is answered in `UserReply.ts`.
 *
 * A state is immutable; parts that a record does not touch are shared with the state before it, and parts
 * that are empty with all other users.
 */
import type { WindowKind } from "../values/Calendar.ts"
import type { Cause } from "../record/Record.ts"

export interface Profile {
  readonly displayName: string | null
  /** An IANA time zone; null: the project's. */
  readonly timezone: string | null
  readonly attributes: { readonly [name: string]: string | number | boolean }
  /** Off every leaderboard. */
  readonly hidden: boolean
}

export interface EarnedBadge {
  readonly earnedAt: number
  /** The target by which it was earned; absent for one that was given. */
  readonly target?: number
}

export type StepCounts = { readonly [step: string]: number }

/** How many events count for a step. Its key may be one that every object inherits, such as `constructor`. */
export const stepCountOf = (steps: StepCounts | undefined, step: string): number =>
  steps !== undefined && Object.hasOwn(steps, step) ? steps[step]! : 0

/** Where a user stands in a quest. */
export interface QuestState {
  /** The window that a recurring quest was last touched in, else 0. */
  readonly period: number
  /** What counts in this period, by the step's key, also once it is completed; steps that nothing counted for are absent. */
  readonly steps: StepCounts
  readonly startedAt: number | null
  readonly completedAt: number | null
  /** It ended before it was completed. */
  readonly expired: boolean
  /** How often the user has completed it, over all periods. */
  readonly times: number
}

/** How a rule with a limit or a cooldown was used: `[period, times]` of the latest periods, oldest first. */
export interface RuleUse {
  readonly periods: ReadonlyArray<readonly [period: number, times: number]>
  /** When the latest event occurred that it gave for. */
  readonly lastAt: number
}

/**
 * Days in a row, from `first` to `last`: of which `frozen` were missed and forgiven, and `skipped` fell out
 * by a change of time zone. Local days (`Calendar.ts`).
 */
export interface StreakRun {
  readonly first: number
  readonly last: number
  readonly frozen: ReadonlyArray<number>
  readonly skipped: ReadonlyArray<number>
}

export interface StreakState {
  /** Oldest first; the last one is the current streak, unless `broken`. */
  readonly runs: ReadonlyArray<StreakRun>
  /** The most days that it ever had. */
  readonly best: number
  /** How many missed days can still be forgiven. */
  readonly freezes: number
  /** When the event occurred that added the last day: that is another day in another time zone. */
  readonly lastAt: number
  /** When the last day ends where it was counted. */
  readonly lastDayEndsAt: number
  readonly broken: boolean
}

/** The xp of the user's latest window of a kind, and of the one before: until the latest is stored, the other may be needed. */
export interface WindowScores {
  readonly index: number
  readonly xp: number
  readonly sequence: number
  readonly indexBefore: number
  readonly xpBefore: number
  readonly sequenceBefore: number
}

/** Times are epoch milliseconds. */
export interface UserState {
  readonly id: string
  /** The sequence of the last record applied. */
  readonly sequence: number
  readonly xp: number
  /** The sequence of the record that set `xp`: who reached a score first stands first inside a tie. */
  readonly scoreSequence: number
  readonly points: number
  readonly windows: Readonly<Record<WindowKind, WindowScores>>
  readonly profile: Profile
  readonly badges: ReadonlyMap<string, EarnedBadge>
  /** How many events have counted for each badge that counts actions, also once it is earned. */
  readonly badgeCounts: ReadonlyMap<string, number>
  /** By badge: the last record up to which a backfill has counted the whole history. */
  readonly badgeRecounts: ReadonlyMap<string, number>
  readonly quests: ReadonlyMap<string, QuestState>
  /** How often quests were completed, all together. */
  readonly questsCompleted: number
  readonly streaks: ReadonlyMap<string, StreakState>
  readonly ruleUses: ReadonlyMap<string, RuleUse>
  readonly createdAt: number
  readonly updatedAt: number
}

/** The name that makes a repeat of this a duplicate, in a namespace of its kind; `undefined` for none. */
export const duplicateKey = (cause: Cause): string | undefined => {
  switch (cause.kind) {
    case "event":
      return cause.id === undefined ? undefined : `e${cause.id}`
    case "reward":
      return cause.id === undefined ? undefined : `r${cause.id}`
    case "revocation":
      return `v${cause.sequence}`
    default:
      return undefined
  }
}

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
}
