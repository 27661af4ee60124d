/** The place of a user in a league (`decide/Leagues.ts`). */
import type { LeagueOutcome } from "../project/League.ts"

/** The score of a window. `sequence`: the record that set it. */
export interface LeagueScore {
  readonly window: number
  readonly score: number
  readonly sequence: number
}

/** A place in a cohort of a window. Cohorts of a division are numbered from 1 in each window. */
export interface LeagueEntry extends LeagueScore {
  readonly cohort: number
}

/** What came of a window. `rank` null: hidden, disqualified, or without a score at the close. */
export interface LeagueResult {
  readonly window: number
  readonly division: number
  readonly cohort: number
  readonly score: number
  readonly rank: number | null
  /** How many users of the cohort had a rank. */
  readonly of: number
  readonly outcome: LeagueOutcome
}

export interface LeagueState {
  /** The index among the divisions of the league, the lowest is 0. */
  readonly division: number
  /** The place in the window that is not settled yet for the user; null: none. */
  readonly entry: LeagueEntry | null
  /** Scores of later windows, oldest first: the user joins their cohorts once `entry` is settled. */
  readonly waiting: ReadonlyArray<LeagueScore>
  /** The latest windows that are settled, oldest first. */
  readonly results: ReadonlyArray<LeagueResult>
  /** The user has no rank in windows that close: absent: is not disqualified. */
  readonly disqualified?: true
}

export const newInLeague: LeagueState = { division: 0, entry: null, waiting: [], results: [] }

/** The latest window in which the user has a score, or had one that is settled; -∞: none. */
export const latestWindowOf = ({ entry, results, waiting }: LeagueState): number =>
  waiting.at(-1)?.window ?? entry?.window ?? results.at(-1)?.window ?? Number.NEGATIVE_INFINITY
