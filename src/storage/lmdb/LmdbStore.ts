/**
 * The snapshot's entries in LMDB: one environment, one named database per table. The only importer of `lmdb`.
 *
 * - `overlappingSync: false`: a commit shows and is answered after its flush, and one that failed does not
 *   show. Nothing that weakens durability is set.
 * - A call's entries are one batch of one transaction; LMDB's own thread writes and flushes it. (An
 *   asynchronous `transaction` is not used: after a `batch` it spins for ever in 3.5.6.) Batching by turns of
 *   the event loop is off: it adds a promise that nobody holds, and its rejection would kill the process.
 * - LMDB answers `EIO` when the disk is full in the middle of a write, so space is looked at before, and again
 *   after such an answer. A snapshot may use half of the reserve: it is what lets journal segments go.
 * - After an error on its meta page LMDB never answers again, so a write has a deadline.
 * - While it is open the file `in-use` lies beside it. Where one was left behind, or the journal was not closed in order,
 *   all pages are checked before LMDB trusts them (`LmdbPages`), and always where they are few; else only the two that
 *   lead to all others.
 * - A range is read in chunks by seeking anew from the last key: no read transaction outlives a turn of the
 *   event loop, so none pins old pages. A range that changes meanwhile is read as it is when reached. Who reads
 *   a million entries gets them in blocks (`LmdbBlocks.ts`).
 *
 * Cost, of 200-byte values: about 2 µs of this thread per put, 0.5 µs per value read in order.
 */
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { Effect, Option, type Scope, Semaphore, Stream } from "effect"
import { type Database, open, type RootDatabase } from "lmdb"
import { limits } from "../../Limits.ts"
import { withDeadline } from "../disk/Deadline.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import { EntryBlock } from "../EntryBlock.ts"
import { keyBytesMax } from "../Keys.ts"
import {
  type BlockRange,
  Broken,
  type Entry,
  NoSpace,
  type Range,
  type StorageError,
  type StoredEntry,
  type Table,
  tables,
} from "../Storage.ts"
import { yieldToEventLoop } from "../yieldToEventLoop.ts"
import { BlockTable, following } from "./LmdbBlocks.ts"
import { checkDatabase } from "./LmdbCheck.ts"

export type { Database, RootDatabase, Transaction } from "lmdb"

type Bytes = Uint8Array
type Tables = Readonly<Record<Table, Database<Bytes, Bytes>>>

const binary = { encoding: "binary", keyEncoding: "binary" } as const

const attempt = <A>(operation: string, run: () => A): Effect.Effect<A, Broken> =>
  Effect.try({ try: run, catch: (cause) => new Broken({ operation, cause }) })

/** Reads a range to its end, as much as `read` takes in each turn; it answers that and the range that is left. */
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

/** A failed commit tells its reason in a promise of its own, which kills the process when nobody holds it. */
const reasonOf = async (error: unknown): Promise<unknown> => {
  const reason = (error as { readonly commitError?: Promise<unknown> } | undefined)?.commitError
  if (reason === undefined) return error
  return reason.then(
    () => error,
    (cause) => cause,
  )
}

const codeOf = (reason: unknown): unknown =>
  (reason as { readonly code?: unknown } | null | undefined)?.code
const isFull = (reason: unknown): boolean =>
  [os.constants.errno.ENOSPC, os.constants.errno.EDQUOT].some((code) => code === codeOf(reason))
const isInputOutput = (reason: unknown): boolean => codeOf(reason) === os.constants.errno.EIO

export interface LmdbStoreOptions {
  /** An existing folder. */
  readonly folder: string
  readonly freeSpaceBytesMin: number
  /** Address space to begin with; LMDB takes more when the data outgrows it. */
  readonly mapBytes?: number
  /** All pages are checked, also where it was closed in order. */
  readonly mistrusted?: boolean
  /** Called now and then while all pages are checked: how many were, and of how many. */
  readonly onChecking?: (done: number, total: number) => void
}

export class LmdbStore {
  readonly #root: RootDatabase<Bytes, Bytes>
  readonly #options: LmdbStoreOptions
  readonly #tables: Tables
  /** The same tables, as they are read into blocks; opened at the first use. */
  readonly #blockTables = new Map<Table, BlockTable>()
  readonly #writing = Semaphore.makeUnsafe(limits.writesInFlightMax)
  #broken: Broken | undefined
  /** It was closed, after its last write. */
  closed = false

  constructor(root: RootDatabase<Bytes, Bytes>, options: LmdbStoreOptions) {
    this.#root = root
    this.#options = options
    this.#tables = Object.fromEntries(
      tables.map((table) => [table, root.openDB<Bytes, Bytes>(table, binary)]),
    ) as Tables
  }

  readonly writeEntries = (entries: ReadonlyArray<Entry>): Effect.Effect<void, StorageError> =>
    withDeadline("write", Semaphore.withPermit(this.#writing, this.#commit(entries)), (expired) => {
      this.#broken ??= expired
    })

  readonly readEntry = (table: Table, key: Bytes): Effect.Effect<Bytes | undefined, Broken> =>
    attempt("read", () =>
      key.length === 0 || key.length > keyBytesMax ? undefined : this.#tables[table].get(key),
    )

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

  /** Lets go of what a reader pinned whose process has died: its old pages could not be used again. */
  readonly forgetDeadReaders: Effect.Effect<void> = Effect.sync(() => {
    if (this.#broken === undefined) this.#root.readerCheck()
  })

  /** Waits for the writes in flight. After `Broken` LMDB may never answer: then nothing is waited for. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    if (this.#broken !== undefined) return Effect.void
    this.#broken = new Broken({ operation: "write", cause: new Error("the store is closed") })
    return withDeadline(
      "close",
      Semaphore.withPermits(
        this.#writing,
        limits.writesInFlightMax,
      )(
        Effect.tryPromise({
          try: async () => {
            await this.#root.close()
            this.closed = true
          },
          catch: (cause) => new Broken({ operation: "close", cause }),
        }),
      ),
      () => {},
    )
  }).pipe(Effect.catch((error) => Effect.logWarning("LMDB was not closed cleanly", error)))

  readonly #commit = (entries: ReadonlyArray<Entry>): Effect.Effect<void, StorageError> =>
    Effect.suspend(() => {
      if (this.#broken !== undefined) return Effect.fail(this.#broken)
      const misfit = entries.find(({ key }) => key.length === 0 || key.length > keyBytesMax)
      if (misfit !== undefined) {
        const cause = new Error(`a key of ${misfit.key.length} bytes in table ${misfit.table}`)
        return Effect.fail(new Broken({ operation: "write", cause }))
      }
      if (entries.length === 0) return Effect.void
      let bytes = 0
      for (const { key, value } of entries) bytes += key.length + (value?.length ?? 0)
      return Effect.flatMap(this.#lacksSpace(2 * bytes), (full) =>
        full ? Effect.fail(new NoSpace({ operation: "write" })) : this.#written(entries),
      )
    })

  readonly #written = (entries: ReadonlyArray<Entry>): Effect.Effect<void, StorageError> =>
    Effect.callback<void, StorageError>((resume) => {
      this.#batch(entries).then(
        () => resume(Effect.void),
        (error) => {
          reasonOf(error).then((reason) => resume(this.#failed(reason)))
        },
      )
    })

  /** Whether `bytes` more would use up what a snapshot may take. */
  readonly #lacksSpace = (bytes: number): Effect.Effect<boolean> =>
    nodeDisk.freeBytes(this.#options.folder).pipe(
      Effect.map((free) => free < this.#options.freeSpaceBytesMin / 2 + bytes),
      Effect.orElseSucceed(() => false),
    )

  /** Rejects also for what `lmdb` throws at once. */
  async #batch(entries: ReadonlyArray<Entry>): Promise<void> {
    await this.#root.batch(() => {
      let held: Promise<boolean> | undefined
      for (const { table, key, value } of entries) {
        const database = this.#tables[table]
        const written = value === null ? database.remove(key) : database.put(key, value)
        // The batch's own promise reports the failure. All entries have one promise, or nearly.
        if (written !== held) written.catch(() => {})
        held = written
      }
    })
  }

  #failed(reason: unknown): Effect.Effect<never, StorageError> {
    const noSpace = Effect.fail(new NoSpace({ operation: "write" }))
    if (isFull(reason)) return noSpace
    const broken = Effect.suspend(() => {
      this.#broken ??= new Broken({ operation: "write", cause: reason })
      return Effect.fail(this.#broken)
    })
    if (!isInputOutput(reason)) return broken
    return Effect.flatMap(
      this.#lacksSpace(0),
      (full): Effect.Effect<never, StorageError> => (full ? noSpace : broken),
    )
  }

  /** What one turn reads of a range, and the range that is left. */
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

const environment = {
  ...binary,
  // A folder with a dot in its name is still a folder.
  noSubdir: false,
  // Address space only; the file grows as needed.
  mapSize: limits.mapBytes,
  maxDbs: 32,
} as const

/** Opens an environment to read it only, also beside the process that writes it. Throws; damage can end the process. */
export const openReadOnly = (folder: string): RootDatabase<Bytes, Bytes> =>
  open<Bytes, Bytes>({ ...environment, path: folder, readOnly: true })

const writable = { ...environment, overlappingSync: false, eventTurnBatching: false } as const

/** Opens an environment to write it. Throws. */
export const openWritable = (
  folder: string,
  mapSize = environment.mapSize,
): RootDatabase<Bytes, Bytes> => open<Bytes, Bytes>({ ...writable, mapSize, path: folder })

/** A table of an open environment; `undefined`: it is only read, and the table was never written. */
export const openTable = (
  root: RootDatabase<Bytes, Bytes>,
  table: Table,
): Database<Bytes, Bytes> | undefined => root.openDB<Bytes, Bytes>(table, binary)

const inUseName = "in-use"

/** Opens the environment for the surrounding scope. Fails where it is damaged. */
export const openLmdbStore = Effect.fnUntraced(function* (
  options: LmdbStoreOptions,
): Effect.fn.Return<LmdbStore, Broken, Scope.Scope> {
  const { folder, mapBytes, mistrusted = false, onChecking } = options
  const mark = path.join(folder, inUseName)
  yield* checkDatabase(folder, mistrusted || fs.existsSync(mark), onChecking)
  // For one start after a crash; where no file can be made, LMDB says so.
  yield* Effect.ignore(attempt("open", () => fs.writeFileSync(mark, "")))
  return yield* Effect.acquireRelease(
    attempt("open", () => new LmdbStore(openWritable(folder, mapBytes), options)),
    (store) =>
      Effect.andThen(
        store.close,
        Effect.suspend(() =>
          store.closed ? Effect.ignore(attempt("close", () => fs.rmSync(mark))) : Effect.void,
        ),
      ),
  )
})
