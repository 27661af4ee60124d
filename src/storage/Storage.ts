/**
 * The seam between the engine and the disk: five verbs. The journal (append, read, prune) is the only thing
 * on the path of a write; the snapshot entries are written behind it and could be rebuilt from it.
 *
 * Three implementations keep one contract (`test/storage/contract.ts`): `DurableStorage` (segment files and
 * LMDB), `MemoryStorage`, and `FaultyStorage`, which makes any other one fail on demand.
 */
import { Cause, Context, Data, type Effect, type Stream } from "effect"
import type { EntryBlock } from "./EntryBlock.ts"
import type { KeyRange } from "./Keys.ts"

/**
 * `NoSpace`: nothing was written and the same call may succeed once there is space.
 * `Broken`: what is on disk is unknown or wrong; the process must end and recover.
 */
export class NoSpace extends Data.TaggedError("NoSpace")<{ readonly operation: string }> {
  override get message(): string {
    return `No space: ${this.operation}`
  }
}
export class Broken extends Data.TaggedError("Broken")<{
  readonly operation: string
  readonly cause: unknown
}> {
  override get message(): string {
    const { cause } = this
    return `Storage failed to ${this.operation}: ${cause instanceof Error ? cause.message : cause}`
  }
}
export type StorageError = NoSpace | Broken

/** Stored bytes are not what was written, in words that name them: the cause of a `Broken` that a restart does not mend. */
export class Damaged extends Error {}

/** An error, by which `operation` failed, as the storage's own: itself where it is one already. */
export const toBroken = (operation: string, error: unknown): Broken =>
  error instanceof Broken ? error : new Broken({ operation, cause: error })

/** Code has failed that never should; what was acknowledged is on disk. `cause` is what was thrown. */
export class Defect extends Error {}

/** What ended `operation`, as an error of the storage; what was thrown by code is a `Defect`. */
export const brokenBy = (operation: string, cause: Cause.Cause<unknown>): Broken => {
  const error = Cause.squash(cause)
  if (Cause.hasFails(cause)) return toBroken(operation, error)
  return toBroken(operation, new Defect(String(error), { cause: error }))
}

/**
 * Consecutive records, `firstSequence` the number of the first. `frames` holds `count` frames, each a
 * 32-bit little-endian length and that many bytes. The caller leaves the memory alone until the append ends.
 */
export interface JournalBatch {
  readonly firstSequence: number
  readonly count: number
  readonly frames: Uint8Array
}

export interface StoredRecord {
  readonly sequence: number
  readonly body: Uint8Array
}

/**
 * The tables of the snapshot:
 * `meta` the watermark and settings · `actors` the state of each project actor and the directory ·
 * `users` each user's state · `history` pages of records by user · `eventIds` callers' ids of events and
 * rewards, as hashes → sequence · `idempotency` kept replies · `batches` whom a kept batch tells of · `expiry` what to
 * forget, by time · `boards` closed windows of leaderboards. Beside it, and not of the snapshot: `outbox`
 * how far webhooks were told, and what is still to be done · `endpoints` numbers of each webhook ·
 * `deliveries` by webhook, status and message · `due` pending ones by time · `attempts` all but the last.
 */
export const tables = [
  "meta",
  "actors",
  "users",
  "history",
  "eventIds",
  "idempotency",
  "batches",
  "expiry",
  "boards",
  "outbox",
  "endpoints",
  "deliveries",
  "due",
  "attempts",
] as const
export type Table = (typeof tables)[number]

/**
 * `value: null` removes the key. `replaces` saves a look-up: the checksum (`checksumOf`) of the stored value that the entry
 * replaces, `null` where none is stored; no other entry of the batch then has the key.
 */
export interface Entry {
  readonly table: Table
  readonly key: Uint8Array
  readonly value: Uint8Array | null
  readonly replaces?: number | null | undefined
}

/** A range of keys of a table, read forwards and to its end. */
export interface BlockRange extends KeyRange {
  readonly table: Table
}

/** A range that is read backwards, from before `until`, when `reverse`. */
export interface Range extends BlockRange {
  readonly reverse?: boolean
  readonly limit?: number
}

export type StoredEntry = readonly [key: Uint8Array, value: Uint8Array]

export class Storage extends Context.Service<
  Storage,
  {
    /** The sequence of the last record found when the storage was opened, 0 for none. */
    readonly lastSequence: number
    /** The sequence of the oldest record that is still there; of the next one where there is none. */
    readonly firstSequence: Effect.Effect<number>
    /** Makes a batch durable; it succeeds only after the flush. One at a time, without gaps. */
    readonly append: (batch: JournalBatch) => Effect.Effect<void, StorageError>
    /** The durable records from `sequence` on, in order, up to the last one at the time of the call. */
    readonly readRecords: (sequence: number) => Stream.Stream<ReadonlyArray<StoredRecord>, Broken>
    /** Writes all entries or none, durably. */
    readonly writeEntries: (entries: ReadonlyArray<Entry>) => Effect.Effect<void, StorageError>
    /** The value of one key. Values are the reader's to keep. */
    readonly readEntry: (
      table: Table,
      key: Uint8Array,
    ) => Effect.Effect<Uint8Array | undefined, Broken>
    /** The entries of a range, in chunks that never hold the event loop long. */
    readonly readEntries: (range: Range) => Stream.Stream<ReadonlyArray<StoredEntry>, Broken>
    /** The same in byte order, for who reads a whole table: each block is good until the next is asked for. */
    readonly readBlocks: (range: BlockRange) => Stream.Stream<EntryBlock, Broken>
    /**
     * Lets go of journal segments that hold only records below `sequence`. With `closeThrough`, a newest segment
     * that has a record up to there takes no more, so that it can go in its time too.
     */
    readonly prune: (sequence: number, closeThrough?: number) => Effect.Effect<void, StorageError>
  }
>()("storage/Storage") {}
