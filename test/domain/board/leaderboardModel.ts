/**
 * A leaderboard that is obviously right, a sort of everything on every look, and a run that lets the real one
 * and this one live through the same random history.
 */
import { Effect } from "effect"
import { expect } from "vitest"
import { Gaps } from "../../../src/domain/board/Gaps.ts"
import { Leaderboard } from "../../../src/domain/board/Leaderboard.ts"
import { boardInMemory, offsetAround } from "../../../src/engine/boards/BoardSource.ts"
import { randomOf, seeds } from "../../simulation/random.ts"

interface BoardEntry {
  readonly rank: number
  readonly userId: string
  readonly score: number
}

/** Up to `limit` entries of `board` from `offset` on. */
export const pageOf = (board: Leaderboard, offset: number, limit: number): Array<BoardEntry> => {
  const entries: Array<BoardEntry> = []
  board.visit(offset, limit, (member, score, rank) => {
    entries.push({ rank, userId: board.members.idOf(member), score })
  })
  return entries
}

/** Where the page of `limit` entries around a user begins; `undefined` when it is not listed. */
export const startAround = (
  board: Leaderboard,
  userId: string,
  limit: number,
): number | undefined => {
  const source = boardInMemory(board, new Gaps())
  const row = Effect.runSync(source.find(userId))
  return row === undefined ? undefined : offsetAround(source, row, limit)
}

class NaiveBoard {
  readonly scores = new Map<string, { readonly score: number; readonly tie: number }>()

  set(userId: string, score: number, tie: number): void {
    if (score === 0) this.scores.delete(userId)
    else if (this.scores.get(userId)?.score !== score) this.scores.set(userId, { score, tie })
  }

  rankOf(userId: string): number | null {
    const own = this.scores.get(userId)
    if (own === undefined) return null
    let rank = 1
    for (const { score } of this.scores.values()) if (score > own.score) rank++
    return rank
  }

  entries(): Array<BoardEntry> {
    const sorted = [...this.scores].sort(
      ([idA, a], [idB, b]) => b.score - a.score || a.tie - b.tie || (idA < idB ? -1 : 1),
    )
    let rank = 0
    return sorted.map(([userId, { score }], position) => {
      if (position === 0 || sorted[position - 1]![1].score !== score) rank = position + 1
      return { rank, userId, score }
    })
  }
}

const awkwardIds = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  " ",
  "0",
  "👨‍👩‍👧‍👦",
  "👨‍👩‍👧",
  "\u00e9",
  "e\u0301",
  "a/b?c#d%2f",
  "x".repeat(128),
]

export interface ModelRun {
  readonly seed: number
  /** How many users there are to choose from. */
  readonly users: number
  readonly steps: number
  /** How often in the run the whole boards are compared. */
  readonly comparisons: number
  /** `tied`: a handful of scores. `spread`: log-normal ones. `huge`: just below 2^53. */
  readonly scores: "tied" | "spread" | "huge"
}

/** Plays one run; a difference fails with the run's description, which repeats it. */
export const playModelRun = (run: ModelRun): void => {
  let step = 0
  try {
    const random = randomOf(run.seed)
    const integer = (below: number): number => Math.floor(random() * below)
    const ids = Array.from({ length: run.users }, (_, n) => awkwardIds[n] ?? `user-${n}`)
    const newScore = (): number => {
      switch (run.scores) {
        case "tied":
          return 1 + integer(5)
        case "spread":
          return 1 + Math.floor(Math.exp(6 + 3 * (random() + random() + random() - 1.5)))
        case "huge":
          return Number.MAX_SAFE_INTEGER - integer(run.users)
      }
    }
    let board = new Leaderboard()
    const naive = new NaiveBoard()
    /** Member numbers as an actor would hold them, valid until the user is forgotten. */
    const held = new Map<string, number>()
    let latest = 1

    const change = (userId: string, score: number): void => {
      // Now and then two users share a sequence, so that the user id decides, or a late one comes earlier.
      if (random() < 0.7) latest++
      const tie = random() < 0.9 ? latest : integer(latest)
      naive.set(userId, score, tie)
      if (random() < 0.5) board.setUser(userId, score, tie)
      else {
        const member = held.get(userId) ?? board.memberOf(userId)
        held.set(userId, member)
        board.set(member, score, tie)
      }
    }
    const leave = (userId: string): void => {
      naive.set(userId, 0, 0)
      if (random() < 0.5) {
        board.forget(userId)
        held.delete(userId)
      } else board.remove(board.memberOf(userId))
    }
    const compareUser = (userId: string): void => {
      expect(board.rankOf(userId)).toBe(naive.rankOf(userId))
      expect(board.scoreOf(userId)).toBe(naive.scores.get(userId)?.score ?? 0)
      const member = held.get(userId)
      if (member !== undefined) expect(board.rank(member)).toBe(naive.rankOf(userId))
    }
    const compareAll = (): void => {
      board.check()
      const entries = naive.entries()
      expect(board.total).toBe(entries.length)
      expect(pageOf(board, 0, entries.length + 1)).toEqual(entries)
      for (let n = 0; n < 20; n++) {
        const offset = integer(entries.length + 2)
        const limit = 1 + integer(100)
        expect(pageOf(board, offset, limit)).toEqual(entries.slice(offset, offset + limit))
        if (offset < entries.length) {
          const start = Math.max(
            0,
            Math.min(offset - Math.floor(limit / 2), entries.length - limit),
          )
          expect(startAround(board, entries[offset]!.userId, limit)).toBe(start)
        }
        compareUser(ids[integer(ids.length)]!)
      }
    }
    const rebuild = (): void => {
      held.clear()
      board = Leaderboard.fromEntries(
        [...naive.scores].map(([userId, { score, tie }]) => ({ userId, score, tieSequence: tie })),
      )
    }

    const compareEvery = Math.ceil(run.steps / run.comparisons)
    for (; step < run.steps; step++) {
      const userId = ids[integer(ids.length)]!
      const score = naive.scores.get(userId)?.score ?? 0
      // Four seasons, so that the board fills, lives, empties and fills again.
      const season = Math.floor((4 * step) / run.steps)
      const leaving = [0.02, 0.1, 0.85, 0.1][season]!
      const chance = random()
      if (chance < leaving) leave(userId)
      else if (chance < leaving + 0.01) change(userId, 0)
      else if (score > 0 && random() < 0.6) {
        const up = Math.min(score + integer(4), Number.MAX_SAFE_INTEGER)
        change(userId, random() < 0.8 ? up : Math.max(1, score - integer(4)))
      } else change(userId, newScore())
      if (step % 64 === 0) compareUser(userId)
      if (step % compareEvery === 0) compareAll()
      if (random() < 2 / run.steps) rebuild()
    }
    compareAll()
    rebuild()
    compareAll()
    for (const userId of ids) board.forget(userId)
    naive.scores.clear()
    compareAll()
    expect(board.members.size).toBe(0)
  } catch (error) {
    throw new Error(`step ${step} of ${JSON.stringify(run)} differs`, { cause: error })
  }
}

/** A new seed each time; `LAUREL_TEST_SEED` repeats a run. */
export const [runSeed = 1] = seeds(1)
