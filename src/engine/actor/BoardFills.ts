/**
 * Fills leaderboards that were just made from the states of all users. Meanwhile records move users
 * on them as on all boards: both give a user the places of the durable state, so their order does not
 * matter.
 *
 * A running engine fills in the background (`BoardFills`). Recovery fills before it goes on
 * (`fillBoards`): the journal may close a window of the new board, and a state that was stored after
 * that has scores in it.
 *
 * A fill that meets a defect, as in one user's state, is logged, counted (`laurel_board_fills_failing`), and begins
 * again after `boardFillRetryMs`, or when another board is made. The other environments go on meanwhile.
 *
 * Cost: a pass decodes the state of each user once, and fills all boards that wait in the environment.
 * It yields to the event loop after `boardFillTurnMs`.
 */
import { Cause, Effect, Latch } from "effect"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import { prefixesEnd } from "../users/BucketTable.ts"
import type { Environment, Environments } from "./Environments.ts"

/** Lists all users on the boards that are not filled yet. */
export const fillBoards = Effect.fnUntraced(function* (environment: Environment) {
  const { boards } = environment
  const empty = [...boards.further.values()].filter(({ isFilled }) => !isFilled)
  if (empty.length === 0) return
  let turnEndsAt = performance.now() + limits.boardFillTurnMs
  for (let prefix = 0; prefix < prefixesEnd; ) {
    const { next, users } = environment.usersFrom(prefix)
    prefix = next
    for (const user of users) {
      if (!user.profile.hidden) for (const each of empty) each.place(user)
    }
    for (const each of empty) each.filledTo = next
    if (performance.now() < turnEndsAt) continue
    yield* yieldToEventLoop
    turnEndsAt = performance.now() + limits.boardFillTurnMs
  }
})

/**
 * Lists all users in cohorts, in recovery, if a record has made the first league: states that were
 * stored after that record have places already.
 */
export const fillCohorts = Effect.fnUntraced(function* (environment: Environment) {
  const { cohorts, project } = environment
  if (cohorts.isFilled || project.durable.leagues.size === 0) return
  cohorts.isFilled = true
  let turnEndsAt = performance.now() + limits.boardFillTurnMs
  for (let prefix = 0; prefix < prefixesEnd; ) {
    const { next, users } = environment.usersFrom(prefix)
    prefix = next
    for (const user of users) cohorts.add(user)
    if (performance.now() < turnEndsAt) continue
    yield* yieldToEventLoop
    turnEndsAt = performance.now() + limits.boardFillTurnMs
  }
})

export class BoardFills {
  readonly #environments: Environments
  /** Open at the start: a follower may have made boards. */
  readonly #woken = Latch.makeUnsafe(true)
  /** The environments whose latest fill met a defect. */
  readonly #failed = new Set<string>()

  constructor(environments: Environments) {
    this.#environments = environments
  }

  /** A record is durable. It may have made a board. */
  committed({ facts, subject }: JournalRecord): void {
    if (subject.actor !== "project") return
    if (facts.some(({ kind }) => kind.startsWith("leaderboard."))) this.#woken.openUnsafe()
  }

  /** In how many environments the latest fill met a defect, and waits for its next try. */
  get failing(): number {
    return this.#failed.size
  }

  /** Never ends. */
  readonly run: Effect.Effect<never> = Effect.gen({ self: this }, function* () {
    while (true) {
      if (this.#failed.size === 0) yield* this.#woken.await
      else yield* Effect.timeoutOption(this.#woken.await, limits.boardFillRetryMs)
      this.#woken.closeUnsafe()
      for (const environment of this.#environments) yield* this.#fill(environment)
    }
  })

  /** A defect in one user's state must not end the process: it would do so at each start. */
  #fill(environment: Environment): Effect.Effect<void> {
    const { id } = environment
    const filled = Effect.map(fillBoards(environment), () => void this.#failed.delete(id))
    return Effect.catchCause(filled, (cause) => {
      if (!Cause.hasDies(cause)) return Effect.failCause(cause)
      this.#failed.add(id)
      const of = { environment: id }
      return Effect.logError("Leaderboards could not be filled; tried again", of, cause)
    })
  }
}
