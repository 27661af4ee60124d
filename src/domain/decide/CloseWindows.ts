/**
 * Decides when the windows of leaderboards close, and when leaderboards end.
 *
 * A leaderboard with `endsAt` ends then, also if it is paused. One record closes all its windows that
 * list users, that of all time too, and ends the leaderboard: it takes no more scores, and its ranks
 * are final. A window that the end cuts off closes early.
 *
 * On a board by the calendars of users a window is over once it has ended in the last zone of the world.
 *
 * With a grace, a window and a leaderboard close so much later, and until then take what occurred before
 * their ends. What is over at a moment is what had ended a grace before.
 */
import { Result } from "effect"
import { closeOf } from "../project/BoardClose.ts"
import {
  type Board,
  type BoardWindow,
  boardGraceMs,
  boundsOn,
  hasScores,
  hasWindow,
  lastZoneOf,
  spanOf,
  xpBoard,
} from "../project/BoardDefinition.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Fact } from "../record/Record.ts"
import { type TimedWindow, type WindowSpan, type Zone, zoneOf } from "../values/Calendar.ts"
import { refuse } from "../values/Errors.ts"
import { assertCloses } from "../values/invariants.ts"
import type { Decided } from "./Decided.ts"

/** A window that may be over. `total` is the number of users whom it lists. */
export interface WindowOver {
  /** The id of the leaderboard; absent: `xp`. */
  readonly boardId?: string
  /** `all_time`: the leaderboard may have ended. */
  readonly window: BoardWindow
  readonly index: number
  readonly total: number
}

/** Closes windows that are over, and leaderboards that have ended. Others are ignored. */
export interface CloseWindows {
  readonly kind: "closeWindows"
  readonly windows: ReadonlyArray<WindowOver>
}

type Ending = Pick<Board, "endsAt" | "graceMinutes" | "id" | "timeZone" | "windows">

/** Whether the leaderboard has ended, and its grace too, so that nothing scores on it any more. */
export const hasEnded = (board: Pick<Board, "endsAt" | "graceMinutes">, now: number): boolean =>
  board.endsAt !== null && now >= board.endsAt + boardGraceMs(board)

/** The index of the oldest window that takes scores at `now`: those before it are over. */
export const oldestOpenWindow = (
  project: Pick<ProjectState, "boardCloses">,
  board: Ending,
  zone: Zone,
  kind: TimedWindow,
  now: number,
): number => openWindow(project, board, lastZoneOf(board, zone), kind, now - boardGraceMs(board))

/**
 * The index of the open window: the window of `now`. If this window is already closed, because the
 * time zone changed or the clock was set back, the window after the last closed one. Of a leaderboard
 * that has ended, its last window, and of one without such windows, the window before all.
 */
export const openWindow = (
  { boardCloses }: Pick<ProjectState, "boardCloses">,
  board: Ending,
  zone: Zone,
  kind: TimedWindow,
  now: number,
): number => {
  const { endsAt, id } = board
  const closes = closeOf(boardCloses, id)
  const span = spanOf(board, kind)
  if (closes.over || span === undefined) return closes[kind]
  const present = endsAt === null ? now : Math.min(now, endsAt - 1)
  return Math.max(zone.windowAt(span, present), closes[kind] + 1)
}

/** The leaderboards that end, and have not yet. */
export const endingBoards = ({
  boardCloses,
  leaderboards,
}: Pick<ProjectState, "boardCloses" | "leaderboards">): ReadonlyArray<
  Board & { readonly endsAt: number }
> =>
  [...leaderboards.values()].flatMap((board) => {
    const { endsAt, id } = board
    if (endsAt === null || !hasScores(board) || closeOf(boardCloses, id).over) return []
    return [{ ...board, endsAt }]
  })

/**
 * A fact for each window that is over by `now`, in the order of their indexes, and for each
 * leaderboard that has ended. Refuses if there is none.
 */
export const decideCloseWindows = (
  project: ProjectState,
  { windows }: CloseWindows,
  now: number,
): Decided<"conflict"> => {
  const zone = zoneOf(project.settings.timezone)
  const facts: Array<Fact> = []
  const closed = new Map<string, Record<TimedWindow, number>>()
  const inOrder = windows.toSorted((one, other) => one.index - other.index)
  for (const { boardId, index, total, window } of inOrder) {
    if (window === "all_time") continue
    const board = boardOf(project, boardId)
    if (board === undefined) continue
    const closes = closed.get(board.id) ?? { ...closeOf(project.boardCloses, board.id) }
    const span = spanOf(board, window)
    if (span === undefined || index <= closes[window]) continue
    if (!isOver(project, board, zone, { window, index }, now)) continue
    assertCloses(window, index, closes[window])
    closes[window] = index
    closed.set(board.id, closes)
    const bounds = boundsOf(board, zone, span, index)
    facts.push({
      ...closedBoard(board),
      window,
      index,
      ...bounds,
      total,
      ...prizesOf(board, window),
    })
  }
  for (const { boardId, total, window } of inOrder) {
    const board = window === "all_time" ? boardOf(project, boardId) : undefined
    if (board === undefined || !hasEnded(board, now)) continue
    if (closeOf(project.boardCloses, board.id).over) continue
    facts.push(...endOf(project, board, zone, total, closed.get(board.id)))
  }
  return facts.length > 0 ? Result.succeed(facts) : refuse("conflict", "No window is over.")
}

const boardOf = ({ leaderboards }: ProjectState, boardId: string = xpBoard.id) => {
  const board = leaderboards.get(boardId)
  return board !== undefined && hasScores(board) ? board : undefined
}

const isOver = (
  project: ProjectState,
  board: Board,
  zone: Zone,
  { index, window }: { readonly index: number; readonly window: TimedWindow },
  now: number,
): boolean =>
  !closeOf(project.boardCloses, board.id).over &&
  (hasEnded(board, now) || index < oldestOpenWindow(project, board, zone, window, now))

const closedBoard = ({ id, key }: Board) =>
  ({
    kind: "leaderboard.window_closed",
    ...(id !== xpBoard.id && { board: { boardId: id, key } }),
  }) as const

/** The leaderboard's end may be within the window. */
const boundsOf = (board: Board, zone: Zone, span: WindowSpan, index: number) => {
  const { endsAt } = board
  const bounds = boundsOn(board, zone, span, index)
  return endsAt === null || endsAt <= bounds.startsAt || endsAt >= bounds.endsAt
    ? bounds
    : { ...bounds, endsAt }
}

/** The facts that end a leaderboard, behind those that close its windows. */
const endOf = (
  project: ProjectState,
  board: Board,
  zone: Zone,
  total: number,
  closed: Readonly<Record<TimedWindow, number>> | undefined,
): ReadonlyArray<Fact> => {
  const { createdAt, endsAt, id: boardId, key, startsAt } = board
  const last = (kind: TimedWindow): number =>
    Math.max(
      openWindow(project, board, zone, kind, endsAt!),
      closed?.[kind] ?? Number.NEGATIVE_INFINITY,
    )
  const days = hasWindow(board, "days") && { days: last("days") }
  const ended: Fact = {
    kind: "leaderboard.closed",
    boardId,
    key,
    endsAt: endsAt!,
    last: { daily: last("daily"), weekly: last("weekly"), monthly: last("monthly"), ...days },
  }
  if (!hasWindow(board, "all_time") || total === 0) return [ended]
  const always = { window: "all_time", index: 0, endsAt: endsAt! } as const
  const begun = startsAt ?? createdAt
  return [
    { ...closedBoard(board), ...always, startsAt: begun, total, ...prizesOf(board, "all_time") },
    ended,
  ]
}

/** The prizes that a closed window pays. A paused leaderboard pays nothing. */
const prizesOf = ({ prizes, set, ties }: Board, window: BoardWindow) => {
  const own = set === "published" ? prizes.filter((prize) => prize.window === window) : []
  return own.length > 0 && { prizes: { prizes: own, ties } }
}
