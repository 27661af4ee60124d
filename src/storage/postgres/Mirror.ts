/**
 * The local copy of a journal in PostgreSQL: segment files, written behind the acknowledgement, in order, batch for batch.
 *
 * - `add` takes a copy of an appended batch; a fiber writes it. What is not written yet is read from memory, so that
 *   readers always find all that was acknowledged.
 * - A full local disk stops no append until `mirrorPendingBytesMax` wait here; from then on `isFull`. The write is repeated every
 *   `noSpaceRetryMs`.
 * - Any other failure of the local disk is kept, and fails all that comes after.
 */
import { Effect, type Scope, Stream } from "effect"
import { limits } from "../../Limits.ts"
import { batchRecords } from "../Frames.ts"
import {
  type Broken,
  brokenBy,
  type JournalBatch,
  NoSpace,
  type Storage,
  type StorageError,
  type StoredRecord,
} from "../Storage.ts"

type Files = Pick<Storage["Service"], "append" | "readRecords">

export class Mirror {
  readonly #files: Files
  /** In order; the first is being written. */
  #waiting: Array<JournalBatch> = []
  #waitingBytes = 0
  /** The last record in the files. */
  #written: number
  #isStalled = false
  #failure: Broken | undefined
  #wake: (() => void) | undefined
  #settled: Array<(error: StorageError | undefined) => void> = []

  /** `written` is the last record in the files. */
  constructor(files: Files, written: number) {
    this.#files = files
    this.#written = written
  }

  get isFull(): boolean {
    return this.#waitingBytes >= limits.mirrorPendingBytesMax
  }

  get failure(): Broken | undefined {
    return this.#failure
  }

  /** Takes a copy of the next batch. */
  add({ count, firstSequence, frames }: JournalBatch): void {
    this.#waiting.push({ count, firstSequence, frames: Uint8Array.from(frames) })
    this.#waitingBytes += frames.length
    this.#wake?.()
    this.#wake = undefined
  }

  /** Ends when all that was added before is in the files; fails while the disk is full. */
  readonly settled: Effect.Effect<void, StorageError> = Effect.callback((resume) => {
    if (this.#failure !== undefined) return resume(Effect.fail(this.#failure))
    if (this.#waiting.length === 0) return resume(Effect.void)
    if (this.#isStalled) return resume(Effect.fail(new NoSpace({ operation: "mirror" })))
    const last = this.#waiting.at(-1)!
    const check = (error: StorageError | undefined) => {
      if (error !== undefined) resume(Effect.fail(error))
      else if (this.#written >= last.firstSequence) resume(Effect.void)
      else this.#settled.push(check)
    }
    this.#settled.push(check)
  })

  /** The records from `sequence` on, as `Storage.readRecords` has them. */
  readonly readRecords = (
    sequence: number,
  ): Stream.Stream<ReadonlyArray<StoredRecord>, StorageError> =>
    Stream.suspend(() => {
      const written = this.#written
      const rest = this.#waiting
        .filter(({ count, firstSequence }) => firstSequence + count > sequence)
        .filter(({ firstSequence }) => firstSequence > written)
        .map((batch) => batchRecords(batch, sequence) ?? [])
      // Batches that come into the files from now on are among the rest.
      const filed = Stream.map(this.#files.readRecords(sequence), (records) =>
        records.length > 0 && records.at(-1)!.sequence > written
          ? records.filter((record) => record.sequence <= written)
          : records,
      ).pipe(Stream.filter((records) => records.length > 0))
      return rest.length === 0 ? filed : Stream.concat(filed, Stream.fromIterable(rest))
    })

  /** Writes until the scope closes. */
  readonly start: Effect.Effect<void, never, Scope.Scope> = Effect.suspend(() =>
    Effect.asVoid(Effect.forkScoped(this.#run)),
  )

  readonly #run = Effect.gen({ self: this }, function* () {
    while (true) {
      const [batch] = this.#waiting
      if (batch === undefined) {
        yield* Effect.callback<void>((resume) => {
          this.#wake = () => resume(Effect.void)
        })
        continue
      }
      const error = yield* Effect.matchEffect(this.#files.append(batch), {
        onSuccess: () => Effect.undefined,
        onFailure: (failure) =>
          failure._tag === "NoSpace" ? Effect.succeed(failure) : Effect.fail(failure),
      })
      if (error === undefined) this.#take(batch)
      else yield* this.#stall(error)
    }
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.sync(() => {
        this.#failure = brokenBy("write the local copy", cause)
        this.#tell(this.#failure)
      }),
    ),
  )

  /** The batch is in the files. */
  #take(batch: JournalBatch): void {
    this.#waiting.shift()
    this.#waitingBytes -= batch.frames.length
    this.#written = batch.firstSequence + batch.count - 1
    this.#isStalled = false
    if (this.#settled.length > 0) this.#tell(undefined)
  }

  readonly #stall = Effect.fnUntraced(function* (this: Mirror, error: NoSpace) {
    if (!this.#isStalled) {
      this.#isStalled = true
      yield* Effect.logError(
        "Local disk full: PostgreSQL still stores records; writes are refused once too many records wait for the local copy",
      ).pipe(Effect.annotateLogs({ operation: error.operation }))
    }
    this.#tell(error)
    yield* Effect.sleep(limits.noSpaceRetryMs)
  }).bind(this)

  #tell(error: StorageError | undefined): void {
    const checks = this.#settled
    this.#settled = []
    for (const check of checks) check(error)
  }
}
