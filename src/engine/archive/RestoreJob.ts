/**
 * Makes what is to replace a data directory: an archive, and the records that followed it up to a given one, in
 * `restore.draft` (`ArchiveSwap`), durable and checked. Nothing of the directory itself is changed.
 *
 * 1. `live/` is the archive's, byte for byte, its checksum compared with the manifest's.
 * 2. The journal is the archive's own, and the batches that follow it in the directory's journal, as they are; the
 *    one that goes beyond the last record is cut. A start folds them into the snapshot as after a crash, so
 *    the state is that of exactly this record.
 * 3. All of it is checked as an archive is. A draft with a fault goes.
 */
import path from "node:path"
import { Effect, type Scope } from "effect"
import { bytesOf, roomFor } from "../../storage/ArchiveCatalog.ts"
import {
  decodeManifestText,
  type Manifest,
  manifestBytesMax,
  manifestName,
} from "../../storage/ArchiveManifest.ts"
import { draftIn } from "../../storage/ArchiveSwap.ts"
import { type DiskError, readSmallFile, removeTree } from "../../storage/Disk.ts"
import { batchOf, batchRecords } from "../../storage/Frames.ts"
import { type JournalEnd, scanJournal } from "../../storage/JournalScan.ts"
import { nodeDisk } from "../../storage/NodeDisk.ts"
import type { SegmentBatch } from "../../storage/SegmentFormat.ts"
import { SegmentWriter } from "../../storage/SegmentWriter.ts"
import { type JournalBatch, NoSpace } from "../../storage/Storage.ts"
import { copyFile } from "./Files.ts"
import { FaultList, type Findings } from "./Findings.ts"
import { type Input, JobFailed } from "./Jobs.ts"
import type { JobCode, JobContext } from "./jobTable.ts"
import { SavedState } from "./SavedState.ts"
import { verify } from "./Verification.ts"

type RestoreInput = Input<"restore">

export const restoreDraft: JobCode<"restore"> = Effect.fnUntraced(function* (input, context) {
  const draft = draftIn(input.directory)
  yield* removeTree(nodeDisk, draft)
  return yield* Effect.onError(fill(input, draft, context), () =>
    Effect.ignore(removeTree(nodeDisk, draft)),
  )
})

const damaged = (detail: string) => new JobFailed({ kind: "damaged", detail })

const fill = Effect.fnUntraced(function* (
  { archive, directory, until }: RestoreInput,
  draft: string,
  context: JobContext,
): Effect.fn.Return<Findings, unknown, Scope.Scope> {
  const text = yield* readSmallFile(nodeDisk, path.join(archive, manifestName), manifestBytesMax)
  const manifest = yield* Effect.mapError(Effect.fromResult(decodeManifestText(text)), (words) =>
    damaged(`The manifest of ${archive} ${words}`),
  )
  const free = yield* nodeDisk.freeBytes(directory)
  if (free < roomFor(bytesOf(manifest))) return yield* new NoSpace({ operation: "restore" })
  yield* context.ask("begun")
  yield* copyLive(archive, draft, manifest, context)
  yield* context.ask("copied")
  yield* writeJournal({ archive, directory, until }, draft, manifest)
  for (const folder of ["live", "journal"]) yield* nodeDisk.syncFolder(path.join(draft, folder))
  yield* nodeDisk.syncFolder(draft)
  yield* context.ask("journal")
  const findings = yield* Effect.scoped(check(draft, until, context))
  // What LMDB leaves beside a database that was opened.
  yield* removeTree(nodeDisk, path.join(draft, "live", "lock.mdb"))
  yield* context.ask("verified")
  return findings
})

const copyLive = Effect.fnUntraced(function* (
  archive: string,
  draft: string,
  { files }: Manifest,
  { progress }: JobContext,
): Effect.fn.Return<void, DiskError | JobFailed> {
  yield* nodeDisk.makeFolder(path.join(draft, "live"))
  const parts = files.filter((file) => file.path.startsWith("live/"))
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0)
  let done = 0
  for (const part of parts) {
    const name = part.path
    // Names come from the manifest, whose checksum says nothing of who wrote it.
    if (path.dirname(name) !== "live") return yield* damaged(`The manifest names a file ${name}`)
    const { sha256 } = yield* copyFile(
      path.join(archive, name),
      path.join(draft, name),
      name,
      (bytes) => {
        done += bytes
        progress({ activity: "Copying", done, total })
      },
    )
    if (sha256 === part.sha256) continue
    return yield* damaged(`The file ${name} of the archive has changed: choose another archive`)
  }
})

/** The archive's journal, and what follows it in the directory's up to record `until`. */
const writeJournal = Effect.fnUntraced(function* (
  { archive, directory, until }: RestoreInput,
  draft: string,
  manifest: Manifest,
): Effect.fn.Return<void, DiskError | JobFailed> {
  const folder = path.join(draft, "journal")
  yield* nodeDisk.makeFolder(folder)
  let writer: SegmentWriter | undefined
  const write = (batch: SegmentBatch, part: JournalBatch = batch) => {
    const after = { lastSequence: batch.firstSequence - 1, checksum: batch.previous }
    writer ??= new SegmentWriter({ disk: nodeDisk, folder, after })
    return writer.write(part)
  }
  const own = yield* scanJournal(
    { disk: nodeDisk, folder: path.join(archive, "journal") },
    (batches) => Effect.forEach(batches, (batch) => write(batch), { discard: true }),
  )
  yield* whole(own)
  if (own.lastSequence !== manifest.sequence || own.checksum !== manifest.checksum) {
    return yield* damaged(`The journal of the archive ends with record ${own.lastSequence}`)
  }
  if (until > manifest.sequence) {
    const from = Math.max(1, manifest.sequence)
    const more = yield* scanJournal(
      { disk: nodeDisk, folder: path.join(directory, "journal"), from, until },
      (batches) =>
        Effect.gen(function* () {
          for (const batch of batches) {
            if (batch.firstSequence <= manifest.sequence) continue
            const { checksum, lastSequence } = writer?.position ?? manifestEnd(manifest)
            if (batch.firstSequence !== lastSequence + 1 || batch.previous !== checksum) {
              return yield* damaged(`The journal does not go on from record ${lastSequence}`)
            }
            yield* write(batch, upTo(batch, until))
          }
        }),
    )
    if (more.lastSequence < until) yield* whole(more)
  }
  writer ??= new SegmentWriter({ disk: nodeDisk, folder, after: manifestEnd(manifest) })
  yield* writer.end
})

const manifestEnd = ({ checksum, sequence }: Manifest) => ({ lastSequence: sequence, checksum })

const whole = ({ fault }: JournalEnd): Effect.Effect<void, JobFailed> =>
  fault === undefined
    ? Effect.void
    : damaged(`The journal is damaged at byte ${fault.position} of ${fault.path}: ${fault.words}`)

/** The records of a batch up to `until`. */
const upTo = (batch: SegmentBatch, until: number): JournalBatch => {
  const { count, firstSequence } = batch
  if (firstSequence + count - 1 <= until) return batch
  const records = batchRecords(batch, firstSequence) ?? []
  const kept = records.filter(({ sequence }) => sequence <= until)
  return batchOf(
    firstSequence,
    kept.map(({ body }) => body),
  )
}

const check = Effect.fnUntraced(function* (draft: string, until: number, context: JobContext) {
  const faults = new FaultList()
  const saved = yield* SavedState.open({ folder: draft, fault: faults.add })
  const findings = yield* verify(saved, faults, (done, total) =>
    context.progress({ activity: "Checking", done, total }),
  )
  if (saved.lastSequence !== until) {
    faults.add(`It ends with record ${saved.lastSequence}, not ${until}`)
  }
  if (faults.count === 0) return findings
  const more = faults.count > 1 ? ` (and ${faults.count - 1} more faults)` : ""
  return yield* damaged(`What would be restored does not pass its check: ${faults.shown[0]}${more}`)
})
