/**
 * The interface between engine and disk. Only the journal (append, read, prune) is on the path of a
 * write. Snapshot entries are written later and can be rebuilt from the journal.
 *
 * `DurableStorage` (segment files and LMDB) and the tests' `MemoryStorage` pass the same contract
 * test (`test/storage/contract.ts`). The tests also wrap them in `FaultyStorage`, which fails calls
 * on demand.
 */
import { Cause, Context, Data, type Effect, type Stream } from "effect"
import type { EntryBlock } from "./EntryBlock.ts"
import type { KeyRange } from "./Keys.ts"
import type { Entry, Table } from "./tables.ts"

export * from "./tables.ts"

/**
 * The store cannot run a call now; the caller repeats the same call until it succeeds.
 *
 * - `disk_full`: nothing was written.
 * - `database_away`: PostgreSQL does not answer. The write may have been committed; the repeated
 *   call finds out.
 */
export class Unavailable extends Data.TaggedError("Unavailable")<{
  readonly operation: string
  readonly reason: "disk_full" | "database_away"
  /** Why PostgreSQL does not answer. */
  readonly detail?: string
}> {
  override get message(): string {
    if (this.reason === "disk_full") return `The disk is full: ${this.operation}`
    return this.detail ?? `PostgreSQL does not answer: ${this.operation}`
  }
}

/** Whether PostgreSQL does not answer. */
export const isOutage = (error: unknown): error is Unavailable =>
  error instanceof Unavailable && error.reason === "database_away"

/** The state on disk is unknown or wrong: the process must end and recover. */
export class Broken extends Data.TaggedError("Broken")<{
  readonly operation: string
  readonly cause: unknown
}> {
  override get message(): string {
    const { cause } = this
    return `Storage failed to ${this.operation}: ${cause instanceof Error ? cause.message : cause}`
  }
}

/** Another server took the partition over: this server writes nothing more to it. */
export class Fenced extends Data.TaggedError("Fenced")<{ readonly operation: string }> {
  override get message(): string {
    return "Another server took this partition over"
  }
}

export type StorageError = Unavailable | Broken

/**
 * Stored bytes differ from the written bytes; the message names the place. If it is the cause of a
 * `Broken`, a restart does not help.
 */
export class Damaged extends Error {}

/**
 * A record of the journal is damaged that no start needs: only what reads the record fails. An
 * archive or another server may have the record.
 */
export class DamagedRecord extends Damaged {}

export const isDamagedRecord = (
  error: unknown,
): error is Broken & { readonly cause: DamagedRecord } =>
  error instanceof Broken && error.cause instanceof DamagedRecord

/** Damage in a store on another machine: the local files may be intact. */
export class DamagedElsewhere extends Damaged {}

/** Whether stored bytes on this machine are damaged. */
export const isDamagedHere = (error: unknown): error is Broken & { readonly cause: Damaged } =>
  error instanceof Broken &&
  error.cause instanceof Damaged &&
  !(error.cause instanceof DamagedElsewhere)

/**
 * The data has another format; the message names the place, both formats and the way over. If it
 * is the cause of a `Broken`, nothing was changed.
 */
export class OtherFormat extends Error {}

/** The error of a failed `operation` as a `Broken`. */
export const toBroken = (operation: string, error: unknown): Broken =>
  error instanceof Broken ? error : new Broken({ operation, cause: error })

/** A bug: code threw `cause`. Acknowledged writes are on the disk. */
export class Defect extends Error {}

/** Turns the cause that ended `operation` into a `Broken`; a thrown error becomes a `Defect`. */
export const brokenBy = (operation: string, cause: Cause.Cause<unknown>): Broken => {
  const error = Cause.squash(cause)
  if (Cause.hasFails(cause)) return toBroken(operation, error)
  return toBroken(operation, new Defect(String(error), { cause: error }))
}

/**
 * Consecutive records; `firstSequence` is the sequence of the first. `frames` holds `count` frames
 * (`Frames.ts`). The caller must not change the memory until the append ends.
 */
export interface JournalBatch {
  readonly firstSequence: number
  readonly count: number
  readonly frames: Uint8Array
  /** A batch from which records were erased has the checksum that it had before. */
  readonly keptChecksum?: number | undefined
}

/** A segment from which records were erased. */
export interface ErasedSegment {
  readonly lastSequence: number
  /** The bytes that were written. */
  readonly bytes: number
}

/** How much a caller's reads of single records had to read. */
export interface ReadWork {
  /** Blocks of sealed segments that were unpacked, and pieces of plain segments that were read. */
  blocks: number
}

export interface StoredRecord {
  readonly sequence: number
  /** The sequence of the same actor's record before this one; 0: there is none. */
  readonly previous: number
  /** Empty: the record was erased. */
  readonly body: Uint8Array
  /** Of an erased record, what is left of it (`Frames.ts`); absent: nothing is. */
  readonly remains?: Uint8Array
}

/** A range of keys of a table, read forwards to its end. */
export interface BlockRange extends KeyRange {
  readonly table: Table
}

/** A range with a limit. With `reverse` it is read backwards, from the last key before `until`. */
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
    /** The sequence of the oldest record that is kept; without records, the next sequence. */
    readonly firstSequence: Effect.Effect<number>
    /** The first records of the journal's segments, oldest first. */
    readonly segments: Effect.Effect<ReadonlyArray<number>>
    /**
     * Appends a batch; succeeds after the flush. The caller appends one batch at a time, without
     * gaps.
     */
    readonly append: (batch: JournalBatch) => Effect.Effect<void, StorageError | Fenced>
    /**
     * The durable records from `sequence` on, in order, up to the last record at the time of the
     * call.
     */
    readonly readRecords: (sequence: number) => Stream.Stream<ReadonlyArray<StoredRecord>, Broken>
    /**
     * One durable record; `undefined` if it was pruned, or is not durable yet. The caller may keep
     * the body. Adds to `work` what the read took, which bounds the reads of a caller.
     * `environment` is that of the record, where it is known: records of gathered partitions share
     * numbers (`archive/GatheredJournals.ts`).
     */
    readonly readRecord: (
      sequence: number,
      work?: ReadWork,
      environment?: string,
    ) => Effect.Effect<StoredRecord | undefined, Broken>
    /**
     * Erases those of `sequences`, ascending, that are in the same segment as the first, durably:
     * they become tombstones. Succeeds with that segment; a caller that erases the records after
     * its `lastSequence` by further calls erases all, and bounds the bytes. `undefined`: the
     * segment is not sealed yet, and nothing is erased; the same call succeeds later. May be
     * repeated. `environment` is that of all these records.
     */
    readonly eraseRecords: (
      sequences: ReadonlyArray<number>,
      environment?: string,
    ) => Effect.Effect<ErasedSegment | undefined, StorageError>
    /**
     * The journal that has a record, where it is not the storage's own (`GatheredJournals`): one
     * object for each. Records of one journal can be erased together.
     */
    readonly journalOf?: (environment: string, sequence: number) => object | undefined
    /** Writes all entries or none, durably. An `EntrySlice` is not copied again. */
    readonly writeEntries: (entries: Iterable<Entry>) => Effect.Effect<void, StorageError>
    /**
     * The value of one key at the time of the call; running the returned effect again does not read
     * again. The caller may keep the value. If nothing has to be waited for, the function returns
     * an `Exit`.
     */
    readonly readEntry: (
      table: Table,
      key: Uint8Array,
    ) => Effect.Effect<Uint8Array | undefined, Broken>
    /** The entries of a range, in chunks: each chunk holds the event loop briefly. */
    readonly readEntries: (range: Range) => Stream.Stream<ReadonlyArray<StoredEntry>, Broken>
    /**
     * The entries of a range in byte order, for whole tables. A block is valid until the next is
     * requested.
     */
    readonly readBlocks: (range: BlockRange) => Stream.Stream<EntryBlock, Broken>
    /**
     * Removes journal segments that hold only records below `sequence`. If the newest segment has a
     * record up to `closeThrough`, it takes no more records. The snapshot has every record up to
     * `snapshotThrough`: PostgreSQL need not keep them for it.
     */
    readonly prune: (
      sequence: number,
      closeThrough?: number,
      snapshotThrough?: number,
    ) => Effect.Effect<void, StorageError>
  }
>()("storage/Storage") {}
