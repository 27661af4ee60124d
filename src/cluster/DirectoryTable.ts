/**
 * The published directory (accounts, keys, projects) of a cluster: one row that the owner of
 * partition 1 writes and all other runners copy. The journal of partition 1 remains the source of
 * truth.
 *
 * Row 1 has the directory. After partition 1 was replaced by older data, row 0 has the directory
 * from before (`ForgottenProjects.ts`).
 *
 * A later owner's row is never overwritten: an earlier owner's write finds a newer epoch in the row
 * or in the fence.
 */
import { Deferred, Effect, Latch, Result } from "effect"
import type { DirectoryState } from "../domain/project/Directory.ts"
import type { LaurelError } from "../domain/values/Errors.ts"
import { outcomeUnknown } from "../engine/actor/Actor.ts"
import { decodeDirectory, encodeDirectory } from "../engine/records/Codec.ts"
import { limits } from "../Limits.ts"
import { monotonicMs } from "../storage/disk/Deadline.ts"
import {
  type InPostgres,
  type PgConnection,
  PgFailure,
  type Run,
  type Statement,
  undefinedTable,
} from "../storage/postgres/PgConnection.ts"
import { encodeValue, openValue } from "../storage/SealedValue.ts"

export const directoryPartition = 1

/** The channel of notifications of a new row. */
export const directoryChannel = "laurel_directory"

/** A version of the directory. */
export interface DirectoryPlace {
  readonly epoch: number
  readonly sequence: number
}

const writeText = `WITH owner AS (
  SELECT epoch FROM laurel_partition WHERE id = ${directoryPartition} AND epoch = $1::bigint
), written AS (
  INSERT INTO laurel_directory AS row (id, epoch, sequence, state)
  SELECT 1, epoch, $2::bigint, $3::bytea FROM owner
  ON CONFLICT (id) DO UPDATE
  SET epoch = EXCLUDED.epoch, sequence = EXCLUDED.sequence, state = EXCLUDED.state
  WHERE (row.epoch, row.sequence) <= (EXCLUDED.epoch, EXCLUDED.sequence)
  RETURNING epoch
)
SELECT pg_notify('${directoryChannel}', '') FROM written`

/** Returns one row, or none if there is a later owner. */
export const writeStatement = (epoch: number, state: DirectoryState): Statement => ({
  name: "write directory",
  text: writeText,
  values: [epoch, state.sequence, encodeValue(encodeDirectory(state))],
})

const readText = `SELECT epoch, sequence,
  CASE WHEN epoch = $1::bigint AND sequence = $2::bigint THEN NULL ELSE state END AS state
FROM laurel_directory WHERE id = 1`

/** Returns the row. Its state is `null` if the row still has the given version. */
export const readStatement = ({ epoch, sequence }: DirectoryPlace): Statement => ({
  name: "read directory",
  text: readText,
  values: [epoch, sequence],
})

/** Returns the replaced directory, in one row or none. */
export const readReplaced: Statement = {
  name: "read replaced directory",
  text: "SELECT state FROM laurel_directory WHERE id = 0",
}

/**
 * Removes the replaced directory, once its projects are adopted. Does nothing if there is a later
 * owner.
 */
export const removeReplaced = (epoch: number): Statement => ({
  name: "remove replaced directory",
  text: `DELETE FROM laurel_directory WHERE id = 0 AND EXISTS (
  SELECT FROM laurel_partition WHERE id = ${directoryPartition} AND epoch = $1::bigint)`,
  values: [epoch],
})

/** Returns the state of a row, or a predicate for a message ("is damaged"). */
export const stateOf = (value: Uint8Array): DirectoryState | string => {
  const body = openValue(value)
  if (typeof body === "string") return body
  try {
    return decodeDirectory(body)
  } catch {
    return "is no directory"
  }
}

/** Earlier than every row. */
export const nowhere: DirectoryPlace = { epoch: -1, sequence: -1 }

/** Reads the published directory once. `undefined`: none was published yet. */
export const readDirectory = (run: Run): InPostgres<DirectoryState | undefined> =>
  run(readStatement(nowhere)).pipe(
    Effect.catchIf(
      ({ code }) => code === undefinedTable,
      () => Effect.succeed([]),
    ),
    Effect.flatMap(([row]) => {
      if (row === undefined) return Effect.undefined
      const state = stateOf(row.state as Uint8Array)
      if (typeof state !== "string") return Effect.succeed(state)
      const words = `The directory in PostgreSQL ${state}`
      return new PgFailure({ code: "damaged", words, isOutage: false, isRefusal: false })
    }),
  )

/*
 * Publishes the directory on the runner that owns partition 1: at the start, after each change, and
 * every `directoryRepublishMs`, which repairs a damaged row. There is one write at a time. It
 * includes all changes up to its begin.
 *
 * The reply to a change waits until the change is published (`published`). From then on, a runner
 * whose copy is current has the change.
 */

export interface DirectoryPublisherOptions {
  readonly connection: Pick<PgConnection, "run">
  /** The epoch of this runner's claim on partition 1. */
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
   * Ends when the durable record `sequence` is published. Returns the sequence of the published
   * row. It is lower than `sequence` if the records in between changed nothing in the directory.
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
    // A heartbeat of the partition changes only the sequence.
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
