/**
 * Removes old data on a server of a cluster: copies that were moved aside, and copies of partitions
 * that the server no longer serves or follows. Such data may name users who were erased since. It
 * is removed `leftoverKeptMs` after its last write.
 *
 * No only copy is removed: PostgreSQL or archives have all data of a copy with a lineage. The owner
 * prunes the archives of a partition. Scheduled archives in the data directory of a former owner
 * are removed when they are older than `archivesKeptMs`.
 */
import { lstat, readdir } from "node:fs/promises"
import path from "node:path"
import { Clock, Effect, Result } from "effect"
import { limits } from "../../Limits.ts"
import { listArchives, removeArchive } from "../archive/ArchiveCatalog.ts"
import { namesIn, type OnDisk, removeTree } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import { asidePrefix, copyNames, originOf } from "./Mirror.ts"

export interface LeftoverOptions {
  /** The data directory of each partition, by number. */
  readonly directories: ReadonlyMap<number, string>
  /** Runs `remove` unless the partition is open on this server or is being opened. */
  readonly whileClosed: (partition: number, remove: Effect.Effect<void>) => Effect.Effect<void>
  readonly isOwner: (partition: number) => boolean
  /**
   * How long scheduled archives are kept, in milliseconds; `undefined` if the data directories have
   * no archives.
   */
  readonly archivesKeptMs: number | undefined
}

/** Removes old data at intervals. A failure is logged, and the next interval tries again. */
export const removeLeftovers = (options: LeftoverOptions): Effect.Effect<never> =>
  Effect.gen(function* () {
    while (true) {
      for (const [partition, directory] of options.directories) {
        yield* sweep(options, partition, directory).pipe(
          Effect.catchCause((cause) =>
            Effect.annotateLogs(
              Effect.logWarning("Old copies of a partition could not be removed", cause),
              { partition },
            ),
          ),
        )
      }
      yield* Effect.sleep(limits.leftoverSweepMs)
    }
  })

const sweep = Effect.fnUntraced(function* (
  { archivesKeptMs, isOwner, whileClosed }: LeftoverOptions,
  partition: number,
  directory: string,
) {
  const names = yield* namesIn(nodeDisk, directory)
  const now = yield* Clock.currentTimeMillis
  for (const name of names.filter((each) => each.startsWith(asidePrefix))) {
    const aside = path.join(directory, name)
    if (yield* isOlder(aside, ["", ...written], now)) yield* removed(partition, aside)
  }
  const remove = Effect.gen(function* () {
    const { isRestored, lineage } = yield* originOf(nodeDisk, directory)
    if (lineage === undefined || isRestored || !(yield* isOlder(directory, written, now))) return
    for (const name of copyNames) {
      if (names.includes(name)) yield* removed(partition, path.join(directory, name))
    }
  })
  yield* whileClosed(partition, Effect.orDie(remove))
  if (archivesKeptMs === undefined || isOwner(partition)) return
  const archives = path.join(directory, "archive")
  for (const { at, id, manifest } of yield* listArchives(nodeDisk, archives)) {
    const isScheduled = Result.isSuccess(manifest) && manifest.success.reason === "schedule"
    if (isScheduled && at < now - archivesKeptMs) yield* removeArchive(nodeDisk, archives, id)
  }
})

const removed = (partition: number, where: string): OnDisk<void> =>
  Effect.andThen(
    removeTree(nodeDisk, where),
    Effect.annotateLogs(Effect.logInfo("Removed an old copy of a partition"), { partition, where }),
  )

/**
 * The folders that are written while a copy is open. The modification time of a folder also changes
 * when a file is moved into it.
 */
const written: ReadonlyArray<string> = ["journal", "live"]

/**
 * Whether the last write to these parts of `folder`, and to the files in them, is older than
 * `leftoverKeptMs`.
 */
const isOlder = (
  folder: string,
  parts: ReadonlyArray<string>,
  now: number,
): Effect.Effect<boolean> =>
  Effect.promise(async () => {
    let latest = 0
    for (const part of parts) {
      const within = path.join(folder, part)
      const files = part === "" ? [] : await readdir(within).catch(() => [])
      for (const file of ["", ...files]) {
        const status = await lstat(path.join(within, file)).catch(() => undefined)
        latest = Math.max(latest, status?.mtimeMs ?? 0)
      }
    }
    return latest < now - limits.leftoverKeptMs
  })
