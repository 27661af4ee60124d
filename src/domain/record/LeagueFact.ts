/** The facts of leagues. `decide/Leagues.ts` has the design. */
import type { Gives } from "../project/Definition.ts"
import type { LateWindow, LeagueTerms } from "../project/League.ts"
import type { WindowKind } from "../values/Calendar.ts"

/** A league as facts name it. */
export interface LeagueRef {
  readonly leagueId: string
  readonly key: string
  readonly name: string
}

/** A division as facts name it. */
export interface DivisionRef {
  /** Its place among the divisions, the lowest is 0. */
  readonly index: number
  readonly key: string
  readonly name: string
}

/** A window of a league. Times are epoch milliseconds. */
interface LeagueWindow {
  readonly window: number
  readonly startsAt: number
  readonly endsAt: number
}

export type LeagueFact =
  /** The user takes a place in a cohort. What waited for the window is the score. */
  | ({
      readonly kind: "league.joined"
      readonly division: DivisionRef
      readonly cohort: number
    } & LeagueRef &
      LeagueWindow)
  /** The amount of the record in a window (negative for a revocation). */
  | {
      readonly kind: "league.scored"
      readonly leagueId: string
      readonly window: number
      readonly amount: number
    }
  /**
   * The window is settled for the user, who is in the division `to` from now on. `rank` null: hidden,
   * disqualified, or without a score. `of`: how many users of the cohort had a rank. `decimals`: those of the score, which is
   * scaled by them; absent: none. `rewards`: what the record pays
   * for it; absent: nothing. `missed`: the windows that closed while this one was not settled for the user,
   * whose scores count in no cohort; absent: none.
   */
  | ({
      readonly kind: "league.promoted" | "league.stayed" | "league.demoted"
      readonly division: DivisionRef
      readonly to: DivisionRef
      readonly cohort: number
      readonly score: number
      readonly rank: number | null
      readonly of: number
      readonly decimals?: number
      readonly rewards?: ReadonlyArray<Gives>
      readonly missed?: ReadonlyArray<number>
    } & LeagueRef &
      LeagueWindow)
  /** The user takes the division of a user who was merged in, and the disqualification; absent: none. */
  | {
      readonly kind: "league.taken"
      readonly leagueId: string
      readonly division: number
      readonly disqualified?: true
    }
  /** The league ranks the user no more, or again. */
  | ({ readonly kind: "league.disqualified"; readonly disqualified: boolean } & LeagueRef)

/**
 * The place that a user who is gone had in a cohort. `rank`: the rank in a window that was closed and
 * may not be settled for the others; absent: none.
 */
export interface LeagueSeat {
  readonly leagueId: string
  readonly window: number
  readonly division: number
  readonly cohort: number
  readonly rank?: number
}

/**
 * The project's record that closes a window of a league, with `total` users in `cohorts`. `terms`: by
 * what it is settled. `late`: the windows before it that are not settled for all; absent: none. Times are
 * epoch milliseconds.
 */
export interface LeagueCloseFact extends LeagueRef {
  readonly kind: "league.window_closed"
  readonly window: WindowKind
  readonly index: number
  readonly startsAt: number
  readonly endsAt: number
  readonly cohorts: number
  readonly total: number
  readonly terms: LeagueTerms
  readonly late?: ReadonlyArray<LateWindow>
}
