/**
 * Publishes the directory of partition 1, whose owner this runner is, to all runners (`DirectoryTable.ts`): at the start, after
 * each change, and every `directoryRepublishMs`, which replaces a damaged row. One write at a time has all changes up to then.
 *
 * A change is answered once it is published (`published`): from then on each runner that knows it is up to date has it.
 */
import { Deferred, Effect, Latch, Result } from "effect"
import type { DirectoryState } from "../domain/project/Directory.ts"
import type { LaurelError } from "../domain/values/Errors.ts"
import { outcomeUnknown } from "../engine/actor/refusals.ts"
import { limits } from "../Limits.ts"
import { monotonicMs } from "../storage/monotonicMs.ts"
import type { PgConnection } from "../storage/postgres/PgConnection.ts"
import { writeStatement } from "./DirectoryTable.ts"

export interface DirectoryPublisherOptions {
  readonly connection: Pick<PgConnection, "run">
  /** The claim of this runner on partition 1. */
  readonly epoch: number
  /** The durable directory. */
  readonly read: Effect.Effect<DirectoryState>
}

interface Waiting {
  readonly sequence: number
  readonly done: Deferred.Deferred<number, LaurelError>
}

export class DirectoryPublisher {
  readonly #options: DirectoryPublisherOptions
  readonly #wanted = Latch.makeUnsafe(false)
  #waiting: Array<Waiting> = []
  #last: DirectoryState | undefined
  #lastAt = Number.NEGATIVE_INFINITY
  #isFenced = false

  constructor(options: DirectoryPublisherOptions) {
    this.#options = options
  }

  /** Publishes until another runner claims partition 1. */
  readonly run: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const { connection, epoch, read } = this.#options
    let isFailing = false
    while (true) {
      this.#wanted.closeUnsafe()
      const state = yield* read
      const startedAt = yield* monotonicMs
      if (this.#isDue(state, startedAt)) {
        const written = yield* Effect.result(connection.run(writeStatement(epoch, state)))
        if (Result.isFailure(written)) {
          if (!isFailing) {
            yield* Effect.logWarning("Publishing the directory failed; retrying").pipe(
              Effect.annotateLogs({ cause: written.failure.words }),
            )
          }
          isFailing = true
          yield* Effect.sleep(limits.clusterRetryMs)
          continue
        }
        isFailing = false
        if (written.success.length === 0) break
        this.#last = state
        this.#lastAt = startedAt
      }
      this.#answer(state.sequence)
      yield* Effect.timeoutOption(this.#wanted.await, limits.directoryPollMs)
    }
    this.#isFenced = true
    for (const { done } of this.#waiting) Deferred.doneUnsafe(done, Effect.fail(outcomeUnknown))
  })

  /**
   * Ends when the durable record `sequence` is published. Returns the sequence of the row, which is lower where records since have
   * changed nothing in the directory.
   */
  readonly published = (sequence: number): Effect.Effect<number, LaurelError> =>
    Effect.suspend(() => {
      if (this.#isFenced) return Effect.fail(outcomeUnknown)
      const waiting = { sequence, done: Deferred.makeUnsafe<number, LaurelError>() }
      this.#waiting.push(waiting)
      this.#wanted.openUnsafe()
      return Deferred.await(waiting.done).pipe(
        Effect.timeoutOrElse({
          duration: limits.directoryPublishedMs,
          orElse: () => Effect.fail(outcomeUnknown),
        }),
        Effect.ensuring(
          Effect.sync(() => {
            this.#waiting = this.#waiting.filter((each) => each !== waiting)
          }),
        ),
      )
    })

  #isDue(state: DirectoryState, now: number): boolean {
    const last = this.#last
    if (last === undefined || now - this.#lastAt >= limits.directoryRepublishMs) return true
    // A heartbeat changes the sequence alone.
    const { sequence: _, ...content } = state
    return Object.entries(content).some(
      ([name, value]) => last[name as keyof DirectoryState] !== value,
    )
  }

  #answer(sequence: number): void {
    for (const waiting of this.#waiting) {
      if (waiting.sequence > sequence) continue
      Deferred.doneUnsafe(waiting.done, Effect.succeed(this.#last!.sequence))
    }
  }
}
