/**
 * The directory on a runner that does not own partition 1: a copy of the published row
 * (`DirectoryTable.ts`), read after each notification and at least every `directoryPollMs`.
 *
 * The copy stays readable while PostgreSQL does not answer or the row is damaged. It counts as
 * current only for `staleMs` after the begin of the last read that confirmed it, on a monotonic
 * clock. While the copy is not current, requests are refused. So all runners refuse a revoked key
 * at most `staleMs` after the reply to the revocation, and usually at the notification.
 */
import { Effect, Latch, type Scope } from "effect"
import { type DirectoryState, emptyDirectory } from "../domain/project/Directory.ts"
import type { LaurelError } from "../domain/values/Errors.ts"
import { outcomeUnknown } from "../engine/actor/Actor.ts"
import { limits } from "../Limits.ts"
import { PgConnection, type Rows } from "../storage/postgres/PgConnection.ts"
import { directoryChannel, nowhere, readStatement, stateOf } from "./DirectoryTable.ts"

export interface DirectoryCopyOptions {
  readonly url: string
  readonly staleMs: number
}

export class DirectoryCopy {
  readonly #connection: PgConnection
  readonly #staleMs: number
  readonly #pollMs: number
  readonly #notified = Latch.makeUnsafe(false)
  /** Opens when the next state is read. */
  #moved = Latch.makeUnsafe(false)
  /** Opens at the next read that confirms the copy. */
  #read = Latch.makeUnsafe(false)
  #place = nowhere
  /** When the last read began, and when the last read that confirmed the copy began. */
  #readAt = Number.NEGATIVE_INFINITY
  #currentAt = Number.NEGATIVE_INFINITY
  /** The last state that was read intact. Empty before the first read. */
  state: DirectoryState = emptyDirectory
  /** Why the last read did not confirm the copy. `undefined`: it did. */
  failure: string | undefined = "The directory was not read yet"

  private constructor({ staleMs, url }: DirectoryCopyOptions) {
    this.#staleMs = staleMs
    this.#pollMs = Math.min(limits.directoryPollMs, staleMs / 4)
    const listening = { channel: directoryChannel, notified: () => this.#notified.openUnsafe() }
    this.#connection = new PgConnection({ url, listening })
  }

  /** Follows until the scope closes. */
  static readonly open = (
    options: DirectoryCopyOptions,
  ): Effect.Effect<DirectoryCopy, never, Scope.Scope> =>
    Effect.gen(function* () {
      const copy = new DirectoryCopy(options)
      yield* Effect.addFinalizer(() => copy.#connection.close)
      yield* Effect.forkScoped(copy.#follow)
      return copy
    })

  /** Whether a state was read since the start. */
  get wasRead(): boolean {
    return this.#place !== nowhere
  }

  /** Whether the copy has every change whose reply was sent at least `staleMs` ago. */
  get isCurrent(): boolean {
    return performance.now() - this.#currentAt < this.#staleMs
  }

  /**
   * Ends when a read that began after the call has confirmed the copy. These reads begin at least
   * `directoryReadPauseMs` apart.
   */
  readonly renewed: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const askedAt = performance.now()
    while (this.#currentAt < askedAt) {
      const isReading = this.#readAt >= askedAt
      const inMs = this.#readAt + limits.directoryReadPauseMs - performance.now()
      if (!isReading && inMs > 0) {
        yield* Effect.timeoutOption(this.#read.await, inMs)
      } else {
        if (!isReading) this.#notified.openUnsafe()
        yield* this.#read.await
      }
    }
  })

  /** Ends when the copy has the published record `sequence` of the directory. */
  readonly has = (sequence: number): Effect.Effect<void, LaurelError> =>
    Effect.gen({ self: this }, function* () {
      while (true) {
        const moved = this.#moved
        if (this.#place.sequence >= sequence) return
        yield* moved.await
      }
    }).pipe(
      Effect.timeoutOrElse({
        duration: limits.directoryPublishedMs,
        orElse: () => Effect.fail(outcomeUnknown),
      }),
    )

  readonly #follow: Effect.Effect<never> = Effect.gen({ self: this }, function* () {
    while (true) {
      this.#notified.closeUnsafe()
      const wasCurrent = this.failure === undefined
      yield* this.#readRow
      if (wasCurrent && this.failure !== undefined) {
        yield* Effect.logWarning("The copy of the directory is out of date").pipe(
          Effect.annotateLogs({ failure: this.failure }),
        )
      }
      yield* Effect.timeoutOption(this.#notified.await, this.#pollMs)
    }
  })

  readonly #readRow: Effect.Effect<void> = Effect.suspend(() => {
    const askedAt = performance.now()
    this.#readAt = askedAt
    return Effect.match(this.#connection.run(readStatement(this.#place)), {
      onFailure: ({ words }) => {
        this.failure = words
      },
      onSuccess: ([row]) => this.#found(row, askedAt),
    })
  })

  #found(row: Rows[number] | undefined, askedAt: number): void {
    const state = row === undefined ? "is not there" : row.state && stateOf(row.state as Uint8Array)
    if (typeof state === "string") {
      this.failure = `The published directory ${state}`
      return
    }
    this.failure = undefined
    this.#currentAt = askedAt
    // `null`: the row has not changed since the last read.
    if (state !== null) {
      this.state = state as DirectoryState
      this.#place = { epoch: Number(row!.epoch), sequence: Number(row!.sequence) }
      const moved = this.#moved
      this.#moved = Latch.makeUnsafe(false)
      moved.openUnsafe()
    }
    const read = this.#read
    this.#read = Latch.makeUnsafe(false)
    read.openUnsafe()
  }
}
