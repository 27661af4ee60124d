/** What the replies to a user's commands share. */
import type { Badge } from "../project/Definition.ts"
import type { BadgeRef, QuestRef } from "../record/Record.ts"
import type { MembersOf } from "./FactMembers.ts"

export interface QuestChange extends Omit<QuestRef, "period"> {
  readonly status: "not_started" | "in_progress" | "completed" | "expired"
  /** The completed share, 0 to 1. */
  readonly progress: number
  readonly alreadyCompleted: boolean
  /** The completed quest has not paid, and waits to be claimed. */
  readonly claimable?: true
}

/** The outcome of a record, in the terms of the API. Times are epoch milliseconds. */
export interface Outcome extends MembersOf<"event.tracked"> {
  readonly userId: string
  readonly badges: ReadonlyArray<{
    readonly id: string
    readonly key: string
    readonly name: string
    readonly tier?: BadgeRef["tier"] & {}
    readonly times?: number
    readonly earnedAt: number
  }>
  readonly badgesRevoked: ReadonlyArray<
    Pick<Badge, "id" | "key" | "name"> & {
      readonly tier?: BadgeRef["tier"] & {}
      readonly times?: number
    }
  >
  readonly quests: ReadonlyArray<QuestChange>
  readonly streaks: ReadonlyArray<MembersOf<"streak.extended">>
  readonly metrics: ReadonlyArray<MembersOf<"metric.changed">>
  /** The personal boosts that an undo took back. */
  readonly boostsRevoked: ReadonlyArray<MembersOf<"boost.revoked">>
}

/** What a revocation could not take back. */
export type Undone = Pick<MembersOf<"event.revoked">, "shortfall" | "expired">
