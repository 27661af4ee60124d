/** The facts of reminders of what ends (`user/Reminder.ts`). */
import type { LeagueOutcome } from "../project/League.ts"
import type { Unanswered } from "../user/Comeback.ts"
import type { DivisionRef, LeagueRef } from "./LeagueFact.ts"

export type ReminderFact =
  /** The quest, which the user has begun, ends at `endsAt`. `progress`: the completed share, 0 to 1. */
  | {
      readonly kind: "quest.ending"
      readonly questId: string
      readonly key: string
      readonly title: string
      readonly period: number
      readonly endsAt: number
      readonly progress: number
    }
  /**
   * Amounts of a currency end, the first first. `through`: the last day of the user's calendar of
   * which it reminds.
   */
  | {
      readonly kind: "currency.expiring"
      readonly currency: string
      readonly endings: ReadonlyArray<readonly [expiresAt: number, amount: number]>
      readonly through: number
    }
  /**
   * A window of a league in which the user has a place ends soon. `rank` null: no score. `of`: the number of ranked
   * users in the cohort. `size`: the number of users in it. `outcome`: the outcome if the window closed now. `decimals`:
   * those of the score, which is scaled by them; absent: none.
   */
  | ({
      readonly kind: "league.closing"
      readonly division: DivisionRef
      readonly cohort: number
      readonly window: number
      readonly startsAt: number
      readonly endsAt: number
      readonly score: number
      readonly rank: number | null
      readonly of: number
      readonly size: number
      readonly outcome: LeagueOutcome
      readonly decimals?: number
    } & LeagueRef)
  /** An event follows these reminders within a day (`user/Comeback.ts`). */
  | { readonly kind: "reminders.followed"; readonly reminders: ReadonlyArray<Unanswered> }
