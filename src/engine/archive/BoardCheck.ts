/** Builds the all-time leaderboards from users, as a start does, and checks every place. */
import { Effect } from "effect"
import { BoardBuilder, type Leaderboard } from "../../domain/board/Leaderboard.ts"
import type { UserState } from "../../domain/user/User.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Fault } from "./JournalTail.ts"

export class BoardCheck {
  readonly #boards = new Map<string, BoardBuilder>()
  /** Sum over listed users. */
  #xp = 0n

  add(environment: string, user: UserState): void {
    if (user.profile.hidden) return
    this.#xp += BigInt(user.xp)
    let board = this.#boards.get(environment)
    if (board === undefined) {
      board = new BoardBuilder()
      this.#boards.set(environment, board)
    }
    board.add(user.id, user.xp, user.scoreSequence)
  }

  /** Reports every fault. */
  readonly end = Effect.fnUntraced(function* (this: BoardCheck, fault: Fault) {
    let sum = 0n
    for (const [environment, builder] of this.#boards) {
      sum += yield* this.#read(environment, builder.build(), fault)
    }
    if (sum !== this.#xp) {
      fault(`The leaderboards add up to ${sum} xp, the users on them to ${this.#xp}`)
    }
  }).bind(this)

  /** The sum of a board's scores. */
  readonly #read = Effect.fnUntraced(function* (
    this: BoardCheck,
    environment: string,
    board: Leaderboard,
    fault: Fault,
  ) {
    let sum = 0n
    let place = 0
    let before = { rank: 0, score: Number.POSITIVE_INFINITY }
    while (place < board.total) {
      board.visit(place, pageRows, (member, score, rank) => {
        place++
        const expected = score === before.score ? before.rank : place
        if (score > before.score || rank !== expected || score <= 0) {
          const userId = JSON.stringify(board.members.idOf(member))
          fault(`The leaderboard of ${environment} has ${userId} in a wrong place`)
        }
        sum += BigInt(score)
        before = { rank, score }
      })
      yield* yieldToEventLoop
    }
    return sum
  }).bind(this)
}

const pageRows = 1_000
