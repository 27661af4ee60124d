/**
 * Opening balances: what a user has from before Laurel, set once, before the first event. The record
 * has all of it in one fact. It is no event, and pays nothing.
 */
import type { Amounts } from "../project/Currency.ts"
import type { DayLots } from "../user/Lots.ts"
import type { StreakState } from "../user/Streak.ts"
import type { Balance } from "../user/User.ts"

/** The command to set them. All members hold keys of definitions. */
export interface Opening {
  readonly kind: "opening"
  /** What the user has, by currency; absent: nothing. */
  readonly balances?: Amounts | undefined
  /** What the user ever earned, by currency; absent: what the user has. */
  readonly earned?: Amounts | undefined
  /** The parts of balances that end with a day, by currency. */
  readonly expiring?: { readonly [key: string]: ReadonlyArray<OpeningLot> } | undefined
  readonly streaks?: { readonly [key: string]: OpeningStreak } | undefined
  readonly badges?: ReadonlyArray<OpeningBadge> | undefined
}

export interface OpeningLot {
  readonly amount: number
  /** The last day on which it can be spent, as a date such as `2026-12-31`. */
  readonly lastDay: string
}

export interface OpeningStreak {
  /** The length of the run that ends on `lastDay`; 0: none. */
  readonly current: number
  readonly best: number
  /** The last day that was kept, as a date such as `2026-11-01`. */
  readonly lastDay?: string | undefined
}

export interface OpeningBadge {
  readonly badge: string
  /** Required for a badge with tiers. */
  readonly tier?: string | undefined
  /** Epoch milliseconds. */
  readonly earnedAt: number
}

/** A badge, or a tier of a badge, that the user had before. */
interface OpenedBadge {
  readonly badgeId: string
  readonly key: string
  readonly name: string
  readonly tier?: { readonly key: string; readonly name: string }
  readonly earnedAt: number
}

/**
 * `balances` has xp and points too. `xp`, `points` and `level` are those after the record. `lots`: by
 * currency; absent: nothing ends. `levels`: the names (`levelName`) of the levels that the user has
 * reached, and that count as paid; absent: none.
 */
export interface OpeningFact {
  readonly kind: "user.opened"
  readonly xp: number
  readonly points: number
  readonly level: number
  readonly balances: { readonly [key: string]: Balance }
  readonly lots?: { readonly [key: string]: DayLots }
  readonly levels?: ReadonlyArray<string>
  readonly streaks: { readonly [key: string]: StreakState }
  readonly badges: ReadonlyArray<OpenedBadge>
}
