/**
 * Writes the records of an export as a journal. A record gets the sequence of the same user's
 * record before it; a record that the export lacks becomes a tombstone. Memory: the records of a
 * batch, and the last sequence of each user.
 */
import { Effect } from "effect"
import type { JournalRecord } from "../../../domain/record/Record.ts"
import type { DiskError } from "../../../storage/disk/Disk.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { batchOf } from "../../../storage/Frames.ts"
import { SegmentWriter } from "../../../storage/journal/SegmentWriter.ts"
import { nameOf } from "../check/FoldCheck.ts"

const batchRecordsMax = 1_000
const batchBytesMax = 262_144
const tombstone = Buffer.alloc(0)

interface Written extends Pick<JournalRecord, "sequence" | "subject"> {
  readonly cause: { readonly kind: string }
  readonly facts: ReadonlyArray<{ readonly kind: string }>
}

export class RecordWriter {
  readonly #segments: SegmentWriter
  readonly #lastOf = new Map<string, number>()
  #bodies: Array<Uint8Array> = []
  #previous: Array<number> = []
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
    yield* this.#put(Buffer.from(JSON.stringify(record)), previous)
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

  /** Takes tombstones up to `through`. `previous`: the record that the last of them names. */
  readonly gap = Effect.fnUntraced(function* (
    this: RecordWriter,
    through: number,
    previous = 0,
  ): Effect.fn.Return<void, DiskError> {
    while (this.lastSequence < through) {
      yield* this.#put(tombstone, this.lastSequence + 1 === through ? previous : 0)
    }
  }).bind(this)

  readonly #put = (body: Uint8Array, previous: number): Effect.Effect<void, DiskError> => {
    this.#bodies.push(body)
    this.#previous.push(previous)
    this.#bytes += body.length
    this.lastSequence++
    const isFull = this.#bodies.length >= batchRecordsMax || this.#bytes >= batchBytesMax
    return isFull ? this.#flush : Effect.void
  }

  readonly #flush: Effect.Effect<void, DiskError> = Effect.suspend(() => {
    const [bodies, previous] = [this.#bodies, this.#previous]
    if (bodies.length === 0) return Effect.void
    this.#bodies = []
    this.#previous = []
    this.#bytes = 0
    const { lastSequence } = this.#segments.position
    return this.#segments.write(batchOf(lastSequence + 1, bodies, previous))
  })

  /** Makes all durable. */
  readonly end: Effect.Effect<void, DiskError> = Effect.suspend(() =>
    Effect.asVoid(Effect.andThen(this.#flush, this.#segments.end)),
  )
}
