/**
 * Pays payouts (`domain/project/Payout.ts`) in the background: each user once, in the order of ranks,
 * one payout of an environment at a time. The project's state has the payouts that are under way and
 * how far they have come.
 *
 * Invariants:
 * - Nobody is paid twice: a payment has a name (`duplicateKey`), so a repeat finds the first record.
 * - Nobody is left out: a payout ends only when each of its users was paid, or refused for good: the
 *   user is gone, is hidden, or cannot hold more. After a crash the payout resumes after the last step in
 *   the journal, and asks the later users again.
 * - A user who meets a defect or a damaged record is logged and counted (`laurel_payments_failing`). The others
 *   are paid, then the payout waits: those who failed are asked again after `payoutCrashRetryMs`. A step in the
 *   journal passes them and lists their rows (`Payout.left`): so a start asks nobody again who was paid long
 *   ago, and whose payment may have left the journal. The other payouts of the environment go on
 *   meanwhile, and so does a test clock.
 * - A user who met a defect is not asked for another payout before that time. So the actor, which restarts
 *   after each defect, goes on taking the user's other commands (`actor/Supervisor.ts`).
 * - A payout that meets a defect or a damaged record itself, or more than `payoutFailedMax` users who do, is
 *   logged, and begins again after the same time.
 * - A prize of a team is paid to the users with a share of its score (`domain/user/TeamShares.ts`): its members
 *   are asked, and former members who have kept their shares. Users without a share refuse. A merge may move
 *   a share to a user who was already asked, so another pass over the team follows.
 * - Positions and ranks are those of the closed board, in memory or stored, whose rows never move.
 *   Who has left it since is a gap and gets nothing. The merge of a user pays who stays before the row
 *   becomes a gap (`actor/Merges.ts`).
 *
 * Ownership: this class asks the actors of users and of the project, and changes no state itself.
 *
 * Cost: a record for each winner, and one for every `payoutStepRows` rows. `payoutGroupUsersMax` users
 * are asked together. After each group comes a pause of half the time that the group took, at most
 * `payoutPauseMs`: so other commands find their turn, and a quick machine is not slowed down.
 */
import { Cause, Effect, FiberSet } from "effect"
import type { ProjectCommand } from "../../domain/decide/Project.ts"
import { isOfTeams } from "../../domain/project/BoardDefinition.ts"
import type { Payout } from "../../domain/project/Payout.ts"
import { isAdvancing } from "../../domain/project/Project.ts"
import { teamWithId } from "../../domain/project/Team.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { shareIn } from "../../domain/user/TeamShares.ts"
import type { UserState } from "../../domain/user/User.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { monotonicMs } from "../../storage/disk/Deadline.ts"
import { type Broken, isDamagedRecord, type Storage } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import { type Ended, insist } from "../badges/BackfillRun.ts"
import type { BoardRow } from "../boards/BoardSource.ts"
import { openBoardOf, Winners } from "../boards/Winners.ts"
import { readTeamMembers } from "../read/TeamMemberList.ts"
import { type AskUsers, type PaymentTo, payAll, Waiting } from "./payAll.ts"

interface PayoutsParts {
  readonly environments: Environments
  readonly storage: Storage["Service"]
  /** How many users are asked together, and after how many rows a record says how far it has come. */
  readonly groupUsersMax: number
  readonly stepRows: number
  readonly askUsers: AskUsers
  readonly askProject: (
    environment: string,
    command: ProjectCommand,
  ) => Effect.Effect<unknown, LaurelError>
}

export class Payouts {
  readonly #parts: PayoutsParts
  /** The environments that have a payout under way, each with the payouts that wait for their next try. */
  readonly #running = new Map<string, Waiting>()
  /** How many users were merged in each environment while payouts were under way. */
  readonly #merges = new Map<string, number>()
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

  /** How many payments have met a defect and wait for their next try. */
  get failing(): number {
    let failing = 0
    for (const { failed } of this.#running.values()) {
      for (const count of failed.values()) failing += count
    }
    return failing
  }

  /** Whether a payout of the environment is under way that does not wait for its next try. */
  isPaying({ id, project }: Environment): boolean {
    const failed = this.#running.get(id)?.failed
    return [...project.state.payouts.keys()].some((payout) => failed?.has(payout) !== true)
  }

  /** A record is durable. It may have made a payout. */
  committed({ facts, subject }: JournalRecord): void {
    if (subject.actor === "project") {
      this.#wake(this.#parts.environments.of(subject.environment))
    } else if (subject.actor === "user" && facts.some(({ kind }) => kind === "user.merged")) {
      const { environment: id } = subject
      if (this.#running.has(id)) this.#merges.set(id, this.#mergesIn(id) + 1)
    }
  }

  #mergesIn(environment: string): number {
    return this.#merges.get(environment) ?? 0
  }

  #wake(environment: Environment): void {
    const running = this.#running.get(environment.id)
    if (running !== undefined) running.changed.openUnsafe()
    if (this.#fork === undefined || running !== undefined) return
    if (environment.project.durable.payouts.size === 0) return
    const waiting = new Waiting()
    this.#running.set(environment.id, waiting)
    this.#fork(Effect.catchTag(this.#work(environment, waiting), "Ended", () => Effect.void))
  }

  readonly #work = Effect.fnUntraced(function* (
    this: Payouts,
    environment: Environment,
    waiting: Waiting,
  ): Effect.fn.Return<void, Broken | Ended> {
    const { failed, failedUsers } = waiting
    const parts = { ...this.#parts, merges: () => this.#mergesIn(environment.id), failedUsers }
    const runs = new Map<string, PayoutRun>()
    let retryAt = Number.POSITIVE_INFINITY
    while (true) {
      const { payouts } = environment.project.durable
      // In the same turn as the look, so that a payout that comes later begins its own fiber.
      if (payouts.size === 0) {
        this.#running.delete(environment.id)
        this.#merges.delete(environment.id)
        return
      }
      const next = [...payouts].find(([id]) => !failed.has(id))
      if (next === undefined) {
        yield* waiting.rest(retryAt)
        continue
      }
      const [id, payout] = next
      const run = runs.get(id) ?? new PayoutRun(parts, environment, id, payout)
      runs.set(id, run)
      const left = yield* this.#tryToPay(run)
      // A run that met a defect begins again after its last step.
      if (left === undefined || left === 0) runs.delete(id)
      if (left === 0) continue
      failed.set(id, left ?? 1)
      retryAt = (yield* monotonicMs) + limits.payoutCrashRetryMs
    }
  })

  /** Returns how many payments failed; `undefined`: the run met a defect. */
  #tryToPay(run: PayoutRun): Effect.Effect<number | undefined, Broken | Ended> {
    return Effect.catchCause(run.pay, (cause) => {
      // These must not end the process: they would do so at each start.
      if (!Cause.hasDies(cause) && !isDamagedRecord(Cause.squash(cause))) {
        return Effect.failCause(cause)
      }
      const logged = Effect.logError(
        "A payout crashed; it is tried again",
        { payout: run.id },
        cause,
      )
      return Effect.as(logged, undefined)
    })
  }
}

interface RunParts extends PayoutsParts {
  /** How many users were merged in the environment. */
  readonly merges: () => number
  readonly failedUsers: Waiting["failedUsers"]
}

/** A payment for the row at this position. */
interface RowPayment extends PaymentTo {
  readonly position: number
}

/** One payout under way. */
class PayoutRun {
  readonly #parts: RunParts
  readonly #environment: Environment
  readonly id: string
  readonly #payout: Payout
  #paid: number
  /** Those who failed, once all others are paid or while these are. */
  #failed: Array<RowPayment> = []
  /** How many users of a row were paid while others failed. */
  readonly #paidIn = new Map<number, number>()
  /** All rows before are paid or have failed. */
  #next: number
  /** The positions that the last step in the journal lists. */
  #left: ReadonlyArray<number>
  #isPaidToOthers = false

  constructor(parts: RunParts, environment: Environment, id: string, payout: Payout) {
    this.#parts = parts
    this.#environment = environment
    this.id = id
    this.#payout = payout
    this.#paid = payout.paid
    this.#next = payout.next
    this.#left = payout.left ?? []
  }

  /** Returns how many payments failed. Another call asks for these again. */
  readonly pay: Effect.Effect<number, Broken | Ended> = Effect.gen({ self: this }, function* () {
    if (this.#isPaidToOthers) {
      const again = Map.groupBy(this.#failed, ({ position }) => position)
      this.#failed = []
      for (const [position, messages] of again) {
        if (this.#isUnderWay) yield* this.#payRow(position, messages)
      }
    } else {
      yield* this.#payLeft
      yield* this.#payRows
      this.#isPaidToOthers = true
    }
    if (this.#failed.length > 0) {
      yield* this.#step
      return this.#failed.length
    }
    yield* this.#ask({ kind: "finishPayout", payout: this.id, paid: this.#paid })
    return 0
  })

  /** The closed board and its winners; `undefined`: the board is gone. */
  get #board() {
    return Effect.map(openBoardOf(this.#parts.storage, this.#environment, this.#payout), (board) =>
      board === undefined
        ? undefined
        : { board, winners: new Winners(this.id, this.#payout, board) },
    )
  }

  /** The rows that the last step in the journal has left. */
  get #payLeft(): Effect.Effect<void, Broken | Ended> {
    return Effect.gen({ self: this }, function* () {
      for (const position of this.#left) {
        const found = yield* this.#board
        if (found === undefined || !this.#isUnderWay) return
        const rows = yield* found.board.rows(position, position + 1)
        yield* this.#payGroup(rows, found.winners)
      }
    })
  }

  /** A record says how far the payout has come. */
  get #step(): Effect.Effect<void, Ended> {
    return Effect.suspend(() => {
      const left = [...new Set(this.#failed.map(({ position }) => position))]
      if (this.#next === this.#payout.next && left.join() === this.#left.join()) return Effect.void
      this.#left = left
      const paid = left.reduce((sum, at) => sum - (this.#paidIn.get(at) ?? 0), this.#paid)
      const { id: payout } = this
      return this.#ask({ kind: "progressPayout", payout, next: this.#next, paid, left })
    })
  }

  get #payRows(): Effect.Effect<void, Broken | Ended> {
    return Effect.gen({ self: this }, function* () {
      let step = this.#next
      while (this.#isUnderWay) {
        const startedAt = performance.now()
        const found = yield* this.#board
        if (found === undefined) break
        const { board, winners } = found
        // The row of a rank is not before the position of the rank.
        const next = Math.max(this.#next, winners.first - 1)
        const end = Math.min(next + this.#parts.groupUsersMax, board.size)
        const rows = yield* board.rows(next, end)
        const won = rows.filter((row) => winners.rankOf(row) <= winners.last)
        yield* this.#payGroup(won, winners)
        this.#next = Math.max(next, end)
        if (won.length < rows.length || this.#next >= board.size) break
        if (this.#next - step >= this.#parts.stepRows) {
          step = this.#next
          yield* this.#step
        }
        yield* this.#pauseAfter(performance.now() - startedAt)
      }
    })
  }

  /** Whether the payout was not dropped with its leaderboard. */
  get #isUnderWay(): boolean {
    return this.#environment.project.durable.payouts.has(this.id)
  }

  #pauseAfter(tookMs: number): Effect.Effect<void> {
    const isHasty = isAdvancing(this.#environment.project.state)
    const mostMs = isHasty ? limits.testClockPauseMs : limits.payoutPauseMs
    const pauseMs = Math.min(mostMs, Math.max(1, tookMs / 2))
    return Effect.andThen(yieldToEventLoop, Effect.sleep(pauseMs))
  }

  get #isOfTeams(): boolean {
    const { leaderboards } = this.#environment.project.durable
    const board = leaderboards.get(this.#payout.place.boardId)
    return board !== undefined && isOfTeams(board)
  }

  *#payGroup(rows: ReadonlyArray<BoardRow>, winners: Winners) {
    const payments = rows.flatMap((row): ReadonlyArray<RowPayment> => {
      const command = winners.paymentTo(row)
      const { position } = row
      return command === undefined ? [] : [{ userId: command.to, command, position }]
    })
    if (this.#isOfTeams) for (const payment of payments) yield* this.#payTeam(payment)
    else yield* this.#payThese(payments)
  }

  readonly #payThese = Effect.fnUntraced(function* (
    this: PayoutRun,
    messages: ReadonlyArray<RowPayment>,
  ): Effect.fn.Return<void, Ended> {
    const { askUsers, failedUsers } = this.#parts
    const { id } = this.#environment
    const { failed, paid } = yield* payAll(askUsers, id, messages, failedUsers)
    this.#paid += paid
    this.#failed.push(...failed)
    if (this.#failed.length > limits.payoutFailedMax) {
      return yield* Effect.die(new Error("Too many payments failed"))
    }
  })

  /** Asks again for the failed payments of one row. */
  readonly #payRow = Effect.fnUntraced(function* (
    this: PayoutRun,
    position: number,
    messages: ReadonlyArray<RowPayment>,
  ): Effect.fn.Return<void, Ended> {
    const before = this.#paid
    yield* this.#payThese(messages)
    const paidBefore = this.#paidIn.get(position) ?? 0
    this.#paidIn.set(position, paidBefore + this.#paid - before)
  })

  /** Asks the users who may have a share of the team's score. */
  readonly #payTeam = Effect.fnUntraced(function* (this: PayoutRun, row: RowPayment) {
    const { merges } = this.#parts
    const paid = this.#paid
    const failed = this.#failed.length
    let before: number
    do {
      before = merges()
      // Another pass finds the payments of the one before.
      this.#paid = paid
      this.#failed.splice(failed)
      yield* this.#payMembers(row)
    } while (before !== merges())
    if (this.#failed.length > failed) this.#paidIn.set(row.position, this.#paid - paid)
  })

  readonly #payMembers = Effect.fnUntraced(function* (
    this: PayoutRun,
    { command: payment, position }: RowPayment,
  ) {
    const { groupUsersMax: limit, storage } = this.#parts
    const environment = this.#environment
    const team = teamWithId(environment.project.durable.teams, payment.to)
    if (team === undefined || payment.prize === undefined) return
    const prize = { ...payment.prize, team: team.number, teamId: team.id }
    const place = { ...this.#payout.place, team: team.number }
    const former = ({ boards }: UserState) => {
      const scores = boards.get(place.boardId)
      return scores !== undefined && shareIn(scores, place) === "kept"
    }
    let after: string | undefined
    for (let hasMore = true; hasMore; ) {
      const startedAt = performance.now()
      const page = yield* readTeamMembers(storage, environment, { team, limit, after, former })
      const messages = page.members.map(({ user: { id: userId } }) => ({
        userId,
        command: { ...payment, to: userId, prize },
        position,
      }))
      yield* this.#payThese(messages)
      after = page.members.at(-1)?.user.id
      ;({ hasMore } = page)
      if (hasMore) yield* this.#pauseAfter(performance.now() - startedAt)
    }
  })

  /** A refusal says that the payout is over. */
  #ask(command: ProjectCommand): Effect.Effect<void, Ended> {
    return Effect.asVoid(insist(this.#parts.askProject(this.#environment.id, command)))
  }
}
