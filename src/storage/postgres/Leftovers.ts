/**
 * What is left on a server of a cluster of partitions that it no longer serves or follows, and of
 * copies that were set aside: users may be in it who were erased since. It is removed
 * `leftoverKeptMs` after it was last written.
 *
 * Nothing is removed that is the only one of its kind: PostgreSQL or archives have what a copy with
 * a lineage has. The archives of a partition are pruned by its owner; those that a former owner has
 * left in its data directory go once none would be kept.
 */
import { lstat, readdir } from "node:fs/promises"
import path from "node:path"
import { Clock, Effect, Result } from "effect"
import { limits } from "../../Limits.ts"
import { listArchives, removeArchive } from "../archive/ArchiveCatalog.ts"
import { isMissing, type OnDisk, removeTree } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import { asidePrefix, copyNames, originOf } from "./Mirror.ts"

export interface LeftoverOptions {
  /** The data directories of partitions, and the number of each. */
  readonly directories: ReadonlyMap<number, string>
  /** Runs `remove` unless the partition is open or opened here meanwhile. */
  readonly whileClosed: (partition: number, remove: Effect.Effect<void>) => Effect.Effect<void>
  readonly isOwner: (partition: number) => boolean
  /**
   * How long scheduled archives are kept, milliseconds; `undefined`: none are in the data
   * directories.
   */
  readonly archivesKeptMs: number | undefined
}

/** Removes what is old, again and again. A failure is logged, and is for the next time. */
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
  const names = yield* Effect.catchIf(nodeDisk.list(directory), isMissing, () =>
    Effect.succeed<ReadonlyArray<string>>([]),
  )
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
 * What a copy is written to while it is open. A folder itself is written when something is moved
 * into it.
 */
const written: ReadonlyArray<string> = ["journal", "live"]

/** Whether these parts of `folder`, and the files in them, were not written lately. */
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
