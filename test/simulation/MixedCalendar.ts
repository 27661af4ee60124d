/** When windows of leaderboards begin, end and take scores, by dates of a paper calendar, and what has closed. */
import { expect } from "@effect/vitest"
import {
  type Board,
  boardGraceMs,
  hasScores,
  isByUsers,
} from "../../src/domain/project/BoardDefinition.ts"
import type { TimedWindow } from "../../src/domain/values/Calendar.ts"
import { dateAt, numberOf } from "./model/calendar.ts"

/** The index of the latest closed window of each kind. */
export type Closes = Readonly<Record<TimedWindow, number>>

const nothing: Closes = {
  daily: Number.NEGATIVE_INFINITY,
  weekly: Number.NEGATIVE_INFINITY,
  monthly: Number.NEGATIVE_INFINITY,
  days: Number.NEGATIVE_INFINITY,
}

type Ending = Pick<Board, "endsAt" | "graceMinutes">

export const dayIn = (zone: string, ms: number): number => numberOf(dateAt(zone, ms))

export class MixedCalendar {
  zone = "UTC"
  /** The time zones of the project before, and until when. */
  readonly #moves: Array<{ readonly zone: string; readonly until: number }> = []
  readonly #closes = new Map<string, Closes>()
  readonly #final = new Set<string>()

  move(zone: string, until: number): void {
    if (zone === this.zone) return
    this.#moves.push({ zone: this.zone, until })
    this.zone = zone
  }

  closes(boardId: string): Closes {
    return this.#closes.get(boardId) ?? nothing
  }

  close(boardId: string, kind: TimedWindow, index: number): void {
    const before = this.closes(boardId)
    expect(index).toBeGreaterThan(before[kind])
    this.#closes.set(boardId, { ...before, [kind]: index })
  }

  /** The leaderboard has ended; `last`: the last window of each kind that it may have. */
  end(boardId: string, last: Partial<Closes>): void {
    this.#final.add(boardId)
    const before = this.closes(boardId)
    for (const kind of Object.keys(last) as ReadonlyArray<TimedWindow>) {
      expect(last[kind]).toBeGreaterThanOrEqual(before[kind])
    }
    this.#closes.set(boardId, { ...before, ...last })
  }

  isFinal({ id }: Pick<Board, "id">): boolean {
    return this.#final.has(id)
  }

  hasEnded(board: Pick<Board, "endsAt" | "graceMinutes" | "set">, now: number): boolean {
    return hasScores(board) && board.endsAt !== null && now >= board.endsAt + boardGraceMs(board)
  }

  /** Windows of some days have numbers as if there were one on 1970-01-01. */
  windowOf({ windows }: Board, kind: TimedWindow, day: number): number {
    if (kind === "daily") return day
    // 1970-01-01 was a Thursday.
    if (kind === "weekly") return Math.floor((day + 3) / 7)
    if (kind === "monthly") {
      const [year, month] = new Date(day * 86_400_000).toISOString().split("-")
      return (Number(year) - 1970) * 12 + Number(month) - 1
    }
    const span = windows.find((window) => typeof window === "object")!
    const anchor = numberOf(span.anchor)
    return Math.floor((day - anchor) / span.days) + Math.floor(anchor / span.days)
  }

  /** The window of the present date of the project; of a board that ends, at most its last one. */
  present(board: Board, kind: TimedWindow, now: number, zone = this.zone): number {
    const at = board.endsAt === null ? now : Math.min(now, board.endsAt - 1)
    return this.windowOf(board, kind, dayIn(zone, at))
  }

  /** Windows before this one are over. */
  oldest(board: Board, kind: TimedWindow, now: number): number {
    const zone = isByUsers(board) ? "Etc/GMT+12" : this.zone
    const present = this.present(board, kind, now - boardGraceMs(board), zone)
    return Math.max(present, this.closes(board.id)[kind] + 1)
  }

  isOver(board: Board, kind: TimedWindow, index: number, now: number): boolean {
    return this.hasEnded(board, now) || index < this.oldest(board, kind, now)
  }

  /**
   * The window in which something counts that occurred then; `undefined`: in none. `latest`: the windows for
   * which the user's state has places.
   */
  indexFor(
    { seen, zone: own }: { readonly seen: number; readonly zone: string | null },
    board: Board,
    kind: TimedWindow,
    latest: ReadonlyArray<number>,
    occurredAt: number,
    now: number,
  ): number | undefined {
    const closed = this.closes(board.id)[kind]
    if (isByUsers(board)) {
      const zone = own ?? this.zone
      const index = this.windowOf(board, kind, dayIn(zone, occurredAt))
      if (index > closed) return this.isInTime(board, kind, index, now) ? index : undefined
      return index === this.windowOf(board, kind, dayIn(zone, now)) ? closed + 1 : undefined
    }
    const at = Math.max(seen, occurredAt)
    const zone = this.#moves.find(({ until }) => at < until)?.zone ?? this.zone
    const index = this.windowOf(board, kind, dayIn(zone, occurredAt))
    const present = this.windowOf(board, kind, dayIn(this.zone, now))
    if (index === present) return Math.max(present, closed + 1, latest[0] ?? present)
    if (!this.#isInGrace(board, kind, index, now) || index <= closed) return undefined
    const [newest, before] = latest
    if (newest === undefined || before === undefined) return index
    const isFree =
      index >= newest ||
      index === before ||
      (before < index && !this.#isInGrace(board, kind, before, now))
    return isFree ? index : undefined
  }

  /** Whether an undo takes a score of the window back. */
  takesBack(
    board: Board,
    kind: TimedWindow,
    index: number,
    latest: ReadonlyArray<number>,
    now: number,
  ): boolean {
    if (!latest.includes(index) || index <= this.closes(board.id)[kind]) return false
    if (isByUsers(board)) return this.isInTime(board, kind, index, now)
    const present = this.windowOf(board, kind, dayIn(this.zone, now))
    if (index === latest[0] && index >= present) return true
    return this.#isInGrace(board, kind, index, now)
  }

  /** Whether the window has not ended everywhere, with its grace; the end of the board changes nothing. */
  isInTime(board: Board, kind: TimedWindow, index: number, now: number): boolean {
    return index >= this.windowOf(board, kind, dayIn("Etc/GMT+12", now - boardGraceMs(board)))
  }

  #isInGrace(board: Board, kind: TimedWindow, index: number, now: number): boolean {
    const { graceMinutes }: Ending = board
    if (graceMinutes === 0) return false
    const windowAt = (ms: number) => this.windowOf(board, kind, dayIn(this.zone, ms))
    return index < windowAt(now) && index >= windowAt(now - boardGraceMs(board))
  }
}
