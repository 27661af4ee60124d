/**
 * The storage of a partition in a cluster: a data directory that follows the journal in PostgreSQL.
 * Loaded in a cluster only.
 *
 * `refillCopy` fills an empty directory from the newest archive that PostgreSQL's journal
 * continues: PostgreSQL deletes records that archives have, and then cannot fill an empty directory
 * alone.
 *
 * - The archives of the folder come first, then those of the bucket. An archive that cannot be
 *   restored is skipped.
 * - The replacement is built and checked beside the present files (`RestoreJob.ts`). These are then
 *   moved away, and `ArchiveSwap.ts` swaps the replacement in. After a crash or an interruption,
 *   the next opening finds the former copy, an empty directory or the restored data, and decides
 *   again. Nothing else is ever opened.
 * - The mark of the swap names the lineage. The data has not gone back, so no session ends.
 */
import path from "node:path"
import { Clock, Effect, Result } from "effect"
import { bucketOf } from "../../config/BucketSettings.ts"
import {
  archivesIn,
  type Config,
  clusterDirectory,
  isKeptElsewhere,
  partitionNumber,
} from "../../config/Config.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import { askedFor } from "../../engine/archive/bucket/Shipments.ts"
import type { JobFailed } from "../../engine/archive/jobs/Jobs.ts"
import {
  isGood,
  type ListedArchive,
  listArchives,
  removeArchive,
} from "../../storage/archive/ArchiveCatalog.ts"
import { installDraft } from "../../storage/archive/ArchiveSwap.ts"
import { bucketName } from "../../storage/bucket/bucketErrors.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { follow } from "../../storage/postgres/ClusterStorage.ts"
import { enterPartition } from "../../storage/postgres/EnterPartition.ts"
import type { Outdated, Refill, RefillCopy } from "../../storage/postgres/OpenCopy.ts"
import type { Refused } from "../../storage/postgres/OutageRetry.ts"
import { Broken } from "../../storage/Storage.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure, jobFailure } from "../output/JobWords.ts"
import { archivesInBucket } from "./BucketAccess.ts"
import { holdDirectory } from "./DataDirectory.ts"
import {
  type ClockCheck,
  type Fold,
  type Hosts,
  type Opening,
  type OpenObservers,
  openHosts,
} from "./OpenEngine.ts"

/** `url`: of PostgreSQL. */
export const openPartition = (
  config: Config,
  url: string,
  { hasLock, metrics, onClaimed, onFenced, onRecovering, shared, shipped }: OpenObservers,
  checkClock: ClockCheck,
): Opening =>
  Effect.gen(function* () {
    const directory = config.dataDirectory
    const number = partitionNumber(config)
    if (number === firstPartition) yield* enterPartition(clusterDirectory(config), directory)
    else yield* makePartitionFolder(directory)
    const followed = yield* follow({
      url,
      directory,
      metrics,
      partition: number,
      owner: config.clusterAddress,
      ...(onClaimed !== undefined && { onClaimed }),
      ...(hasLock !== undefined && { hasLock }),
      ...(shared !== undefined && { sessions: shared.sessions }),
      ...(isKeptElsewhere(config) && { archives: archivePositions(config, shipped) }),
      refill: refillCopy(config, shared?.hosts),
      beforeClaim: checkClock,
      onFenced: onFenced ?? (() => {}),
      onChecking: (done, total) => onRecovering?.({ stage: "entries", done, total }),
      onCatchingUp: (done, total) => onRecovering?.({ stage: "catchUp", done, total }),
      onWaiting: (why) => onRecovering?.({ stage: "postgres", why }),
    })
    return {
      ...followed,
      claim: (fold: Fold) => toCommandFailed(followed.claim(fold)),
      following: {
        look: (fold: Fold) => toCommandFailed(followed.look(fold)),
        progress: followed.progress,
        noteDamage: followed.noteDamage,
      },
    }
  }).pipe(toCommandFailed)

/** Data from before the cluster belongs to partition 1 (`enterPartition`). */
const makePartitionFolder = (directory: string): Effect.Effect<void, Broken> =>
  Effect.mapError(
    nodeDisk.makeFolder(directory),
    (cause) => new Broken({ operation: "open", cause }),
  )

const toCommandFailed = <A, E, R>(
  opening: Effect.Effect<A, E, R>,
): Effect.Effect<A, Exclude<E, Refused | Outdated> | CommandFailed, R> =>
  Effect.mapError(opening, (error) => {
    const failure = error as Refused | Outdated
    switch (failure._tag) {
      case "Refused":
        return commandFailed(
          failure.lacksArchive === true ? exitCodes.noData : exitCodes.configuration,
          failure.words,
        )
      case "Outdated":
        // The next opening decides what to do with the copy.
        return commandFailed(exitCodes.unavailable, failure.words)
      default:
        return error as Exclude<E, Refused | Outdated>
    }
  })

/**
 * The ends of all readable archives without known damage; with a bucket, of those that the bucket
 * has.
 */
export const archivePositions = (config: Config, shipped: ReadonlySet<string> | undefined) =>
  listArchives(nodeDisk, archivesIn(config)).pipe(
    Effect.map((archives) =>
      archives
        .filter(isGood)
        .flatMap(({ id, manifest }) =>
          Result.isSuccess(manifest) && (shipped?.has(id) ?? true)
            ? [{ lastSequence: manifest.success.sequence, checksum: manifest.success.checksum }]
            : [],
        ),
    ),
    Effect.orElseSucceed(() => []),
  )

/** Archives of one place, newest first. */
interface Source {
  readonly name: string
  readonly archives: ReadonlyArray<ListedArchive>
  /** Fetches an archive into the folder; `undefined`: the archives are there. */
  readonly fetch: ((id: string) => Effect.Effect<unknown, JobFailed>) | undefined
}

/** `shared`: the hosts of the process; without them the jobs start their own. */
const refillCopy =
  (config: Config, shared: Hosts | undefined): RefillCopy<CommandFailed> =>
  (refill) =>
    Effect.scoped(
      Effect.gen(function* () {
        yield* holdDirectory(config.dataDirectory)
        const hosts = shared ?? (yield* openHosts(config))
        const folder = path.resolve(archivesIn(config))
        const here = yield* Effect.mapError(listArchives(nodeDisk, folder), diskFailure)
        const failures: Array<string> = []
        const from = (source: Source) => fillFrom(config, hosts, refill, source, failures)
        if (yield* from({ name: folder, archives: here, fetch: undefined })) return undefined
        const place = bucketOf(config)
        if (place !== undefined) {
          const known = new Set(here.map(({ id }) => id))
          const inBucket = yield* archivesInBucket(config, folder)
          const fetch = (id: string) =>
            (hosts.shipments ?? hosts.data).run(
              "fetch",
              { archives: folder, id },
              { asked: askedFor(place) },
            )
          const archives = inBucket.filter(({ id }) => !known.has(id))
          if (yield* from({ name: bucketName(place), archives, fetch })) return undefined
        }
        const where = place === undefined ? folder : `${folder} or ${bucketName(place)}`
        return failures.length > 0
          ? failures.join(" ")
          : `No archive in ${where} has record ${refill.record} and is of PostgreSQL's journal.`
      }),
    )

/** Whether the directory was filled from one of the archives. */
const fillFrom = Effect.fnUntraced(function* (
  config: Config,
  hosts: Hosts,
  refill: Refill,
  { archives, fetch, name }: Source,
  failures: Array<string>,
) {
  for (const { folder, manifest } of archives.toReversed().filter(isGood)) {
    if (Result.isFailure(manifest)) continue
    const archive = manifest.success
    const { checksum, id, sequence } = archive
    if (sequence < refill.record) continue
    if (!(yield* refill.isFollowed({ lastSequence: sequence, checksum }))) continue
    yield* Effect.logInfo("Fills the local copy from an archive").pipe(
      Effect.annotateLogs({
        partition: partitionNumber(config),
        archive: id,
        record: sequence,
        from: name,
      }),
    )
    const restored = yield* Effect.result(
      Effect.andThen(
        fetch?.(id) ?? Effect.void,
        hosts.data.run("restore", {
          directory: config.dataDirectory,
          archive: folder,
          until: sequence,
          project: null,
        }),
      ),
    )
    if (Result.isSuccess(restored)) {
      yield* swapIn(config, refill)
      // The bucket still has it.
      if (fetch !== undefined)
        yield* Effect.ignore(removeArchive(nodeDisk, path.dirname(folder), id))
      return true
    }
    if (!isOfArchive(restored.failure)) return yield* jobFailure(restored.failure)
    const words = `Archive ${id} in ${name} could not be restored: ${restored.failure.detail}.`
    yield* Effect.logWarning(words)
    failures.push(words)
  }
  return false
})

/** Whether another archive may succeed. */
const isOfArchive = ({ kind }: JobFailed): boolean =>
  kind === "damaged" || kind === "died" || kind === "failed" || kind === "refused"

const swapIn = (
  config: Config,
  { lineage, makeRoom }: Refill,
): Effect.Effect<void, Broken | CommandFailed> =>
  Effect.gen(function* () {
    yield* makeRoom
    const at = yield* Clock.currentTimeMillis
    const install = installDraft(nodeDisk, config.dataDirectory, at, { lineage })
    yield* Effect.mapError(install, diskFailure)
  })
