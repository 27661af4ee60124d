/**
 * The scores of an event or a reward on leaderboards, and their revocation.
 *
 * What a decision credits of a currency, or adds to a metric that counts or sums, scores on each board
 * of this currency or metric that counts when the event occurred, and of whose segment the user is a member before it: in the score of all time, and
 * in the open windows that contain the event. A whole board (`isWhole`) that does not count notes the
 * amount as missed. What backfills of badges and merges pay scores in no window.
 *
 * On a board of teams the fact names the team of the kind that the user is in when the record is
 * decided (`engine/boards/TeamScores.ts` adds it up); without one, nothing scores. A revocation names
 * the team that got the amount, also if the user has left it.
 *
 * A revocation takes a score back exactly, but not from closed windows. What is left of a score
 * counts as reached by the revocation: in a tie it comes last.
 *
 * A board does not list a user who is disqualified on it. Scores go on, so that a user who is listed
 * again has them all; closed windows stay as they are.
 *
 * Boards of streaks and of other metrics have no facts: they show what users' states have
 * (`engine/boards/Boards.ts`).
 *
 * On a board by the calendars of users (`isByUsers`), the user's zone at the decision says in which window
 * the event occurred. It counts there until the window is over, and never in another one: so a change of
 * zone, also to the west, neither repeats nor loses a score. No more than two windows of a kind are open
 * at a time, which is what the state has places for. An undo takes the score from the window that the
 * fact names.
 *
 * On other boards a window takes what occurred in it until its grace ends, if the user's state has a place for the score
 * (`lateWindow`).
 *
 * Nothing scores on a board that has ended, and an undo takes nothing back from it.
 *
 * Cost: nothing in an environment without boards of its own; else a comparison for each currency
 * and metric that has one, and a fact for each board that is touched, at most `boardsOfCurrencyMax` of
 * a currency or a metric.
 */
import { closeOf } from "../project/BoardClose.ts"
import {
  type Board,
  boardGraceMs,
  boardIndexOf,
  isByUsers,
  isWhole,
  kindOfWindow,
  lastZoneOf,
  spanOf,
  xpBoard,
} from "../project/BoardDefinition.ts"
import { paysAt } from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Fact, FactOf, JournalRecord } from "../record/Record.ts"
import type { Membership } from "../user/Membership.ts"
import { teamIn } from "../user/TeamMembership.ts"
import {
  noBoardScores,
  noWindows,
  presentZone,
  type UserState,
  type WindowScores,
} from "../user/User.ts"
import {
  type TimedWindow,
  timedWindows,
  type WindowSpan,
  type Zone,
  zoneOf,
} from "../values/Calendar.ts"
import { hasEnded } from "./CloseWindows.ts"
import {
  hasScore,
  isStillOpen,
  lateWindow,
  openWindow,
  openWindows,
  windowOfUser,
} from "./openWindows.ts"
import { keptBefore } from "./Shares.ts"

/** The index of each window that counts. */
type Indexes = { -readonly [Kind in TimedWindow]?: number }

/** The parts of a decision in progress (`Draft`) that scores need. */
export interface Scoring {
  readonly facts: Array<Fact>
  readonly user: UserState | undefined
  readonly project: ProjectState
  readonly membership: Membership
  readonly now: number
  readonly occurredAt: number
  /** The local day of the project on which the event occurred. */
  readonly day: number
  readonly zone: Zone
  /** What the decision has credited of a currency. */
  readonly gained: (key: string) => number
  /** What the decision has added to the metric, scaled. */
  readonly measured: (key: string) => number
}

/** Scores on the boards of the currencies and metrics that the decision has added to. */
export const creditBoards = (draft: Scoring): void => {
  const { currency, metric } = boardIndexOf(draft.project.leaderboards)
  for (const [key, boards] of currency) scoreAmount(draft, boards, draft.gained(key))
  for (const [key, boards] of metric) scoreAmount(draft, boards, draft.measured(key))
}

const scoreAmount = (draft: Scoring, boards: ReadonlyArray<Board>, amount: number): void => {
  if (amount <= 0) return
  const today = draft.zone.dayAt(draft.now)
  const { day } = draft
  for (const board of boards) creditBoard(draft, board, amount, today, day)
}

/** What the decision has credited does not score: whole boards note it as missed. */
export const missBoards = (draft: Pick<Scoring, "facts" | "gained" | "project">): void => {
  for (const [currency, boards] of boardIndexOf(draft.project.leaderboards).currency) {
    const amount = draft.gained(currency)
    if (amount <= 0) continue
    for (const board of boards) {
      if (!isWhole(board) || closeOf(draft.project.boardCloses, board.id).over) continue
      draft.facts.push({ kind: "board.scored", boardId: board.id, amount, missed: true })
    }
  }
}

const creditBoard = (
  draft: Scoring,
  board: Board,
  amount: number,
  today: number,
  day: number,
): void => {
  const { facts, membership, now, occurredAt, project, user } = draft
  const { id: boardId } = board
  const closes = closeOf(project.boardCloses, boardId)
  if (closes.over) return
  if (!paysAt(board, occurredAt) || hasEnded(board, now)) {
    if (isWhole(board)) facts.push({ kind: "board.scored", boardId, amount, missed: true })
    return
  }
  if (!membership.has(board.segment)) return
  const team = board.teamKind === null ? undefined : teamIn(user, project, board.teamKind)
  if (board.teamKind !== null && team === undefined) return
  const { windows } = user?.boards.get(boardId) ?? noBoardScores
  const indexes: Indexes = {}
  let counts = false
  for (const span of board.windows) {
    const window = kindOfWindow(span)
    if (span === "all_time" || window === "all_time") {
      counts = true
      continue
    }
    const scores = windows[window]
    const index = isByUsers(board)
      ? indexOfUser(draft, board, span, closes[window])
      : (openWindow(span, scores, closes[window], today, day) ??
        lateIndex(draft, board, span, scores, closes[window]))
    if (index === undefined) continue
    indexes[window] = index
    counts = true
  }
  if (!counts) return
  const of = team && { team: { id: team.id, number: team.number } }
  const scored = { kind: "board.scored", boardId, amount, ...of, ...indexes } as const
  if (of !== undefined) facts.push(...keptBefore(user, project, scored))
  facts.push(scored)
}

/** The window by the calendar of the user. */
const indexOfUser = (
  { now, occurredAt, project, user, zone: ofProject }: Scoring,
  board: Board,
  span: WindowSpan,
  closed: number,
): number | undefined => {
  const zone = presentZone(user, project)
  const oldest = oldestOnBoard(board, span, ofProject, now)
  return windowOfUser(span, closed, oldest, zone.dayAt(now), zone.dayAt(occurredAt))
}

/** The oldest window of the board that is not over. */
const oldestOnBoard = (board: Board, span: WindowSpan, ofProject: Zone, now: number): number =>
  lastZoneOf(board, ofProject).windowAt(span, now - boardGraceMs(board))

/** The window that takes the event in its grace. */
const lateIndex = (
  { day, now, zone }: Scoring,
  board: Board,
  span: WindowSpan,
  scores: WindowScores,
  closed: number,
): number | undefined =>
  board.graceMinutes === 0
    ? undefined
    : lateWindow(span, scores, closed, day, { zone, now, graceMs: boardGraceMs(board) })

/** Credits the open windows of the board `xp` that contain the event. */
export const creditWindows = (draft: Scoring, amount: number): void => {
  const { day, facts, now, project, user, zone } = draft
  const closes = closeOf(project.boardCloses, xpBoard.id)
  const credit = openWindows(user?.windows ?? noWindows, closes, zone.dayAt(now), day)
  if (credit === undefined) return
  const { daily, monthly, weekly } = credit
  facts.push(
    // Usually all three windows are open, and a literal is faster than a spread.
    daily !== undefined && weekly !== undefined && monthly !== undefined
      ? { kind: "windows.credited", amount, daily, weekly, monthly }
      : { kind: "windows.credited", amount, ...credit },
  )
}

/** The facts that take the scores of the record `found` back. */
export const undoneScores = (
  user: UserState,
  project: ProjectState,
  now: number,
  { facts }: JournalRecord,
): ReadonlyArray<FactOf<"board.scored">> =>
  facts.flatMap((fact) => {
    if (fact.kind !== "board.scored") return []
    const { amount, boardId, kind, missed, team } = fact
    const closes = closeOf(project.boardCloses, boardId)
    if (closes.over) return []
    const { windows } = user.boards.get(boardId) ?? noBoardScores
    const board = project.leaderboards.get(boardId)
    const open =
      board &&
      (isByUsers(board)
        ? openOfUser(fact, windows, board, project, now)
        : {
            ...openAmong(fact, windows, board, project, now),
            ...graceAmong(fact, windows, board, project, now),
          })
    const of = { ...(team && { team }), ...(missed && { missed }) }
    return { kind, boardId, amount: -amount, ...of, ...open }
  })

/** The windows of a score on a board by the calendars of users that are not over. */
const openOfUser = (
  fact: FactOf<"board.scored">,
  windows: UserState["windows"],
  board: Board,
  { boardCloses, settings }: ProjectState,
  now: number,
): Indexes => {
  const closes = closeOf(boardCloses, board.id)
  const ofProject = zoneOf(settings.timezone)
  const debit: Indexes = {}
  for (const kind of timedWindows) {
    const index = fact[kind]
    const span = spanOf(board, kind)
    if (index === undefined || span === undefined || index <= closes[kind]) continue
    if (index < oldestOnBoard(board, span, ofProject, now)) continue
    if (hasScore(windows[kind], index)) debit[kind] = index
  }
  return debit
}

/** The windows of a score that are in their grace. */
const graceAmong = (
  fact: FactOf<"board.scored">,
  windows: UserState["windows"],
  board: Board,
  { boardCloses, settings }: ProjectState,
  now: number,
): Indexes => {
  const debit: Indexes = {}
  if (board.graceMinutes === 0) return debit
  const closes = closeOf(boardCloses, board.id)
  const grace = { zone: zoneOf(settings.timezone), now, graceMs: boardGraceMs(board) }
  for (const kind of timedWindows) {
    const index = fact[kind]
    const span = spanOf(board, kind)
    if (index === undefined || span === undefined) continue
    if (isStillOpen(span, index, windows[kind], closes[kind], grace)) debit[kind] = index
  }
  return debit
}

/** The windows of a credit from which a revocation takes it back: the user's latest, if open. */
export const openAmong = (
  credit: Indexes,
  latest: UserState["windows"],
  board: Board,
  { boardCloses, settings }: ProjectState,
  now: number,
): Indexes => {
  const today = zoneOf(settings.timezone).dayAt(now)
  const closes = closeOf(boardCloses, board.id)
  const debit: Indexes = {}
  for (const kind of timedWindows) {
    const index = credit[kind]
    const span = spanOf(board, kind)
    if (index === undefined || span === undefined || latest[kind].index !== index) continue
    if (index === openWindow(span, latest[kind], closes[kind], today, today)) debit[kind] = index
  }
  return debit
}
