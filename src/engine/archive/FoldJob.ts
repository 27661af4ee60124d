/**
 * Folds the journal of a draft into its snapshot, slice by slice (`Fold`), so that the check and the next start need
 * memory for one slice only, however long the journal is.
 */
import path from "node:path"
import { Effect, type Scope } from "effect"
import { limits } from "../../Limits.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { batchRecords } from "../../storage/Frames.ts"
import { scanJournal } from "../../storage/journal/JournalScan.ts"
import { openLmdbStore } from "../../storage/lmdb/LmdbStore.ts"
import type { StoredRecord } from "../../storage/Storage.ts"
import { foldRecords } from "../recovery/Fold.ts"
import type { JobContext } from "./Jobs.ts"
import { readWatermark } from "./SavedState.ts"

export interface FoldOptions {
  /** A data directory, or a draft of one. */
  readonly folder: string
  /** The last record of its journal. */
  readonly until: number
  readonly progress: JobContext["progress"]
  /** Records in a slice; the next start folds a smaller rest. */
  readonly recordsMax?: number
}

export const foldJournal = Effect.fnUntraced(function* ({
  folder,
  progress,
  recordsMax = limits.foldRecordsMax,
  until,
}: FoldOptions): Effect.fn.Return<void, unknown, Scope.Scope> {
  const watermark = yield* readWatermark(folder)
  const total = until - watermark
  if (total <= recordsMax) return
  const store = yield* openLmdbStore({ folder: path.join(folder, "live") })
  let slice: Array<StoredRecord> = []
  const from = watermark + 1
  yield* scanJournal({ disk: nodeDisk, folder: path.join(folder, "journal"), from }, (batches) =>
    Effect.gen(function* () {
      for (const batch of batches) {
        for (const { body, sequence } of batchRecords(batch, from) ?? []) {
          slice.push({ sequence, body: Buffer.from(body) })
        }
        if (slice.length < recordsMax) continue
        const folded = slice
        slice = []
        yield* foldRecords(store, folded)
        progress({ activity: "Replaying", done: folded.at(-1)!.sequence - watermark, total })
      }
    }),
  )
})
