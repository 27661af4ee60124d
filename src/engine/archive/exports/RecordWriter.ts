/**
 * Writes the records of an export as a journal. A record gets the sequence of the same user's
 * record before it; a record that the export lacks becomes a tombstone. Memory: the records of a
 * batch, and the last sequence of each user.
 */
import { Effect } from "effect"
import type { JournalRecord } from "../../../domain/record/Record.ts"
import type { DiskError } from "../../../storage/disk/Disk.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { batchOfRecords, remainsBytes } from "../../../storage/Frames.ts"
import { SegmentWriter } from "../../../storage/journal/SegmentWriter.ts"
import type { StoredRecord } from "../../../storage/Storage.ts"
import { nameOf } from "../check/FoldCheck.ts"
import type { Gap } from "./ExportLines.ts"

const batchRecordsMax = 1_000
const batchBytesMax = 262_144
const nothing = Buffer.alloc(0)

interface Written extends Pick<JournalRecord, "sequence" | "subject"> {
  readonly cause: { readonly kind: string }
  readonly facts: ReadonlyArray<{ readonly kind: string }>
}

export class RecordWriter {
  readonly #segments: SegmentWriter
  readonly #lastOf = new Map<string, number>()
  #records: Array<StoredRecord> = []
  #bytes = 0
  /** The last record that was taken. */
  lastSequence: number

  /** `first` is the first record of the journal. */
  constructor(folder: string, first: number) {
    const after = { lastSequence: first - 1, checksum: 0 }
    this.#segments = new SegmentWriter({ disk: nodeDisk, folder, after })
    this.lastSequence = first - 1
  }

  /** Takes the next record, or one after a gap. */
  readonly add = Effect.fnUntraced(function* (
    this: RecordWriter,
    record: Written,
  ): Effect.fn.Return<void, DiskError> {
    yield* this.gap(record.sequence - 1)
    const { subject } = record
    const previous = subject.actor === "user" ? this.#previousOf(record, nameOf(subject)) : 0
    yield* this.#put({ previous, body: Buffer.from(JSON.stringify(record)) })
  }).bind(this)

  /** The chain of a user begins with the creation, and ends with the erasure. */
  #previousOf({ cause, facts, sequence }: Written, name: string): number {
    const previous = this.#lastOf.get(name)
    if (cause.kind === "erasure") this.#lastOf.delete(name)
    else if (previous !== undefined || facts.some(({ kind }) => kind === "user.created")) {
      this.#lastOf.set(name, sequence)
    }
    return previous ?? 0
  }

  /** Takes tombstones up to `through`. The last of them has the record before it, and the remains. */
  readonly gap = Effect.fnUntraced(function* (
    this: RecordWriter,
    through: number,
    { previous = 0, remains }: Pick<Gap, "previous" | "remains"> = {},
  ): Effect.fn.Return<void, DiskError> {
    while (this.lastSequence < through - 1) yield* this.#put({ previous: 0, body: nothing })
    if (this.lastSequence === through) return
    const left = remains && { remains: remainsBytes(remains) }
    yield* this.#put({ previous, body: nothing, ...left })
  }).bind(this)

  readonly #put = (record: Omit<StoredRecord, "sequence">): Effect.Effect<void, DiskError> => {
    this.lastSequence++
    this.#records.push({ sequence: this.lastSequence, ...record })
    this.#bytes += record.body.length
    const isFull = this.#records.length >= batchRecordsMax || this.#bytes >= batchBytesMax
    return isFull ? this.#flush : Effect.void
  }

  readonly #flush: Effect.Effect<void, DiskError> = Effect.suspend(() => {
    const records = this.#records
    if (records.length === 0) return Effect.void
    this.#records = []
    this.#bytes = 0
    return this.#segments.write(batchOfRecords(records))
  })

  /** Makes all durable. */
  readonly end: Effect.Effect<void, DiskError> = Effect.suspend(() =>
    Effect.asVoid(Effect.andThen(this.#flush, this.#segments.end)),
  )
}
