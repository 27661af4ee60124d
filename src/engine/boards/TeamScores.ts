/**
 * The scores of teams on the leaderboards that rank teams. A team's score is the sum of what users
 * scored while they were its members: each fact `board.scored` names the team that gets the amount.
 *
 * Invariants:
 * - Each durable record is folded once, in the order of the sequences, also during recovery, from the
 *   watermark on. Live and during recovery the boards are the same.
 * - The scores follow from facts alone, and no state of a user has them. So a user who leaves, is hidden,
 *   is merged into another or is erased takes nothing away.
 * - A snapshot has the scores of each team as of its watermark, in the transaction that sets the
 *   watermark. A window that is stored by then, or closed, is not among them (`StoredBoard.ts` has it).
 * - A team that is disqualified on a board leaves it, closed windows too. Its scores are added up apart
 *   (`Unlisted`), so that a team that is listed again has its scores in the windows that are open.
 * - A deleted team leaves all boards at once, closed ones too. A fact counts only for the team with its
 *   number: a new team with the id of a deleted one begins without a score.
 * - The tombstone of an erased record keeps its scores for teams (`domain/record/Remains.ts`): a journal
 *   that is folded into a snapshot from before the erasure counts it from there.
 *
 * Cost: a look-up of the team and a move on each of the windows of the board, for each fact that names a
 * team; the snapshot writes a row for each team and board that changed. Nothing without boards of teams.
 */
import { Effect } from "effect"
import type { Leaderboard } from "../../domain/board/Leaderboard.ts"
import { oldestOpenWindow } from "../../domain/decide/CloseWindows.ts"
import { hasWindow } from "../../domain/project/BoardDefinition.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import { isOffBoard, type Team, teamWithId } from "../../domain/project/Team.ts"
import { decidedAt, type JournalRecord } from "../../domain/record/Record.ts"
import { isOfTeam, type TeamScored } from "../../domain/record/Remains.ts"
import { type TimedWindow, timedWindows, zoneOf } from "../../domain/values/Calendar.ts"
import { compositeKey, keyParts, rangeOf } from "../../storage/Keys.ts"
import type { Entry, Storage } from "../../storage/Storage.ts"
import { collectEntries, decodeValue, encodeValue, jsonOf } from "../../storage/Values.ts"
import type { Boards } from "./Boards.ts"
import type { FurtherBoards } from "./FurtherBoards.ts"

/** A score, and the sequence of the record that set it. */
type Score = readonly [score: number, sequence: number]

/**
 * The scores of a team that a board does not list. A snapshot drops those of windows that have closed, and keeps
 * the newest `openWindowsMax` of a kind: an empty window ends without a record.
 */
interface Unlisted {
  total: Score | undefined
  readonly windows: Record<TimedWindow, Map<number, Score>>
}

/** The scores of a team on the boards of a definition that are not closed. */
interface TeamRow {
  readonly number: number
  readonly total?: Score
  readonly windows: ReadonlyArray<readonly [kind: TimedWindow, index: number, ...Score]>
}

/** The ids of teams by the id of the board. */
type Changes = Map<string, Set<string>>

export const teamRowSection = "t"

/** How many windows of a kind may be open: the present one, one in its grace, and one after a move of the zone. */
const openWindowsMax = 3

const rowKey = (environment: string, board: string, teamId: string): Uint8Array =>
  compositeKey(teamRowSection, environment, board, teamId)

export class TeamScores {
  readonly #boards: Boards
  readonly #project: () => ProjectState
  /** Of teams that are disqualified, by board and team. */
  readonly #unlisted = new Map<string, Map<string, Unlisted>>()
  #latest: Changes = new Map()
  /** Of the snapshot that is being written. */
  #written: Changes = new Map()

  /** `project`: the durable one. */
  constructor(boards: Boards, project: () => ProjectState) {
    this.#boards = boards
    this.#project = project
  }

  #teamWith(id: string): Team | undefined {
    return teamWithId(this.#project().teams, id)
  }

  fold(record: JournalRecord): void {
    if (this.#boards.ofTeams.size === 0) return
    const { facts, sequence, subject } = record
    for (const fact of facts) {
      if (isOfTeam(fact) && subject.actor === "user") this.#score(fact, sequence)
      else if (fact.kind === "team.updated") this.#follow(fact.team, record)
      else if (fact.kind === "team.deleted") this.#remove(fact.teamId, sequence)
    }
  }

  /** Adds the scores of an erased record. */
  left(facts: ReadonlyArray<TeamScored>, sequence: number): void {
    for (const fact of facts) this.#score(fact, sequence)
  }

  #score(fact: TeamScored, sequence: number): void {
    const { boardId, team } = fact
    const boards = this.#boards.ofTeams.get(boardId)
    if (boards === undefined) return
    const present = this.#teamWith(team.id)
    if (present?.number !== team.number) return
    if (isOffBoard(present, boardId)) {
      scoreApart(boards, this.#apart(boardId, team.id), fact, sequence)
    } else {
      scoreOn(boards, boards.members.admit(team.id), fact, sequence)
    }
    this.#change(boardId, team.id)
  }

  #apart(boardId: string, teamId: string): Unlisted {
    const teams = this.#unlisted.get(boardId) ?? new Map<string, Unlisted>()
    this.#unlisted.set(boardId, teams)
    const scores = teams.get(teamId) ?? nothing()
    teams.set(teamId, scores)
    return scores
  }

  /** The team may be disqualified now, or listed again. */
  #follow(team: Team, record: JournalRecord): void {
    for (const [boardId, boards] of this.#boards.ofTeams) {
      if (boards.board.teamKind !== team.kind) continue
      const scores = this.#unlisted.get(boardId)?.get(team.id)
      if (isOffBoard(team, boardId) === (scores !== undefined)) continue
      if (scores === undefined) this.#takeOff(boards, team.id, record.sequence)
      else this.#putBack(boards, team.id, scores, decidedAt(record))
      this.#change(boardId, team.id)
    }
  }

  #takeOff(boards: FurtherBoards, teamId: string, sequence: number): void {
    const member = boards.members.find(teamId)
    const scores = this.#apart(boards.board.id, teamId)
    if (member !== undefined) {
      scores.total = scoreIn(boards, boards.allTime, member)
      for (const [kind, index, ...score] of openScores(boards, member)) {
        scores.windows[kind].set(index, score)
      }
    }
    boards.leave(member, teamId, sequence)
    boards.moved()
  }

  #putBack(boards: FurtherBoards, teamId: string, scores: Unlisted, at: number): void {
    this.#unlisted.get(boards.board.id)!.delete(teamId)
    const project = this.#project()
    const zone = zoneOf(project.settings.timezone)
    for (const kind of timedWindows) {
      const oldest = oldestOpenWindow(project, boards.board, zone, kind, at)
      const own = scores.windows[kind]
      for (const index of own.keys()) if (index < oldest) own.delete(index)
    }
    this.#put(boards, teamId, scores)
  }

  #put(boards: FurtherBoards, teamId: string, { total, windows }: Unlisted): void {
    const member = boards.members.admit(teamId)
    const put = (board: Leaderboard, [score, sequence]: Score) =>
      board.set(member, boards.keyOf(score), sequence)
    if (total !== undefined && boards.ended === undefined) put(boards.allTime, total)
    for (const kind of timedWindows) {
      for (const [index, score] of windows[kind]) {
        const board = boards.windows[kind].openBoard(index)
        if (board !== undefined) put(board, score)
      }
    }
    boards.moved()
  }

  #remove(teamId: string, sequence: number): void {
    const { ofTeams, teams } = this.#boards
    const member = teams.find(teamId)
    for (const [boardId, boards] of ofTeams) {
      boards.leave(member, teamId, sequence)
      const wasApart = this.#unlisted.get(boardId)?.delete(teamId) === true
      if (member !== undefined || wasApart) this.#change(boardId, teamId)
    }
    if (member !== undefined) teams.release(teamId)
  }

  #change(boardId: string, teamId: string): void {
    const teams = this.#latest.get(boardId)
    if (teams === undefined) this.#latest.set(boardId, new Set([teamId]))
    else teams.add(teamId)
  }

  /** A snapshot begins. Returns its rows. */
  *begin(environment: string): Generator<Entry> {
    // A snapshot that failed left its changes.
    for (const [boardId, teams] of this.#latest) {
      this.#written.set(boardId, teams.union(this.#written.get(boardId) ?? new Set()))
    }
    this.#latest = new Map()
    for (const boardId of this.#unlisted.keys()) {
      if (!this.#boards.ofTeams.has(boardId)) this.#unlisted.delete(boardId)
    }
    for (const [boardId, teams] of this.#written) {
      const boards = this.#boards.ofTeams.get(boardId)
      for (const teamId of teams) {
        const row = boards && this.#rowOf(boards, teamId)
        const value = row === undefined ? null : encodeValue(JSON.stringify(row))
        yield { table: "boards", key: rowKey(environment, boardId, teamId), value }
      }
    }
  }

  /** The snapshot that began last has ended. */
  ended(): void {
    for (const [boardId, teams] of this.#written) {
      // The board was archived meanwhile: the next snapshot deletes its rows.
      if (!this.#boards.ofTeams.has(boardId)) this.#latest.set(boardId, teams)
    }
    this.#written = new Map()
  }

  /** `undefined`: the team has no score. */
  #rowOf(boards: FurtherBoards, teamId: string): TeamRow | undefined {
    const team = this.#teamWith(teamId)
    if (team === undefined) return undefined
    const apart = this.#unlisted.get(boards.board.id)?.get(teamId)
    const scores = apart === undefined ? listed(boards, teamId) : stillOpen(boards, apart)
    if (scores === undefined || (scores.total === undefined && scores.windows.length === 0)) {
      return undefined
    }
    const { total, windows } = scores
    return { number: team.number, ...(total && { total }), windows }
  }

  /** The snapshot has this row. Windows that were stored since are closed. */
  load(boardId: string, teamId: string, { number, total, windows }: TeamRow): void {
    const boards = this.#boards.ofTeams.get(boardId)
    if (boards === undefined) return
    const team = this.#teamWith(teamId)
    if (team?.number !== number) {
      this.#change(boardId, teamId)
      return
    }
    const isOff = isOffBoard(team, boardId)
    const scores = isOff ? this.#apart(boardId, teamId) : nothing()
    scores.total = total
    for (const [kind, index, ...score] of windows) scores.windows[kind].set(index, score)
    if (!isOff) this.#put(boards, teamId, scores)
  }
}

const nothing = (): Unlisted => ({
  total: undefined,
  windows: { daily: new Map(), weekly: new Map(), monthly: new Map(), days: new Map() },
})

/** The scores of a team that the board lists; `undefined`: none. */
const listed = (
  boards: FurtherBoards,
  teamId: string,
): Pick<TeamRow, "total" | "windows"> | undefined => {
  const member = boards.members.find(teamId)
  if (member === undefined) return undefined
  const total = scoreIn(boards, boards.allTime, member)
  return { ...(total && { total }), windows: openScores(boards, member) }
}

/** The scores that are not of closed windows. Those are dropped. */
const stillOpen = (
  { ended, windows: present }: FurtherBoards,
  scores: Unlisted,
): Pick<TeamRow, "total" | "windows"> => {
  if (ended !== undefined) scores.total = undefined
  const windows = timedWindows.flatMap((kind) => {
    const own = scores.windows[kind]
    const indexes = [...own.keys()].sort((one, other) => other - one)
    for (const [n, index] of indexes.entries()) {
      if (n >= openWindowsMax || present[kind].isClosed(index)) own.delete(index)
    }
    return Array.from(own, ([index, score]) => [kind, index, ...score] as const)
  })
  const { total } = scores
  return { ...(total && { total }), windows }
}

/** The scores in the windows that are open. */
const openScores = (boards: FurtherBoards, member: number): TeamRow["windows"] =>
  timedWindows.flatMap((kind) =>
    Array.from(boards.windows[kind].open).flatMap(([index, board]) => {
      const score = scoreIn(boards, board, member)
      return score === undefined ? [] : [[kind, index, ...score] as const]
    }),
  )

/** Adds the amount of the fact to the scores of a team that the board does not list. */
const scoreApart = (
  boards: FurtherBoards,
  scores: Unlisted,
  fact: TeamScored,
  sequence: number,
): void => {
  const plus = (before: Score | undefined): Score | undefined => {
    const score = Math.max(0, (before?.[0] ?? 0) + fact.amount)
    return score === 0 ? undefined : [score, sequence]
  }
  if (boards.ended === undefined && hasWindow(boards.board, "all_time")) {
    scores.total = plus(scores.total)
  }
  for (const kind of timedWindows) {
    const index = fact[kind]
    if (index === undefined || boards.windows[kind].openBoard(index) === undefined) continue
    const own = scores.windows[kind]
    const score = plus(own.get(index))
    if (score === undefined) own.delete(index)
    else own.set(index, score)
  }
}

const scoreIn = (
  { scoreOf }: FurtherBoards,
  board: Leaderboard,
  member: number,
): Score | undefined => {
  const key = board.score(member)
  return key === 0 ? undefined : [scoreOf(key), board.tie(member)]
}

/** Adds the amount of the fact to the scores of the team. A score of 0 leaves the board. */
const scoreOn = (
  boards: FurtherBoards,
  member: number,
  fact: TeamScored,
  sequence: number,
): void => {
  const add = (board: Leaderboard | undefined): void => {
    if (board === undefined) return
    const [score] = scoreIn(boards, board, member) ?? [0]
    board.set(member, boards.keyOf(Math.max(0, score + fact.amount)), sequence)
  }
  const isOpen = boards.ended === undefined
  if (isOpen && hasWindow(boards.board, "all_time")) add(boards.allTime)
  for (const kind of timedWindows) {
    const index = fact[kind]
    if (index !== undefined) add(boards.windows[kind].openBoard(index))
  }
  boards.moved()
}

/** Loads the rows of the snapshot. */
export const loadTeamScores = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  of: (environment: string) => TeamScores,
) {
  const range = { table: "boards", ...rangeOf(compositeKey(teamRowSection)) } as const
  for (const [key, value] of yield* collectEntries(storage, range)) {
    const [, environment, board, teamId] = keyParts(key) as [string, string, string, string]
    const row: TeamRow = jsonOf(yield* decodeValue(value, { table: "boards", key }))
    of(environment).load(board, teamId, row)
  }
})
