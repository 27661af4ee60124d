/**
 * The real storage, over a data directory: `lock`, `journal/` (segments) and `live/` (LMDB). Opened in this
 * order and closed in reverse, the journal's clean mark after LMDB's last write.
 */
import path from "node:path"
import { Effect, Layer, type Scope } from "effect"
import { limits } from "../Limits.ts"
import { lockDirectory } from "./DirectoryLock.ts"
import type { Disk } from "./Disk.ts"
import { openLmdbStore } from "./LmdbStore.ts"
import { nodeDisk } from "./NodeDisk.ts"
import { openJournal } from "./OpenJournal.ts"
import { Broken, Storage } from "./Storage.ts"

export interface DurableStorageOptions {
  /** Made when it is missing. */
  readonly directory: string
  /** Where the journal lives; LMDB and the lock are always on the real disk. */
  readonly disk?: Disk
  readonly segmentBytes?: number
  readonly freeSpaceBytesMin?: number
}

/** Opens a data directory for the surrounding scope. Fails when it is in use, damaged or can not be written. */
export const make = Effect.fnUntraced(function* (
  options: DurableStorageOptions,
): Effect.fn.Return<Storage["Service"], Broken, Scope.Scope> {
  const directory = path.resolve(options.directory)
  const live = path.join(directory, "live")
  yield* Effect.mapError(
    nodeDisk.makeFolder(live),
    (cause) => new Broken({ operation: "open", cause }),
  )
  yield* lockDirectory(directory)
  const freeSpaceBytesMin = options.freeSpaceBytesMin ?? limits.freeSpaceBytesMin
  const journal = yield* openJournal({
    disk: options.disk ?? nodeDisk,
    folder: path.join(directory, "journal"),
    segmentBytes: options.segmentBytes ?? limits.segmentBytes,
    freeSpaceBytesMin,
  })
  const entries = yield* openLmdbStore({ folder: live, freeSpaceBytesMin })
  return Storage.of({
    lastSequence: journal.lastSequence,
    append: journal.append,
    readRecords: journal.readRecords,
    prune: journal.prune,
    writeEntries: entries.writeEntries,
    readEntry: entries.readEntry,
    readEntries: entries.readEntries,
  })
})

export const layer = (options: DurableStorageOptions): Layer.Layer<Storage, Broken> =>
  Layer.effect(Storage, make(options))
