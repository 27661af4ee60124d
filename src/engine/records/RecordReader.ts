/**
 * Reads single records by sequence: records that the snapshot lacks from memory, all others from
 * the journal. An erased record is absent, even while the journal still has its text: the callers
 * pass the sequence up to which the user's records are hidden (`Erasures`).
 *
 * A damaged record fails only what needs it (`DamagedRecord`): the caller is refused, and the
 * server goes on.
 */
import { Effect } from "effect"
import type { JournalRecord } from "../../domain/record/Record.ts"
import {
  Broken,
  Damaged,
  DamagedRecord,
  type ReadWork,
  type Storage,
  type StoredRecord,
} from "../../storage/Storage.ts"
import { decodeRecord } from "./Codec.ts"
import type { PendingRecords } from "./PendingRecords.ts"

export class RecordReader {
  readonly #storage: Storage["Service"]
  readonly #pending: PendingRecords

  constructor(storage: Storage["Service"], pending: PendingRecords) {
    this.#storage = storage
    this.#pending = pending
  }

  /** The record of an environment as the journal has it; `undefined`: it was pruned or erased. */
  stored(
    environment: string,
    sequence: number,
    work?: ReadWork,
  ): Effect.Effect<StoredRecord | undefined, Broken> {
    if (sequence < 1) return Effect.undefined
    return Effect.map(
      Effect.suspend(() =>
        sequence > this.#pending.watermark
          ? Effect.succeed(this.#pending.stored(sequence))
          : readOne(this.#storage, environment, sequence, work),
      ),
      (found) => (found === undefined || found.body.length === 0 ? undefined : found),
    )
  }

  /**
   * The user's record with this sequence, which is durable or was appended by this engine.
   * `undefined`: it is another's, or was pruned or erased.
   */
  recordOf(
    environment: string,
    userId: string,
    sequence: number,
  ): Effect.Effect<JournalRecord | undefined, Broken> {
    return Effect.map(this.record(environment, sequence), (record) =>
      record !== undefined && isOf(record, environment, userId) ? record : undefined,
    )
  }

  /** The record of an environment with this sequence; `undefined`: it was pruned or erased. */
  record(environment: string, sequence: number): Effect.Effect<JournalRecord | undefined, Broken> {
    return Effect.map(
      this.stored(environment, sequence),
      (stored) => stored && decodeRecord(stored.body),
    )
  }
}

/** Whether the record is the user's. */
export const isOf = ({ subject }: JournalRecord, environment: string, userId: string): boolean =>
  subject.actor === "user" && subject.userId === userId && subject.environment === environment

/** `Storage.readRecord`, which reports damage as that of a single record. */
export const readOne = (
  storage: Pick<Storage["Service"], "readRecord">,
  environment: string,
  sequence: number,
  work?: ReadWork,
): Effect.Effect<StoredRecord | undefined, Broken> =>
  Effect.catchIf(
    storage.readRecord(sequence, work, environment),
    ({ cause }) => cause instanceof Damaged,
    ({ cause }) => damagedRecord(sequence, (cause as Damaged).message),
  )

/** Reports a damaged record, and fails. */
export const damagedRecord = (sequence: number, words: string): Effect.Effect<never, Broken> =>
  Effect.logError("A record of the journal is damaged; only what needs the record fails").pipe(
    Effect.annotateLogs({ sequence, cause: words }),
    Effect.andThen(
      Effect.fail(new Broken({ operation: "read a record", cause: new DamagedRecord(words) })),
    ),
  )
