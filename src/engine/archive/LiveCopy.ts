/**
 * Copies the snapshot of a data directory as of one moment, beside the server that writes it.
 *
 * LMDB's own copy writes at full speed and flushes nothing: gigabytes gather in the page cache, then go to the
 * disk at once and delay every commit of the journal. This copy pins a state (`pinPages`) and copies a few megabytes at a
 * time, each flushed before the next, and beside a server no faster than
 * `archiveCopyBytesPerSecond`. The server's file grows by the pages it writes meanwhile, so a copy that would
 * take longer than `archiveCopyMs` speeds up accordingly.
 *
 * The copy is as large as the snapshot, free pages included.
 */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import type { Manifest } from "../../storage/archive/ArchiveManifest.ts"
import { type DiskError, withFile } from "../../storage/disk/Disk.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { dataFile } from "../../storage/lmdb/environment.ts"
import { pinPages } from "../../storage/lmdb/LmdbReader.ts"
import type { Broken } from "../../storage/Storage.ts"

export interface LiveCopyOptions {
  readonly progress: (done: number, total: number) => void
  /** Runs after each piece, once it is on disk: `done` of `total` bytes were copied in `tookMs`. */
  readonly rest: (done: number, total: number, tookMs: number) => Effect.Effect<void>
  readonly pieceBytes?: number
}

/** Pauses between the pieces of a throttled copy. */
export const throttledRest: LiveCopyOptions["rest"] = (done, total, tookMs) =>
  Effect.sleep(copyRestMs(done, total, tookMs))

export const copyRestMs = (done: number, total: number, tookMs: number): number => {
  const { archiveCopyBytesPerSecond, archiveCopyMs } = limits
  const bytesPerMs = Math.max(archiveCopyBytesPerSecond / 1_000, total / archiveCopyMs)
  return Math.max(0, done / bytesPerMs - tookMs)
}

/** Copies the environment in the folder `from` into the existing folder `to`, durably; returns the file's description under `name`. */
export const copyLive = (
  from: string,
  to: string,
  name: string,
  { pieceBytes = limits.archiveFlushBytes, progress, rest }: LiveCopyOptions,
): Effect.Effect<Manifest["files"][number], Broken | DiskError> =>
  Effect.gen(function* () {
    const { bytes, head } = yield* pinPages(from)
    const startedAt = performance.now()
    const hash = createHash("sha256")
    const memory = Buffer.allocUnsafe(Math.max(pieceBytes, head.length))
    let done = 0
    yield* withFile(nodeDisk, dataFile(from), "read", (file) =>
      withFile(nodeDisk, dataFile(to), "create", (copy) =>
        Effect.gen(function* () {
          while (done < bytes) {
            const wanted = memory.subarray(0, Math.min(memory.length, bytes - done))
            const count = yield* file.read(done, wanted)
            if (count === 0) return
            const piece = wanted.subarray(0, count)
            if (done === 0) piece.set(head)
            yield* copy.write(done, [piece])
            yield* copy.sync
            hash.update(piece)
            done += count
            progress(done, bytes)
            yield* rest(done, bytes, performance.now() - startedAt)
          }
        }),
      ),
    )
    return { path: name, bytes: done, sha256: hash.digest("hex") }
  }).pipe(Effect.scoped)
