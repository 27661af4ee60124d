/**
 * The cohorts of an environment's leagues: who is in each cohort of a window that is open, or closed
 * and not settled for all of its members.
 *
 * Invariants:
 * - A cohort lists the users whose durable states have a place in it, and those for whom its window
 *   is settled while others wait. It is derived from states, so a snapshot does not have it.
 * - A cohort takes at most `cohortSize` users: `taken` also counts places of records that are not
 *   durable. A place whose record was never appended stays free until the next start.
 * - The ranks of a closed window do not move. A settled user has the rank in the state; a user who is
 *   gone left it in the counts (`LostSeats`); the others have the ranks between, in the order of their
 *   scores. These cannot change, since a command settles them first (`decide/Leagues.ts`).
 * - The ranks of an open window (`standing`) follow from the latest states, durable or not: so they are those of all
 *   records before the one that is decided. They are kept until a record of a member is appended.
 *
 * Ownership: the commit pipeline changes cohorts (stage `actor`), decisions take places (`reserve`), a
 * start lists the users of all states (`add`). `LeagueClock` closes and settles.
 *
 * Cost: an array element for each user, another one once a rank was asked for, and an object for each cohort. A read or
 * the first rank of a cohort decodes the states of its members.
 */
import type { MemberNames, Members } from "../../domain/board/Members.ts"
import type { CohortRef, LeagueSeats } from "../../domain/decide/Leagues.ts"
import { leagueClosedThrough } from "../../domain/decide/Leagues.ts"
import {
  type LateSeat,
  type LateWindow,
  type League,
  lateSeat,
} from "../../domain/project/League.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { LeagueSeat } from "../../domain/record/LeagueFact.ts"
import type { Fact, JournalRecord } from "../../domain/record/Record.ts"
import type { UserState } from "../../domain/user/User.ts"

/** A member of a cohort; `rank` null: hidden, disqualified, or without a score. */
export interface CohortMember {
  readonly userId: string
  readonly score: number
  readonly rank: number | null
  readonly user: UserState
}

class Cohort {
  readonly members: Array<number> = []
  /** Those whose records were appended and are not durable yet. */
  joining: ReadonlyArray<number> = []
  /** The members in the order of their ranks now; `undefined`: not known. */
  present: { readonly ranked: ReadonlyArray<number>; readonly size: number } | undefined
  /** Places that are taken, also by records that are not durable. */
  taken = 0
  /** Members for whom the window is not settled. */
  left = 0
  /** The ranks of a closed window, once one was asked for. */
  ranks: ReadonlyMap<string, number> | undefined
  of = 0
}

/** The cohorts of a division in a window, by number. */
class Division {
  readonly cohorts = new Map<number, Cohort>()
  /** The highest number. */
  last = 0

  at(number: number): Cohort {
    let cohort = this.cohorts.get(number)
    if (cohort === undefined) {
      cohort = new Cohort()
      this.cohorts.set(number, cohort)
      this.last = Math.max(this.last, number)
    }
    return cohort
  }
}

type Window = Map<number, Division>

export const seatName = ({ cohort, division, leagueId, window }: CohortRef): string =>
  `${leagueId} ${window} ${division} ${cohort}`

interface CohortParts {
  readonly boards: { readonly members: Members; readonly names: MemberNames }
  /** The latest state of a user, durable or not, and the durable one. */
  readonly standing: (userId: string) => UserState | undefined
  readonly durableOf: (userId: string) => UserState | undefined
  /** The kept places of a closed window before the latest one; `undefined`: the window is not late. */
  readonly late: (leagueId: string, window: number) => LateWindow | undefined
  /** The ranks that users who are gone had in a cohort. */
  readonly lostRanks: (cohort: CohortRef) => ReadonlyArray<number>
}

export class Cohorts implements LeagueSeats {
  readonly #parts: CohortParts
  readonly #leagues = new Map<string, Map<number, Window>>()
  /** Whether the states of all users were looked at, at the start. */
  isFilled = false
  /** Whether a window has begun since `takeNews`. */
  #hasNews = false

  constructor(parts: CohortParts) {
    this.#parts = parts
  }

  takeNews(): boolean {
    const had = this.#hasNews
    this.#hasNews = false
    return had
  }

  readonly open: LeagueSeats["open"] = ({ cohortSize, id }, window, division) => {
    const found = this.#leagues.get(id)?.get(window)?.get(division)
    if (found === undefined || found.last === 0) return 1
    const { taken } = found.cohorts.get(found.last) ?? { taken: 0 }
    return taken < cohortSize ? found.last : found.last + 1
  }

  readonly rankOf: LeagueSeats["rankOf"] = (place, userId) => {
    const cohort = this.#find(place)
    if (cohort === undefined) return { rank: null, of: 0 }
    if (cohort.ranks === undefined) {
      const { members, of } = this.#ranked(place, cohort.members, (id) =>
        this.#latest(place.leagueId, id),
      )
      const ranks = new Map<string, number>()
      for (const one of members) if (one.rank !== null) ranks.set(one.userId, one.rank)
      cohort.ranks = ranks
      cohort.of = of
    }
    return { rank: cohort.ranks.get(userId) ?? null, of: cohort.of }
  }

  readonly standing: LeagueSeats["standing"] = (place, userId) => {
    const cohort = this.#find(place)
    const { members } = this.#parts.boards
    const member = members.find(userId)
    if (cohort === undefined || member === undefined) return { rank: null, of: 0, size: 0 }
    if (cohort.present === undefined) {
      const all = [...cohort.members, ...cohort.joining]
      const found = this.#ranked(place, all, this.#parts.standing).members
      const ranked = found.flatMap((one) => (one.rank === null ? [] : [members.admit(one.userId)]))
      cohort.present = { ranked, size: found.length }
    }
    const { ranked, size } = cohort.present
    const rank = ranked.indexOf(member) + 1
    return { rank: rank === 0 ? null : rank, of: ranked.length, size }
  }

  /** The members of a cohort by their durable states, in the order of ranks; who has none is last. */
  read(place: CohortRef): {
    readonly members: ReadonlyArray<CohortMember>
    readonly of: number
  } {
    const cohort = this.#find(place)
    if (cohort === undefined) return { members: [], of: 0 }
    return this.#ranked(place, cohort.members, this.#parts.durableOf)
  }

  /** The cohorts of a window of a division, by number. */
  list(
    leagueId: string,
    window: number,
    division: number,
  ): ReadonlyArray<{ readonly cohort: number; readonly size: number }> {
    const found = this.#leagues.get(leagueId)?.get(window)?.get(division)
    return [...(found?.cohorts ?? [])]
      .filter(([, { members }]) => members.length > 0)
      .map(([cohort, { members }]) => ({ cohort, size: members.length }))
      .toSorted((one, other) => one.cohort - other.cohort)
  }

  /** Whose record is being erased is still there with the places of the durable state. */
  #latest(leagueId: string, userId: string): UserState | undefined {
    const standing = this.#parts.standing(userId)
    return standing?.leagues.has(leagueId) === true ? standing : this.#parts.durableOf(userId)
  }

  #ranked(
    place: CohortRef,
    all: ReadonlyArray<number>,
    stateOf: (userId: string) => UserState | undefined,
  ): { readonly members: ReadonlyArray<CohortMember>; readonly of: number } {
    const known: Array<CohortMember> = []
    const rest: Array<{ userId: string; score: number; sequence: number; user: UserState }> = []
    const without: Array<CohortMember> = []
    const late = this.#parts.late(place.leagueId, place.window)
    let lateOf: number | undefined
    for (const member of all) {
      const userId = this.#parts.boards.members.idOf(member)
      const user = stateOf(userId)
      const found = user === undefined ? undefined : placeIn(user, place)
      if (user === undefined || found === undefined) continue
      const { score } = found
      if (late !== undefined && !("rank" in found)) {
        const { of, rank } = lateSeat(late, found.sequence)
        if (rank === null) without.push({ userId, score, rank, user })
        else known.push({ userId, score, rank, user })
        lateOf = of
      } else if ("rank" in found && found.rank !== null) {
        known.push({ userId, score, rank: found.rank, user })
      } else if ("rank" in found || isUnranked(user, place) || score <= 0) {
        without.push({ userId, score, rank: null, user })
      } else rest.push({ userId, score, sequence: found.sequence, user })
    }
    const lost = this.#parts.lostRanks(place)
    const used = new Set([...known.map(({ rank }) => rank), ...lost])
    rest.sort((one, other) => other.score - one.score || one.sequence - other.sequence)
    let next = 1
    const ranked = rest.map(({ score, user, userId }): CohortMember => {
      while (used.has(next)) next++
      return { userId, score, rank: next++, user }
    })
    const members = [...known, ...ranked].toSorted((one, other) => one.rank! - other.rank!)
    return { members: [...members, ...without], of: lateOf ?? members.length + lost.length }
  }

  #find({ cohort, division, leagueId, window }: CohortRef): Cohort | undefined {
    return this.#leagues.get(leagueId)?.get(window)?.get(division)?.cohorts.get(cohort)
  }

  #make({ cohort, division, leagueId, window }: CohortRef): Cohort {
    let windows = this.#leagues.get(leagueId)
    if (windows === undefined) {
      windows = new Map()
      this.#leagues.set(leagueId, windows)
    }
    let divisions = windows.get(window)
    if (divisions === undefined) {
      divisions = new Map()
      windows.set(window, divisions)
      this.#hasNews = true
    }
    let found = divisions.get(division)
    if (found === undefined) {
      found = new Division()
      divisions.set(division, found)
    }
    return found.at(cohort)
  }

  /** Takes the places that a decision gives, before its record is durable. */
  reserve(facts: ReadonlyArray<Fact>): void {
    for (const fact of facts) {
      if (fact.kind !== "league.joined") continue
      const { cohort, leagueId, window } = fact
      this.#make({ leagueId, window, division: fact.division.index, cohort }).taken++
    }
  }

  /** Follows a record of a user that was just appended: the user's latest state does not have it yet. */
  appended({ cause, facts, subject }: JournalRecord): void {
    if (subject.actor !== "user") return
    // A reminder moves no rank, and one member after the other gets it.
    if (cause.kind === "tick" && facts.every(({ kind }) => kind === "league.closing")) return
    const { userId } = subject
    for (const fact of facts) {
      if (fact.kind !== "league.joined") continue
      const { cohort, leagueId, window } = fact
      const found = this.#make({ leagueId, window, division: fact.division.index, cohort })
      found.joining = [...found.joining, this.#parts.boards.members.admit(userId)]
      found.present = undefined
    }
    for (const [leagueId, { division, entry }] of this.#parts.standing(userId)?.leagues ?? []) {
      if (entry === null) continue
      const { cohort, window } = entry
      const found = this.#find({ leagueId, window, division, cohort })
      if (found !== undefined) found.present = undefined
    }
  }

  /** Follows the facts of a durable record of the user. `project` is the durable state. */
  follow(userId: string, facts: ReadonlyArray<Fact>, project: ProjectState): void {
    for (const fact of facts) {
      switch (fact.kind) {
        case "league.joined": {
          const { cohort, leagueId, window } = fact
          this.#join({ leagueId, window, division: fact.division.index, cohort }, userId)
          break
        }
        case "league.promoted":
        case "league.stayed":
        case "league.demoted": {
          const { cohort, leagueId, window } = fact
          const place = { leagueId, window, division: fact.division.index, cohort }
          const found = this.#find(place)
          if (found !== undefined) found.left--
          this.#dropIfOver(place, project)
          break
        }
      }
    }
  }

  #join(place: CohortRef, userId: string, isLeft = true): void {
    const cohort = this.#make(place)
    const member = this.#parts.boards.members.admit(userId)
    cohort.members.push(member)
    cohort.joining = cohort.joining.filter((other) => other !== member)
    cohort.taken = Math.max(cohort.taken, cohort.members.length)
    if (isLeft) cohort.left++
  }

  /** Lists the places that a user's durable state has, at a start. */
  add(user: UserState): void {
    for (const [leagueId, { division, entry, results }] of user.leagues) {
      const last = results.at(-1)
      if (last !== undefined) {
        const { cohort, window } = last
        this.#join({ leagueId, window, division: last.division, cohort }, user.id, false)
      }
      if (entry === null) continue
      const { cohort, window } = entry
      this.#join({ leagueId, window, division, cohort }, user.id)
    }
  }

  /** Removes a user who is gone from the places that the record names. */
  leave(member: number, seats: ReadonlyArray<LeagueSeat>, project: ProjectState): void {
    for (const place of seats) {
      const cohort = this.#find(place)
      const index = cohort?.members.indexOf(member) ?? -1
      if (cohort === undefined || index < 0) continue
      cohort.members.splice(index, 1)
      cohort.present = undefined
      cohort.left = this.#unsettled(place, cohort).length
      this.#dropIfOver(place, project)
    }
  }

  *#places(): Generator<CohortRef> {
    for (const [leagueId, windows] of this.#leagues) {
      for (const [window, divisions] of windows) {
        for (const [division, { cohorts }] of divisions) {
          for (const cohort of cohorts.keys()) yield { leagueId, window, division, cohort }
        }
      }
    }
  }

  #unsettled(place: CohortRef, { members }: Cohort): ReadonlyArray<string> {
    return members
      .map((member) => this.#parts.boards.members.idOf(member))
      .filter((userId) => {
        const user = this.#parts.durableOf(userId)
        const found = user === undefined ? undefined : placeIn(user, place)
        return found !== undefined && !("rank" in found)
      })
  }

  #dropIfOver(place: CohortRef, project: ProjectState): void {
    const { cohort, division, leagueId, window } = place
    if (window > leagueClosedThrough(project, leagueId)) return
    const windows = this.#leagues.get(leagueId)
    const divisions = windows?.get(window)
    const found = divisions?.get(division)
    if ((found?.cohorts.get(cohort)?.left ?? 1) > 0) return
    found!.cohorts.delete(cohort)
    if (found!.cohorts.size === 0) divisions!.delete(division)
    if (divisions!.size === 0) windows!.delete(window)
  }

  /** Drops what is closed and settled for all. */
  prune(project: ProjectState): void {
    for (const place of [...this.#places()]) this.#dropIfOver(place, project)
    this.#hasNews = true
  }

  /** Drops a window that all members have left. */
  drop(leagueId: string, window: number): void {
    this.#leagues.get(leagueId)?.delete(window)
  }

  /** The windows of a league that had members, oldest first. */
  windowsOf(leagueId: string): ReadonlyArray<number> {
    const windows = this.#leagues.get(leagueId)
    return windows === undefined ? [] : [...windows.keys()].toSorted((one, other) => one - other)
  }

  /** How many cohorts and members a window has. */
  countsOf(leagueId: string, window: number): { readonly cohorts: number; readonly total: number } {
    let cohorts = 0
    let total = 0
    for (const { cohorts: all } of this.#leagues.get(leagueId)?.get(window)?.values() ?? []) {
      for (const { members } of all.values()) {
        if (members.length === 0) continue
        cohorts++
        total += members.length
      }
    }
    return { cohorts, total }
  }

  /** For how many users a closed window of the league is not settled. */
  unsettledIn(league: League, project: ProjectState): number {
    const through = leagueClosedThrough(project, league.id)
    let left = 0
    for (const [window, divisions] of this.#leagues.get(league.id) ?? []) {
      if (window > through) continue
      for (const { cohorts } of divisions.values()) {
        for (const cohort of cohorts.values()) left += cohort.left
      }
    }
    return left
  }

  /** Whether a user is not settled in the latest closed window of the league. */
  isSettling({ id }: League, project: ProjectState): boolean {
    return this.#leagues.get(id)?.has(leagueClosedThrough(project, id)) === true
  }

  /** The oldest window with members that is open, or the latest closed one if it is not settled for all. */
  oldestOf(leagueId: string, project: ProjectState): number | undefined {
    const through = leagueClosedThrough(project, leagueId)
    return this.windowsOf(leagueId).find((window) => window >= through)
  }

  /** The closed windows of the league that are not settled for all users. `project` and states are durable. */
  lateIn(league: League, project: ProjectState): ReadonlyArray<Omit<LateWindow, "terms">> {
    const late = new Map<number, Array<LateSeat>>()
    for (const { place, userIds } of this.unsettled(project, league.id)) {
      const seats = late.get(place.window) ?? []
      late.set(place.window, seats)
      for (const userId of userIds) {
        const { entry } = this.#parts.durableOf(userId)!.leagues.get(league.id)!
        const { of, rank } = this.rankOf(place, userId)
        seats.push([entry!.sequence, rank, of])
      }
    }
    return Array.from(late, ([index, seats]) => ({ index, seats }))
  }

  /**
   * The users for whom a closed window is not settled, cohort by cohort; with `only`, of this league.
   * Cohorts may change while it runs.
   */
  *unsettled(
    project: ProjectState,
    only?: string,
  ): Generator<{ readonly place: CohortRef; readonly userIds: ReadonlyArray<string> }> {
    for (const [leagueId, windows] of this.#leagues) {
      if (only !== undefined && leagueId !== only) continue
      const through = leagueClosedThrough(project, leagueId)
      for (const [window, divisions] of windows) {
        if (window > through) continue
        for (const [division, { cohorts }] of divisions) {
          for (const [number, cohort] of cohorts) {
            if (cohort.left === 0) continue
            const place = { leagueId, window, division, cohort: number }
            yield { place, userIds: this.#unsettled(place, cohort) }
          }
        }
      }
    }
  }
}

/** Whether the user has no rank whatever the score. */
const isUnranked = ({ leagues, profile }: UserState, { leagueId }: CohortRef): boolean =>
  profile.hidden || leagues.get(leagueId)?.disqualified === true

/** The user's place in a cohort, or what came of it; `undefined`: none. */
const placeIn = (user: UserState, { cohort, division, leagueId, window }: CohortRef) => {
  const state = user.leagues.get(leagueId)
  if (state === undefined) return undefined
  const { entry, results } = state
  if (entry?.window === window && entry.cohort === cohort && state.division === division) {
    return entry
  }
  const last = results.find((one) => one.window === window)
  return last?.cohort === cohort && last.division === division ? last : undefined
}
