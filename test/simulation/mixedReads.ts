/** Compares every leaderboard of an engine with the rows of the model. */
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import {
  type Board,
  type BoardWindow,
  hasScores,
  isByUsers,
  isOfTeams,
  kindOfWindow,
  spanOf,
} from "../../src/domain/project/BoardDefinition.ts"
import type { Gives } from "../../src/domain/project/Definition.ts"
import { dateOf, firstDayOf, type TimedWindow } from "../../src/domain/values/Calendar.ts"
import type { Engine } from "../../src/engine/Engine.ts"
import { sandbox } from "../engine/fixture.ts"
import { compareGroups } from "./boards.ts"
import type { MixedModel } from "./MixedModel.ts"
import type { Row } from "./MixedRows.ts"

export const compareBoards = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  model: MixedModel,
  now: number,
) {
  for (const { id, points } of model.people.values()) {
    const user = yield* engine.readUser(sandbox, id)
    expect([id, user?.points]).toEqual([id, points])
  }
  for (const board of model.boards.values()) {
    if (!hasScores(board)) continue
    if ("streak" in board.score) yield* compareStreak(engine, model, board)
    else if ("metric" in board.score && board.score.metric === "size") {
      yield* compareSizes(engine, model, board)
    } else {
      for (const [window, index] of windowsOf(model, board, now)) {
        yield* compareWindow(engine, model, { board, window, index, now })
      }
    }
  }
})

/** The present windows, some before, those that closed last, and those that should have closed. */
const windowsOf = (
  model: MixedModel,
  board: Board,
  now: number,
): ReadonlyArray<readonly [BoardWindow, number]> => {
  const { calendar } = model
  return board.windows.flatMap((window): ReadonlyArray<readonly [BoardWindow, number]> => {
    const kind = kindOfWindow(window)
    if (kind === "all_time") return [[kind, 0]]
    const zone = isByUsers(board) ? "Etc/GMT-14" : calendar.zone
    const closed = calendar.closes(board.id)[kind]
    const newest = calendar.isFinal(board)
      ? closed
      : Math.max(calendar.present(board, kind, now, zone), closed + 1)
    const open = model.openWindows(board).flatMap(([of, index]) => (of === kind ? index : []))
    const chosen = new Set([newest, newest - 1, newest - 2, ...open, closed, closed - 1])
    // A user who travelled to the west stays in a window that begins later.
    const readable = [...chosen].filter((index) => index <= newest && index > newest - 10)
    return readable.map((index) => [kind, index] as const)
  })
}

/** An entry as the model has it. */
interface Shown extends Omit<Row, "since" | "of"> {
  readonly of: string
  readonly name: string | null
}

const compareWindow = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  model: MixedModel,
  {
    board,
    index,
    now,
    window,
  }: {
    readonly board: Board
    readonly window: BoardWindow
    readonly index: number
    readonly now: number
  },
) {
  const at = window === "all_time" ? {} : { at: firstDateOf(board, window, index) }
  const query = { board: board.id, window, ...at, limit: 100, offset: 0 }
  const { all, closed, entries, filling, total } = isOfTeams(board)
    ? yield* ofTeams(engine, query)
    : yield* ofUsers(engine, query)
  compareGroups(all, board.ties === "shared")
  const { calendar } = model
  const isClosed =
    calendar.isFinal(board) ||
    (window !== "all_time" && index < calendar.oldest(board, window, now))
  const expected = model.listed(board, window, index).map(({ of, since: _, ...row }): Shown => {
    const team = typeof of === "number" ? model.teams.get(of) : undefined
    const name = team === undefined ? model.people.get(String(of))!.name : team.name
    return { ...row, of: team?.id ?? String(of), name }
  })
  const where = [board.id, window, index]
  expect([...where, closed, filling, total]).toEqual([...where, isClosed, false, expected.length])
  // Of equal scores that share a rank, the order is not compared.
  const isExact = board.ties === "first"
  const shown = (all: ReadonlyArray<Shown>) => (isExact ? all : all.toSorted(byName))
  expect([...where, shown(entries)]).toEqual([...where, shown(expected)])
})

const byName = (one: Shown, other: Shown): number => (one.of < other.of ? -1 : 1)

const firstDateOf = (board: Board, kind: TimedWindow, index: number): string =>
  dateOf(firstDayOf(spanOf(board, kind)!, index))

const pointsOf = (prizes: ReadonlyArray<Gives>): number =>
  prizes.reduce((sum, { points }) => sum + points, 0)

type Query = Parameters<Engine["Service"]["readBoard"]>[1]

const ofTeams = (engine: Engine["Service"], query: Query) =>
  Effect.map(engine.readTeamBoard(sandbox, query), (page) => ({
    ...page,
    all: [],
    entries: page.entries.map(
      ({ prizes, rank, score, team }): Shown => ({
        of: team.id,
        name: team.name,
        rank,
        score,
        group: null,
        won: pointsOf(prizes),
      }),
    ),
  }))

const ofUsers = (engine: Engine["Service"], query: Query) =>
  Effect.map(engine.readBoard(sandbox, query), (page) => ({
    ...page,
    all: page.entries,
    entries: page.entries.map(
      ({ displayName, inGroup, prizes, rank, score, userId }): Shown => ({
        of: userId,
        name: displayName,
        rank,
        score,
        group: inGroup?.group ?? null,
        won: pointsOf(prizes),
      }),
    ),
  }))

/** The board shows the present lengths that users' states have. */
const compareStreak = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  model: MixedModel,
  board: Board,
) {
  const expected: Array<readonly [string, number, string | null]> = []
  for (const { city, hidden, id, off } of model.people.values()) {
    const streak = (yield* engine.readUser(sandbox, id))?.streaks.get("daily")
    if (hidden || off.has(board.id) || streak === undefined || streak.broken) continue
    if (streak.length > 0) expected.push([id, streak.length, city])
  }
  const query = { board: board.id, limit: 100, offset: 0 }
  const { entries } = yield* engine.readBoard(sandbox, query)
  const found = entries.map(
    ({ inGroup, score, userId }) => [userId, score, inGroup?.group ?? null] as const,
  )
  expect([board.id, found.toSorted()]).toEqual([board.id, expected.toSorted()])
})

const compareSizes = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  model: MixedModel,
  board: Board,
) {
  const expected = [...model.people.values()].flatMap((person) => {
    const size = model.sizeOf(person)
    const isListed = !person.hidden && !person.off.has(board.id) && size !== undefined
    return isListed ? [[person.id, size] as const] : []
  })
  const query = { board: board.id, limit: 100, offset: 0 }
  const { entries } = yield* engine.readBoard(sandbox, query)
  const found = entries.map(({ score, userId }) => [userId, score] as const)
  expect([board.id, found.toSorted()]).toEqual([board.id, expected.toSorted()])
})
