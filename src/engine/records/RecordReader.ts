/**
 * Reads single records by sequence: records that the snapshot lacks from memory, all others from
 * the journal. An erased record is absent, even while the journal still has its text: the callers
 * pass the sequence up to which the user's records are hidden (`Erasures`).
 */
import { Effect } from "effect"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { Broken, ReadWork, Storage, StoredRecord } from "../../storage/Storage.ts"
import { decodeRecord } from "./Codec.ts"
import type { PendingRecords } from "./PendingRecords.ts"

export class RecordReader {
  readonly #storage: Storage["Service"]
  readonly #pending: PendingRecords

  constructor(storage: Storage["Service"], pending: PendingRecords) {
    this.#storage = storage
    this.#pending = pending
  }

  /** The record as the journal has it; `undefined`: it was pruned or erased. */
  stored(sequence: number, work?: ReadWork): Effect.Effect<StoredRecord | undefined, Broken> {
    if (sequence < 1) return Effect.undefined
    return Effect.suspend(() =>
      sequence > this.#pending.watermark
        ? Effect.succeed(this.#pending.stored(sequence))
        : Effect.map(this.#storage.readRecord(sequence, work), (found) =>
            found === undefined || found.body.length === 0 ? undefined : found,
          ),
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
    return Effect.map(this.record(sequence), (record) =>
      record !== undefined && isOf(record, environment, userId) ? record : undefined,
    )
  }

  /** The record with this sequence; `undefined`: it was pruned or erased. */
  record(sequence: number): Effect.Effect<JournalRecord | undefined, Broken> {
    return Effect.map(this.stored(sequence), (stored) => stored && decodeRecord(stored.body))
  }
}

/** Whether the record is the user's. */
export const isOf = ({ subject }: JournalRecord, environment: string, userId: string): boolean =>
  subject.actor === "user" && subject.userId === userId && subject.environment === environment
