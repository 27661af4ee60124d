/**
 * Pays payouts (`domain/project/Payout.ts`) in the background: each user once, in the order of ranks,
 * one payout of an environment at a time. The project's state has the payouts that are under way and
 * how far they have come.
 *
 * Invariants:
 * - Nobody is paid twice: a payment has a name (`duplicateKey`), so a repeat finds the first record.
 * - Nobody is left out: a payout ends only when each of its users was paid, or refused for good: the
 *   user is gone, is hidden, or cannot hold more. After a crash the payout resumes after the last step in
 *   the journal, and asks the later users again. A defect of one user is logged and passed over.
 * - Positions and ranks are those of the closed board, in memory or stored, whose rows never move.
 *   Who has left it since is a gap and gets nothing.
 *
 * Ownership: this class asks the actors of users and of the project, and changes no state itself.
 *
 * Cost: a record for each winner, and one for every `payoutStepRows` rows. `payoutGroupUsersMax` users
 * are asked together, and a pause follows each group, so other commands find their turn.
 */
import { Cause, Effect, FiberSet } from "effect"
import type { ProjectCommand } from "../../domain/decide/Project.ts"
import { rankAtClose, winningRanks } from "../../domain/project/BoardPrize.ts"
import type { Payout } from "../../domain/project/Payout.ts"
import { isAdvancing } from "../../domain/project/Project.ts"
import type { Payment } from "../../domain/record/Payment.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { type Broken, isDamagedRecord, type Storage } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import { recordDamaged, type UserMessage } from "../actor/Actor.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import { Ended, insist } from "../badges/BackfillRun.ts"
import type { BoardRow } from "../boards/BoardSource.ts"
import { openClosedBoard } from "../boards/ClosedBoard.ts"

type PaymentTo = UserMessage<Payment>

interface PayoutsParts {
  readonly environments: Environments
  readonly storage: Storage["Service"]
  /** How many users are asked together, and after how many rows a record says how far it has come. */
  readonly groupUsersMax: number
  readonly stepRows: number
  /** Asks many users; an outcome with a `_tag` is a refusal. */
  readonly askUsers: (
    environment: string,
    messages: ReadonlyArray<PaymentTo>,
  ) => Effect.Effect<ReadonlyArray<object>>
  readonly askProject: (
    environment: string,
    command: ProjectCommand,
  ) => Effect.Effect<unknown, LaurelError>
}

export class Payouts {
  readonly #parts: PayoutsParts
  /** The environments that have a payout under way. */
  readonly #running = new Set<string>()
  #fork: ((work: Effect.Effect<void, Broken>) => void) | undefined

  constructor(parts: PayoutsParts) {
    this.#parts = parts
  }

  /** Resumes payouts, then begins those that are made; never ends by itself. */
  readonly run: Effect.Effect<void, Broken> = Effect.scoped(
    Effect.gen({ self: this }, function* () {
      const fibers = yield* FiberSet.make<void, Broken>()
      const fork = yield* FiberSet.runtime(fibers)<never>()
      this.#fork = (work) => {
        fork(work)
      }
      for (const environment of this.#parts.environments) this.#wake(environment)
      yield* FiberSet.join(fibers)
    }),
  )

  /** A record is durable. It may have made a payout. */
  committed({ subject }: JournalRecord): void {
    if (subject.actor === "project") {
      this.#wake(this.#parts.environments.of(subject.environment))
    }
  }

  #wake(environment: Environment): void {
    if (this.#fork === undefined || this.#running.has(environment.id)) return
    if (environment.project.durable.payouts.size === 0) return
    this.#running.add(environment.id)
    this.#fork(
      this.#work(environment).pipe(
        Effect.catchTag("Ended", () => Effect.void),
        // A damaged record or a defect must not end the process: it would do so at each start.
        Effect.catchCause((cause) =>
          Cause.hasDies(cause) || isDamagedRecord(Cause.squash(cause))
            ? Effect.logError("A payout crashed; it goes on with the next start", cause)
            : Effect.failCause(cause),
        ),
      ),
    )
  }

  readonly #work = Effect.fnUntraced(function* (
    this: Payouts,
    environment: Environment,
  ): Effect.fn.Return<void, Broken | Ended> {
    while (true) {
      const [next] = environment.project.durable.payouts
      // In the same turn as the look, so that a payout that comes later begins its own fiber.
      if (next === undefined) {
        this.#running.delete(environment.id)
        return
      }
      const [id, payout] = next
      yield* new PayoutRun(this.#parts, environment, id, payout).pay
    }
  })
}

/** One payout under way. */
class PayoutRun {
  readonly #parts: PayoutsParts
  readonly #environment: Environment
  readonly #id: string
  readonly #payout: Payout
  #paid: number

  constructor(parts: PayoutsParts, environment: Environment, id: string, payout: Payout) {
    this.#parts = parts
    this.#environment = environment
    this.#id = id
    this.#payout = payout
    this.#paid = payout.paid
  }

  readonly pay: Effect.Effect<void, Broken | Ended> = Effect.gen({ self: this }, function* () {
    const { next: begin, prizes, total } = this.#payout
    const ranks = prizes.map((prize) => winningRanks(prize, total))
    // The row of a rank is not before the position of the rank.
    let next = Math.max(begin, Math.min(...ranks.map(([from]) => from)) - 1)
    const last = Math.max(...ranks.map(([, to]) => to))
    let step = next
    while (this.#isUnderWay) {
      const end = next + this.#parts.groupUsersMax
      const rows = yield* this.#rows(next, end)
      if (rows === undefined) break
      const winners = rows.filter((row) => this.#rankOf(row) <= last)
      yield* this.#payAll(winners.flatMap((row) => this.#paymentTo(row, ranks) ?? []))
      next = end
      if (winners.length < rows.length || next >= total) break
      if (next - step >= this.#parts.stepRows) {
        step = next
        yield* this.#ask({ kind: "progressPayout", payout: this.#id, next, paid: this.#paid })
      }
      yield* this.#pause
    }
    yield* this.#ask({ kind: "finishPayout", payout: this.#id, paid: this.#paid })
  })

  /** Whether the payout was not dropped with its leaderboard. */
  get #isUnderWay(): boolean {
    return this.#environment.project.durable.payouts.has(this.#id)
  }

  get #pause(): Effect.Effect<void> {
    const isHasty = isAdvancing(this.#environment.project.state)
    return Effect.andThen(
      yieldToEventLoop,
      Effect.sleep(isHasty ? limits.testClockPauseMs : limits.payoutPauseMs),
    )
  }

  /** The rows from a position to another; `undefined`: the board is gone. */
  readonly #rows = Effect.fnUntraced(function* (this: PayoutRun, from: number, end: number) {
    const { boards, id: environment } = this.#environment
    const { boardId: board, index, window: kind } = this.#payout.place
    if (kind === "all_time") return undefined
    const place = { environment, board, kind, index }
    const source = yield* openClosedBoard(this.#parts.storage, boards, place)
    return source && (yield* source.rows(from, Math.min(end, source.size)))
  })

  #rankOf(row: BoardRow): number {
    return rankAtClose(row, this.#payout.ties)
  }

  #paymentTo(
    row: BoardRow,
    ranks: ReadonlyArray<ReturnType<typeof winningRanks>>,
  ): PaymentTo | undefined {
    const { madeAt, place, prizes } = this.#payout
    const rank = this.#rankOf(row)
    const won = prizes.filter((_, index) => {
      const [from, to] = ranks[index]!
      return rank >= from && rank <= to
    })
    if (won.length === 0) return undefined
    const { userId } = row
    const rewards = won.map(({ reward }) => reward)
    const prize = { ...place, rank }
    return {
      userId,
      command: { kind: "payment", payout: this.#id, to: userId, prize, rewards, madeAt },
    }
  }

  /** Asks users until none has to be asked again. */
  readonly #payAll = Effect.fnUntraced(function* (
    this: PayoutRun,
    messages: ReadonlyArray<PaymentTo>,
  ): Effect.fn.Return<void, Ended> {
    let left = messages
    while (left.length > 0) {
      const outcomes = yield* this.#parts.askUsers(this.#environment.id, left)
      const again: Array<PaymentTo> = []
      for (const [index, outcome] of outcomes.entries()) {
        const message = left[index]!
        const refusal = "_tag" in outcome ? (outcome as LaurelError) : undefined
        if (refusal === undefined) this.#paid++
        else if (refusal.code === "shutting_down") return yield* new Ended()
        else if (isPassing(refusal)) again.push(message)
        else if (!isFinal(refusal)) {
          yield* Effect.logError("A user could not be paid", {
            payout: this.#id,
            user: message.userId,
            code: refusal.code,
          })
        }
      }
      left = again
      if (left.length > 0) yield* Effect.sleep(limits.payoutRetryMs)
    }
  })

  /** A refusal says that the payout is over. */
  #ask(command: ProjectCommand): Effect.Effect<void, Ended> {
    return Effect.asVoid(insist(this.#parts.askProject(this.#environment.id, command)))
  }
}

const isPassing = ({ code, detail }: LaurelError): boolean =>
  code === "overloaded" || (code === "storage_unavailable" && detail !== recordDamaged.detail)

/** Whether the user is gone, is hidden, or has the largest balance already. */
const isFinal = ({ code }: LaurelError): boolean =>
  code === "user_not_found" || code === "conflict" || code === "balance_overflow"
