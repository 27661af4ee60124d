/** The facts about the streaks of a user, and the command that pauses one. */
import type { StreakState } from "../user/Streak.ts"
import type { Source } from "./BalanceFact.ts"

/** A streak as facts of milestones name it. */
export interface StreakRef {
  readonly streakId: string
  readonly key: string
  readonly name: string
}

/**
 * Pauses a streak of the user from a day to a day (`Calendar.ts`), both included. A command may name
 * it by its id, a cause has its key.
 */
export interface StreakPausing {
  readonly kind: "pause"
  readonly streak: string
  readonly from: number
  readonly to: number
}

export type StreakFact =
  /**
   * What counts for a need (`needName`) of a period that was not kept; less after an undo. `by`: the
   * amount that the event added, if not 1.
   */
  | {
      readonly kind: "streak.progressed"
      readonly key: string
      readonly period: number
      readonly need: string
      readonly current: number
      readonly by?: number
    }
  /** The streak after a new period at its end (`extended`) or in its past (`counted`). */
  | {
      readonly kind: "streak.extended" | "streak.counted"
      readonly key: string
      readonly current: number
      readonly streak: StreakState
    }
  | {
      readonly kind: "streak.broken"
      readonly key: string
      readonly length: number
      readonly streak: StreakState
    }
  /**
   * The period ends soon, and is missed without an event. `freezes`: those that are left to cover it.
   * `endsAt`: epoch milliseconds.
   */
  | {
      readonly kind: "streak.at_risk"
      readonly key: string
      readonly period: number
      readonly current: number
      readonly freezes: number
      readonly endsAt: number
    }
  /** A pause covers these days. `current`: the length afterwards. */
  | {
      readonly kind: "streak.paused"
      readonly key: string
      readonly from: number
      readonly to: number
      readonly current: number
      readonly streak: StreakState
    }
  /** Pauses of the definition that cover nothing of the user: `seen` has all that began. */
  | {
      readonly kind: "streak.pause_seen"
      readonly key: string
      readonly seen: ReadonlyArray<number>
    }
  /**
   * A spend repaired the streak: it covers these days; or the spend was revoked. `current`: the length
   * afterwards. `before` as in `points.spent`, of a repair without a price.
   */
  | {
      readonly kind: "streak.repaired" | "streak.repair_undone"
      readonly key: string
      readonly from: number
      readonly to: number
      readonly current: number
      readonly streak: StreakState
      readonly before?: number
    }
  /** Freezes that a reward gave, and those that an undo took back. `total`: freezes afterwards. */
  | {
      readonly kind: "streak.freezes_earned"
      readonly key: string
      readonly amount: number
      readonly total: number
      readonly source: Source
      readonly streak: StreakState
    }
  | {
      readonly kind: "streak.freezes_revoked"
      readonly key: string
      readonly amount: number
      readonly total: number
      readonly streak: StreakState
    }
  /** The freezes that the user did not get, because the streak has its maximum. */
  | {
      readonly kind: "streak.freezes_capped"
      readonly key: string
      readonly amount: number
      readonly total: number
      readonly source: Source
    }
  /** The streak reached a milestone, which pays; or the record that paid it was revoked. */
  | ({
      readonly kind: "streak.milestone_reached" | "streak.milestone_revoked"
      readonly target: number
    } & StreakRef)
