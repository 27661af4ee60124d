/** How the facts of leagues change a user's state. */
import { limits } from "../../Limits.ts"
import { type LeagueScore, type LeagueState, newInLeague } from "../user/LeagueState.ts"
import { assertBalance, assertInLeague } from "../values/invariants.ts"
import type { LeagueFact } from "./LeagueFact.ts"
import type { Fact } from "./Record.ts"

/** Whether the fact changes a user's place in a league. */
export const isOfLeague = (fact: Fact): fact is LeagueFact =>
  "leagueId" in fact && !("terms" in fact) && fact.kind !== "league.closing"

/** Applies a fact of the record `sequence`. */
export const foldLeague = (
  leagues: Map<string, LeagueState>,
  fact: LeagueFact,
  sequence: number,
): void => {
  const { leagueId } = fact
  leagues.set(leagueId, after(leagues.get(leagueId) ?? newInLeague, fact, sequence))
}

const after = (state: LeagueState, fact: LeagueFact, sequence: number): LeagueState => {
  switch (fact.kind) {
    case "league.taken": {
      const { disqualified, division } = fact
      return { ...state, division, ...(disqualified && { disqualified }) }
    }
    case "league.disqualified": {
      const { disqualified: _, ...ranked } = state
      return fact.disqualified ? { ...ranked, disqualified: true } : ranked
    }
    case "league.joined": {
      const { cohort, division, leagueId, window } = fact
      assertInLeague(leagueId, state.entry === null)
      const own = state.waiting.find((one) => one.window === window)
      const waiting = state.waiting.filter((one) => one !== own)
      const entry = { window, score: 0, sequence, ...own, cohort }
      return { ...state, division: division.index, entry, waiting }
    }
    case "league.scored":
      return scored(state, fact.window, fact.amount, sequence)
    default: {
      const { entry, results, waiting } = state
      const { cohort, division, leagueId, missed, of, rank, score, to, window } = fact
      assertInLeague(leagueId, entry?.window === window)
      const outcome = outcomes[fact.kind]
      const result = { window, division: division.index, cohort, score, rank, of, outcome }
      return {
        ...state,
        division: to.index,
        entry: null,
        waiting:
          missed === undefined ? waiting : waiting.filter((one) => !missed.includes(one.window)),
        results: [...results, result].slice(-limits.leagueResultsKept),
      }
    }
  }
}

const outcomes = {
  "league.promoted": "promoted",
  "league.stayed": "stayed",
  "league.demoted": "demoted",
} as const

const scored = (
  state: LeagueState,
  window: number,
  amount: number,
  sequence: number,
): LeagueState => {
  const plus = <A extends LeagueScore>(before: A): A => {
    assertBalance(`score in window ${window}`, before.score + amount)
    return { ...before, score: before.score + amount, sequence }
  }
  const { entry, waiting } = state
  if (entry?.window === window) return { ...state, entry: plus(entry) }
  const isKnown = waiting.some((one) => one.window === window)
  return {
    ...state,
    waiting: isKnown
      ? waiting.map((one) => (one.window === window ? plus(one) : one))
      : [...waiting, plus({ window, score: 0, sequence })],
  }
}
