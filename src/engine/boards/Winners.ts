/** Who wins what in a payout, by the rows of the closed board. */
import { Effect } from "effect"
import { isOfTeams } from "../../domain/project/BoardDefinition.ts"
import { rankAtClose, winningRanks } from "../../domain/project/BoardPrize.ts"
import { isRowOwed, type Payout } from "../../domain/project/Payout.ts"
import type { Payment } from "../../domain/record/Payment.ts"
import type { UserState } from "../../domain/user/User.ts"
import type { Broken, Storage } from "../../storage/Storage.ts"
import type { BoardRow, BoardSource } from "./BoardSource.ts"
import type { RankedEnvironment } from "./Boards.ts"
import { openClosedBoard } from "./ClosedBoard.ts"

type Store = Storage["Service"]

export class Winners {
  /** The first and the last rank that wins. */
  readonly first: number
  readonly last: number
  readonly #id: string
  readonly #payout: Payout
  readonly #ranks: ReadonlyArray<readonly [from: number, to: number]>

  /** `board`: that of the closed window. Its size counts gaps: they were users at the close. */
  constructor(id: string, payout: Payout, board: Pick<BoardSource, "size">) {
    this.#id = id
    this.#payout = payout
    this.#ranks = payout.prizes.map((prize) => winningRanks(prize, board.size))
    this.first = Math.min(...this.#ranks.map(([from]) => from))
    this.last = Math.max(...this.#ranks.map(([, to]) => to))
  }

  rankOf(row: Pick<BoardRow, "first" | "position">): number {
    return rankAtClose(row, this.#payout.ties)
  }

  /** What the user of the row is paid; `undefined`: nothing. */
  paymentTo(row: BoardRow): Payment | undefined {
    const { madeAt, place, prizes } = this.#payout
    const rank = this.rankOf(row)
    const won = prizes.filter((_, index) => {
      const [from, to] = this.#ranks[index]!
      return rank >= from && rank <= to
    })
    if (won.length === 0) return undefined
    const rewards = won.map(({ reward }) => reward)
    const prize = { ...place, rank }
    return { kind: "payment", payout: this.#id, to: row.userId, prize, rewards, madeAt }
  }
}

/** The closed board of a payout; `undefined`: the board is gone. */
export const openBoardOf = (
  storage: Store,
  { boards, id: environment }: RankedEnvironment,
  { place }: Payout,
): Effect.Effect<BoardSource | undefined, Broken> => {
  const { boardId: board, index, window: kind } = place
  return openClosedBoard(storage, boards, { environment, board, kind, index })
}

/**
 * What the durable payouts under way have for a user who is about to leave all boards, unless they
 * have come past the user. A payment that was made is repeated: its name makes it a duplicate.
 */
export const owedTo = Effect.fnUntraced(function* (
  storage: Store,
  environment: RankedEnvironment,
  { createdAt, id: userId }: UserState,
): Effect.fn.Return<ReadonlyArray<Payment>, Broken> {
  const owed: Array<Payment> = []
  for (const [id, payout] of environment.project.durable.payouts) {
    // A row of a board of teams is no user's: its members are paid while they are there.
    const board = environment.project.durable.leaderboards.get(payout.place.boardId)
    if (createdAt > payout.madeAt || board === undefined || isOfTeams(board)) continue
    const source = yield* openBoardOf(storage, environment, payout)
    const row = source && (yield* source.find(userId))
    if (source === undefined || row === undefined || !isRowOwed(payout, row.position)) continue
    const payment = new Winners(id, payout, source).paymentTo(row)
    if (payment !== undefined) owed.push(payment)
  }
  return owed
})
