/**
 * One user's state. What a command decides is in `decide/`, how facts change the state in `applyUser.ts`, what
 * the caller is answered in `UserReply.ts`.
 *
 * A state is immutable; parts that a record does not touch are shared with the state before it, and parts
 * that are empty with all other users.
 */
import type { ProjectState } from "../project/Project.ts"
import { type WindowKind, type Zone, zoneOf } from "../values/Calendar.ts"
import type { QuestState } from "./QuestState.ts"
import type { StreakState } from "./Streak.ts"

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

/** How a rule with a limit or a cooldown was used: `[period, times]` of the latest periods, oldest first. */
export interface RuleUse {
  readonly periods: ReadonlyArray<readonly [period: number, times: number]>
  /** When the latest event occurred that it gave for. */
  readonly lastAt: number
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

/** The zone that a user's days are counted in. */
export const userZone = (user: UserState | undefined, project: ProjectState): Zone =>
  zoneOf(user?.profile.timezone ?? project.settings.timezone)
