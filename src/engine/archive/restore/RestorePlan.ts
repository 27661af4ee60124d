/**
 * Plans a restore without changing anything: the archive to begin with, the last record that the
 * directory's journal adds, and the records that would be lost. A journal that is kept from its
 * first record leads to any record without an archive.
 *
 * An archive and a journal fit only if they share one history: the batch after the archive's last
 * record names the archive's checksum. After a restore the journal takes another course; archives
 * of the abandoned course do not fit it and are skipped.
 */
import { Effect, Result } from "effect"
import { isGood, type ListedArchive } from "../../../storage/archive/ArchiveCatalog.ts"
import type { Manifest } from "../../../storage/archive/ArchiveManifest.ts"
import type { Disk, DiskError } from "../../../storage/disk/Disk.ts"
import { scanJournal, segmentsIn } from "../../../storage/journal/JournalScan.ts"
import { follows } from "../check/Base.ts"
import type { JobFailed, JobProgress } from "../jobs/Jobs.ts"
import {
  type LostRecords,
  type RestoredProject,
  type RestoreTarget,
  refused,
  Walk,
} from "./RestoreWalk.ts"

export type { LostRecords, RestoreTarget } from "./RestoreWalk.ts"

export interface RestorePlan {
  /**
   * The archive to begin with, and its folder; `null`: the journal is folded from its first record.
   */
  readonly archive: Manifest | null
  readonly folder: string | null
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

type Candidate = Pick<RestorePlan, "archive" | "folder">

/** Where a journal begins. */
const beginning = { sequence: 0, checksum: 0, recordedAt: null }

/** Plans a restore. Fails with `refused` if the target cannot be reached. */
export const planRestore = (options: RestorePlanOptions): Planned<RestorePlan> =>
  Effect.gen(function* () {
    const { disk, id, journal, project, target } = options
    const found = id === undefined ? yield* newestFor(options) : yield* named(options)
    const { archive, folder } = found
    const start = archive ?? beginning
    const recordedAt = start.recordedAt === null ? undefined : Date.parse(start.recordedAt)
    if (archive !== null && !(yield* follows(disk, journal, archive))) {
      return yield* alone(options, archive, folder)
    }
    const walk = new Walk(start.sequence, recordedAt, target, project)
    const from = Math.max(1, start.sequence)
    let done = 0
    const open = (yield* segmentsIn(disk, journal)).at(-1) ?? from
    // About as many records: up to the beginning of the last segment.
    const total = Math.max(1, open - from)
    const end = yield* scanJournal({ disk, folder: journal, from }, (batches) => {
      for (const { count } of batches) done = Math.min(total, done + count)
      options.progress?.({ activity: "Reading", done, total })
      return walk.take(batches)
    })
    const unknown = yield* walk.end(end)
    const { kept, keptAt, last, lastAt, lost } = walk
    const plan = { archive, folder, lost, unknown }
    if (project === undefined) return { ...plan, project, sequence: kept, at: keptAt }
    if (lost === undefined) {
      return yield* refused(
        `Project ${project.name} has no record after record ${kept}: there is nothing to go back from.`,
      )
    }
    const back = { ...project, after: kept, ...(keptAt !== undefined && { at: keptAt }) }
    return { ...plan, project: back, sequence: last, at: lastAt }
  })

/**
 * Plans to restore an archive that the journal does not continue: the whole of it, and nothing
 * more.
 */
const alone = Effect.fnUntraced(function* (
  { disk, journal, project, target }: RestorePlanOptions,
  archive: Manifest,
  folder: string | null,
): Effect.fn.Return<RestorePlan, JobFailed | DiskError> {
  const { id, recordedAt, sequence } = archive
  const stays = target.kind === "sequence" && target.sequence === sequence
  if (project !== undefined || (target.kind !== "archive" && !stays)) {
    return yield* refused(
      `The journal does not continue after archive ${id}: the records after ${sequence} are of another history or gone. Restore without --to-sequence, --to-time and --project, or choose a newer archive.`,
    )
  }
  const isThere = (yield* segmentsIn(disk, journal)).length > 0
  const at = recordedAt === null ? undefined : Date.parse(recordedAt)
  const unknown = isThere
    ? "The existing journal does not continue after this archive: all of its records will be lost."
    : undefined
  return { archive, folder, sequence, at, project: undefined, lost: undefined, unknown }
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

const named = ({ archives, id, target }: RestorePlanOptions): Planned<Candidate> => {
  const found = archives.find((archive) => archive.id === id)
  if (found === undefined)
    return refused(`Archive ${id} not found. \`laurel snapshots list\` shows all.`)
  if (Result.isFailure(found.manifest)) {
    return refused(`The manifest of archive ${id} ${found.manifest.failure}.`)
  }
  const archive = found.manifest.success
  const problem = beyond(archive, target)
  return problem === undefined
    ? Effect.succeed({ folder: found.folder, archive })
    : refused(problem)
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
  const [first] = yield* segmentsIn(disk, journal)
  if (first === 1 && target.kind !== "archive") return { folder: null, archive: null }
  return yield* refused(
    "No good archive leads there: each one is newer, or the journal does not continue after it. `laurel snapshots list` has all.",
  )
})
