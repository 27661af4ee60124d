/**
 * Copies the snapshot of a data directory as of one moment into the draft of an archive, beside the server that writes it.
 *
 * - History that changes no more (`HistoryParts.ts`) goes into parts. Those that an earlier archive has, the base, are
 *   linked, unread: so an archive costs what changed since, however long the history is. All other entries are copied into a
 *   database.
 * - Each value's checksum is checked on the way, and at the end each table against the count and sum that its writer has
 *   stored (`storage/lmdb/Sums.ts`); a part counts with those of its list. So nothing is linked that the data no
 *   longer has. Parts that may have pages of a user who was erased since are read from the data again, and written anew
 *   where they differ. If the sums still differ, that is done with all of them.
 * - A few megabytes at a time, each flushed before the next, and beside a server no faster than `archiveCopyBytesPerSecond`:
 *   gigabytes in the page cache would go to the disk at once and delay every commit of the journal. The server's file grows
 *   by the pages that it writes meanwhile, so a copy that would take longer than `archiveCopyMs` speeds up accordingly.
 */
import path from "node:path"
import { Effect, type Scope } from "effect"
import { limits } from "../../Limits.ts"
import { archivedFolder, type TableReader } from "../../storage/archive/ArchiveTables.ts"
import { type Part, partsFolder, writePartList } from "../../storage/archive/PartFile.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { asBuffer, type KeyRange, rangeOf } from "../../storage/Keys.ts"
import { newDatabase } from "../../storage/lmdb/DatabaseWriter.ts"
import type { LmdbReader } from "../../storage/lmdb/LmdbReader.ts"
import { differenceOf, type Sums } from "../../storage/lmdb/Sums.ts"
import { hasChecksum, valueFault } from "../../storage/SealedValue.ts"
import type { Entry, StorageError, StoredEntry } from "../../storage/Storage.ts"
import { type Table, tables } from "../../storage/tables.ts"
import { pagesIn } from "../records/SnapshotValues.ts"
import type { ArchiveBase, ErasedUser } from "./ArchiveBase.ts"
import { HistoryRanges } from "./HistoryParts.ts"
import { damaged } from "./Jobs.ts"
import { PartWriter } from "./PartWriter.ts"

export interface TableCopyOptions {
  /** The draft of an archive. */
  readonly draft: string
  /** When the archive is made, epoch milliseconds. */
  readonly at: number
  /** Up to which record the snapshot is complete. */
  readonly watermark: number
  readonly base: ArchiveBase | undefined
  /** Users of whom the base may have pages that the data has no more. */
  readonly erased: ReadonlyArray<ErasedUser>
  readonly progress: (done: number, total: number) => void
  /** Runs after each piece, once it is on disk: `done` of `total` bytes were copied in `tookMs`. */
  readonly rest: (done: number, total: number, tookMs: number) => Effect.Effect<void>
}

export interface CopiedTables {
  readonly parts: ReadonlyArray<Part>
  /** Parts that are the base's files, and copies of them for want of hard links. */
  readonly linked: number
  readonly copied: number
  /** How many partitions the parts have. */
  readonly sealed: number
}

/** Pauses between the pieces of a throttled copy. */
export const throttledRest: TableCopyOptions["rest"] = (done, total, tookMs) =>
  Effect.sleep(copyRestMs(done, total, tookMs))

export const copyRestMs = (done: number, total: number, tookMs: number): number => {
  const { archiveCopyBytesPerSecond, archiveCopyMs } = limits
  const bytesPerMs = Math.max(archiveCopyBytesPerSecond / 1_000, total / archiveCopyMs)
  return Math.max(0, done / bytesPerMs - tookMs)
}

const everything = rangeOf(new Uint8Array())

/** Copies what `reader` reads, `bytes` in size, durably. */
export const copyTables = Effect.fnUntraced(function* (
  reader: TableReader & Pick<LmdbReader, "sums">,
  bytes: number,
  { at, base, draft, erased, progress, rest, watermark }: TableCopyOptions,
): Effect.fn.Return<CopiedTables, unknown, Scope.Scope> {
  const startedAt = performance.now()
  let done = 0
  const rested = (more: number) =>
    Effect.suspend(() => {
      done = Math.min(bytes, done + more)
      progress(done, bytes)
      return rest(done, bytes, performance.now() - startedAt)
    })
  const stored = reader.sums()
  if (typeof stored === "string")
    return yield* damaged(`The value of the database's sums ${stored}`)

  yield* nodeDisk.makeFolder(path.join(draft, archivedFolder))
  yield* nodeDisk.makeFolder(path.join(draft, partsFolder))
  const history = new HistoryRanges(
    (range) => reader.entries({ table: "history", ...range }),
    watermark,
  )
  const written = yield* copyDatabase(reader, draft, history, rested)
  const writer = new PartWriter({
    draft,
    at,
    // Without sums nothing says whether the data still has what the base has.
    base: stored && base,
    pagesOf: (partition, among) => whole("history", history.pagesOf(partition, among)),
    rested,
  })
  let parts = yield* takeParts(writer, history.sealed, erased)
  if (base !== undefined && sumFault(stored, written, parts) !== undefined) {
    parts = yield* writeParts(writer, history.sealed)
  }
  const fault = sumFault(stored, written, parts)
  if (fault !== undefined) return yield* damaged(`The database is damaged: ${fault}`)
  yield* writer.end(parts)
  yield* writePartList(draft, parts)
  const { copied, linked } = writer
  return { parts, linked, copied, sealed: history.sealed }
})

/** Copies everything that goes into no part; returns the sums of what was written. */
const copyDatabase = Effect.fnUntraced(function* (
  reader: TableReader,
  draft: string,
  history: HistoryRanges,
  rested: (bytes: number) => Effect.Effect<void>,
): Effect.fn.Return<Sums, unknown, Scope.Scope> {
  const writer = yield* Effect.acquireRelease(
    newDatabase(path.join(draft, archivedFolder)),
    (opened) => Effect.promise(() => opened.close()),
  )
  for (const table of tables) {
    const entries =
      table === "history" ? history.others() : reader.entries({ table, ...everything })
    for (const [key, value] of whole(table, entries)) {
      writer.add(table, key, value)
      if (writer.waitingBytes < limits.archiveFlushBytes) continue
      const piece = writer.waitingBytes
      yield* writer.flush
      yield* rested(piece)
    }
  }
  yield* writer.flush
  return writer.sums
})

/** How the copy differs from the database's own sums; `undefined`: it does not, or there are none. */
const sumFault = (
  stored: Sums | undefined,
  written: Sums,
  parts: ReadonlyArray<Part>,
): string | undefined => {
  if (stored === undefined) return undefined
  for (const table of tables) {
    const sum = { ...(written[table] ?? { count: 0, sum: 0 }) }
    for (const part of parts) {
      if (part.table !== table) continue
      sum.count += part.entries
      sum.sum = (sum.sum + part.sum) | 0
    }
    const difference = differenceOf(table, stored[table], sum)
    if (difference !== undefined) return difference
  }
  return undefined
}

/** The parts of all sealed partitions: those of the base, except where it may have pages of erased users. */
const takeParts = Effect.fnUntraced(function* (
  writer: PartWriter,
  sealed: number,
  erased: ReadonlyArray<ErasedUser>,
) {
  const parts: Array<Part> = []
  for (let partition = 0; partition < sealed; partition++) {
    const pages = erased.map(({ environment, userId }) =>
      pagesIn(environment, partition, userId, 0, Number.MAX_SAFE_INTEGER),
    )
    const isStale = (among: KeyRange) => pages.some((range) => overlaps(range, among))
    parts.push(...(yield* writer.take(partition, isStale)))
  }
  return parts
})

/** Writes the parts of all sealed partitions from the data. */
const writeParts = Effect.fnUntraced(function* (writer: PartWriter, sealed: number) {
  writer.linked = 0
  writer.copied = 0
  const parts: Array<Part> = []
  for (let partition = 0; partition < sealed; partition++) {
    parts.push(...(yield* writer.write(partition)))
  }
  return parts
})

const overlaps = (one: KeyRange, other: KeyRange): boolean =>
  Buffer.compare(one.from, other.until) < 0 && Buffer.compare(other.from, one.until) < 0

/** The entries of a table, each checked. Throws `JobFailed` for a value that is damaged. */
function* whole(table: Table, entries: Generator<StoredEntry>): Generator<StoredEntry> {
  for (const entry of entries) {
    const [key, value] = entry
    if (!hasChecksum(asBuffer(value))) throw damaged(valueFault(table, key, "is damaged"))
    yield entry
  }
}

/* Writes the entries of a job in transactions of bounded size. */

export type WriteEntries = (entries: ReadonlyArray<Entry>) => Effect.Effect<void, StorageError>

/** A transaction is due at either bound; the entry that reaches it is in the transaction. */
export const transactionBounds = { entries: 5_000, bytes: 4 * 1_048_576 }

export class EntryWriter {
  readonly #write: WriteEntries
  #waiting: Array<Entry> = []
  #bytes = 0

  constructor(write: WriteEntries) {
    this.#write = write
  }

  add(entry: Entry): void {
    this.#waiting.push(entry)
    this.#bytes += entry.key.length + (entry.value?.length ?? 0)
  }

  /** Whether a transaction is due: then call `flush` before the next entry. */
  get isDue(): boolean {
    const { bytes, entries } = transactionBounds
    return this.#waiting.length >= entries || this.#bytes >= bytes
  }

  /** Writes the entries that were added since the last flush. */
  readonly flush: Effect.Effect<void, StorageError> = Effect.suspend(() => {
    const entries = this.#waiting
    if (entries.length === 0) return Effect.void
    this.#waiting = []
    this.#bytes = 0
    return this.#write(entries)
  })

  readonly writeAll = Effect.fnUntraced(function* (this: EntryWriter, entries: Iterable<Entry>) {
    for (const entry of entries) {
      this.add(entry)
      if (this.isDue) yield* this.flush
    }
    yield* this.flush
  }).bind(this)
}
