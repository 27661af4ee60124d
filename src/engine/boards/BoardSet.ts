/**
 * The boards of one definition: that of all time, and those of its windows. `Boards.ts` has the design.
 */
import type { Grouping } from "../../domain/board/Grouping.ts"
import { Leaderboard } from "../../domain/board/Leaderboard.ts"
import type { Members } from "../../domain/board/Members.ts"
import type { BoardWindow } from "../../domain/project/BoardDefinition.ts"
import type { UserState } from "../../domain/user/User.ts"
import { type TimedWindow, timedWindows, windowKinds } from "../../domain/values/Calendar.ts"
import { limits } from "../../Limits.ts"
import { asItIs } from "./ScoreKeys.ts"
import type { StoredWindow } from "./StoredBoard.ts"
import {
  type FrozenBoard,
  type StoredBoard,
  type WindowClosed,
  Windows,
  windowOf,
} from "./Windows.ts"

/** A closed window on disk. */
export interface WindowOnDisk {
  readonly kind: BoardWindow
  readonly index: number
  readonly window: StoredWindow
  readonly gaps: Pick<StoredBoard, "gaps" | "groupGaps">
}

export class BoardSet {
  readonly members: Members
  allTime: Leaderboard
  readonly windows: Readonly<Record<TimedWindow, Windows>>
  /** The board of all time after the leaderboard has ended, as the window 0; before, there is none. */
  ended: Windows | undefined
  /** The key by which the boards order a score, and the score of a key. */
  readonly keyOf: (score: number) => number = asItIs
  readonly scoreOf: (key: number) => number = asItIs
  /** The kinds of windows that settle. */
  protected settled: ReadonlyArray<TimedWindow> = windowKinds
  /** The board that settles next, and how many records come before that. */
  #settling = 0
  #untilSettled = settleEvery(windowKinds)

  readonly #newBoard: () => Leaderboard

  constructor(members: Members, grouping?: Grouping) {
    this.members = members
    this.#newBoard = () => Leaderboard.grouped(members, grouping)
    this.allTime = this.#newBoard()
    this.windows = {
      daily: new Windows(this.#newBoard),
      weekly: new Windows(this.#newBoard),
      monthly: new Windows(this.#newBoard),
      days: new Windows(this.#newBoard),
    }
  }

  /** Whether all users are listed; a new board is filled in the background. */
  get isFilled(): boolean {
    return true
  }

  /** The board of all time and those of the open windows. */
  *openBoards(): Generator<Leaderboard> {
    yield this.allTime
    for (const kind of timedWindows) yield* this.windows[kind].open.values()
  }

  /** The closed windows that are not stored. */
  *frozenBoards(): Generator<FrozenBoard> {
    for (const kind of timedWindows) yield* this.windows[kind].frozen
    if (this.ended !== undefined) yield* this.ended.frozen
  }

  /** Whether a window waits to be stored. */
  get hasFrozen(): boolean {
    if (this.ended !== undefined && this.ended.frozen.length > 0) return true
    return timedWindows.some((kind) => this.windows[kind].frozen.length > 0)
  }

  /** The windows of a kind; `undefined`: all time, and the leaderboard has not ended. */
  windowsOf(kind: BoardWindow): Windows | undefined {
    return kind === "all_time" ? this.ended : this.windows[kind]
  }

  /** A start has found this window on disk. */
  load({ kind, index, window, gaps }: WindowOnDisk): void {
    if (kind === "all_time") this.ended ??= new Windows(this.#newBoard)
    this.windowsOf(kind)!.load(index, window, gaps)
  }

  /** The record `sequence` ends the leaderboard. `closed`: how it closes all time, if that lists users. */
  end(closed: WindowClosed | undefined, sequence: number): void {
    if (this.ended !== undefined) return
    this.ended = new Windows(this.#newBoard)
    const window = closed === undefined ? allTimeWindow : windowOf(closed)
    this.ended.freeze(this.allTime, window, sequence)
    this.allTime = this.#newBoard()
    // These windows are empty: the record has closed the others.
    for (const kind of timedWindows) this.windows[kind].dropThrough(Number.POSITIVE_INFINITY)
  }

  credit(
    kind: TimedWindow,
    { index, sequence, xp }: { index: number; sequence: number; xp: number },
    member: number,
  ): void {
    this.windows[kind].openBoard(index)?.set(member, Math.max(0, xp), sequence)
  }

  /** Sets the scores of the windows that are not closed. */
  creditAll(windows: UserState["windows"], member: number): void {
    const { keyOf } = this
    for (const kind of timedWindows) {
      const { index, indexBefore, sequence, sequenceBefore, xp, xpBefore } = windows[kind]
      if (sequence > 0) this.credit(kind, { index, sequence, xp: keyOf(xp) }, member)
      if (sequenceBefore === 0) continue
      const before = { index: indexBefore, sequence: sequenceBefore, xp: keyOf(xpBefore) }
      this.credit(kind, before, member)
    }
  }

  /** A record has changed scores: one of the boards settles now and then. */
  moved(): void {
    if (--this.#untilSettled > 0) return
    this.#untilSettled = settleEvery(this.settled)
    const kind = this.settled[this.#settling++]
    if (kind !== undefined) {
      this.windows[kind].settle()
      return
    }
    this.allTime.settle()
    this.#settling = 0
  }

  /** Removes a user from every board, because of the record `sequence`. */
  leave(member: number | undefined, userId: string, sequence: number): void {
    this.leaveOpen(member)
    this.leaveClosed(member, userId, sequence)
  }

  /** Removes a user from the board of all time and the open windows. */
  leaveOpen(member: number | undefined): void {
    if (member === undefined) return
    for (const board of this.openBoards()) board.remove(member)
  }

  /** Removes a user from the closed windows, because of the record `sequence`. */
  leaveClosed(member: number | undefined, userId: string, sequence: number): void {
    for (const kind of timedWindows) this.windows[kind].leaveClosed(member, userId, sequence)
    this.ended?.leaveClosed(member, userId, sequence)
  }
}

const allTimeWindow = { index: 0, startsAt: null, endsAt: null }

/**
 * Each board settles after at most `boardMovesMax` records, before its own bound makes it settle. One
 * settles after so many records.
 */
const settleEvery = ({ length }: ReadonlyArray<TimedWindow>): number =>
  Math.floor(limits.boardMovesMax / (length + 1))
