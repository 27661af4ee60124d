/** The commands and facts about the scores and ranks of a user on leaderboards. */
import type { BoardWindow } from "../project/BoardDefinition.ts"
import type { KeptShare } from "../user/User.ts"
import type { WindowKind } from "../values/Calendar.ts"

/**
 * Takes the user off a leaderboard, or lists the user again. A command may name the leaderboard by its
 * key, a cause has its id.
 */
export interface Disqualification {
  readonly kind: "disqualify"
  readonly leaderboard: string
  readonly disqualified: boolean
}

/** Takes the user out of the ranks of a league, or ranks the user again. Names the league as above. */
export interface LeagueDisqualification {
  readonly kind: "disqualifyInLeague"
  readonly league: string
  readonly disqualified: boolean
}

/** A user's rank in an open window of a leaderboard has changed since the last message of it. */
export interface RankChange {
  readonly boardId: string
  readonly window: BoardWindow
  readonly index: number
  /** Null: the user is not in the first places any more. */
  readonly rank: number | null
  /** The rank of the last message; null: the user was not in the first places. */
  readonly previousRank: number | null
  /** The score as the API shows it; null: the board does not list the user. */
  readonly score: number | null
}

/** A check of the first ranks of leaderboards. */
export interface RankLook {
  readonly kind: "ranks"
  /** Only in a command: the announcement and its user. */
  readonly change?: RankChange & { readonly to: string }
}

export type BoardFact =
  /**
   * The xp of the record (negative for a revocation), and the index of each window that it counts
   * for; a closed window is absent. `sequences`: for a revocation, the records that set the
   * remaining scores.
   */
  | {
      readonly kind: "windows.credited"
      readonly amount: number
      readonly daily?: number
      readonly weekly?: number
      readonly monthly?: number
      readonly sequences?: { readonly [Kind in WindowKind]?: number }
    }
  /**
   * The amount of the record on a leaderboard (negative for a revocation), and the index of each
   * window that it counts for. `missed`: the board did not count when the amount was earned.
   */
  | {
      readonly kind: "board.scored"
      readonly boardId: string
      readonly amount: number
      /** The team that gets the amount, on a leaderboard of teams. */
      readonly team?: { readonly id: string; readonly number: number }
      readonly missed?: true
      readonly daily?: number
      readonly weekly?: number
      readonly monthly?: number
      readonly days?: number
    }
  /**
   * The shares that the user's state keeps from now on until their prizes are paid (`user/TeamShares.ts`).
   * `gone`: shares that the user has no more: the record pays them, or the user was not in the team when
   * their windows closed; absent: none. `released`: the numbers of teams whose last kept share
   * is gone, and that the user is not in; absent: none.
   */
  | {
      readonly kind: "board.shares_kept"
      readonly boardId: string
      readonly kept: ReadonlyArray<KeptShare>
      readonly gone?: ReadonlyArray<KeptShare>
      readonly released?: ReadonlyArray<number>
    }
  /** Announces the user's rank. Times are epoch milliseconds, null of all time. */
  | ({
      readonly kind: "leaderboard.rank_changed"
      readonly key: string
      readonly startsAt: number | null
      readonly endsAt: number | null
    } & RankChange)
  /** A leaderboard lists the user no more, or again. */
  | {
      readonly kind: "leaderboard.disqualified"
      readonly boardId: string
      readonly key: string
      readonly disqualified: boolean
    }
