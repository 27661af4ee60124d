/**
 * The archive on which the next one rests: it shares that one's parts, and is checked against that one's state. It is the
 * newest good archive of the same history whose snapshot is what its manifest says.
 */
import { Effect, Result, type Scope } from "effect"
import { isGood, listArchives } from "../../storage/archive/ArchiveCatalog.ts"
import { isArchive, readParts } from "../../storage/archive/ArchiveContents.ts"
import type { Manifest } from "../../storage/archive/ArchiveManifest.ts"
import { describeFiles } from "../../storage/archive/Files.ts"
import type { Part } from "../../storage/archive/PartFile.ts"
import type { DiskError } from "../../storage/disk/Disk.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { batchRecords } from "../../storage/Frames.ts"
import { scanJournal } from "../../storage/journal/JournalScan.ts"
import { asBuffer } from "../../storage/Keys.ts"
import { decodeRecord } from "../records/Codec.ts"
import type { JobProgress } from "./Jobs.ts"
import { follows } from "./RestorePlan.ts"
import { SavedState } from "./SavedState.ts"

export interface ArchiveBase {
  readonly folder: string
  readonly manifest: Manifest
  readonly partsOf: (partition: number) => ReadonlyArray<Part>
  /** What it has of users; of their history, only what is in no part. */
  readonly saved: SavedState
}

export interface ErasedUser {
  readonly environment: string
  readonly userId: string
}

/** The users that were erased after the snapshot of `base`, up to now; the base may still have their pages. */
export const erasedSince = Effect.fnUntraced(function* (
  { manifest: { watermark } }: ArchiveBase,
  folder: string,
): Effect.fn.Return<ReadonlyArray<ErasedUser>, DiskError> {
  const erased: Array<ErasedUser> = []
  const from = watermark + 1
  yield* scanJournal({ disk: nodeDisk, folder, from: Math.max(1, watermark) }, (batches) =>
    Effect.sync(() => {
      for (const batch of batches) {
        // Most batches have none, and need no decoding.
        if (!asBuffer(batch.frames).includes(erasureText)) continue
        for (const { body } of batchRecords(batch, from) ?? []) {
          if (!asBuffer(body).includes(erasureText)) continue
          const { cause, subject } = decodeRecord(body)
          if (cause.kind === "erasure" && subject.actor === "user") erased.push(subject)
        }
      }
    }),
  )
  return erased
})

const erasureText = '"erasure"'

/** Opens the base of the next archive of a data directory, for the surrounding scope; `undefined`: none serves. */
export const openBase = Effect.fnUntraced(function* (
  archives: string,
  journal: string,
  progress: (progress: JobProgress) => void,
): Effect.fn.Return<ArchiveBase | undefined, never, Scope.Scope> {
  const opened = Effect.gen(function* () {
    for (const found of (yield* listArchives(nodeDisk, archives)).toReversed()) {
      const { folder, manifest: read } = found
      if (!isGood(found) || Result.isFailure(read)) continue
      const manifest = read.success
      if (!(yield* isArchive(folder)) || !(yield* follows(nodeDisk, journal, manifest))) continue
      const paths = manifest.files.map((file) => file.path)
      const described = yield* describeFiles(folder, paths, (done, total) =>
        progress({ activity: "Hashing", done, total }),
      )
      if (!described.every(({ sha256 }, n) => sha256 === manifest.files[n]!.sha256)) continue
      const parts = Map.groupBy((yield* readParts(folder)) ?? [], ({ partition }) => partition)
      const faults: Array<string> = []
      const saved = yield* SavedState.open({
        folder,
        parts: [],
        isScanned: true,
        fault: (words) => faults.push(words),
      })
      if (faults.length > 0) continue
      return { folder, manifest, saved, partsOf: (partition: number) => parts.get(partition) ?? [] }
    }
    return undefined
  })
  // It may be removed while it is read.
  return yield* Effect.orElseSucceed(opened, () => undefined)
})
