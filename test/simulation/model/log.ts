/**
 * The decisions about one user, in order. The model keeps nothing else of a user: it computes every balance, count
 * and state from the whole list, for each read.
 */

import type { Profile } from "../../../src/domain/user/User.ts"
import type { WindowKind } from "../../../src/domain/values/Calendar.ts"
import type { Metadata } from "../../../src/domain/values/Metadata.ts"

/** A window's first day, by kind; absent where something counts for none. */
export type Windows = Partial<Record<WindowKind, string>>

/** An event or a reward, and what it gave. */
export interface Happened {
  readonly kind: "event" | "reward"
  readonly sequence: number
  readonly at: number
  readonly occurredAt: number
  readonly action: string | undefined
  readonly metadata: Metadata | undefined
  xp: number
  points: number
  windows: Windows
  /** The rules that rewarded it. */
  readonly uses: Array<string>
  /** Steps of quests that it counted for. */
  readonly steps: Array<{
    readonly questId: string
    readonly period: string
    readonly step: string
    readonly amount: number
  }>
  readonly completions: Array<{ readonly questId: string; readonly period: string }>
  /** Badges by actions that it counted for when it came, and how much. */
  readonly counted: Array<Counted>
  readonly badges: Array<Awarded>
  /** Streaks that it counted for, and the user's day. */
  readonly streaks: Array<{ readonly key: string; readonly day: number }>
}

export interface Counted {
  readonly badgeId: string
  readonly amount: number
}

/** `target`: of the criteria that were met; absent for a badge that was given. */
export interface Awarded {
  readonly badgeId: string
  readonly target?: number
}

/** Something was taken back. */
export interface Undone {
  readonly kind: "undone"
  readonly sequence: number
  readonly at: number
  readonly of: Happened
  /** The windows that were still open. */
  readonly windows: Windows
  /** Badges for which the event counts no more. */
  readonly uncounted: ReadonlyArray<Counted>
  readonly lost: ReadonlyArray<string>
  /** Badges that would be lost, but are earned all the same. */
  readonly badges: ReadonlyArray<Awarded>
}

export interface ProfileSet {
  readonly kind: "profile"
  readonly sequence: number
  readonly at: number
  readonly change: Partial<Profile>
}

/** A badge was given to who qualified already; or, where it counts actions, only the count was. */
export interface Backfilled {
  readonly kind: "backfilled"
  readonly sequence: number
  readonly at: number
  readonly badges: ReadonlyArray<Awarded>
  readonly counted: { readonly badgeId: string; readonly count: number } | undefined
}

/** A note of periods that had ended by themselves. */
export interface Ticked {
  readonly kind: "ticked"
  readonly sequence: number
  readonly at: number
}

/** Points were spent. */
export interface Spent {
  readonly kind: "spent"
  readonly sequence: number
  readonly at: number
  readonly amount: number
}

/** A spending was taken back. */
export interface Refunded {
  readonly kind: "refunded"
  readonly sequence: number
  readonly at: number
  readonly spent: Spent
}

export type Entry = Happened | Undone | Spent | Refunded | ProfileSet | Backfilled | Ticked
export type Log = ReadonlyArray<Entry>

export const happened = (log: Log): ReadonlyArray<Happened> =>
  log.filter((entry): entry is Happened => entry.kind === "event" || entry.kind === "reward")

/** The decisions that were not undone. */
export const standing = (log: Log): ReadonlyArray<Happened> => {
  const undone = new Set(log.map((entry) => (entry.kind === "undone" ? entry.of : undefined)))
  return happened(log).filter((entry) => !undone.has(entry))
}
