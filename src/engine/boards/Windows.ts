/**
 * The boards of one kind of window of a leaderboard: open, frozen and stored ones. `Boards.ts` has the
 * states of a board and their invariants.
 */
import { Gaps } from "../../domain/board/Gaps.ts"
import type { Leaderboard } from "../../domain/board/Leaderboard.ts"
import type { FactOf } from "../../domain/record/Record.ts"
import type { ClosedWindow, StoredWindow } from "./StoredBoard.ts"

export type WindowClosed = FactOf<"leaderboard.window_closed">

/** Rows of a closed board that are no longer shown. */
interface Removals {
  readonly gaps: Gaps
  /** Users who were hidden or erased and whose rows may still be on disk. */
  readonly removed: Set<string>
}

export interface FrozenBoard extends ClosedWindow, Removals {
  readonly index: number
  readonly board: Leaderboard
  /** The ids of the members whose rows are gaps, on a board with groups. */
  readonly gone: Map<number, string>
}

/** `groupGaps`: the gaps among the rows of each group, by the id of the group. */
export interface StoredBoard extends StoredWindow, Removals {
  readonly groupGaps: Map<number, Gaps>
}

/** What is kept of a closed window. */
export const windowOf = ({ endsAt, index, prizes, startsAt }: WindowClosed) => ({
  index,
  startsAt,
  endsAt,
  prizes,
})

const noRemovals = () => ({ gaps: new Gaps(), removed: new Set<string>(), gone: new Map() })

/** The boards of one kind of window. */
export class Windows {
  readonly open = new Map<number, Leaderboard>()
  /** Oldest first. */
  readonly frozen: Array<FrozenBoard> = []
  /** By index, oldest first. */
  readonly stored = new Map<number, StoredBoard>()
  /** The indexes of boards past their retention whose rows may still be on disk. */
  readonly gone = new Set<number>()
  /** The index of the newest window whose board was ever stored. */
  storedThrough = Number.NEGATIVE_INFINITY
  readonly #newBoard: () => Leaderboard
  /** The board that `openBoard` returned last. */
  #latest: Leaderboard | undefined
  #latestIndex = 0

  constructor(newBoard: () => Leaderboard) {
    this.#newBoard = newBoard
  }

  /** Whether the window closed with a record, or a later one did. */
  isClosed(index: number): boolean {
    return index <= (this.frozen.at(-1)?.index ?? this.storedThrough)
  }

  /** The open board of a window, made if there is none; `undefined`: the window is closed. */
  openBoard(index: number): Leaderboard | undefined {
    if (this.#latest !== undefined && index === this.#latestIndex) return this.#latest
    if (this.isClosed(index)) return undefined
    let board = this.open.get(index)
    if (board === undefined) {
      board = this.#newBoard()
      this.open.set(index, board)
    }
    this.#latest = board
    this.#latestIndex = index
    return board
  }

  /** A start has found this board on disk. Called for the oldest board first. */
  load(
    index: number,
    window: StoredWindow,
    { gaps, groupGaps }: Pick<StoredBoard, "gaps" | "groupGaps">,
  ): void {
    this.stored.set(index, { ...window, gaps, groupGaps, removed: new Set() })
    this.storedThrough = index
  }

  /** The window, if it has closed. */
  closed(index: number): FrozenBoard | StoredBoard | undefined {
    return this.stored.get(index) ?? this.frozen.find((one) => one.index === index)
  }

  /** Drops the open boards of windows up to `index`: they closed without users. */
  dropThrough(index: number): void {
    for (const open of this.open.keys()) if (open <= index) this.drop(open)
  }

  /** The record `sequence` closes a window. A window that is closed already stays as it is. */
  close(closed: WindowClosed, sequence: number): void {
    const { index } = closed
    const board = this.openBoard(index)
    if (board === undefined) return
    this.drop(index)
    this.freeze(board, windowOf(closed), sequence)
  }

  freeze(
    board: Leaderboard,
    window: Omit<ClosedWindow, "sequence"> & { readonly index: number },
    sequence: number,
  ): void {
    this.frozen.push({ ...window, sequence, board, ...noRemovals() })
  }

  /**
   * The open windows before the window `open`, for which no record counts any more. Drops empty
   * ones.
   */
  over(open: number): ReadonlyArray<{ readonly index: number; readonly total: number }> {
    const over: Array<{ readonly index: number; readonly total: number }> = []
    for (const [index, { total }] of this.open) {
      if (index >= open) continue
      if (total > 0) over.push({ index, total })
      else this.drop(index)
    }
    return over
  }

  /** Makes the waiting moves of the board in use. */
  settle(): void {
    this.#latest?.settle()
  }

  drop(index: number): void {
    this.open.delete(index)
    this.#latest = undefined
  }

  /** A frozen board was written to disk. */
  stores(
    frozen: FrozenBoard,
    { buckets, grouped, size }: StoredWindow,
    groupGaps: StoredBoard["groupGaps"],
  ): void {
    const { board: _, gone: __, index, ...window } = frozen
    this.frozen.splice(this.frozen.indexOf(frozen), 1)
    this.stored.set(index, { ...window, size, buckets, ...(grouped && { grouped }), groupGaps })
    this.storedThrough = index
  }

  /** Removes a user from the closed boards, because of the record `sequence`. */
  leaveClosed(member: number | undefined, userId: string, sequence: number): void {
    for (const { board, gaps, gone, removed } of this.frozen) {
      const position = member === undefined ? undefined : board.positionOf(member)
      if (position === undefined || !gaps.add(position)) continue
      removed.add(userId)
      if (board.groups !== undefined) gone.set(member!, userId)
    }
    for (const { removed, sequence: closedBy } of this.stored.values()) {
      // During recovery a stored window may have closed after this record: its board lacks the
      // user.
      if (closedBy < sequence) removed.add(userId)
    }
  }
}
