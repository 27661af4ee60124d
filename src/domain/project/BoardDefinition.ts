/**
 * The definition of a leaderboard, which ranks users by the earned amount of a currency, by a metric,
 * or by the length of a streak.
 *
 * The score of all time of a board of users without a segment and without a start is what the user ever
 * earned of the currency, or the value of a metric that counts or sums, less what was added while the board did not
 * count. So a new board has its scores at once. A board with a segment or a start cannot know who
 * would have counted before: it adds up what counts from its publication on, and so does each window
 * of every board.
 *
 * A board of a streak, or of another metric, has no scores of its own (`isOfPresent`). It shows the
 * present lengths or values that users' states have, and so it has no windows, segment or period, and
 * is never paused. A maximum of a window could be undone only from the user's history.
 *
 * A board of teams (`entrants`) ranks the teams of a kind. The score of a team is what users scored
 * while they were its members: each fact names the team that gets the score. It counts from its publication on, since no state says
 * who was in which team before.
 *
 * A board of users with `groupBy` ranks each user among those with the same value of an attribute too. The
 * group changes with the attribute, and takes the whole score along; a closed window keeps the group that the user
 * had at the close. Prizes go by the rank on the whole board.
 *
 * The windows of a board follow the calendar of the project or, by `timeZone`, that of each user. Then a
 * window begins with its first day in the first zone of the world, and ends with its last day in the last
 * one. So three days are open at once at times, but no more than two longer windows, which is what a
 * user's state has places for: such a board has no daily windows.
 *
 * The board `xp` always exists. It has no scores of its own: it ranks by the xp and the windows that
 * each user's state has in any case.
 */
import {
  type DaysWindow,
  type TimedWindow,
  timedWindows,
  type WindowKind,
  type WindowSpan,
  windowKinds,
  type Zone,
  zoneOf,
} from "../values/Calendar.ts"
import type { BoardPrize } from "./BoardPrize.ts"
import { type Definition, type Targeted, targetedDefaults } from "./Definition.ts"
import { definitionWithKey } from "./DefinitionKey.ts"
import type { Metric, MetricAggregate } from "./Metric.ts"

/** The kinds of windows. A board has at most one span of `days`, so a user's state has places for it. */
export const boardWindows = ["all_time", ...timedWindows] as const
export type BoardWindow = (typeof boardWindows)[number]

/** The windows that a definition names by a word. */
export const namedWindows = ["all_time", ...windowKinds] as const

/** A window as a definition has it. */
export type BoardSpan = "all_time" | WindowKind | DaysWindow

export const kindOfWindow = (window: BoardSpan): BoardWindow =>
  typeof window === "object" ? "days" : window

export const hasWindow = ({ windows }: Pick<Board, "windows">, kind: BoardWindow): boolean =>
  windows.some((window) => kindOfWindow(window) === kind)

/** How long the windows of a kind last on the board; `undefined`: it has no windows of days. */
export const spanOf = (
  { windows }: Pick<Board, "windows">,
  kind: TimedWindow,
): WindowSpan | undefined =>
  kind === "days" ? windows.find((window) => typeof window === "object") : kind

export const boardOrders = ["desc", "asc"] as const
export type BoardOrder = (typeof boardOrders)[number]

export const boardTies = ["shared", "first"] as const
export type BoardTies = (typeof boardTies)[number]

export const boardEntrants = ["users", "teams"] as const
export type BoardEntrants = (typeof boardEntrants)[number]

export const boardTimeZones = ["project", "user"] as const
export type BoardTimeZone = (typeof boardTimeZones)[number]

/** What users are ranked by: a currency, a metric or a streak, by its key. */
export type BoardScore =
  | { readonly currency: string }
  | { readonly metric: string }
  | { readonly streak: string }

export type RankedKind = "currency" | "metric" | "streak"

/** The kind of what users are ranked by, and its key. */
export const rankedBy = (score: BoardScore): readonly [kind: RankedKind, key: string] =>
  "currency" in score
    ? ["currency", score.currency]
    : "metric" in score
      ? ["metric", score.metric]
      : ["streak", score.streak]

/** Whether users are ranked by this definition of the kind. */
export const ranksBy = (
  { score }: Pick<Board, "score">,
  kind: RankedKind,
  key: string,
): boolean => {
  const [ranked, name] = rankedBy(score)
  return ranked === kind && name === key
}

/** Whether what events add to the metric adds up in windows. */
export const addsUp = (aggregate: MetricAggregate): boolean =>
  aggregate === "count" || aggregate === "sum"

/** The metric that a board ranks by. */
export const metricOf = (
  metrics: ReadonlyMap<string, Metric>,
  { score }: Pick<Board, "score">,
): Metric | undefined => ("metric" in score ? definitionWithKey(metrics, score.metric) : undefined)

/** Whether a board shows the present lengths of a streak or the present values of a metric. */
export const isOfPresent = (
  metrics: ReadonlyMap<string, Metric>,
  board: Pick<Board, "score">,
): boolean => {
  const metric = metricOf(metrics, board)
  return "streak" in board.score || (metric !== undefined && !addsUp(metric.aggregate))
}

/** A board. What decides the scores changes only while it is a draft (`scoring`). */
export interface Board extends Targeted {
  readonly name: string
  readonly score: BoardScore
  /** Whom the board ranks. */
  readonly entrants: BoardEntrants
  /** The kind of the teams that the board ranks; null: it ranks users. */
  readonly teamKind: string | null
  /** At least one. */
  readonly windows: ReadonlyArray<BoardSpan>
  /** The calendar of the windows: that of the project, or of each user. */
  readonly timeZone: BoardTimeZone
  /** `asc`: the lowest score is first. */
  readonly order: BoardOrder
  /**
   * Whether equal scores share a rank (1, 1, 3), or the one that was reached first comes first
   * (1, 2, 3).
   */
  readonly ties: BoardTies
  /** The attributes of users that entries show. */
  readonly attributes: ReadonlyArray<string>
  /** The attribute whose values are the groups of users; null: there are no groups. */
  readonly groupBy: string | null
  /** What ranks win in a window that closes. An edit counts for windows that close later. */
  readonly prizes: ReadonlyArray<BoardPrize>
  /** How many past windows of each kind are kept; null: as many as by default. */
  readonly keepWindows: number | null
  /**
   * For how long after its end a window takes what occurred in it: less than the shortest window lasts, so
   * that no more than two of a kind are open, which is what a user's state has places for.
   */
  readonly graceMinutes: number
  /** The number of first places whose users get messages of their ranks; null: no messages. */
  readonly announceRanks: number | null
}

/** The members that decide the scores. */
export const scoring = [
  "score",
  "entrants",
  "teamKind",
  "windows",
  "timeZone",
  "order",
  "groupBy",
  "graceMinutes",
  "segment",
  "startsAt",
] as const

/** The members of a board that says nothing of them. */
export const boardDefaults = {
  ...targetedDefaults,
  entrants: "users",
  teamKind: null as string | null,
  windows: namedWindows as ReadonlyArray<BoardSpan>,
  timeZone: "project" as BoardTimeZone,
  order: "desc",
  ties: "shared",
  attributes: [] as ReadonlyArray<string>,
  groupBy: null as string | null,
  prizes: [] as ReadonlyArray<BoardPrize>,
  keepWindows: null as number | null,
  graceMinutes: 0 as number,
  announceRanks: null as number | null,
} as const

const allTimeOnly: ReadonlyArray<BoardSpan> = ["all_time"]

/** The windows of a board that says nothing of them. */
export const defaultWindows = (score: BoardScore): ReadonlyArray<BoardSpan> =>
  "streak" in score ? allTimeOnly : boardDefaults.windows

const minuteMs = 60_000

/** How long after its end a window closes, in milliseconds. */
export const boardGraceMs = ({ graceMinutes }: Pick<Board, "graceMinutes">): number =>
  graceMinutes * minuteMs

/** Whether each user's calendar decides the windows of what the user earns. */
export const isByUsers = ({ timeZone }: Pick<Board, "timeZone">): boolean => timeZone === "user"

/** The zone in which the windows of the board begin first. */
export const firstZoneOf = (board: Pick<Board, "timeZone">, ofProject: Zone): Zone =>
  isByUsers(board) ? zoneOf("Etc/GMT-14") : ofProject

/** The zone in which the windows of the board end last. */
export const lastZoneOf = (board: Pick<Board, "timeZone">, ofProject: Zone): Zone =>
  isByUsers(board) ? zoneOf("Etc/GMT+12") : ofProject

/** When a window of the board begins anywhere and has ended everywhere, epoch milliseconds. */
export const boundsOn = (
  board: Pick<Board, "timeZone">,
  ofProject: Zone,
  span: WindowSpan,
  index: number,
): { readonly startsAt: number; readonly endsAt: number } => ({
  startsAt: firstZoneOf(board, ofProject).windowBounds(span, index).startsAt,
  endsAt: lastZoneOf(board, ofProject).windowBounds(span, index).endsAt,
})

/** The board that `GET /v1/leaderboard` reads. */
export const xpBoard: Board = {
  ...boardDefaults,
  id: "ldb_xp",
  key: "xp",
  name: "XP",
  score: { currency: "xp" },
  set: "published",
  version: 1,
  createdAt: 0,
  updatedAt: 0,
}

/** The boards of a new environment, by id. */
export const builtInBoards: ReadonlyMap<string, Board> = new Map([[xpBoard.id, xpBoard]])

export const isXpBoard = ({ id }: Pick<Definition, "id">): boolean => id === xpBoard.id

/** Whether the score of all time follows from what the user ever earned. */
export const isWhole = ({
  entrants,
  segment,
  startsAt,
}: Pick<Board, "entrants" | "segment" | "startsAt">): boolean =>
  entrants === "users" && segment === null && startsAt === null

/** Whether the board ranks teams. */
export const isOfTeams = ({ entrants }: Pick<Board, "entrants">): boolean => entrants === "teams"

/** Whether a board has scores: it was published, and is not archived. */
export const hasScores = ({ set }: Pick<Definition, "set">): boolean =>
  set === "published" || set === "paused"

/** A board with scores whose ranks messages announce. */
export type AnnouncingBoard = Board & { readonly announceRanks: number }

export const announces = (board: Board): board is AnnouncingBoard =>
  board.announceRanks !== null && hasScores(board)

/** The boards with scores of their own by the key of what they rank by, in the order of creation. */
export interface BoardIndex {
  readonly currency: ReadonlyMap<string, ReadonlyArray<Board>>
  readonly metric: ReadonlyMap<string, ReadonlyArray<Board>>
}

/** The index of the boards. Found once for each state of the definitions. */
export const boardIndexOf = (boards: ReadonlyMap<string, Board>): BoardIndex => {
  if (boards === latestBoards) return latestIndex
  const known = indexes.get(boards)
  const index = known ?? indexed(boards)
  if (known === undefined) indexes.set(boards, index)
  latestBoards = boards
  latestIndex = index
  return index
}

const noBoards: ReadonlyMap<string, ReadonlyArray<Board>> = new Map()
const indexes = new WeakMap<ReadonlyMap<string, Board>, BoardIndex>()
let latestBoards: ReadonlyMap<string, Board> | undefined
let latestIndex: BoardIndex = { currency: noBoards, metric: noBoards }

const indexed = (boards: ReadonlyMap<string, Board>): BoardIndex => {
  const scored = [...boards.values()].filter((board) => hasScores(board) && !isXpBoard(board))
  const by = (kind: RankedKind) =>
    Map.groupBy(
      scored.filter(({ score }) => rankedBy(score)[0] === kind),
      ({ score }) => rankedBy(score)[1],
    )
  return { currency: by("currency"), metric: by("metric") }
}
