/** Check a data directory, also beside its server, or an archive. */
import path from "node:path"
import { Effect, Result } from "effect"
import { checkFiles } from "../../storage/archive/ArchiveContents.ts"
import {
  decodeManifestText,
  manifestBytesMax,
  manifestName,
} from "../../storage/archive/ArchiveManifest.ts"
import { archivedFolder } from "../../storage/archive/ArchiveTables.ts"
import { isMissing, readSmallFile, removeTree } from "../../storage/disk/Disk.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { FaultList, type Findings } from "./Findings.ts"
import { damaged, durableEnd, type JobCode } from "./Jobs.ts"
import { verify } from "./Verification.ts"

export const verifyLive: JobCode<"verifyLive"> = Effect.fnUntraced(function* (
  { directory },
  context,
) {
  // Asked after the snapshot is pinned: the journal must reach beyond everything in it.
  const until = durableEnd(context)
  const { findings, saved } = yield* verify({ folder: directory, until }, context)
  const { lastSequence, watermark } = saved
  const end = saved.tail.end.fault
  const interrupted = end?.kind === "interrupted" ? end.words : null
  return { ...findings, sequence: lastSequence, watermark, interrupted }
})

export const verifyArchive: JobCode<"verifyArchive"> = Effect.fnUntraced(function* (
  { folder },
  context,
) {
  const manifest = yield* readSmallFile(
    nodeDisk,
    path.join(folder, manifestName),
    manifestBytesMax,
  ).pipe(
    Effect.map(decodeManifestText),
    Effect.catchIf(isMissing, () => Effect.succeed(Result.fail("is missing"))),
  )
  if (Result.isFailure(manifest)) {
    return yield* damaged(`The manifest of ${folder} ${manifest.failure}`)
  }
  const { checksum, counts, sequence, sums } = manifest.success
  const faults = new FaultList()
  yield* checkFiles(folder, manifest.success, faults.add, (done, total) =>
    context.progress({ activity: "Hashing", done, total }),
  )
  // LMDB does not survive foreign pages.
  if (faults.count > 0) return unread(faults)
  yield* Effect.addFinalizer(() =>
    Effect.forEach(["live", archivedFolder], (name) =>
      Effect.ignore(removeTree(nodeDisk, path.join(folder, name, "lock.mdb"))),
    ),
  )
  const { findings, saved } = yield* verify({ folder }, context, faults)
  if (saved.lastSequence !== sequence || saved.tail.end.checksum !== checksum) {
    faults.add(`The journal ends with record ${saved.lastSequence}, the manifest says ${sequence}`)
  }
  const expected = { ...counts, ...sums }
  const actual: Record<string, unknown> = { ...findings.counts, ...findings.sums }
  for (const [name, value] of Object.entries(expected)) {
    if (actual[name] !== value) {
      faults.add(`There should be ${value} ${name}, there are ${actual[name]}`)
    }
  }
  return { ...findings, faults: faults.shown, faultCount: faults.count }
})

const unread = (faults: FaultList): Findings => ({
  counts: {},
  sums: {},
  faults: faults.shown,
  faultCount: faults.count,
})
