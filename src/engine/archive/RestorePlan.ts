/**
 * Plans a restore without changing anything: the archive to begin with, the last record that the directory's journal
 * adds, and the records that would be lost.
 *
 * An archive and a journal fit only if they share one history: the batch after the archive's last
 * record names the archive's checksum. After a restore the journal takes another course; archives of
 * the abandoned course do not fit it and are skipped.
 */
import path from "node:path"
import { Effect, Result } from "effect"
import { isGood, type ListedArchive } from "../../storage/archive/ArchiveCatalog.ts"
import type { Manifest } from "../../storage/archive/ArchiveManifest.ts"
import { type Disk, type DiskError, withFile } from "../../storage/disk/Disk.ts"
import {
  scanJournal,
  segmentFileIn,
  segmentsFrom,
  segmentsIn,
} from "../../storage/journal/JournalScan.ts"
import type { JobFailed, JobProgress } from "./Jobs.ts"
import {
  type LostRecords,
  type RestoredProject,
  type RestoreTarget,
  refused,
  Walk,
} from "./RestoreWalk.ts"

export type { LostRecords, RestoreTarget } from "./RestoreWalk.ts"

export interface RestorePlan {
  readonly archive: Manifest
  readonly folder: string
  /** The last record after the restore, and its time; `undefined` without records. */
  readonly sequence: number
  readonly at: number | undefined
  /** The only project to restore, and the last of its records to keep. */
  readonly project: (RestoredProject & { readonly after: number; readonly at?: number }) | undefined
  /** `undefined`: no record is lost. */
  readonly lost: LostRecords | undefined
  /** The reason for which the lost records are unknown, or known only in part. */
  readonly unknown: string | undefined
}

export interface RestorePlanOptions {
  readonly disk: Disk
  /** The journal of the data directory, if it has one. */
  readonly journal: string
  readonly archives: ReadonlyArray<ListedArchive>
  /** The archive to begin with; `undefined`: the newest good one that leads to the target. */
  readonly id: string | undefined
  readonly target: RestoreTarget
  /** Restore only this project. */
  readonly project?: RestoredProject
  /** Progress of reading the journal. */
  readonly progress?: (progress: JobProgress) => void
}

type Planned<A> = Effect.Effect<A, JobFailed | DiskError>

interface Candidate {
  readonly folder: string
  readonly archive: Manifest
}

/** Plans a restore. Fails with `refused` if the target cannot be reached. */
export const planRestore = (options: RestorePlanOptions): Planned<RestorePlan> =>
  Effect.gen(function* () {
    const { disk, id, journal, project, target } = options
    const { archive, folder } = id === undefined ? yield* newestFor(options) : yield* named(options)
    const recordedAt = archive.recordedAt === null ? undefined : Date.parse(archive.recordedAt)
    const problem = beyond(archive, target)
    if (problem !== undefined) return yield* refused(problem)
    const fits = yield* follows(disk, journal, archive)
    if (!fits) {
      const stays = target.kind === "sequence" && target.sequence === archive.sequence
      if (project !== undefined || (target.kind !== "archive" && !stays)) {
        return yield* refused(
          `The journal does not continue after archive ${archive.id}: the records after ${archive.sequence} are of another history or gone. Restore without --to-sequence, --to-time and --project, or choose a newer archive.`,
        )
      }
      const isThere = (yield* segmentsIn(disk, journal)).length > 0
      const unknown = isThere
        ? "The existing journal does not continue after this archive: all of its records will be lost."
        : undefined
      return {
        archive,
        folder,
        sequence: archive.sequence,
        at: recordedAt,
        project: undefined,
        lost: undefined,
        unknown,
      }
    }
    const walk = new Walk(archive.sequence, recordedAt, target, project)
    const from = Math.max(1, archive.sequence)
    const total = yield* bytesFrom(disk, journal, from)
    let done = 0
    const end = yield* scanJournal({ disk, folder: journal, from }, (batches) => {
      for (const { size } of batches) done += size
      options.progress?.({ activity: "Reading", done, total })
      return walk.take(batches)
    })
    const unknown = yield* walk.end(end)
    const { kept, keptAt, last, lastAt, lost } = walk
    const found = { archive, folder, lost, unknown }
    if (project === undefined) return { ...found, project, sequence: kept, at: keptAt }
    if (lost === undefined) {
      return yield* refused(
        `Project ${project.name} has no record after record ${kept}: there is nothing to go back from.`,
      )
    }
    const back = { ...project, after: kept, ...(keptAt !== undefined && { at: keptAt }) }
    return { ...found, project: back, sequence: last, at: lastAt }
  })

/** Size of the segments with record `from` or later ones. */
const bytesFrom = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
  from: number,
): Effect.fn.Return<number, DiskError> {
  let bytes = 0
  for (const first of yield* segmentsFrom(disk, folder, from)) {
    const name = yield* segmentFileIn(disk, folder, first)
    bytes += yield* withFile(disk, path.join(folder, name), "read", (file) => file.size)
  }
  return bytes
})

/** The fault of an archive that is newer than the target. */
const beyond = ({ id, recordedAt, sequence }: Manifest, target: RestoreTarget) => {
  if (target.kind === "sequence" && target.sequence < sequence) {
    return `Archive ${id} ends with record ${sequence}, which is after record ${target.sequence}. Choose an older one.`
  }
  if (target.kind === "time" && recordedAt !== null && Date.parse(recordedAt) > target.at) {
    return `The last record of archive ${id} is of ${recordedAt}, which is after ${new Date(target.at).toISOString()}. Choose an older one.`
  }
  return undefined
}

const named = ({ archives, id }: RestorePlanOptions): Planned<Candidate> => {
  const found = archives.find((archive) => archive.id === id)
  if (found === undefined)
    return refused(`Archive ${id} not found. \`laurel snapshots list\` shows all.`)
  return Result.isFailure(found.manifest)
    ? refused(`The manifest of archive ${id} ${found.manifest.failure}.`)
    : Effect.succeed({ folder: found.folder, archive: found.manifest.success })
}

const newestFor = Effect.fnUntraced(function* ({
  archives,
  disk,
  journal,
  target,
}: RestorePlanOptions): Effect.fn.Return<Candidate, JobFailed | DiskError> {
  for (const found of archives.toReversed()) {
    if (!isGood(found) || Result.isFailure(found.manifest)) continue
    const archive = found.manifest.success
    if (beyond(archive, target) !== undefined) continue
    if (yield* follows(disk, journal, archive)) return { folder: found.folder, archive }
  }
  return yield* refused(
    "No good archive leads there: each one is newer, or the journal does not continue after it. `laurel snapshots list` has all.",
  )
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
