/** The facts of reminders of what ends (`user/Reminder.ts`). */
import type { Unanswered } from "../user/Comeback.ts"

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
  /** An event follows these reminders within a day (`user/Comeback.ts`). */
  | { readonly kind: "reminders.followed"; readonly reminders: ReadonlyArray<Unanswered> }
