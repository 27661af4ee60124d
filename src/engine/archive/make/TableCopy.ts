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
import { Effect, type Scope } from "effect"
import { limits } from "../../../Limits.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { asBuffer, rangeOf } from "../../../storage/Keys.ts"
import { newDatabase } from "../../../storage/lmdb/DatabaseWriter.ts"
import type { LmdbReader } from "../../../storage/lmdb/LmdbReader.ts"
import { differenceOf } from "../../../storage/lmdb/Sums.ts"
import { hasChecksum, valueFault } from "../../../storage/SealedValue.ts"
import { tables } from "../../../storage/tables.ts"
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

const everything = rangeOf(new Uint8Array())

/** Copies what `reader` reads, `bytes` in size, durably. */
export const copyTables = Effect.fnUntraced(function* (
  reader: LmdbReader,
  bytes: number,
  { draft, progress, rest }: TableCopyOptions,
): Effect.fn.Return<void, unknown, Scope.Scope> {
  const startedAt = performance.now()
  let done = 0
  const stored = reader.sums()
  if (typeof stored === "string")
    return yield* damaged(`The value of the database's sums ${stored}`)
  const folder = path.join(draft, "live")
  yield* nodeDisk.makeFolder(folder)
  const writer = yield* Effect.acquireRelease(newDatabase(folder), (opened) =>
    Effect.promise(() => opened.close()),
  )
  for (const table of tables) {
    for (const [key, value] of reader.entries({ table, ...everything })) {
      if (!hasChecksum(asBuffer(value))) return yield* damaged(valueFault(table, key, "is damaged"))
      writer.add(table, key, value)
      if (writer.waitingBytes < limits.archiveFlushBytes) continue
      done = Math.min(bytes, done + writer.waitingBytes)
      yield* writer.flush
      progress(done, bytes)
      yield* rest(done, bytes, performance.now() - startedAt)
    }
  }
  yield* writer.flush
  for (const table of stored === undefined ? [] : tables) {
    const written = writer.sums[table] ?? { count: 0, sum: 0 }
    const difference = differenceOf(table, stored![table], written)
    if (difference !== undefined) return yield* damaged(`The database is damaged: ${difference}`)
  }
})
