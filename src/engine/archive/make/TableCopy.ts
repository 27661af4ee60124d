/**
 * Copies the database of a data directory as of one moment into the draft of an archive, beside the
 * server that writes it.
 *
 * - Each value's checksum is checked on the way, and at the end each table against the count and
 *   sum that its writer has stored (`storage/lmdb/Sums.ts`).
 * - A few megabytes at a time, each flushed before the next, and beside a server no faster than
 *   `archiveCopyBytesPerSecond`: gigabytes in the page cache would go to the disk at once and delay
 *   every commit of the journal. The server's file grows by the pages that it writes meanwhile, so
 *   a copy that would take longer than `archiveCopyMs` speeds up accordingly.
 */
import path from "node:path"
import { Effect } from "effect"
import { limits } from "../../../Limits.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { asBuffer, everyKey } from "../../../storage/Keys.ts"
import { type LmdbReader, openReader } from "../../../storage/lmdb/LmdbReader.ts"
import { openLmdbStore } from "../../../storage/lmdb/LmdbStore.ts"
import { differenceOf, type Sums } from "../../../storage/lmdb/Sums.ts"
import { hasChecksum, valueFault } from "../../../storage/SealedValue.ts"
import { type Entry, tables } from "../../../storage/tables.ts"
import { EntryWriter } from "../jobs/EntryWriter.ts"
import { damaged } from "../jobs/Jobs.ts"

export interface TableCopyOptions {
  /** The draft of an archive. */
  readonly draft: string
  readonly progress: (done: number, total: number) => void
  /** Runs after each piece, once it is on disk: `done` of `total` bytes were copied in `tookMs`. */
  readonly rest: (done: number, total: number, tookMs: number) => Effect.Effect<void>
}

/** Pauses between the pieces of a throttled copy. */
export const throttledRest: TableCopyOptions["rest"] = (done, total, tookMs) =>
  Effect.sleep(copyRestMs(done, total, tookMs))

export const copyRestMs = (done: number, total: number, tookMs: number): number => {
  const { archiveCopyBytesPerSecond, archiveCopyMs } = limits
  const bytesPerMs = Math.max(archiveCopyBytesPerSecond / 1_000, total / archiveCopyMs)
  return Math.max(0, done / bytesPerMs - tookMs)
}

/** Copies what `reader` reads, `bytes` in size, durably. */
export const copyTables = Effect.fnUntraced(function* (
  reader: LmdbReader,
  bytes: number,
  { draft, progress, rest }: TableCopyOptions,
): Effect.fn.Return<void, unknown> {
  const startedAt = performance.now()
  const stored = reader.sums()
  if (typeof stored === "string")
    return yield* damaged(`The value of the database's sums ${stored}`)
  const folder = path.join(draft, "live")
  yield* nodeDisk.makeFolder(folder)
  let done = 0
  const copying = Effect.gen(function* () {
    const { writeEntries } = yield* openLmdbStore({ folder })
    const writer = new EntryWriter((piece) =>
      Effect.andThen(
        writeEntries(piece),
        Effect.suspend(() => {
          for (const { key, value } of piece) done += key.length + value!.length
          done = Math.min(bytes, done)
          progress(done, bytes)
          return rest(done, bytes, performance.now() - startedAt)
        }),
      ),
    )
    yield* writer.writeAll(entriesOf(reader))
  })
  yield* Effect.scoped(copying)
  // The files beside an open database are no part of a copy.
  for (const name of yield* nodeDisk.list(folder)) {
    if (name !== "data.mdb") yield* nodeDisk.remove(path.join(folder, name))
  }
  if (stored === undefined) return
  const written = yield* Effect.scoped(Effect.map(openReader(folder), (copy) => copy.sums()))
  for (const table of tables) {
    const sum = (written as Sums)[table] ?? { count: 0, sum: 0 }
    const difference = differenceOf(table, stored[table], sum)
    if (difference !== undefined) return yield* damaged(`The database is damaged: ${difference}`)
  }
})

/** All entries of the tables; no entry replaces a stored one. Throws if a value is damaged. */
function* entriesOf(reader: LmdbReader): Generator<Entry> {
  for (const table of tables) {
    for (const [key, value] of reader.entries({ table, ...everyKey })) {
      if (!hasChecksum(asBuffer(value))) throw damaged(valueFault(table, key, "is damaged"))
      yield { table, key, value, replaces: null }
    }
  }
}
