/**
 * The definition of a league. Its divisions are in order, the lowest first. In each window, users of
 * one division compete in cohorts of about `cohortSize`. At the close of the window the first of a
 * cohort move up a division, and the last move down.
 *
 * `rewards` pay the members of a cohort by their rank in a window, their outcome, or both. Each reward
 * that matches is paid, in the record that settles the window for the user.
 *
 * Once the league was published, what the places of users rest on stays: the score, the window,
 * and the divisions that there are, in their order. New divisions come on top. Sizes and numbers may
 * change: a window closes by those of its close (`LeagueTerms`).
 */
import type { WindowKind } from "../values/Calendar.ts"
import { type RankedKind, rankedBy } from "./BoardDefinition.ts"
import { type Gives, type Targeted, targetedDefaults } from "./Definition.ts"

export interface Division {
  readonly key: string
  readonly name: string
  readonly icon: string | null
  /** How many of a full cohort move up, and down. */
  readonly promote: number
  readonly demote: number
}

/** What users are ranked by: the key of a currency, or of a metric that counts or sums. */
export type LeagueRanking = { readonly currency: string } | { readonly metric: string }

/** A reward for the users with these ranks and this outcome; null: all who have a rank. */
export interface LeagueReward {
  /** The key of the division in which they competed; null: any. */
  readonly division: string | null
  readonly ranks: readonly [from: number, to: number] | null
  readonly outcome: LeagueOutcome | null
  readonly reward: Gives
}

export interface League extends Targeted {
  readonly name: string
  /** The lowest first; at least one. */
  readonly divisions: ReadonlyArray<Division>
  readonly cohortSize: number
  readonly score: LeagueRanking
  readonly window: WindowKind
  /** For how long after its end a window takes what occurred in it. */
  readonly graceMinutes: number
  readonly rewards: ReadonlyArray<LeagueReward>
}

/** The members that decide the scores. */
export const leagueScoring = ["score", "window", "graceMinutes", "segment", "startsAt"] as const

export const leagueDefaults = {
  ...targetedDefaults,
  cohortSize: 30,
  window: "weekly",
  graceMinutes: 0,
  rewards: [],
} as const

/** The rules that settle a closed window. `divisions`: how many users move up and down, the lowest division first. */
export interface LeagueTerms {
  readonly size: number
  readonly divisions: ReadonlyArray<readonly [promote: number, demote: number]>
  /** Absent: none. */
  readonly rewards?: ReadonlyArray<LeagueReward>
}

export const termsOf = ({ cohortSize, divisions, rewards }: League): LeagueTerms => ({
  size: cohortSize,
  divisions: divisions.map(({ demote, promote }) => [promote, demote]),
  ...(rewards.length > 0 && { rewards }),
})

/** The latest closed window of a league, and the rules that settle it. */
export interface LeagueClose {
  readonly index: number
  readonly terms: LeagueTerms
  /** Absent: none. */
  readonly late?: ReadonlyArray<LateWindow>
}

/**
 * The place at the close of a user who is not settled yet. `sequence`: the record that set the score; it
 * identifies the user. `rank` null: no rank. `of`: the number of ranked users in the cohort.
 */
export type LateSeat = readonly [sequence: number, rank: number | null, of: number]

/** A window that is not settled for these users, although a later window has closed. */
export interface LateWindow {
  readonly index: number
  readonly terms: LeagueTerms
  readonly seats: ReadonlyArray<LateSeat>
}

/** The late window with this index; `undefined`: the window is not late. */
export const lateWindow = (close: LeagueClose | undefined, index: number): LateWindow | undefined =>
  close?.late?.find((one) => one.index === index)

/** The place at the close of the user whose score this record set. */
export const lateSeat = (
  { seats }: LateWindow,
  sequence: number,
): { readonly rank: number | null; readonly of: number } => {
  const [, rank, of] = seats.find(([one]) => one === sequence) ?? [sequence, null, 0]
  return { rank, of }
}

export const leagueOutcomes = ["promoted", "stayed", "demoted"] as const
export type LeagueOutcome = (typeof leagueOutcomes)[number]

/**
 * The outcome of the `rank` (null: without one) among `of` ranks of a cohort. Nobody leaves the
 * lowest division downwards, nor the highest upwards.
 */
export const outcomeOf = (
  { divisions, size }: LeagueTerms,
  division: number,
  rank: number | null,
  of: number,
): LeagueOutcome => {
  const [promote, demote] = divisions[division] ?? [0, 0]
  if (rank === null) return "stayed"
  const up = division < divisions.length - 1 ? Math.min(of, Math.ceil((promote * of) / size)) : 0
  if (rank <= up) return "promoted"
  const down = division > 0 ? Math.min(of - up, Math.floor((demote * of) / size)) : 0
  return rank > of - down ? "demoted" : "stayed"
}

/** What a rank in a division pays, once the window is closed. */
export const rewardsFor = (
  { rewards = noRewards }: LeagueTerms,
  division: string,
  rank: number | null,
  outcome: LeagueOutcome,
): ReadonlyArray<Gives> => {
  if (rank === null || rewards.length === 0) return noRewards
  return rewards
    .filter(
      (one) =>
        (one.division === null || one.division === division) &&
        (one.ranks === null || (one.ranks[0] <= rank && rank <= one.ranks[1])) &&
        (one.outcome === null || one.outcome === outcome),
    )
    .map(({ reward }) => reward)
}

const noRewards: ReadonlyArray<never> = []

export const divisionAfter = (division: number, outcome: LeagueOutcome): number =>
  outcome === "promoted" ? division + 1 : outcome === "demoted" ? division - 1 : division

const minuteMs = 60_000

/** How long after its end a window closes, in milliseconds. */
export const graceMsOf = ({ graceMinutes }: Pick<League, "graceMinutes">): number =>
  graceMinutes * minuteMs

/** Leagues by the key of what they rank by. */
interface LeagueIndex {
  readonly currency: ReadonlyMap<string, ReadonlyArray<League>>
  readonly metric: ReadonlyMap<string, ReadonlyArray<League>>
}

const indexes = new WeakMap<ReadonlyMap<string, League>, LeagueIndex>()

/** The leagues that were published. Found once for each state of the definitions. */
export const leagueIndexOf = (leagues: ReadonlyMap<string, League>): LeagueIndex => {
  let index = indexes.get(leagues)
  if (index === undefined) {
    const live = [...leagues.values()].filter(({ set }) => set === "published")
    const by = (kind: RankedKind) =>
      Map.groupBy(
        live.filter(({ score }) => rankedBy(score)[0] === kind),
        ({ score }) => rankedBy(score)[1],
      )
    index = { currency: by("currency"), metric: by("metric") }
    indexes.set(leagues, index)
  }
  return index
}
