/**
 * Reads a journal after a snapshot's watermark. Keeps the records that are not of users, and those
 * with a kept answer.
 */
import { Effect } from "effect"
import type { JournalRecord } from "../../../domain/record/Record.ts"
import type { DiskError } from "../../../storage/disk/Disk.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { batchRecords } from "../../../storage/Frames.ts"
import { type JournalEnd, scanJournal } from "../../../storage/journal/JournalScan.ts"
import { decodeRecord } from "../../records/Codec.ts"

/** Reports a fault, as a sentence. */
export type Fault = (words: string) => void

/** The record `sequence` of a journal; `undefined`: it is none, which is reported. */
export const decodedRecord = (
  sequence: number,
  body: Uint8Array,
  fault: Fault,
): JournalRecord | undefined => {
  let record: JournalRecord
  try {
    record = decodeRecord(body)
  } catch {
    fault(`Record ${sequence} of the journal is no JSON`)
    return undefined
  }
  if (record.sequence === sequence) return record
  fault(`Record ${sequence} of the journal says that it is ${record.sequence}`)
  return undefined
}

export class JournalTail {
  readonly #watermark: number
  readonly #fault: Fault
  /** Records of projects and the directory; records that keep an answer. Oldest first. */
  readonly shared: Array<JournalRecord> = []
  readonly kept: Array<JournalRecord> = []
  /** Time of the last record, epoch milliseconds; `undefined` without records. */
  lastAt: number | undefined
  /** Where the journal ends. */
  end!: JournalEnd

  private constructor(watermark: number, fault: Fault) {
    this.#watermark = watermark
    this.#fault = fault
  }

  /**
   * Reads the journal in `folder` after `watermark`, to the batch that has `until` or to its end.
   */
  static readonly read = Effect.fnUntraced(function* (
    folder: string,
    watermark: number,
    until: number | undefined,
    fault: Fault,
  ): Effect.fn.Return<JournalTail, DiskError> {
    const tail = new JournalTail(watermark, fault)
    const from = Math.max(1, watermark)
    const bounds = { from, ...(until !== undefined && { until }) }
    tail.end = yield* scanJournal({ disk: nodeDisk, folder, ...bounds }, (batches) =>
      Effect.sync(() => {
        for (const batch of batches) {
          const records = batchRecords(batch, from)
          if (records === undefined) {
            fault(`The batch from record ${batch.firstSequence} on does not add up`)
          }
          for (const { body, sequence } of records ?? []) tail.#take(sequence, body)
        }
      }),
    )
    const { firstSequence: first, lastSequence } = tail.end
    if (first !== undefined && first > from) {
      fault(`The journal begins at record ${first}, but the snapshot ends at ${watermark}`)
    } else if (lastSequence < watermark) {
      fault(`The snapshot goes up to record ${watermark}, but the journal ends at ${lastSequence}`)
    }
    return tail
  })

  #take(sequence: number, body: Uint8Array): void {
    // It was erased.
    if (body.length === 0) return
    const record = decodedRecord(sequence, body, this.#fault)
    if (record === undefined) return
    this.lastAt = record.at
    if (sequence <= this.#watermark) return
    const { kept, subject } = record
    if (kept !== undefined && subject.actor !== "directory") this.kept.push(record)
    if (subject.actor !== "user") this.shared.push(record)
  }
}
