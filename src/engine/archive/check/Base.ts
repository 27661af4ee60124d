/**
 * The archive on which the next one rests: it shares that one's segments, and is checked against
 * that one's users. It is the newest good archive of the same history whose database is what its
 * manifest says.
 */
import { Effect, Result, type Scope } from "effect"
import { isGood, listArchives } from "../../../storage/archive/ArchiveCatalog.ts"
import type { Manifest } from "../../../storage/archive/ArchiveManifest.ts"
import { describeFiles } from "../../../storage/archive/Files.ts"
import type { Disk, DiskError } from "../../../storage/disk/Disk.ts"
import { nodeDisk } from "../../../storage/disk/NodeDisk.ts"
import { scanJournal } from "../../../storage/journal/JournalScan.ts"
import type { JobProgress } from "../jobs/Jobs.ts"
import { SavedState } from "./SavedState.ts"

export interface Base {
  readonly folder: string
  readonly manifest: Manifest
  readonly saved: SavedState
}

/**
 * Opens the base of the next archive of a data directory, for the surrounding scope; `undefined`:
 * none serves.
 */
export const openBase = Effect.fnUntraced(function* (
  archives: string,
  journal: string,
  progress: (progress: JobProgress) => void,
): Effect.fn.Return<Base | undefined, never, Scope.Scope> {
  const opened = Effect.gen(function* () {
    for (const found of (yield* listArchives(nodeDisk, archives)).toReversed()) {
      const { folder, manifest: read } = found
      if (!isGood(found) || Result.isFailure(read)) continue
      const manifest = read.success
      if (!(yield* follows(nodeDisk, journal, manifest))) continue
      const database = manifest.files.filter(({ path }) => path.startsWith("live/"))
      const paths = database.map(({ path }) => path)
      const described = yield* describeFiles(folder, paths, (done, total) =>
        progress({ activity: "Hashing", done, total }),
      )
      if (!described.every(({ sha256 }, n) => sha256 === database[n]!.sha256)) continue
      const faults: Array<string> = []
      const fault = (words: string) => faults.push(words)
      const saved = yield* SavedState.open({ folder, isScanned: true, fault })
      if (faults.length === 0) return { folder, manifest, saved }
    }
    return undefined
  })
  // It may be removed while it is read.
  return yield* Effect.orElseSucceed(opened, () => undefined)
})

/** Whether the journal continues after the archive's last record, or ends with it. */
export const follows = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
  { checksum, sequence }: Manifest,
): Effect.fn.Return<boolean, DiskError> {
  let found = false
  const end = yield* scanJournal(
    { disk, folder, from: Math.max(1, sequence), until: sequence + 1 },
    (batches) =>
      Effect.sync(() => {
        for (const batch of batches) {
          if (batch.firstSequence === sequence + 1) found = batch.previous === checksum
        }
      }),
  )
  return found || (end.lastSequence === sequence && end.checksum === checksum)
})
