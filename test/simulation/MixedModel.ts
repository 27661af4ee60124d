/**
 * A naive model of all leaderboards of an environment at once, fed with the records of a journal in their
 * order. Of the facts it takes only definitions, teams, the ids of records, and the moments at which windows
 * close. It recomputes the rows of windows and the payments from the states of its users.
 */
import { expect } from "@effect/vitest"
import {
  type Board,
  type BoardWindow,
  hasScores,
  hasWindow,
  isOfTeams,
  isWhole,
  isXpBoard,
  kindOfWindow,
  xpBoard,
} from "../../src/domain/project/BoardDefinition.ts"
import { isOffBoard, type Team } from "../../src/domain/project/Team.ts"
import {
  decidedAt,
  type FactOf,
  type JournalRecord,
  type ProfileChange,
} from "../../src/domain/record/Record.ts"
import type { TimedWindow } from "../../src/domain/values/Calendar.ts"
import { BoardScores, type Indexes, windowName } from "./BoardScores.ts"
import { MixedCalendar } from "./MixedCalendar.ts"
import { MixedPayouts } from "./MixedPayouts.ts"
import { givenBy, type Row, rankedBy, wonBy, wonWith } from "./MixedRows.ts"

interface Placed {
  readonly amount: number
  /** The board did not count then. */
  readonly missed: boolean
  /** The number of the team that got it. */
  readonly team: number | undefined
  readonly windows: Indexes
}

export interface Entry {
  readonly sequence: number
  /** The user whose event or reward it was, and when it was decided. */
  readonly by: string
  readonly at: number
  readonly action: keyof typeof givenBy | null
  readonly xp: number
  readonly gems: number
  readonly size: number
  readonly on: Map<string, Placed>
  undone: boolean
}

/** The scores of a user for the team that got the latest one. */
interface Share {
  readonly team: number
  readonly scores: BoardScores
}

export class Person {
  readonly id: string
  /** When the user was created. */
  readonly seen: number
  hidden = false
  name: string | null = null
  zone: string | null = null
  city: string | null = null
  isPro = false
  team: number | undefined
  points = 0
  /** The boards on which the user is disqualified. */
  readonly off = new Set<string>()
  readonly entries = new Set<Entry>()
  readonly scores = new Map<string, BoardScores>()
  readonly shares = new Map<string, Share>()

  constructor(id: string, seen: number) {
    this.id = id
    this.seen = seen
  }

  on(boardId: string): BoardScores {
    const scores = this.scores.get(boardId) ?? new BoardScores()
    this.scores.set(boardId, scores)
    return scores
  }
}

const nowhere: Indexes = new Map()

/** How often each of these happened in a run. */
export const nothingSeen = {
  closed: 0,
  over: 0,
  late: 0,
  undone: 0,
  kept: 0,
  missed: 0,
  united: 0,
  judged: 0,
}

export class MixedModel {
  readonly people = new Map<string, Person>()
  readonly boards = new Map<string, Board>([[xpBoard.id, xpBoard]])
  readonly teams = new Map<number, Team>()
  readonly entries = new Map<number, Entry>()
  readonly calendar = new MixedCalendar()
  readonly payouts: MixedPayouts
  /** The rows of closed windows, without those who have left since. */
  readonly closed = new Map<string, ReadonlyArray<Row>>()
  /** Windows whose first rows came after their end: they close at the next check. */
  readonly lingering = new Set<string>()
  /** The record that made the metric `pushes`; `undefined`: there is none. */
  pushesSince: number | undefined
  isBackfilled = false
  readonly #teamScores = new Map<string, Map<number, BoardScores>>()
  readonly seen = { ...nothingSeen }

  constructor() {
    this.payouts = new MixedPayouts(this)
  }

  follow(record: JournalRecord): void {
    const { cause, facts, subject } = record
    if (subject.actor === "project") {
      for (const fact of facts) this.#define(fact, record)
      return
    }
    if (subject.actor !== "user") return
    const { userId } = subject
    if (cause.kind === "erasure") this.#leaveForGood(userId)
    // A merge may have made the user disqualified already. Closed windows follow this record alone.
    if (cause.kind === "disqualify" && cause.disqualified) this.#leave(userId, cause.leaderboard)
    // A kept refusal or a repeat says nothing.
    if (cause.kind === "erasure" || facts.length === 0) return
    const at = decidedAt(record)
    const isNew = facts.some(({ kind }) => kind === "user.created")
    const person = isNew ? new Person(userId, at) : this.people.get(userId)!
    this.people.set(userId, person)
    this.#change(person, record, at)
    this.payouts.follow(person)
  }

  #change(person: Person, record: JournalRecord, at: number): void {
    const { cause, facts, sequence } = record
    switch (cause.kind) {
      case "event":
        this.#count(person, record, at)
        break
      case "reward":
        if (!("amount" in cause) || cause.type !== "xp") throw new Error("unexpected")
        this.#score(person, { action: null, xp: cause.amount, gems: 0, size: 0 }, sequence, at, at)
        break
      case "revocation":
        this.#undo(person, this.entries.get(cause.sequence)!, sequence, at)
        break
      case "profile":
        this.#profile(person, cause, at)
        break
      case "disqualify":
        if (cause.disqualified) {
          person.off.add(cause.leaderboard)
        } else {
          person.off.delete(cause.leaderboard)
          this.#listAgain(person, at, cause.leaderboard)
        }
        break
      case "join":
      case "leave":
        for (const fact of facts) {
          if (fact.kind === "team.left") person.team = undefined
          if (fact.kind === "team.joined") person.team = fact.number
        }
        break
      case "absorb":
        this.#absorb(person, this.people.get(cause.from)!, sequence, at)
        break
      case "mergeEnd":
        if (cause.done) this.payouts.mergeEnds(person.id, this.people.get(cause.into))
        if (cause.done) this.#leaveForGood(person.id)
        break
      case "payment":
        this.#grant(person, this.payouts.paid(person, record), sequence, at)
        break
    }
  }

  /* Scores. */

  #count(person: Person, { cause, sequence }: JournalRecord, at: number): void {
    if (cause.kind !== "event") return
    const action = cause.action as keyof typeof givenBy
    const { gems, xp } = givenBy[action]
    const size = cause.metadata!.size as number
    const occurredAt = Math.min(cause.occurredAt ?? at, at)
    this.#score(person, { action, xp, gems, size }, sequence, occurredAt, at)
  }

  #score(
    person: Person,
    given: Pick<Entry, "action" | "xp" | "gems" | "size">,
    sequence: number,
    occurredAt: number,
    now: number,
  ): void {
    const own = { sequence, by: person.id, at: now, on: new Map(), undone: false }
    const entry: Entry = { ...given, ...own }
    for (const board of this.boards.values()) {
      const amount = this.#amount(board, entry)
      if (amount === 0 || !hasScores(board) || this.calendar.isFinal(board)) continue
      const placed = this.#place(person, board, amount, occurredAt, now)
      if (placed === undefined) continue
      entry.on.set(board.id, placed)
      if (placed.missed) {
        this.seen.missed++
        continue
      }
      person.on(board.id).add(placed.windows, amount, sequence)
      for (const [kind, index] of placed.windows) {
        if (index < this.calendar.present(board, kind, now)) this.seen.late++
      }
      if (placed.team === undefined) continue
      this.#ofTeam(board.id, placed.team).add(placed.windows, amount, sequence)
      const known = person.shares.get(board.id)
      const share =
        known?.team === placed.team ? known : { team: placed.team, scores: new BoardScores() }
      share.scores.add(placed.windows, amount, sequence)
      person.shares.set(board.id, share)
    }
    this.entries.set(sequence, entry)
    person.entries.add(entry)
  }

  /** A prize scores nowhere, but is xp of the user. */
  #grant(person: Person, points: number, sequence: number, at: number): void {
    const { gems, xp } = wonWith(points)
    const placed = { amount: 0, team: undefined, windows: nowhere }
    const on = new Map<string, Placed>()
    for (const board of this.boards.values()) {
      const isMissed = !isXpBoard(board) && hasScores(board) && !this.calendar.isFinal(board)
      if (isMissed && isWhole(board)) on.set(board.id, { ...placed, missed: true })
    }
    const own = { by: person.id, at, action: null, size: 0, undone: false }
    const entry: Entry = { ...own, sequence, xp, gems, on }
    this.entries.set(sequence, entry)
    person.entries.add(entry)
    person.on(xpBoard.id).add(nowhere, xp, sequence)
  }

  /** The amount that an entry adds to the score of a board. */
  #amount({ score }: Board, { action, gems, sequence, xp }: Entry): number {
    if ("currency" in score) return score.currency === "gems" ? gems : xp
    if (!("metric" in score)) return 0
    if (score.metric === "taps") return action === "TAP" ? 1 : 0
    const isCounted = this.isBackfilled || sequence > (this.pushesSince ?? Infinity)
    return score.metric === "pushes" && action === "PUSH" && isCounted ? 1 : 0
  }

  /** Where an amount counts on the board; `undefined`: nowhere. */
  #place(
    person: Person,
    board: Board,
    amount: number,
    occurredAt: number,
    now: number,
  ): Placed | undefined {
    const { endsAt, segment, set, startsAt, teamKind } = board
    const isInPeriod =
      set === "published" &&
      (startsAt === null || occurredAt >= startsAt) &&
      (endsAt === null || occurredAt < endsAt)
    if (!isInPeriod || this.calendar.hasEnded(board, now)) {
      if (!isWhole(board)) return undefined
      return { amount, missed: true, team: undefined, windows: nowhere }
    }
    if (segment !== null && !person.isPro) return undefined
    if (teamKind !== null && person.team === undefined) return undefined
    const { latest } = person.scores.get(board.id) ?? new BoardScores()
    const windows = new Map<TimedWindow, number>()
    for (const window of board.windows) {
      const kind = kindOfWindow(window)
      if (kind === "all_time") continue
      const index = this.calendar.indexFor(person, board, kind, latest[kind], occurredAt, now)
      if (index !== undefined) windows.set(kind, index)
    }
    if (windows.size === 0 && !hasWindow(board, "all_time")) return undefined
    return { amount, missed: false, team: teamKind === null ? undefined : person.team, windows }
  }

  /** A closed window keeps its scores. */
  #undo(person: Person, entry: Entry, sequence: number, now: number): void {
    expect(entry.undone).toBe(false)
    entry.undone = true
    this.seen.undone++
    for (const [boardId, { amount, missed, team, windows }] of entry.on) {
      const board = this.boards.get(boardId)!
      if (missed || this.calendar.isFinal(board)) continue
      const scores = person.on(boardId)
      const open = new Map(
        [...windows].filter(([kind, index]) =>
          this.calendar.takesBack(board, kind, index, scores.latest[kind], now),
        ),
      )
      this.seen.kept += windows.size - open.size
      scores.take(open, amount, sequence)
      if (team === undefined) continue
      if (this.teams.has(team)) this.#ofTeam(boardId, team).take(open, amount, sequence)
      const share = person.shares.get(boardId)
      if (share?.team === team) share.scores.take(open, amount, sequence)
    }
  }

  #ofTeam(boardId: string, team: number): BoardScores {
    const teams = this.#teamScores.get(boardId) ?? new Map<number, BoardScores>()
    this.#teamScores.set(boardId, teams)
    const scores = teams.get(team) ?? new BoardScores()
    teams.set(team, scores)
    return scores
  }

  /* Users. */

  #profile(person: Person, { change }: ProfileChange, at: number): void {
    if (change.displayName !== undefined) person.name = change.displayName
    if (change.timezone !== undefined) person.zone = change.timezone
    if (change.attributes !== undefined) {
      const { city = "", plan } = change.attributes
      person.city = city === "" ? null : String(city)
      person.isPro = plan === "pro"
    }
    if (change.hidden === undefined) return
    person.hidden = change.hidden
    if (change.hidden) this.#leave(person.id)
    else this.#listAgain(person, at)
  }

  /** The user leaves closed windows for good: those of one board, or all. */
  #leave(userId: string, boardId?: string): void {
    this.#leaveClosed(userId, boardId)
    this.payouts.forfeit(userId, boardId)
  }

  #leaveClosed(who: Row["of"], boardId?: string): void {
    for (const [name, rows] of this.closed) {
      const [board] = name.split(" ")
      if (boardId !== undefined && board !== boardId) continue
      this.closed.set(
        name,
        rows.filter(({ of }) => of !== who),
      )
    }
  }

  #leaveForGood(userId: string): void {
    this.people.delete(userId)
    this.#leave(userId)
  }

  #listAgain(person: Person, now: number, boardId?: string): void {
    for (const [id, scores] of person.scores) {
      if (boardId !== undefined && id !== boardId) continue
      if (isOfTeams(this.boards.get(id)!)) continue
      scores.forgetOthers()
      this.#linger(id, scores, now)
    }
  }

  #linger(boardId: string, { windows }: BoardScores, now: number): void {
    const board = this.boards.get(boardId)!
    for (const name of windows) {
      const [kind, index] = name.split(" ") as [TimedWindow, string]
      if (this.calendar.isOver(board, kind, Number(index), now)) {
        this.lingering.add(`${boardId} ${name}`)
      }
    }
  }

  #absorb(person: Person, from: Person, sequence: number, now: number): void {
    this.seen.united++
    person.points += from.points
    person.team ??= from.team
    for (const entry of from.entries) person.entries.add(entry)
    for (const boardId of from.off) person.off.add(boardId)
    for (const boardId of new Set([...from.scores.keys(), ...from.off])) {
      const closes = this.calendar.closes(boardId)
      const theirs = from.on(boardId)
      person.on(boardId).unite(theirs, closes, sequence)
      this.#linger(boardId, person.on(boardId), now)
      const [mine, other] = [person.shares.get(boardId), from.shares.get(boardId)]
      if (other === undefined || (mine !== undefined && mine.team !== other.team)) continue
      const share = mine ?? { team: other.team, scores: new BoardScores() }
      share.scores.unite(other.scores, closes, sequence)
      person.shares.set(boardId, share)
    }
  }

  /* The project. */

  #define(fact: JournalRecord["facts"][number], record: JournalRecord): void {
    switch (fact.kind) {
      case "leaderboard.created":
      case "leaderboard.updated":
        this.boards.set(fact.leaderboard.id, fact.leaderboard)
        break
      case "project.updated":
        this.calendar.move(fact.settings.timezone, decidedAt(record))
        break
      case "metric.created":
        if (fact.metric.key === "pushes") this.pushesSince = record.sequence
        break
      case "backfill.finished":
        this.isBackfilled = true
        break
      case "team.created":
        this.teams.set(fact.team.number, fact.team)
        break
      case "team.updated":
        this.#updateTeam(fact.team, decidedAt(record))
        break
      case "team.deleted":
        this.#deleteTeam(fact.teamId)
        break
      case "leaderboard.window_closed":
        this.#close(fact, record)
        break
      case "leaderboard.closed":
        this.#end(fact, decidedAt(record))
        break
      case "leaderboard.prizes_paid":
        this.payouts.end(fact.payout)
        break
    }
  }

  /** The team may be disqualified, or listed again with its scores in the windows that take scores. */
  #updateTeam(team: Team, now: number): void {
    const { number } = team
    const before = this.teams.get(number)!
    this.teams.set(number, team)
    for (const board of this.boards.values()) {
      const isOff = isOffBoard(team, board.id)
      if (isOff === isOffBoard(before, board.id)) continue
      this.seen.judged++
      if (isOff) this.#leaveClosed(number, board.id)
      else {
        this.#ofTeam(board.id, number).forget((kind, index) =>
          this.calendar.isOver(board, kind, index, now),
        )
      }
    }
    for (const person of this.people.values()) this.payouts.follow(person)
  }

  /** Whether the team is disqualified on the board. */
  isOff(number: number, { id }: Board): boolean {
    const team = this.teams.get(number)
    return team !== undefined && isOffBoard(team, id)
  }

  #deleteTeam(teamId: string): void {
    const number = [...this.teams.values()].find(({ id }) => id === teamId)!.number
    this.teams.delete(number)
    for (const person of this.people.values()) if (person.team === number) person.team = undefined
    for (const teams of this.#teamScores.values()) teams.delete(number)
    this.#leaveClosed(number)
    for (const person of this.people.values()) this.payouts.follow(person)
  }

  #close(fact: FactOf<"leaderboard.window_closed">, record: JournalRecord): void {
    const { board: { boardId } = { boardId: xpBoard.id }, index, prizes, window } = fact
    const board = this.boards.get(boardId)!
    const name = `${boardId} ${windowName(window, index)}`
    const now = decidedAt(record)
    expect([name, this.closed.has(name)]).toEqual([name, false])
    const isOver =
      window === "all_time"
        ? this.calendar.hasEnded(board, now)
        : this.calendar.isOver(board, window, index, now)
    expect([name, isOver]).toEqual([name, true])
    const own = board.set === "published" ? board.prizes.filter((one) => one.window === window) : []
    expect([name, prizes?.prizes ?? []]).toEqual([name, own])
    const live = this.live(board, window, index)
    const rows = live.map((row) => ({ ...row, won: wonBy(own, row.rank, live.length) }))
    this.closed.set(name, rows)
    this.lingering.delete(name)
    this.seen.closed++
    if (window !== "all_time") this.calendar.close(boardId, window, index)
    if (own.length > 0) this.payouts.begin(board, { window, index }, rows)
  }

  /** All windows with rows have closed in the same record. */
  #end({ boardId, last }: FactOf<"leaderboard.closed">, now: number): void {
    const board = this.boards.get(boardId)!
    expect([boardId, this.calendar.hasEnded(board, now)]).toEqual([boardId, true])
    const open = this.openWindows(board)
    const isAllClosed = this.closed.has(`${boardId} ${windowName("all_time", 0)}`)
    const isListing = hasWindow(board, "all_time") && this.live(board, "all_time", 0).length > 0
    expect([boardId, open, isAllClosed]).toEqual([boardId, [], isListing])
    this.seen.over++
    this.calendar.end(boardId, last)
  }

  /* The rows of boards. */

  /** The windows of the board that have rows and have not closed. */
  openWindows(board: Board): ReadonlyArray<readonly [kind: TimedWindow, index: number]> {
    const names = new Set<string>()
    const all = isOfTeams(board)
      ? [...(this.#teamScores.get(board.id)?.values() ?? [])]
      : [...this.people.values()].flatMap(({ scores }) => scores.get(board.id) ?? [])
    for (const { windows } of all) for (const name of windows) names.add(name)
    const closes = this.calendar.closes(board.id)
    return [...names].flatMap((name) => {
      const [kind, text] = name.split(" ") as [TimedWindow, string]
      const index = Number(text)
      const isOpen = index > closes[kind] && this.live(board, kind, index).length > 0
      return isOpen ? [[kind, index] as const] : []
    })
  }

  /** The windows that should have closed by now. */
  overdue(now: number): ReadonlyArray<string> {
    return [...this.boards.values()].flatMap((board) => {
      if (this.calendar.isFinal(board)) return []
      const late = this.openWindows(board).flatMap(([kind, index]) =>
        this.calendar.isOver(board, kind, index, now)
          ? [`${board.id} ${windowName(kind, index)}`]
          : [],
      )
      return this.calendar.hasEnded(board, now) ? [...late, board.id] : late
    })
  }

  listed(board: Board, kind: BoardWindow, index: number): ReadonlyArray<Row> {
    const rows = this.closed.get(`${board.id} ${windowName(kind, index)}`)
    if (rows !== undefined) return rankedBy(board, rows)
    const isClosed = kind !== "all_time" && index <= this.calendar.closes(board.id)[kind]
    return isClosed || this.calendar.isFinal(board) ? [] : this.live(board, kind, index)
  }

  live(board: Board, kind: BoardWindow, index: number): ReadonlyArray<Row> {
    const rows: Array<Omit<Row, "rank">> = []
    const list = (row: Pick<Row, "of" | "group">, score: number, since: number) => {
      if (score > 0) rows.push({ ...row, score, since, won: 0 })
    }
    if (isOfTeams(board)) {
      for (const [of, scores] of this.#teamScores.get(board.id) ?? []) {
        if (this.isOff(of, board)) continue
        const { amount, since } = kind === "all_time" ? scores.total : scores.sumIn(kind, index)
        list({ of, group: null }, amount, since)
      }
      return rankedBy(board, rows)
    }
    for (const person of this.people.values()) {
      if (person.hidden || person.off.has(board.id)) continue
      const scores = person.scores.get(board.id) ?? new BoardScores()
      const { amount, since } = kind === "all_time" ? scores.total : scores.sumIn(kind, index)
      const row = { of: person.id, group: board.groupBy === null ? null : person.city }
      list(row, kind === "all_time" ? this.#everOn(person, board, amount) : amount, since)
    }
    return rankedBy(board, rows)
  }

  /** The score of all time: of a whole board, the amount that the user ever earned while the board counted. */
  #everOn({ entries }: Person, board: Board, counted: number): number {
    if (!isWhole(board)) return counted
    return [...entries]
      .filter(({ on, undone }) => !undone && on.get(board.id)?.missed !== true)
      .reduce((sum, entry) => sum + this.#amount(board, entry), 0)
  }

  /** The largest size of an event that stands; `undefined`: there is none. */
  sizeOf({ entries }: Person): number | undefined {
    const sizes = [...entries].flatMap(({ action, size, undone }) =>
      action === null || undone ? [] : [size],
    )
    return sizes.length === 0 ? undefined : Math.max(...sizes)
  }
}
