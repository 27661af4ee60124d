/** The facts about balances of xp, points and further currencies. `total` is the balance after one. */
import type { AppliedBoost } from "../project/Boost.ts"
import type { Amounts } from "../project/Currency.ts"
import type { LevelRef } from "../user/CurrencyLevel.ts"
import type { DayLots, PendingLots } from "../user/Lots.ts"

/**
 * The source of an amount or a badge: a rule, a quest, a milestone of a streak, a badge that pays, a
 * level of a currency, a prize of a leaderboard, a reward of a league, an item, a shared goal, a manual
 * reward, or the criteria of the badge.
 */
export type Source =
  | { readonly ruleId: string }
  | { readonly questId: string }
  | { readonly streakId: string }
  | { readonly badgeId: string }
  | { readonly currencyId: string }
  | { readonly boardId: string }
  | { readonly leagueId: string }
  | { readonly itemId: string }
  | { readonly goalId: string }
  | "reward"
  | "criteria"

/** A credit of a currency. */
interface Credit {
  readonly amount: number
  readonly total: number
  readonly source: Source
  readonly boosts?: ReadonlyArray<AppliedBoost>
  readonly period?: number
  readonly spendableAt?: number
  readonly lastDay?: number
}

/** Amounts by the last day of their lots. */
type DayAmounts = ReadonlyArray<readonly [lastDay: number, amount: number]>

/** The amounts that a revocation could not take back. */
export interface Shortfall {
  readonly xp: number
  readonly points: number
  /** Of further currencies; absent: none. */
  readonly currencies?: Amounts
  /** Freezes, by the key of the streak; absent: none. */
  readonly freezes?: Amounts
}

/** Why a credit was cut: the member of the currency that left no room. */
export const capReasons = ["earnLimit", "max"] as const
export type CapReason = (typeof capReasons)[number]

export type BalanceFact =
  /**
   * `boosts`: those that multiplied the amount, as they were then; absent: none. `period`: the
   * period of the currency's `earnLimit` in which the amount counts; absent: it has no limit.
   * `spendableAt`: until when it is pending; absent: it is not. `lastDay`: the day of the user's
   * calendar with which it ends; absent: it does not.
   */
  | ({ readonly kind: "xp.earned" | "points.earned" } & Credit)
  | { readonly kind: "points.revoked"; readonly amount: number; readonly total: number }
  /**
   * `before`: the sequence of the user's spend before this one; absent: there is none. `lots`: the
   * part that was taken from lots that end; absent: nothing.
   */
  | {
      readonly kind: "points.spent"
      readonly amount: number
      readonly total: number
      readonly lots?: DayAmounts
      readonly before?: number
    }
  /** `scoreSequence`: the record that set the remaining score, which gives the place in a tie. */
  | {
      readonly kind: "xp.revoked"
      readonly amount: number
      readonly total: number
      readonly scoreSequence?: number
    }
  /**
   * A spend was revoked. `shortfall`: the spent points whose event or reward was revoked after the
   * spend. `lots`: the part that ends again; absent: nothing.
   */
  | {
      readonly kind: "points.refunded"
      readonly lots?: DayAmounts
      readonly amount: number
      readonly total: number
      readonly shortfall: number
    }
  /** As the facts of points, for the currency with the key `currency`. */
  | ({
      readonly kind: "currency.earned"
      readonly currency: string
      readonly since?: number
    } & Credit)
  /** What `refill` added before the record; `since` as in `Balance`, also in the facts below. */
  | {
      readonly kind: "currency.refilled"
      readonly currency: string
      readonly amount: number
      readonly total: number
      readonly since?: number
    }
  | {
      readonly kind: "currency.revoked" | "currency.spent"
      readonly currency: string
      readonly amount: number
      readonly total: number
      readonly since?: number
      readonly before?: number
      readonly lots?: DayAmounts
    }
  | {
      readonly kind: "currency.refunded"
      readonly lots?: DayAmounts
      readonly currency: string
      readonly amount: number
      readonly total: number
      readonly since?: number
      readonly shortfall: number
    }
  /** The amount of a credit that the user did not get, of any currency, and why. */
  | {
      readonly kind: "currency.capped"
      readonly currency: string
      readonly amount: number
      readonly by: CapReason
      readonly source: Source
    }
  /** A revoked amount no longer counts in the `period` of the currency's `earnLimit`. */
  | {
      readonly kind: "currency.uncounted"
      readonly currency: string
      readonly period: number
      readonly amount: number
    }
  /** The lots of a currency after an undo. */
  | {
      readonly kind: "currency.lots"
      readonly currency: string
      readonly pending: PendingLots
      readonly open: DayLots
      readonly expired: DayLots
    }
  /** The lots that ended before the user's day `today`, of any currency. */
  | {
      readonly kind: "currency.expired"
      readonly currency: string
      readonly amount: number
      readonly total: number
      readonly today: number
    }
  /** An event kept all lots of a currency with `inactivityDays`: none ends before `lastDay`. */
  | { readonly kind: "currency.kept"; readonly currency: string; readonly lastDay: number }
  /**
   * What the levels of a currency compare has changed, and the user is in another level; null: none is
   * reached.
   */
  | {
      readonly kind: "currency.level_changed"
      readonly currency: string
      readonly from: LevelRef | null
      readonly to: LevelRef | null
    }
  /** All balances after a spend or a refund of a user who has further currencies. */
  | {
      readonly kind: "balances.settled"
      readonly xp: number
      readonly points: number
      readonly balances: Amounts
    }
