/**
 * Fills the directory of a partition from the newest archive that PostgreSQL's journal goes on from: PostgreSQL deletes what
 * archives have, and then cannot fill an empty directory alone.
 *
 * - The archives of the folder come first, then those of the bucket. One that cannot be restored is passed over.
 * - The replacement is built and checked beside what is there (`RestoreJob.ts`), which is then moved out of the way, and
 *   swapped in by `ArchiveSwap.ts`. After a crash or an interruption the next opening finds the former copy, an empty directory or
 *   the restored data, and decides again; nothing else is ever opened.
 * - The mark of the swap names the lineage: nothing has gone back, so that no session ends.
 */
import path from "node:path"
import { Clock, Effect, Result } from "effect"
import { bucketOf } from "../../config/BucketSettings.ts"
import { archivesIn, type Config, partitionNumber } from "../../config/Config.ts"
import type { JobFailed } from "../../engine/archive/Jobs.ts"
import { askedFor } from "../../engine/archive/Shipments.ts"
import {
  isGood,
  type ListedArchive,
  listArchives,
  removeArchive,
} from "../../storage/archive/ArchiveCatalog.ts"
import { installDraft } from "../../storage/archive/ArchiveSwap.ts"
import { bucketName } from "../../storage/bucket/bucketErrors.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import type { Refill, RefillCopy } from "../../storage/postgres/OpenCopy.ts"
import type { Broken } from "../../storage/Storage.ts"
import type { CommandFailed } from "../output/ExitCode.ts"
import { diskFailure, jobFailure } from "../output/JobWords.ts"
import { archivesInBucket } from "./BucketAccess.ts"
import { holdDirectory } from "./DataDirectory.ts"
import { type Hosts, openHosts } from "./OpenHosts.ts"

/** Archives of one place, newest first. */
interface Source {
  readonly name: string
  readonly archives: ReadonlyArray<ListedArchive>
  /** Brings an archive into the folder; `undefined`: it is there. */
  readonly fetch: ((id: string) => Effect.Effect<unknown, JobFailed>) | undefined
}

/** `shared`: the hosts of the process; without them the jobs have their own. */
export const refillCopy =
  (config: Config, shared: Hosts | undefined): RefillCopy<CommandFailed> =>
  (refill) =>
    Effect.scoped(
      Effect.gen(function* () {
        yield* holdDirectory(config.dataDirectory)
        const hosts = shared ?? (yield* openHosts(config, []))
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

/** Whether another archive may do. */
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
