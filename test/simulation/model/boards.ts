/**
 * The scores on leaderboards: what each decision earned of a currency or added to a metric, added up;
 * or the present length of a streak.
 */
import {
  type Board,
  type BoardScore,
  rankedBy,
} from "../../../src/domain/project/BoardDefinition.ts"
import type { Place } from "./badges.ts"
import { numberOf, windowKinds } from "./calendar.ts"
import type { Definitions } from "./Definitions.ts"
import { pays } from "./Definitions.ts"
import {
  type Amounting,
  credited,
  type Entry,
  earning,
  type Happened,
  type Log,
  type Scored,
  standing,
  type Windows,
} from "./log.ts"
import { totalOf } from "./metrics.ts"
import { periodOf, streakOf } from "./streaks.ts"
import { teamsOf } from "./teams.ts"
import { closedOf, stillOpen, windowsFor } from "./windows.ts"

/** The board `xp` is that of the windows of xp. */
const others = (boards: ReadonlyArray<Board>): ReadonlyArray<Board> =>
  boards.filter(({ key }) => key !== "xp")

/** Whether the score of all time is what the user ever earned. */
const hasAll = ({ entrants, segment, startsAt }: Board): boolean =>
  entrants === "users" && segment === null && startsAt === null

/** The log in which the score on the board stands in the place of xp. */
export const onBoard = (log: Log, boardId: string): Log => {
  const seen = new Map<Happened, Happened>()
  return log.flatMap((entry): ReadonlyArray<Entry> => {
    if (entry.kind === "event" || entry.kind === "reward") {
      const scored = entry.boards.get(boardId)
      const xp = scored === undefined || scored.missed ? 0 : scored.amount
      const shown = { ...entry, xp, windows: scored?.windows ?? {} }
      seen.set(entry, shown)
      return [shown]
    }
    // A purchase scores on no board, and an undo takes nothing back from one that has ended.
    if (entry.kind !== "undone" || !entry.boards.has(boardId)) return []
    return [{ ...entry, of: seen.get(entry.of)!, windows: entry.boards.get(boardId) ?? {} }]
  })
}

/** What a decision adds to the score: metrics are scaled to whole numbers. */
const added = (
  entry: Amounting,
  score: BoardScore,
  { metrics }: Pick<Definitions, "metrics">,
): number => {
  if ("currency" in score) return credited(entry, score.currency)
  if ("streak" in score) return 0
  const metric = metrics.find(({ key }) => key === score.metric)
  if (metric?.aggregate !== "count" && metric?.aggregate !== "sum") return 0
  const measured = ("metrics" in entry ? (entry as Happened).metrics : []).find(
    ({ metricId }) => metricId === metric?.id,
  )
  return measured === undefined ? 0 : Math.round(measured.value * 10 ** metric.decimals)
}

/** The boards on which a decision scores that has given all it gives. */
export const scoresOf = (
  before: Log,
  entry: Happened,
  { closed, leaderboards, metrics, settings, teams }: Definitions,
  date: string,
  now: number,
  isIn: (segment: string | null) => boolean,
): ReadonlyArray<readonly [string, Scored]> => {
  // A decision asks for the segments of the boards of currencies first.
  const kinds = ["currency", "metric"]
  const boards = Object.values(
    Object.groupBy(
      others(leaderboards).filter(({ set }) => set === "published" || set === "paused"),
      ({ score }) => rankedBy(score).join(" "),
    ),
  )
    .flatMap((group) => group ?? [])
    .sort(
      (one, other) =>
        kinds.indexOf(rankedBy(one.score)[0]) - kinds.indexOf(rankedBy(other.score)[0]),
    )
  return boards.flatMap((board) => {
    const amount = added(entry, board.score, { metrics })
    if (amount === 0) return []
    const nowhere = { amount, missed: true, windows: {} }
    const closes = closedOf(closed, board.id)
    if (closes.over !== undefined) return []
    if (!pays(board, entry.occurredAt) || (board.endsAt !== null && now >= board.endsAt)) {
      return hasAll(board) ? [[board.id, nowhere] as const] : []
    }
    if (!isIn(board.segment)) return []
    // On a board of teams, an amount scores for the team that the user is in.
    if (board.teamKind !== null && !teamsOf(before, teams).has(board.teamKind)) return []
    const own = onBoard(before, board.id)
    const all = windowsFor(own, settings.timezone, closes, date, now)
    const windows: Windows = {}
    for (const kind of windowKinds) {
      const first = all[kind]
      if (first !== undefined && board.windows.includes(kind)) windows[kind] = first
    }
    const isNowhere = !board.windows.includes("all_time") && Object.keys(windows).length === 0
    return isNowhere ? [] : [[board.id, { amount, missed: false, windows }] as const]
  })
}

/** The windows of the boards from which an undo takes what the decision scored. */
export const openScores = (
  before: Log,
  of: Happened,
  { closed, settings }: Definitions,
  now: number,
): ReadonlyMap<string, Windows> =>
  new Map(
    [...of.boards].flatMap(([boardId, { windows }]) => {
      const closes = closedOf(closed, boardId)
      if (closes.over !== undefined) return []
      const open = stillOpen(onBoard(before, boardId), windows, settings.timezone, closes, now)
      return [[boardId, open] as const]
    }),
  )

const sum = (numbers: ReadonlyArray<number>): number =>
  numbers.reduce((total, number) => total + number, 0)

/** The score of all time, and the record that set it. */
export const totalOn = (
  log: Log,
  board: Board,
  definitions: Pick<Definitions, "metrics">,
): { readonly score: number; readonly since: number } => {
  const { id, score } = board
  const taken = new Set(
    log.map((entry) => (entry.kind === "undone" && entry.boards.has(id) ? entry.of : undefined)),
  )
  const scored = log.flatMap((entry) =>
    (entry.kind === "event" || entry.kind === "reward") && !taken.has(entry)
      ? (entry.boards.get(id) ?? [])
      : [],
  )
  const missed = sum(scored.flatMap((one) => (one.missed ? one.amount : [])))
  const counted = sum(scored.flatMap((one) => (one.missed ? [] : one.amount)))
  const giving = "currency" in score ? earning(log) : standing(log)
  const earned = sum(giving.map((entry) => added(entry, score, definitions)))
  const since = onBoard(log, id).findLast(
    (entry) => (entry.kind === "undone" ? entry.of : (entry as Happened)).xp !== 0,
  )
  return { score: hasAll(board) ? earned - missed : counted, since: since?.sequence ?? 0 }
}

/** The present length of the streak that the board ranks by, and the number of its last period. */
export const lengthOn = (
  log: Log,
  key: string,
  { places, streaks }: Pick<Place, "places" | "streaks">,
  now: number,
): { readonly score: number; readonly since: number } => {
  const definition = streaks.find((one) => one.key === key)!
  const { current, lastDay } = streakOf(log, definition, places, now)
  return {
    score: current,
    since: lastDay === null ? 0 : periodOf(definition.every, numberOf(lastDay)),
  }
}

/**
 * The present value of the metric that the board ranks by, scaled; null: none. `undefined`: what
 * events add to the metric adds up.
 */
export const valueOn = (
  log: Log,
  { score }: Board,
  { metrics }: Pick<Definitions, "metrics">,
): number | null | undefined => {
  const metric = "metric" in score ? metrics.find(({ key }) => key === score.metric) : undefined
  if (metric === undefined || ["count", "sum"].includes(metric.aggregate)) return undefined
  const total = totalOf(log, metric)
  if (metric.aggregate === "distinct_days" && total === 0) return null
  return total === null ? null : Math.round(total * 10 ** metric.decimals)
}

/** Whether the leaderboard does not list the user. */
export const isOff = (log: Log, boardId: string): boolean =>
  log.filter((entry) => entry.kind === "listed").findLast((entry) => entry.boardId === boardId)
    ?.disqualified === true

/** The record that set the score of a window. */
export const scoreSince = (
  log: Log,
  boardId: string,
  kind: (typeof windowKinds)[number],
  first: string,
): number =>
  onBoard(log, boardId).findLast(
    (entry) =>
      "windows" in entry &&
      entry.windows[kind] === first &&
      (entry.kind === "undone" ? entry.of : entry).xp !== 0,
  )?.sequence ?? 0
