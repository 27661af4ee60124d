/**
 * The snapshot's entries in LMDB: one environment, one named database per table.
 *
 * - `overlappingSync: false`: a commit becomes visible after its flush, and a failed commit never
 *   does. No setting weakens durability.
 * - The entries of a call are one transaction, which a separate thread writes and flushes
 *   (`WriteThread.ts`). The event loop only packs entries (`EntryBlock.ts`) and reads.
 * - LMDB fails with `EIO` if the disk fills up during a write, so the store checks the free space
 *   before each write and after an `EIO`. A snapshot may use half of the reserve, since only a
 *   snapshot allows journal segments to be pruned.
 * - After an error on its meta page LMDB does not answer any more, so a write has a deadline.
 * - LMDB has no checksums and trusts its pages: a child process checks a database before it is
 *   opened (`DatabaseCheck.ts`), against sums that each transaction stores (`Sums.ts`). The sums
 *   depend on the replaced values, so there is one transaction at a time, and the thread is the
 *   only writer.
 * - A range is read in chunks, and each chunk begins with a seek to the key after the last one: no
 *   read transaction outlives a turn of the event loop, so none pins old pages. A read sees changes
 *   of keys that it has not reached yet. Reads of a million entries use blocks (`LmdbBlocks.ts`).
 *
 * Cost, with values of 200 bytes: 0.3 µs of the event loop per put, unless the entries are packed
 * already; 0.5 µs per value that is read in order.
 */
import { Effect, Exit, Option, type Scope, Semaphore, Stream } from "effect"
import { limits } from "../../Limits.ts"
import { markTurn } from "../../metrics/LongTurns.ts"
import { withDeadline } from "../disk/Deadline.ts"
import { DiskError } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import { EntryBlock, EntrySlice } from "../EntryBlock.ts"
import { keyBytesMax } from "../Keys.ts"
import {
  type BlockRange,
  Broken,
  type Entry,
  type Range,
  type StorageError,
  type StoredEntry,
  type Table,
  Unavailable,
} from "../Storage.ts"
import { yieldToEventLoop } from "../yieldToEventLoop.ts"
import { type CheckedDatabase, checkDatabase, markClosed, markInUse } from "./DatabaseCheck.ts"
import {
  type LmdbRoot,
  type LmdbTable,
  mapBytesIn,
  openTables,
  openWritable,
  stateOf,
} from "./environment.ts"
import { isFullDisk, openingCause } from "./fullDisk.ts"
import { BlockTable, following } from "./LmdbBlocks.ts"
import { OpeningLock } from "./OpeningLock.ts"
import { spareBytes } from "./reserveSpace.ts"
import type { OnScanning } from "./ScanProcesses.ts"
import type { Sums } from "./Sums.ts"
import { putEntries } from "./Sums.ts"
import { errorOf, WriteThread } from "./WriteThread.ts"

type Bytes = Uint8Array

const attempt = <A>(operation: string, run: () => A): Effect.Effect<A, Broken> =>
  Effect.try({ try: run, catch: (cause) => new Broken({ operation, cause }) })

/**
 * Reads a range to its end. In each turn of the event loop `read` returns entries and the rest of
 * the range.
 */
const inTurns = <A, R extends BlockRange>(
  range: R,
  read: (rest: R) => readonly [ReadonlyArray<A>, R | undefined],
): Stream.Stream<A, Broken> =>
  Stream.paginate(range, (rest) =>
    Effect.flatMap(
      attempt("read", () => read(rest)),
      ([found, next]) => {
        const page = [found, Option.fromUndefinedOr(next)] as const
        return next === undefined ? Effect.succeed(page) : Effect.as(yieldToEventLoop, page)
      },
    ),
  )

export interface LmdbStoreOptions {
  /** An existing folder. */
  readonly folder: string
  readonly freeSpaceBytesMin?: number
  /** The initial address space; LMDB takes more if needed. */
  readonly mapBytes?: number
  /** Check all entries, even after a clean shutdown of the database. */
  readonly uncleanShutdown?: boolean
  /** Progress of the check, in entries. */
  readonly onChecking?: OnScanning
}

export class LmdbStore {
  readonly #root: LmdbRoot
  readonly #lock: OpeningLock
  readonly #options: LmdbStoreOptions
  readonly #tables: Readonly<Record<Table, LmdbTable>>
  readonly #writer: WriteThread
  /** The sums when the database was opened. */
  readonly #sums: Sums
  /** The same tables for reads into blocks; opened at the first use. */
  readonly #blockTables = new Map<Table, BlockTable>()
  readonly #writing = Semaphore.makeUnsafe(1)
  #broken: Broken | undefined
  /** The opening checked all entries. */
  readonly isChecked: boolean
  /** The last transaction; set when the environment was closed cleanly. */
  closedAfter: number | undefined

  constructor(
    root: LmdbRoot,
    lock: OpeningLock,
    { isWhole, sums }: CheckedDatabase,
    options: LmdbStoreOptions,
  ) {
    this.#root = root
    this.#lock = lock
    this.isChecked = isWhole
    this.#options = options
    this.#sums = sums
    // Creating tables is a commit.
    this.#tables = lock.hold(() => openTables(root))
    const { folder, mapBytes } = options
    this.#writer = new WriteThread({ folder, mapBytes, sums })
  }

  readonly writeEntries = (entries: Iterable<Entry>): Effect.Effect<void, StorageError> =>
    withDeadline("write", Semaphore.withPermit(this.#writing, this.#commit(entries)), (expired) => {
      this.#broken ??= expired
    })

  readonly readEntry = (table: Table, key: Bytes): Exit.Exit<Bytes | undefined, Broken> => {
    if (key.length === 0 || key.length > keyBytesMax) return Exit.succeed(undefined)
    try {
      return Exit.succeed(this.#tables[table].get(key))
    } catch (cause) {
      return Exit.fail(new Broken({ operation: "read", cause }))
    }
  }

  readonly readEntries = (range: Range): Stream.Stream<ReadonlyArray<StoredEntry>, Broken> =>
    inTurns(range, (rest) => {
      const [chunk, next] = this.#chunk(rest)
      return [chunk.length === 0 ? [] : [chunk], next]
    })

  readonly readBlocks = (range: BlockRange): Stream.Stream<EntryBlock, Broken> =>
    Stream.suspend(() => {
      const block = new EntryBlock()
      return inTurns(range, (rest) => {
        const next = this.#blockTable(range.table).fill(block, rest)
        return [block.count === 0 ? [] : [block], next]
      })
    })

  #blockTable(name: Table): BlockTable {
    let table = this.#blockTables.get(name)
    if (table === undefined) {
      table = new BlockTable((options) =>
        this.#root.openDB(name, { encoding: "binary", ...options }),
      )
      this.#blockTables.set(name, table)
    }
    return table
  }

  /** Starts the writer thread in advance, since a write follows soon. */
  startWriter(): void {
    if (this.#broken === undefined) this.#writer.start()
  }

  /** Unpins the old pages of readers whose process died, so that LMDB can reuse them. */
  readonly forgetDeadReaders: Effect.Effect<void> = Effect.sync(() => {
    if (this.#broken === undefined) this.#root.readerCheck()
  })

  /**
   * Closes the environment after the writes in flight. After `Broken` it closes nothing, since LMDB
   * may never answer.
   */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    if (this.#broken !== undefined) return Effect.void
    this.#broken = new Broken({ operation: "write", cause: new Error("the store is closed") })
    return withDeadline(
      "close",
      Semaphore.withPermit(
        this.#writing,
        Effect.tryPromise({
          try: async () => {
            await this.#writer.close()
            const { transaction } = stateOf(this.#root)
            await this.#root.close()
            await this.#lock.close()
            this.closedAfter = transaction
          },
          catch: (cause) => new Broken({ operation: "close", cause }),
        }),
      ),
      () => {},
    )
  }).pipe(Effect.catch((error) => Effect.logWarning("LMDB was not closed cleanly", error)))

  readonly #commit = Effect.fnUntraced(function* (
    this: LmdbStore,
    entries: Iterable<Entry>,
  ): Effect.fn.Return<void, StorageError> {
    if (this.#broken !== undefined) return yield* Effect.fail(this.#broken)
    markTurn("database")
    const slice = yield* attempt("write", () => EntrySlice.of(entries))
    if (slice.bytes === 0) return
    if (yield* this.#lacksSpace(2 * slice.bytes))
      return yield* new Unavailable({ operation: "write", reason: "disk_full" })
    const outcome = yield* Effect.tryPromise({
      try: () => this.#writer.write(slice),
      catch: (cause) => cause,
    }).pipe(Effect.catch(this.#failed))
    // Reads of this turn may still use the previous transaction.
    this.#root.resetReadTxn()
    if ("message" in outcome) yield* this.#failed(errorOf(outcome))
  }).bind(this)

  /** Stores the first sums of a database. */
  readonly storeSums: Effect.Effect<void, StorageError> = Effect.suspend(() => {
    try {
      this.#lock.hold(() =>
        this.#root.transactionSync(() => putEntries(this.#root, this.#tables, this.#sums, [])),
      )
      return Effect.void
    } catch (error) {
      return this.#failed(error)
    }
  })

  /** Whether a write of `bytes` would use more space than a snapshot may use. */
  readonly #lacksSpace = (bytes: number): Effect.Effect<boolean> =>
    nodeDisk.freeBytes(this.#options.folder).pipe(
      Effect.map((free) => free < this.#reservedBytes + bytes),
      Effect.orElseSucceed(() => false),
    )

  readonly #failed = (reason: unknown): Effect.Effect<never, StorageError> => {
    if (isFullDisk(reason, this.#options.folder, this.#reservedBytes + spareBytes)) {
      return Effect.fail(new Unavailable({ operation: "write", reason: "disk_full" }))
    }
    this.#broken ??= new Broken({ operation: "write", cause: reason })
    return Effect.fail(this.#broken)
  }

  /** The part of the reserve that a snapshot must leave. */
  get #reservedBytes(): number {
    return (this.#options.freeSpaceBytesMin ?? limits.freeSpaceBytesMin) / 2
  }

  /** Reads the entries of one turn. Returns them and the rest of the range. */
  #chunk(range: Range): readonly [Array<StoredEntry>, Range | undefined] {
    const { table, from, until, reverse = false } = range
    const left = range.limit ?? Number.POSITIVE_INFINITY
    const chunk: Array<StoredEntry> = []
    if (left <= 0 || until.length === 0) return [chunk, undefined]
    const count = Math.min(left, limits.readChunkEntriesMax)
    const deadline = performance.now() + limits.readChunkMs
    const bounds = reverse
      ? { start: until, end: from, reverse, exclusiveStart: true, inclusiveEnd: true }
      : { start: from, end: until }
    let more = false
    for (const { key, value } of this.#tables[table].getRange({ ...bounds, limit: count })) {
      chunk.push([key, value])
      more = chunk.length === count || (chunk.length % 32 === 0 && performance.now() > deadline)
      if (more) break
    }
    if (!more || chunk.length === left) return [chunk, undefined]
    const last = chunk[chunk.length - 1]![0]
    const limit = left - chunk.length
    const bounded = Number.isFinite(limit) ? { limit } : {}
    return [
      chunk,
      reverse
        ? { table, from, until: last, reverse, ...bounded }
        : { table, from: following(last), until, ...bounded },
    ]
  }
}

const openStore = (options: LmdbStoreOptions, checked: CheckedDatabase): LmdbStore => {
  const lock = OpeningLock.open(options.folder)
  let root: LmdbRoot | undefined
  try {
    root = openWritable(options.folder, options.mapBytes)
    return new LmdbStore(root, lock, checked, options)
  } catch (error) {
    // Otherwise the next attempt would get this environment, which writes nothing after a failure.
    void root?.close()
    void lock.close()
    throw error
  }
}

/**
 * Opens the environment for the surrounding scope. Fails if it is damaged. If the disk is full, the
 * cause is a `DiskError`.
 */
export const openLmdbStore = Effect.fnUntraced(function* (
  options: LmdbStoreOptions,
): Effect.fn.Return<LmdbStore, Broken, Scope.Scope> {
  const { folder, uncleanShutdown = false, onChecking } = options
  // Before the scan, whose process has the same limit.
  const mapBytes = yield* Effect.try({
    try: () => options.mapBytes ?? mapBytesIn(folder),
    catch: (cause) => new Broken({ operation: "open", cause }),
  })
  const checked = yield* checkDatabase(folder, uncleanShutdown, onChecking)
  if (!checked.isNew) yield* markInUse(folder)
  const store = yield* Effect.acquireRelease(
    Effect.try({
      try: () => openStore({ ...options, mapBytes }, checked),
      catch: (error) => new Broken({ operation: "open", cause: openingCause(folder, error) }),
    }),
    (store) =>
      Effect.andThen(
        store.close,
        Effect.suspend(() =>
          store.closedAfter === undefined ? Effect.void : markClosed(folder, store.closedAfter),
        ),
      ),
  )
  if (checked.isNew) {
    yield* Effect.catchTag(store.storeSums, "Unavailable", () => {
      const cause = new DiskError({ operation: "write", path: folder, code: "ENOSPC" })
      return new Broken({ operation: "open", cause })
    })
    yield* markInUse(folder)
  }
  return store
})
