/**
 * The places and scores of users in leagues, and what comes of a window at its close.
 *
 * A window of a league takes what occurs in it, until its grace ends. With the first score a user
 * takes a place in a cohort of the own division. The close has two steps:
 *
 * 1. The project's record closes the window (`decideCloseLeagues`). From then on no record counts for
 *    it, and the ranks in its cohorts are fixed.
 * 2. Each member gets a record that says what came of it (`settleLeagues`): the window is settled for
 *    the user. The engine asks for these in the background (`engine/time/LeagueClock.ts`).
 *
 * A command of a user whose window is closed and not settled waits for that record: its decision fails
 * with `SettlementNeeded`, and the actor decides a tick first. So no decision sees a closed window, and
 * the state of a user says for each window whether it is settled: it never is twice.
 *
 * Late users. A user whose settling fails, by a defect or a damaged record, does not hold up the league: the
 * record that closes the next window keeps the rank that each such user had, and the terms of that
 * close (`LateWindow`), until the user is settled: exactly once, as everyone. It moves no other rank. Meanwhile
 * no command of the user is decided, so the score stays. Scores that
 * wait for a window that has closed since count in no cohort.
 *
 * Rewards. The record that settles also pays: exactly once, since it settles once, and an undo never
 * finds what it paid, since no caller can undo a tick. Limits of currencies cut a reward, levels and
 * badges that it reaches pay, and it scores nowhere. A balance above the largest gets none of them.
 *
 * From the end of a window until it is settled, the user's division is open. What the user scores in
 * the next window meanwhile waits (`LeagueState.waiting`), and takes its place in the record that
 * settles.
 *
 * What counts. Amounts of a currency that events and rewards credit, or what events add to a metric that
 * counts or sums, scaled, as on leaderboards. A late event
 * counts for its window until the grace ends, unless the user has begun a later window without it. An
 * undo takes a score back from a window that still takes scores; the place stays. A merge adds up
 * the scores of windows that take scores: who stays keeps the division and the cohort.
 *
 * Places. A cohort takes users until it has `cohortSize` of them, then the next one is open. `LeagueSeats`
 * knows the places that are taken, also by records that are not durable yet. The records of an
 * environment are in one journal, so a crash leaves no record without those that it rests on.
 *
 * Ranks. The higher score is first; of equal ones, the one that was reached first. Who is hidden or
 * disqualified, or has no score at the close, has no rank, and stays. Scores of a user who is disqualified go on, so
 * that an end of it before the close gives the rank back.
 *
 * Cost: nothing in an environment without leagues; else a comparison for each currency that has one,
 * and a fact for each league that is touched. A decision on a user with leagues looks at each of them.
 */
import { Result } from "effect"
import { metricOf } from "../project/BoardDefinition.ts"
import { type Gives, paysAt } from "../project/Definition.ts"
import {
  type Division,
  divisionAfter,
  graceMsOf,
  type LateWindow,
  type League,
  lateSeat,
  lateWindow,
  leagueIndexOf,
  outcomeOf,
  rewardsFor,
  termsOf,
} from "../project/League.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Source } from "../record/BalanceFact.ts"
import { foldLeague } from "../record/foldLeague.ts"
import type { DivisionRef, LeagueFact, LeagueRef, LeagueSeat } from "../record/LeagueFact.ts"
import { HistoryNeeded } from "../record/Past.ts"
import type { Fact, FactOf, JournalRecord } from "../record/Record.ts"
import { type LeagueEntry, type LeagueState, newInLeague } from "../user/LeagueState.ts"
import type { UserState } from "../user/User.ts"
import { windowOfDay, type Zone, zoneOf } from "../values/Calendar.ts"
import { refuse } from "../values/Errors.ts"
import type { Scoring } from "./Boards.ts"
import type { Decided } from "./Decided.ts"

/** A cohort. `window` and `division` are indexes. */
export interface CohortRef {
  readonly leagueId: string
  readonly window: number
  readonly division: number
  readonly cohort: number
}

/** The places of an environment's leagues. */
export interface LeagueSeats {
  /** The number of the cohort that takes the next user. */
  readonly open: (league: League, window: number, division: number) => number
  /** The user's rank in a cohort whose window is closed, and how many users have one. */
  readonly rankOf: (
    cohort: CohortRef,
    userId: string,
  ) => { readonly rank: number | null; readonly of: number }
  /**
   * The user's rank in a cohort whose window is open, by all records that were appended, with the number of
   * ranked users and the number of users.
   */
  readonly standing: (
    cohort: CohortRef,
    userId: string,
  ) => { readonly rank: number | null; readonly of: number; readonly size: number }
}

/** No place is taken: for decisions that do not touch leagues. */
export const noSeats: LeagueSeats = {
  open: () => 1,
  rankOf: () => ({ rank: null, of: 0 }),
  standing: () => ({ rank: null, of: 0, size: 0 }),
}

/** The index before every window. */
const neverClosed = Number.NEGATIVE_INFINITY

export const leagueClosedThrough = (
  { leagueCloses }: Pick<ProjectState, "leagueCloses">,
  leagueId: string,
): number => leagueCloses.get(leagueId)?.index ?? neverClosed

/** When a window takes no more scores, epoch milliseconds. */
export const leagueClosesAt = (league: League, zone: Zone, window: number): number =>
  zone.windowBounds(league.window, window).endsAt + graceMsOf(league)

/** The parts of a decision in progress (`Draft`) that scores in leagues need. */
interface LeagueScoring extends Scoring {
  readonly seats: LeagueSeats
}

/** Scores in the leagues of the currencies and metrics that the decision has added to. */
export const creditLeagues = (draft: LeagueScoring): void => {
  const { project } = draft
  if (project.leagues.size === 0) return
  const { currency, metric } = leagueIndexOf(project.leagues)
  for (const [key, leagues] of currency) creditAll(draft, leagues, draft.gained(key))
  for (const [key, leagues] of metric) creditAll(draft, leagues, draft.measured(key))
}

const creditAll = (draft: LeagueScoring, leagues: ReadonlyArray<League>, amount: number): void => {
  if (amount <= 0) return
  for (const league of leagues) creditLeague(draft, league, amount)
}

const creditLeague = (draft: LeagueScoring, league: League, amount: number): void => {
  const { facts, membership, occurredAt, project, seats, user, zone } = draft
  if (!paysAt(league, occurredAt) || !membership.has(league.segment)) return
  const state = user?.leagues.get(league.id) ?? newInLeague
  const window = countingWindow(draft, league, state)
  if (window === undefined) return
  facts.push(...scoreFacts({ project, seats, zone }, league, state, window, amount))
}

/** The window that the event counts for; `undefined`: it takes no more scores. */
const countingWindow = (
  { day, now, project, zone }: LeagueScoring,
  league: League,
  { entry, waiting }: LeagueState,
): number | undefined => {
  const present = windowOfDay(league.window, zone.dayAt(now))
  const occurred = windowOfDay(league.window, day)
  const closedThrough = leagueClosedThrough(project, league.id)
  if (occurred === present) {
    // The window may be closed, or the user in a later one, because the time zone changed.
    const latest = waiting.at(-1)?.window ?? entry?.window ?? neverClosed
    return Math.max(present, closedThrough + 1, latest)
  }
  const takes = occurred < present && occurred > closedThrough
  return takes && now < leagueClosesAt(league, zone, occurred) ? occurred : undefined
}

interface Seating {
  readonly project: ProjectState
  readonly seats: LeagueSeats
  readonly zone: Zone
}

/** The facts of a score in a window; none if the user has begun a later window without it. */
const scoreFacts = (
  seating: Seating,
  league: League,
  state: LeagueState,
  window: number,
  amount: number,
): ReadonlyArray<LeagueFact> => {
  const { entry, waiting } = state
  const scored = { kind: "league.scored", leagueId: league.id, window, amount } as const
  if (entry === null) return [joinedFact(seating, league, state.division, window), scored]
  const isKnown = entry.window === window || waiting.some((one) => one.window === window)
  const latest = waiting.at(-1)?.window ?? entry.window
  return isKnown || window > latest ? [scored] : []
}

const joinedFact = (
  { seats, zone }: Seating,
  league: League,
  division: number,
  window: number,
): FactOf<"league.joined"> => ({
  kind: "league.joined",
  ...refOf(league),
  division: divisionRef(league, division),
  window,
  ...zone.windowBounds(league.window, window),
  cohort: seats.open(league, window, division),
})

export const refOf = ({ id: leagueId, key, name }: League): LeagueRef => ({ leagueId, key, name })

export const divisionRef = ({ divisions }: League, index: number): DivisionRef => {
  const { key, name }: Pick<Division, "key" | "name"> = divisions[index] ?? unknownDivision
  return { index, key, name }
}

const unknownDivision = { key: "unknown", name: "Unknown" }

/** The facts that take the scores of the record `found` back. */
export const undoneLeagueScores = (
  user: UserState,
  project: ProjectState,
  now: number,
  { facts }: JournalRecord,
): ReadonlyArray<LeagueFact> =>
  facts.flatMap((fact) => {
    if (fact.kind !== "league.scored" || !takesScores(project, fact, now)) return []
    const { entry, waiting } = user.leagues.get(fact.leagueId) ?? newInLeague
    const place = [entry, ...waiting].find((one) => one?.window === fact.window)
    // After a merge, a window may have less than the record scored.
    const amount = Math.min(fact.amount, place?.score ?? 0)
    return amount > 0 ? [{ ...fact, amount: -amount }] : []
  })

/** Whether a window still takes scores. */
const takesScores = (
  project: ProjectState,
  { leagueId, window }: Pick<CohortRef, "leagueId" | "window">,
  now: number,
): boolean => {
  const league = project.leagues.get(leagueId)
  if (league === undefined || window <= leagueClosedThrough(project, leagueId)) return false
  return now < leagueClosesAt(league, zoneOf(project.settings.timezone), window)
}

/** The facts by which the user `into` takes in the places of the user `from`. */
export const unitedLeagues = (
  into: UserState,
  from: UserState,
  project: ProjectState,
  seats: LeagueSeats,
  now: number,
): ReadonlyArray<LeagueFact> => {
  const zone = zoneOf(project.settings.timezone)
  const facts: Array<LeagueFact> = []
  for (const [leagueId, theirs] of from.leagues) {
    const league = project.leagues.get(leagueId)
    if (league === undefined) continue
    const own = new Map<string, LeagueState>()
    const mine = into.leagues.get(leagueId)
    if (mine !== undefined) own.set(leagueId, mine)
    const add = (...added: ReadonlyArray<LeagueFact>): void => {
      for (const fact of added) foldLeague(own, fact, 0)
      facts.push(...added)
    }
    const gains = theirs.disqualified === true && mine?.disqualified !== true
    if (mine === undefined || gains) {
      const division = mine?.division ?? theirs.division
      add({ kind: "league.taken", leagueId, division, ...(gains && { disqualified: true }) })
    }
    for (const place of [theirs.entry, ...theirs.waiting]) {
      if (place === null || place.score === 0) continue
      const { score, window } = place
      if (!takesScores(project, { leagueId, window }, now)) continue
      add(...scoreFacts({ project, seats, zone }, league, own.get(leagueId)!, window, score))
    }
  }
  return facts
}

/** Whether the user's place is in a window that is closed and not settled. */
const isOver = (project: ProjectState, leagueId: string, { window }: LeagueEntry): boolean =>
  window <= leagueClosedThrough(project, leagueId)

/** What comes of the closed windows that are not settled for the user. */
export const settleLeagues = (
  user: UserState | undefined,
  project: ProjectState,
  seats: LeagueSeats,
): ReadonlyArray<LeagueFact> => {
  if (user === undefined || user.leagues.size === 0) return noFacts
  let facts: Array<LeagueFact> | undefined
  for (const [leagueId, state] of user.leagues) {
    const { entry } = state
    if (entry === null || !isOver(project, leagueId, entry)) continue
    const close = project.leagueCloses.get(leagueId)
    const league = project.leagues.get(leagueId)
    if (close === undefined || league === undefined) continue
    const zone = zoneOf(project.settings.timezone)
    const { cohort, score, window } = entry
    const { division } = state
    const late = lateWindow(close, window)
    const { terms } = late ?? close
    const { of, rank } =
      late === undefined
        ? seats.rankOf({ leagueId, window, division, cohort }, user.id)
        : lateSeat(late, entry.sequence)
    const outcome = outcomeOf(terms, division, rank, of)
    const to = divisionAfter(division, outcome)
    const from = divisionRef(league, division)
    const decimals = metricOf(project.metrics, league)?.decimals ?? 0
    const rewards = rewardsFor(terms, from.key, rank, outcome)
    const missed = state.waiting.flatMap((one) => (one.window <= close.index ? [one.window] : []))
    facts ??= []
    facts.push({
      kind: `league.${outcome}`,
      ...refOf(league),
      division: from,
      to: divisionRef(league, to),
      window,
      ...zone.windowBounds(league.window, window),
      cohort,
      score,
      rank,
      of,
      ...(decimals > 0 && { decimals }),
      ...(rewards.length > 0 && { rewards }),
      ...(missed.length > 0 && { missed }),
    })
    const next = state.waiting[missed.length]
    if (next === undefined || league.set === "archived") continue
    facts.push(joinedFact({ project, seats, zone }, league, to, next.window))
  }
  return facts ?? noFacts
}

const noFacts: ReadonlyArray<never> = []

/**
 * The failure of a decision on a user for whom a closed window is not settled: a tick settles it, then
 * the command is decided.
 */
export class SettlementNeeded extends HistoryNeeded {}

export const settlementNeeded = new SettlementNeeded(() => true)

/** The rewards that the facts say are paid, each with its source. */
export const rewardsIn = (
  facts: ReadonlyArray<LeagueFact>,
): ReadonlyArray<readonly [reward: Gives, source: Source]> =>
  facts.flatMap((fact) => {
    if (!("rewards" in fact) || fact.rewards === undefined) return []
    const source = { leagueId: fact.leagueId }
    return fact.rewards.map((reward) => [reward, source] as const)
  })

export const withoutRewards = (fact: LeagueFact): LeagueFact => {
  if (!("rewards" in fact)) return fact
  const { rewards: _, ...left } = fact
  return left
}

/** The user after `facts`. */
export const afterLeagues = (user: UserState, facts: ReadonlyArray<LeagueFact>): UserState => {
  const leagues = new Map(user.leagues)
  for (const fact of facts) foldLeague(leagues, fact, user.sequence)
  return { ...user, leagues }
}

/**
 * The places of a user who is about to be gone. A rank in a closed window stays taken, so that the
 * ranks of the others do not move.
 */
export const seatsOf = (
  user: UserState,
  project: ProjectState,
  seats: LeagueSeats,
): ReadonlyArray<LeagueSeat> =>
  [...user.leagues].flatMap(([leagueId, state]) => {
    const { entry, results } = state
    const last = results.at(-1)
    const isLatest = last?.window === leagueClosedThrough(project, leagueId)
    return placesIn(leagueId, state).map((place): LeagueSeat => {
      const isOpen = place.window === entry?.window
      if (isOpen && !isOver(project, leagueId, entry)) return place
      const given = isLatest ? last.rank : null
      const rank = isOpen ? seats.rankOf(place, user.id).rank : given
      return rank === null ? place : { ...place, rank }
    })
  })

const placesIn = (
  leagueId: string,
  { division, entry, results }: LeagueState,
): ReadonlyArray<CohortRef> => {
  const last = results.at(-1)
  const places: Array<CohortRef> = []
  if (last !== undefined) {
    places.push({ leagueId, window: last.window, division: last.division, cohort: last.cohort })
  }
  if (entry !== null)
    places.push({ leagueId, window: entry.window, division, cohort: entry.cohort })
  return places
}

/** The cohorts that may list the user. */
export const placesOf = ({ leagues }: UserState): ReadonlyArray<LeagueSeat> =>
  [...leagues].flatMap(([leagueId, state]) => placesIn(leagueId, state))

/**
 * Closes windows of leagues that are over. `total`: the users in the `cohorts` of the window. `late`: the
 * windows that closed before and are not settled for all users.
 */
export interface CloseLeagues {
  readonly kind: "closeLeagues"
  readonly windows: ReadonlyArray<{
    readonly leagueId: string
    readonly index: number
    readonly cohorts: number
    readonly total: number
    readonly late: ReadonlyArray<Omit<LateWindow, "terms">>
  }>
}

/** The late windows with the terms of their closes. */
const lateWindows = (
  { leagueCloses }: ProjectState,
  leagueId: string,
  given: CloseLeagues["windows"][number]["late"],
): ReadonlyArray<LateWindow> => {
  const close = leagueCloses.get(leagueId)
  return given.flatMap(({ index, seats }) => {
    const terms = lateWindow(close, index)?.terms ?? close?.terms
    return terms === undefined ? [] : [{ index, terms, seats }]
  })
}

/** A fact for each window that takes no more scores. Refuses if there is none. */
export const decideCloseLeagues = (
  project: ProjectState,
  { windows }: CloseLeagues,
  now: number,
): Decided<"conflict"> => {
  const zone = zoneOf(project.settings.timezone)
  const facts = windows.flatMap(
    ({ index, late: given, leagueId, ...counts }): ReadonlyArray<Fact> => {
      const league = project.leagues.get(leagueId)
      if (league === undefined || league.set === "archived") return []
      if (index <= leagueClosedThrough(project, leagueId)) return []
      if (now < leagueClosesAt(league, zone, index)) return []
      return [
        {
          kind: "league.window_closed",
          ...refOf(league),
          window: league.window,
          index,
          ...zone.windowBounds(league.window, index),
          ...counts,
          terms: termsOf(league),
          ...(given.length > 0 && { late: lateWindows(project, leagueId, given) }),
        },
      ]
    },
  )
  return facts.length > 0 ? Result.succeed(facts) : refuse("conflict", "No window is over.")
}
