/**
 * The journal of a partition as readers see it: the records of the local files, and earlier records
 * that PostgreSQL still has. A copy that was filled from an archive begins at the archive's
 * snapshot, but streams and pending webhook deliveries need earlier records.
 *
 * - Records that the local files have are never read from PostgreSQL.
 * - While PostgreSQL does not answer, a read of earlier records fails with `Unavailable`: the same
 *   read succeeds later.
 * - If PostgreSQL's journal is damaged, the damage is logged, and from then on this engine reads
 *   only the local files. If the journal was replaced, it has another lineage and this server is
 *   not the owner any more: reads fail as unavailable until the engine closes.
 *
 * Cost of a read before the local files: two statements for each piece of `postgresReadRows`
 * batches.
 */
import { Effect, Stream } from "effect"
import { checkedRecords } from "../Frames.ts"
import { type Storage, type StorageError, type StoredRecord, Unavailable } from "../Storage.ts"
import { damaged, endOf } from "./PgBatches.ts"
import type { PgJournal } from "./PgJournal.ts"

type Records = Stream.Stream<ReadonlyArray<StoredRecord>, StorageError>

interface Options {
  readonly files: Pick<Storage["Service"], "firstSequence" | "readRecords">
  readonly journal: Pick<PgJournal, "readBatches" | "startOf">
  readonly lineage: string
  readonly partition: number
}

export class EarlierRecords {
  readonly #options: Options
  /** The first record of PostgreSQL when it was last read. */
  #first = Number.POSITIVE_INFINITY

  constructor(options: Options) {
    this.#options = options
  }

  /** PostgreSQL's journal begins with this record. */
  begins(sequence: number): void {
    this.#first = sequence
  }

  /** PostgreSQL is about to remove the records below `sequence`. */
  readonly loses = (sequence: number): void => {
    this.#first = Math.max(this.#first, sequence)
  }

  readonly firstSequence: Effect.Effect<number> = Effect.suspend(() =>
    Effect.map(this.#options.files.firstSequence, (first) => Math.min(first, this.#first)),
  )

  /** Implements `Storage.readRecords`. */
  readonly readRecords = (sequence: number): Records =>
    Stream.suspend(() => {
      const { files } = this.#options
      if (sequence < this.#first) return files.readRecords(sequence)
      return Stream.unwrap(
        Effect.map(files.firstSequence, (first) =>
          first <= sequence ? this.#local(sequence) : this.#earlier(sequence, first),
        ),
      )
    })

  #local(sequence: number): Records {
    const { files } = this.#options
    let next = sequence
    return files.readRecords(sequence).pipe(
      Stream.tap((records) =>
        Effect.sync(() => {
          next = (records.at(-1)?.sequence ?? next - 1) + 1
        }),
      ),
      Stream.catch((failure) =>
        Stream.unwrap(
          Effect.map(files.firstSequence, (first) =>
            // The segment was pruned during the read.
            next < first && next >= this.#first ? this.readRecords(next) : Stream.fail(failure),
          ),
        ),
      ),
    )
  }

  /**
   * The records from `sequence` on: from PostgreSQL, then from the files, which begin with `first`.
   */
  #earlier(sequence: number, first: number): Records {
    const { journal, lineage } = this.#options
    const read = Effect.gen({ self: this }, function* () {
      const start = yield* journal.startOf(sequence)
      if (start === undefined || start.lineage !== lineage) return yield* replaced
      if (start.after === undefined) return yield* damaged(`record ${sequence} is missing`)
      return journal.readBatches(start.after).pipe(
        Stream.takeUntil((batches) => endOf(batches.at(-1)!).lastSequence >= first - 1),
        Stream.map((batches) =>
          batches
            .flatMap((batch) => checkedRecords(batch, sequence))
            .filter((record) => record.sequence < first),
        ),
        Stream.filter((records) => records.length > 0),
      )
    })
    return Stream.unwrap(read).pipe(
      Stream.tapError((error) => (error._tag === "Broken" ? this.#giveUp(error) : Effect.void)),
      Stream.concat(this.readRecords(first)),
    )
  }

  readonly #giveUp = (error: StorageError): Effect.Effect<void> =>
    Effect.suspend(() => {
      this.#first = Number.POSITIVE_INFINITY
      return Effect.logError(
        "PostgreSQL's journal cannot be read: streams and webhook deliveries lose the records that are not in the local journal",
        error,
      ).pipe(Effect.annotateLogs({ partition: this.#options.partition }))
    })
}

const replaced = new Unavailable({
  operation: "read",
  reason: "database_away",
  detail: "PostgreSQL has the journal of another cluster",
})
