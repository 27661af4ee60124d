import { describe, expect, it } from "vitest"
import { Leaderboard } from "../../../src/domain/board/Leaderboard.ts"
import { Members } from "../../../src/domain/board/Members.ts"
import { limits } from "../../../src/Limits.ts"
import { randomOf } from "../../simulation/random.ts"
import { pageOf, playModelRun, runSeed, startAround } from "./leaderboardModel.ts"

const boardOf = (...scores: ReadonlyArray<readonly [userId: string, score: number]>) => {
  const board = new Leaderboard()
  for (const [index, [userId, score]] of scores.entries()) board.setUser(userId, score, index + 1)
  return board
}

const idsOf = (entries: ReturnType<typeof pageOf>) => entries.map((entry) => entry.userId)
const ranksOf = (entries: ReturnType<typeof pageOf>) => entries.map((entry) => entry.rank)

describe("Order and ranks", () => {
  it("lists higher scores first and gives equal scores the same rank, skipping the ranks they take", () => {
    const page = pageOf(boardOf(["a", 10], ["b", 30], ["c", 30], ["d", 20]), 0, 10)
    expect(page).toEqual([
      { rank: 1, userId: "b", score: 30 },
      { rank: 1, userId: "c", score: 30 },
      { rank: 3, userId: "d", score: 20 },
      { rank: 4, userId: "a", score: 10 },
    ])
  })

  it("ranks the user who reached a score first before later ones", () => {
    const board = boardOf(["z", 5], ["a", 10], ["z", 10])
    expect(idsOf(pageOf(board, 0, 10))).toEqual(["a", "z"])
  })

  it("falls back to the user id where the sequences are equal", () => {
    const board = new Leaderboard()
    for (const userId of ["c", "a", "b"]) board.setUser(userId, 10, 7)
    expect(idsOf(pageOf(board, 0, 10))).toEqual(["a", "b", "c"])
    const entries = ["c", "a", "b"].map((userId) => ({ userId, score: 10, tieSequence: 7 }))
    expect(idsOf(pageOf(Leaderboard.fromEntries(entries), 0, 10))).toEqual(["a", "b", "c"])
  })

  it("keeps a member's place among equals when the same score is set again", () => {
    const board = boardOf(["a", 10], ["b", 10])
    board.setUser("a", 10, 99)
    expect(idsOf(pageOf(board, 0, 10))).toEqual(["a", "b"])
  })

  it("puts a member who left a score and came back behind the others", () => {
    const board = boardOf(["a", 10], ["b", 10], ["a", 20], ["a", 10])
    expect(idsOf(pageOf(board, 0, 10))).toEqual(["b", "a"])
    expect(board.rankOf("a")).toBe(1)
  })

  it("distinguishes neighbouring scores just below 2^53", () => {
    const most = Number.MAX_SAFE_INTEGER
    const board = boardOf(["a", most - 1], ["b", most], ["c", most - 2])
    expect(idsOf(pageOf(board, 0, 10))).toEqual(["b", "a", "c"])
    expect(ranksOf(pageOf(board, 0, 10))).toEqual([1, 2, 3])
    expect(board.scoreOf("b")).toBe(most)
  })

  it("returns the rank of any score, listed or not", () => {
    const board = boardOf(["a", 10], ["b", 30], ["c", 30])
    expect([31, 30, 29, 10, 1].map((score) => board.rankOfScore(score))).toEqual([1, 1, 3, 3, 4])
  })

  it("counts the members with at least a score, the largest and infinity included", () => {
    const board = boardOf(["a", 10], ["b", 30], ["c", 30])
    const scores = [1, 10, 11, 30, 31, limits.balanceMax, Number.POSITIVE_INFINITY]
    expect(scores.map((score) => board.countFrom(score))).toEqual([3, 3, 2, 2, 0, 0, 0])
    expect(new Leaderboard().countFrom(1)).toBe(0)
  })
})

describe("A leaderboard's list", () => {
  it("lists nobody on an empty board", () => {
    const board = new Leaderboard()
    expect(pageOf(board, 0, 10)).toEqual([])
    expect(board.rankOf("a")).toBeNull()
    expect(board.scoreOf("a")).toBe(0)
    expect(board.rankOfScore(1)).toBe(1)
    expect(startAround(board, "a", 10)).toBeUndefined()
    expect(Leaderboard.fromEntries([]).total).toBe(0)
  })

  it("does not list a score of 0", () => {
    const board = boardOf(["a", 10], ["b", 20], ["c", 0])
    board.set(board.memberOf("a"), 0, 4)
    expect(idsOf(pageOf(board, 0, 10))).toEqual(["b"])
    expect(board.rankOf("a")).toBeNull()
    expect(board.total).toBe(1)
  })

  it("removes a member and lists it again with its next score", () => {
    const board = boardOf(["a", 10], ["b", 5])
    const member = board.memberOf("a")
    board.remove(member)
    board.remove(member)
    expect(board.rank(member)).toBeNull()
    expect(board.total).toBe(1)
    board.set(member, 3, 9)
    expect(board.rank(member)).toBe(2)
  })

  it("passes nothing of a released user to the next owner of its number", () => {
    const board = boardOf(["a", 10])
    const member = board.memberOf("a")
    board.forget("a")
    board.forget("a")
    expect(board.memberOf("b")).toBe(member)
    expect(board.rank(member)).toBeNull()
    expect(board.score(member)).toBe(0)
    board.set(member, 5, 2)
    expect(idsOf(pageOf(board, 0, 10))).toEqual(["b"])
    expect(board.rankOf("a")).toBeNull()
  })

  it("takes ids that are names of object members, and never mixes up ids that look alike", () => {
    const ids = ["__proto__", "constructor", "👩‍🚀", "\u00e9", "e\u0301", "👩‍🚀".repeat(25)]
    const board = boardOf(...ids.map((userId, index) => [userId, index + 1] as const))
    for (const [index, userId] of ids.entries()) expect(board.scoreOf(userId)).toBe(index + 1)
    expect(idsOf(pageOf(board, 0, 10))).toEqual(ids.toReversed())
  })

  it("refuses scores and sequences other than integers from 0 to 2^53 - 1, and is unchanged", () => {
    const board = boardOf(["a", 10])
    for (const wrong of [Number.NaN, -1, 0.5, 2 ** 53, Number.POSITIVE_INFINITY]) {
      expect(() => board.setUser("a", wrong, 2)).toThrow(RangeError)
      expect(() => board.setUser("a", 20, wrong)).toThrow(RangeError)
      const entry = { userId: "a", score: wrong, tieSequence: 1 }
      expect(() => Leaderboard.fromEntries([entry])).toThrow(RangeError)
    }
    expect(board.scoreOf("a")).toBe(10)
  })

  it("refuses entries with a user twice", () => {
    const entry = { userId: "a", score: 10, tieSequence: 1 }
    expect(() => Leaderboard.fromEntries([entry, { ...entry, score: 20 }])).toThrow(/once/)
  })

  it("leaves out scores of 0 when it is built at once", () => {
    const entries = [5, 0, 7].map((score, index) => ({
      userId: `u${index}`,
      score,
      tieSequence: index,
    }))
    expect(idsOf(pageOf(Leaderboard.fromEntries(entries), 0, 10))).toEqual(["u2", "u0"])
  })
})

describe("Pages", () => {
  const tied = boardOf(["a", 9], ["b", 5], ["c", 5], ["d", 5], ["e", 1])

  it("shows the right rank on a page that begins inside a tie", () => {
    expect(ranksOf(pageOf(tied, 2, 3))).toEqual([2, 2, 5])
  })

  it("is empty past the end and short at the end", () => {
    expect(pageOf(tied, 5, 10)).toEqual([])
    expect(pageOf(tied, 1_000_000, 10)).toEqual([])
    expect(idsOf(pageOf(tied, 4, 10))).toEqual(["e"])
  })

  it("centres on a member and stays full at both ends of the board", () => {
    const around = (userId: string, limit: number) =>
      idsOf(pageOf(tied, startAround(tied, userId, limit)!, limit))
    expect(around("c", 3)).toEqual(["b", "c", "d"])
    expect(around("c", 1)).toEqual(["c"])
    expect(around("c", 2)).toEqual(["b", "c"])
    expect(around("a", 3)).toEqual(["a", "b", "c"])
    expect(around("e", 3)).toEqual(["c", "d", "e"])
    expect(around("c", 100)).toEqual(["a", "b", "c", "d", "e"])
  })
})

describe("Moves that wait", () => {
  const most = limits.boardMovesMax
  for (const moves of [1, most - 1, most, most + 1, 2 * most]) {
    it(`shows ${moves} moves to each reader at once`, () => {
      const readers: ReadonlyArray<(board: Leaderboard, last: number) => unknown> = [
        (board) => board.total,
        (board, last) => board.rank(last),
        (board, last) => board.score(last),
        (board, last) => board.positionOf(last),
        (board, last) => board.rankOfScore(last + 1),
        (board) => board.countFrom(1),
        (board) => idsOf(pageOf(board, 0, moves)),
      ]
      const count = Array.from({ length: moves }, (_, n) => n)
      const expected = [moves, 1, moves, 0, 1, moves, count.map((n) => `u${n}`).reverse()]
      for (const [index, read] of readers.entries()) {
        const board = new Leaderboard()
        const last = moves - 1
        for (const n of count) board.set(board.memberOf(`u${n}`), n + 1, n)
        expect(read(board, last)).toEqual(expected[index])
      }
    })
  }

  it("are made in the order in which they came, so that ties are what they were", () => {
    const board = boardOf(["a", 10], ["b", 10], ["c", 10])
    expect(idsOf(pageOf(board, 0, 3))).toEqual(["a", "b", "c"])
    const [a, b] = [board.memberOf("a"), board.memberOf("b")]
    board.set(a, 20, 4)
    board.set(b, 10, 5)
    board.set(a, 10, 6)
    expect(idsOf(pageOf(board, 0, 3))).toEqual(["b", "c", "a"])
  })

  it("leave nothing behind of a member who is removed, forgotten or set to 0", () => {
    for (const leave of ["remove", "forget", "zero"] as const) {
      const board = boardOf(["a", 10], ["b", 5])
      const member = board.memberOf("a")
      board.set(member, 20, 3)
      if (leave === "remove") board.remove(member)
      else if (leave === "forget") board.forget("a")
      else board.set(member, 0, 4)
      board.setUser("c", 7, 5)
      expect(idsOf(pageOf(board, 0, 3))).toEqual(["c", "b"])
      board.check()
    }
  })
})

describe("Boards that share their members", () => {
  it("know the same numbers and keep their own scores", () => {
    const members = new Members()
    const allTime = new Leaderboard(members)
    const daily = new Leaderboard(members)
    const [a, b] = [allTime.memberOf("a"), allTime.memberOf("b")]
    expect(daily.memberOf("b")).toBe(b)
    allTime.set(a, 100, 1)
    allTime.set(b, 50, 2)
    daily.set(b, 5, 3)
    expect(idsOf(pageOf(allTime, 0, 10))).toEqual(["a", "b"])
    expect(idsOf(pageOf(daily, 0, 10))).toEqual(["b"])
    expect(daily.rank(a)).toBeNull()
  })
})

describe("A random life", () => {
  for (const scores of ["tied", "spread", "huge"] as const) {
    it(`equals a naive sort on boards of 1 to 5,000 users with ${scores} scores`, () => {
      for (const users of [1, 2, 17, 300, 5_000]) {
        playModelRun({ seed: runSeed, users, steps: 20_000, comparisons: 12, scores })
      }
    })
  }

  it("equals a naive sort on a board of 50,000 users", () => {
    playModelRun({
      seed: runSeed,
      users: 50_000,
      steps: 50_000,
      comparisons: 3,
      scores: "spread",
    })
  })

  it("builds the same board at once as one by one, in any order of input", () => {
    const random = randomOf(runSeed)
    const count = 20_000
    expect(count, "needs more ids than one map takes").toBeGreaterThan(limits.boardIdsInOneTableMax)
    const entries = Array.from({ length: count }, (_, index) => ({
      userId: `user-${index}`,
      score: Math.floor(random() ** 8 * 2 ** 53),
      tieSequence: Math.floor(random() ** 4 * 2 ** 50),
    }))
    const board = new Leaderboard()
    for (const { userId, score, tieSequence } of entries) board.setUser(userId, score, tieSequence)
    const built = Leaderboard.fromEntries(entries)
    built.check()
    expect(pageOf(built, 0, count), `seed ${runSeed}`).toEqual(pageOf(board, 0, count))
  })
})
