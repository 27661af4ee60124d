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
 * - A deleted team leaves all boards at once, closed ones too. A fact counts only for the team with its
 *   number: a new team with the id of a deleted one begins without a score.
 *
 * - The tombstone of an erased record keeps what it scored for teams (`domain/record/Remains.ts`): a journal
 *   that is folded into a snapshot from before the erasure counts it from there.
 *
 * Cost: a look-up of the team and a move on each of the windows of the board, for each fact that names a
 * team; the snapshot writes a row for each team and board that changed. Nothing without boards of teams.
 */
import { Effect } from "effect"
import type { Leaderboard } from "../../domain/board/Leaderboard.ts"
import { hasWindow } from "../../domain/project/BoardDefinition.ts"
import { type Teams, teamWithId } from "../../domain/project/Team.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { isOfTeam, type TeamScored } from "../../domain/record/Remains.ts"
import { type TimedWindow, timedWindows } from "../../domain/values/Calendar.ts"
import { compositeKey, keyParts, rangeOf } from "../../storage/Keys.ts"
import type { Entry, Storage } from "../../storage/Storage.ts"
import { collectEntries, decodeValue, encodeValue, jsonOf } from "../../storage/Values.ts"
import type { Boards } from "./Boards.ts"
import type { FurtherBoards } from "./FurtherBoards.ts"

/** A score, and the sequence of the record that set it. */
type Score = readonly [score: number, sequence: number]

/** The scores of a team on the boards of a definition that are not closed. */
interface TeamRow {
  readonly number: number
  readonly total?: Score
  readonly windows: ReadonlyArray<readonly [kind: TimedWindow, index: number, ...Score]>
}

/** The ids of teams by the id of the board. */
type Changes = Map<string, Set<string>>

export const teamRowSection = "t"

const rowKey = (environment: string, board: string, teamId: string): Uint8Array =>
  compositeKey(teamRowSection, environment, board, teamId)

export class TeamScores {
  readonly #boards: Boards
  readonly #teams: () => Teams
  #latest: Changes = new Map()
  /** Of the snapshot that is being written. */
  #written: Changes = new Map()

  /** `teams`: the durable ones. */
  constructor(boards: Boards, teams: () => Teams) {
    this.#boards = boards
    this.#teams = teams
  }

  fold({ facts, sequence, subject }: JournalRecord): void {
    if (this.#boards.ofTeams.size === 0) return
    for (const fact of facts) {
      if (isOfTeam(fact) && subject.actor === "user") this.#score(fact, sequence)
      else if (fact.kind === "team.deleted") this.#remove(fact.teamId, sequence)
    }
  }

  /** Adds what an erased record scored. */
  left(facts: ReadonlyArray<TeamScored>, sequence: number): void {
    for (const fact of facts) this.#score(fact, sequence)
  }

  #score(fact: TeamScored, sequence: number): void {
    const { boardId, team } = fact
    const boards = this.#boards.ofTeams.get(boardId)
    if (boards === undefined) return
    if (teamWithId(this.#teams(), team.id)?.number !== team.number) return
    scoreOn(boards, boards.members.admit(team.id), fact, sequence)
    this.#change(boardId, team.id)
  }

  #remove(teamId: string, sequence: number): void {
    const { ofTeams, teams } = this.#boards
    const member = teams.find(teamId)
    for (const [boardId, boards] of ofTeams) {
      boards.leave(member, teamId, sequence)
      if (member !== undefined) this.#change(boardId, teamId)
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
    const member = boards.members.find(teamId)
    const team = teamWithId(this.#teams(), teamId)
    if (member === undefined || team === undefined) return undefined
    const total = scoreIn(boards, boards.allTime, member)
    const windows = timedWindows.flatMap((kind) =>
      Array.from(boards.windows[kind].open).flatMap(([index, board]) => {
        const score = scoreIn(boards, board, member)
        return score === undefined ? [] : [[kind, index, ...score] as const]
      }),
    )
    if (total === undefined && windows.length === 0) return undefined
    return { number: team.number, ...(total && { total }), windows }
  }

  /** The snapshot has this row. Windows that were stored since are closed. */
  load(boardId: string, teamId: string, { number, total, windows }: TeamRow): void {
    const boards = this.#boards.ofTeams.get(boardId)
    if (boards === undefined) return
    if (teamWithId(this.#teams(), teamId)?.number !== number) {
      this.#change(boardId, teamId)
      return
    }
    const member = boards.members.admit(teamId)
    const put = (board: Leaderboard, [score, sequence]: Score) =>
      board.set(member, boards.keyOf(score), sequence)
    if (total !== undefined && boards.ended === undefined) put(boards.allTime, total)
    for (const [kind, index, ...score] of windows) {
      const board = boards.windows[kind].openBoard(index)
      if (board !== undefined) put(board, score)
    }
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
