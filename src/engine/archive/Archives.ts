/**
 * The archives of a running server: made on schedule and on demand, pruned by the retention. A
 * child process does the slow work. A failure is logged and changes nothing; the server prunes
 * older archives only after a new one exists.
 *
 * What an archive is, and what the files of this folder do with it:
 *
 * - **Holds.** The journal, kept from its first record, is the history. An archive is a manifest, a
 *   copy of the database as of one moment, and all segments of the journal up to its last record
 *   (`make/ArchiveJob.ts`). So it is a data directory after a crash at that record, and a server
 *   starts on a copy of its folder.
 * - **Shares.** Segments take no more records once they are full, and are named in the manifest by
 *   their content. On the same file system they are hard links to the journal and to the archive
 *   before, elsewhere copies that are linked from the archive before (`SegmentCopy.ts`). A segment
 *   that still takes records is copied up to the last record.
 * - **Whole.** Every file has the checksum of the manifest, and the journal leads without a gap, by
 *   the checksums of its batches, to the manifest's `sequence` and `checksum`. A folder gets its
 *   name once that is checked and durable; one rename publishes it.
 * - **Verification** folds the segments and compares each user with the database when the fold
 *   reaches the sequence of the stored state (`FoldCheck.ts`); then ids, kept answers, counts,
 *   leaderboards and webhooks. An archive in creation is folded from the archive before
 *   (`Base.ts`), `laurel snapshots verify` folds from the first record.
 * - **Restore** of a moment: the newest archive at or before it, and the fold of the records after
 *   it; without such an archive the fold begins with the first record (`RestorePlan.ts`,
 *   `RestoreJob.ts`). One project goes back by empty records in place of its later ones
 *   (`ProjectHistory.ts`).
 * - **Export** has the tables and all records as lines (`ExportLines.ts`); an import makes a data
 *   directory of them. A gathered directory has the projects of all partitions of a cluster
 *   (`GatherJob.ts`).
 * - **A bucket** has each file once, by its checksum, whatever the number of archives that name it.
 *   A file leaves with the last archive that names it (`ShipJob.ts`, `FetchJob.ts`,
 *   `storage/bucket/BucketArchives.ts`).
 * - **Erasure.** An erasure rewrites the segments that have a record of the user, as new files.
 *   Archives made before keep the old files, until the retention prunes them: the promised date is
 *   the time of the rewrite and of the retention together (`erasureMsOf`). A restore to a moment
 *   after the erasure loses the user, whatever archive and journal have of the records.
 * - **A follower's** new copy is a restored archive of its partition and PostgreSQL's records after
 *   it. It has the segments from the first record.
 */
import { Cause, Context, Effect, Semaphore } from "effect"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import {
  isGood,
  type ListedArchive,
  listArchives,
  pruneArchives,
} from "../../storage/archive/ArchiveCatalog.ts"
import type { Manifest } from "../../storage/archive/ArchiveManifest.ts"
import type { Retention } from "../../storage/archive/ArchiveRetention.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import type { JournalPosition } from "../../storage/journal/SegmentFormat.ts"
import type { ArchiveMetrics } from "./ArchiveMetrics.ts"
import type { JobFailed, JobProgress, Step } from "./jobs/Jobs.ts"
import type { WorkerHost } from "./jobs/WorkerHost.ts"

export interface CreateOptions {
  readonly reason: Manifest["reason"]
  readonly progress?: (progress: JobProgress) => void
}

export class Archives extends Context.Service<
  Archives,
  {
    /** Makes an archive, then prunes by the retention. Concurrent calls wait. */
    readonly create: (options: CreateOptions) => Effect.Effect<Manifest, JobFailed>
    /** Those of its folder, oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<ListedArchive>, LaurelError>
    /** Whether an archive is being made, or waits for one that is. */
    readonly isMaking: () => boolean
    /** The end of the durable journal: other readers of the data stop there. */
    readonly position: () => JournalPosition
  }
>()("engine/Archives") {}

export interface ArchivesOptions {
  readonly directory: string
  /** The folder of archives. */
  readonly archives: string
  readonly retention: Retention
  readonly host: WorkerHost
  readonly position: () => JournalPosition
  readonly forgetDeadReaders: Effect.Effect<void>
  /** Clock of creation times, epoch milliseconds. */
  readonly now: () => number
  readonly metrics?: ArchiveMetrics
  /** An archive was made. */
  readonly onMade?: () => void
  /** For tests: runs at each step of a job. */
  readonly onStep?: (step: Step) => Effect.Effect<void>
}

/** Removes the archives that the retention no longer keeps. A failure is logged. */
const pruned = ({ archives, retention }: ArchivesOptions): Effect.Effect<void> =>
  pruneArchives(nodeDisk, archives, retention).pipe(
    Effect.flatMap((removed) =>
      removed.length === 0
        ? Effect.void
        : Effect.logInfo("Pruned archives").pipe(
            Effect.annotateLogs({ archives: removed.join(" ") }),
          ),
    ),
    Effect.catch((error) =>
      Effect.logError("Pruning archives failed").pipe(
        Effect.annotateLogs({ cause: error.message }),
      ),
    ),
  )

/** Makes an archive in a child process. A failure is counted and logged. */
const made = (
  options: ArchivesOptions,
  { progress, reason }: CreateOptions,
  at: number,
): Effect.Effect<Manifest, JobFailed> => {
  const { archives, directory, forgetDeadReaders, host, metrics, position } = options
  const asked = (step: Step): Effect.Effect<unknown> =>
    Effect.andThen(
      options.onStep?.(step) ?? Effect.void,
      Effect.sync(() => (step === "position" ? position() : undefined)),
    )
  const listener = { asked, ...(progress !== undefined && { progress }) }
  const wish = { directory, archives, at, reason, throttled: host.background }
  return host.run("archive", wish, listener).pipe(
    Effect.tapCause(() => Effect.sync(() => metrics?.failed())),
    Effect.tapError((failed) =>
      Effect.andThen(
        forgetDeadReaders,
        Effect.logError("No archive could be made; the data is as it was").pipe(
          Effect.annotateLogs({ kind: failed.kind, cause: failed.detail }),
        ),
      ),
    ),
  )
}

const logMade = Effect.fnUntraced(function* (
  { counts, id, segments: { copied } }: Manifest,
  durationMs: number,
) {
  if (copied > 0) {
    yield* Effect.logWarning(
      "Unchanged files of the archive were copied: its file system has no hard links, or no more of them",
    ).pipe(Effect.annotateLogs({ archive: id, files: copied }))
  }
  yield* Effect.logInfo("An archive was made").pipe(
    Effect.annotateLogs({ archive: id, users: counts.users, durationMs: Math.round(durationMs) }),
  )
})

export const makeArchives = (options: ArchivesOptions): Archives["Service"] => {
  const { archives, metrics, now, onMade, position } = options
  const one = Semaphore.makeUnsafe(1)
  const create = Effect.fnUntraced(function* (
    wish: CreateOptions,
  ): Effect.fn.Return<Manifest, JobFailed> {
    const startedAt = performance.now()
    const at = now()
    const manifest = yield* made(options, wish, at)
    metrics?.made(at)
    onMade?.()
    yield* logMade(manifest, performance.now() - startedAt)
    yield* pruned(options)
    return manifest
  })
  let making = 0
  return Archives.of({
    create: (wish) =>
      Effect.suspend(() => {
        making++
        return Effect.ensuring(
          Semaphore.withPermit(one, create(wish)),
          Effect.sync(() => {
            making--
          }),
        )
      }),
    list: Effect.mapError(listArchives(nodeDisk, archives), ({ code }) =>
      laurelError("storage_unavailable", `The archives cannot be listed (${code}).`),
    ),
    isMaking: () => making > 0,
    position,
  })
}

/** Creation time of the newest good archive in `folder`, epoch milliseconds. */
export const newestArchiveAt = (folder: string): Effect.Effect<number | undefined> =>
  listArchives(nodeDisk, folder).pipe(
    Effect.map((archives) => archives.findLast(isGood)?.at),
    Effect.orElseSucceed(() => undefined),
  )

export interface ScheduleOptions {
  readonly intervalMs: number
  /** Clock of creation times, epoch milliseconds. */
  readonly now: () => number
  /** Creation time of the newest archive, epoch milliseconds. */
  readonly newestAt: Effect.Effect<number | undefined>
  /** Creation time of the data, which schedules the first archive. */
  readonly since: number
}

/**
 * Makes an archive whenever the newest is `intervalMs` old, across restarts; retries a failure
 * sooner. Never ends.
 */
export const archiveOnSchedule = Effect.fnUntraced(function* (
  service: Archives["Service"],
  { intervalMs, newestAt, now, since }: ScheduleOptions,
) {
  let newest = (yield* newestAt) ?? since
  while (true) {
    // An archive dated in the future must not delay the next one.
    yield* Effect.sleep(Math.min(Math.max(0, newest + intervalMs - now()), intervalMs))
    // An archive on demand may have come first.
    const latest = (yield* newestAt) ?? newest
    if (latest > newest && latest <= now()) {
      newest = latest
      continue
    }
    const exit = yield* Effect.exit(service.create({ reason: "schedule" }))
    if (exit._tag === "Success") {
      newest = Date.parse(exit.value.createdAt)
      continue
    }
    if (Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.interrupt
    if (Cause.hasDies(exit.cause)) {
      yield* Effect.logError("Archive creation crashed", exit.cause)
    }
    yield* Effect.sleep(Math.min(intervalMs, limits.archiveRetryMs))
  }
})
