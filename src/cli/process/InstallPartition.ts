/**
 * Replaces a partition of the cluster with the restored directory of this machine
 * (`ReplacePartition.ts`), for `laurel cluster install`.
 *
 * - A partition other than 1 may be replaced while servers run. They close it, move their copies
 *   aside, and open it again. The same transaction writes the restore to the audit log.
 * - Partition 1 has accounts and sessions. This command opens the restored directory as the owner,
 *   which ends the sessions that the restore has brought back. No server may run meanwhile.
 */
import path from "node:path"
import { Context, Effect, Result } from "effect"
import {
  archivesIn,
  type Config,
  clusterDirectory,
  isKeptElsewhere,
  ofPartition,
  partitionNumber,
} from "../../config/Config.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import { follows } from "../../engine/archive/check/Base.ts"
import { isGood, listArchives } from "../../storage/archive/ArchiveCatalog.ts"
import { forgetRestored } from "../../storage/archive/ArchiveSwap.ts"
import { isInUse } from "../../storage/disk/DirectoryLock.ts"
import type { DiskError } from "../../storage/disk/Disk.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { scanJournal, segmentsIn } from "../../storage/journal/JournalScan.ts"
import type { JournalPosition } from "../../storage/journal/SegmentFormat.ts"
import type { Refused } from "../../storage/postgres/OutageRetry.ts"
import type { PgFailure, Run } from "../../storage/postgres/PgConnection.ts"
import type { StorageError } from "../../storage/Storage.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure } from "../output/JobWords.ts"
import { countText } from "../output/Table.ts"
import { archivesInBucket } from "./BucketAccess.ts"
import { holdDirectory, requireNoServer } from "./DataDirectory.ts"
import { loggingLayer } from "./Logging.ts"
import { AuditSessions, restoreEntry } from "./OpenAudit.ts"

/** Replaces the partition; succeeds with its last record. */
export const installPartition = (
  config: Config,
  url: string,
): Effect.Effect<number, CommandFailed> =>
  partitionNumber(config) === firstPartition ? installFirst(config, url) : installOther(config, url)

const installOther = (config: Config, url: string): Effect.Effect<number, CommandFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      // A server may open any of its partitions at any time.
      yield* requireNoServer(config)
      yield* holdDirectory(clusterDirectory(config))
      const { ClusterAuditStore } = yield* Effect.promise(
        () => import("../../accounts/audit/ClusterAuditStore.ts"),
      )
      const { lastSequence } = yield* replace(config, url, (run, end) => {
        const audit = new ClusterAuditStore({ sessions: { run }, now: Date.now })
        return Effect.mapError(audit.write(restoreEntry(config, end.lastSequence)), ({ detail }) =>
          commandFailed(exitCodes.unavailable, detail),
        )
      })
      yield* Effect.mapError(forgetRestored(nodeDisk, config.dataDirectory), diskFailure)
      return lastSequence
    }),
  )

const installFirst = Effect.fnUntraced(function* (config: Config, url: string) {
  const { lastSequence } = yield* Effect.scoped(Effect.andThen(enter(config), replace(config, url)))
  yield* Effect.scoped(openAsOwner(config, url)).pipe(Effect.provide(loggingLayer(config)))
  return lastSequence
})

const replace = (
  config: Config,
  url: string,
  also?: (run: Run, end: JournalPosition) => Effect.Effect<void, CommandFailed>,
) =>
  Effect.gen(function* () {
    const { replacePartition } = yield* Effect.promise(
      () => import("../../storage/postgres/ReplacePartition.ts"),
    )
    const directory = path.resolve(config.dataDirectory)
    const partition = partitionNumber(config)
    return yield* replacePartition({ url, partition, directory, ...(also && { also }) })
  }).pipe(Effect.scoped, Effect.mapError(failureOf))

/** Holds the lock of the cluster's directory for the scope. */
const enter = (config: Config) =>
  Effect.gen(function* () {
    const { enterPartition } = yield* Effect.promise(
      () => import("../../storage/postgres/EnterPartition.ts"),
    )
    const directory = path.resolve(ofPartition(config, firstPartition).dataDirectory)
    yield* enterPartition(clusterDirectory(config), directory)
  }).pipe(Effect.mapError(failureOf))

/** For a row that exists already. */
const uniqueViolation = "23505"

const failureOf = (
  error: Refused | PgFailure | DiskError | StorageError | CommandFailed,
): CommandFailed => {
  switch (error._tag) {
    case "CommandFailed":
      return error
    case "Refused":
      return commandFailed(exitCodes.configuration, error.words)
    case "PgFailure":
      return error.code === uniqueViolation
        ? commandFailed(
            exitCodes.refused,
            "Another `laurel cluster install` replaced the partition at the same time. This command changed nothing.",
          )
        : commandFailed(exitCodes.unavailable, error.words)
    case "DiskError":
      return diskFailure(error)
    default:
      return commandFailed(
        error._tag === "Broken" && isInUse(error) ? exitCodes.inUse : exitCodes.damagedData,
        `The data directory cannot be opened: ${error.message}`,
      )
  }
}

/** Opens the engine, and writes the restore to the audit log. */
const openAsOwner = Effect.fnUntraced(function* (config: Config, url: string) {
  const [{ openEngine }, { openAudit }, { PgConnection }] = yield* Effect.promise(() =>
    Promise.all([
      import("./OpenEngine.ts"),
      import("./OpenAudit.ts"),
      import("../../storage/postgres/PgConnection.ts"),
    ]),
  )
  const { services } = yield* openEngine(config)
  const sessions = yield* Effect.acquireRelease(
    Effect.sync(() => new PgConnection({ url })),
    (connection) => connection.close,
  )
  yield* Effect.provide(openAudit(config), Context.add(services, AuditSessions, sessions))
})

/** The first and the last record of a directory's journal; 1 and 0 if the journal is empty. */
export const recordsIn = ({ dataDirectory }: Config) =>
  Effect.gen(function* () {
    const folder = path.join(dataDirectory, "journal")
    const segments = yield* segmentsIn(nodeDisk, folder)
    const from = segments.at(-1) ?? 1
    const end = yield* scanJournal({ disk: nodeDisk, folder, from }, () => Effect.void)
    return { first: segments[0] ?? 1, last: end.lastSequence }
  }).pipe(Effect.mapError(diskFailure))

/**
 * Fails if running servers could not fill their copies: the journal of the directory does not begin
 * with record 1, and no archive that the servers may have contains the earlier records.
 */
export const insistFillable = Effect.fnUntraced(function* (
  config: Config,
): Effect.fn.Return<void, CommandFailed> {
  const { first } = yield* recordsIn(config)
  if (first === 1) return
  const journal = path.join(config.dataDirectory, "journal")
  const folder = path.resolve(archivesIn(config))
  if (isKeptElsewhere(config)) {
    const here =
      config.archiveDirectory === ""
        ? []
        : yield* Effect.mapError(listArchives(nodeDisk, folder), diskFailure)
    for (const archive of [...here, ...(yield* archivesInBucket(config, folder))]) {
      const { manifest } = archive
      if (!isGood(archive) || Result.isFailure(manifest)) continue
      if (manifest.success.sequence < first - 1) continue
      const leads = follows(nodeDisk, journal, manifest.success)
      if (yield* Effect.mapError(leads, diskFailure)) return
    }
  }
  return yield* commandFailed(
    exitCodes.refused,
    `The journal in ${config.dataDirectory} begins with record ${countText(first)}. The running servers need an archive with the records before it, and neither LAUREL_ARCHIVE_DIR nor LAUREL_ARCHIVE_BUCKET has one. Nothing was changed.`,
    "Set both to the values of the servers. Or stop all servers, install, and restore the same archive on each machine before you start its server.",
  )
})
