/**
 * The directory of a cluster has a data directory for each partition, `partitions/<n>`. If a server
 * without a cluster used the directory before, its data is moved into the partition by renames. The
 * journal is moved last, so that a start after a crash moves the rest.
 */
import path from "node:path"
import { Effect, type Scope } from "effect"
import { settleSwap } from "../archive/ArchiveSwap.ts"
import { lockDirectory } from "../disk/DirectoryLock.ts"
import type { DiskError } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import { lineageName } from "../durable/LineageFile.ts"
import { Broken } from "../Storage.ts"
import { Refused } from "./OutageRetry.ts"

const isMoved = (name: string): boolean =>
  ["archive", "audit", "live", "restored"].includes(name) || name.startsWith("replaced-")

/**
 * Locks the directory of a cluster for the scope, and makes the directory of the partition in it.
 */
export const enterPartition = (
  root: string,
  partition: string,
): Effect.Effect<void, Broken | Refused, Scope.Scope> =>
  Effect.gen(function* () {
    yield* nodeDisk.makeFolder(root)
    yield* lockDirectory(root)
    const names = yield* nodeDisk.list(root)
    if (names.includes(lineageName)) {
      const words = `${root} is the directory of one partition. Set LAUREL_DATA_DIR to the directory of the cluster: as a rule ${path.resolve(root, "..", "..")}.`
      return yield* new Refused({ words })
    }
    yield* nodeDisk.makeFolder(partition)
    if (!names.includes("journal")) return
    const there = yield* nodeDisk.list(partition)
    if (there.includes("journal")) {
      const words = `Both ${root} and ${partition} have a journal. Move the wrong one away.`
      return yield* new Refused({ words })
    }
    yield* settleSwap(nodeDisk, root)
    for (const name of [...names.filter(isMoved), "journal"]) {
      yield* nodeDisk.rename(path.join(root, name), path.join(partition, name))
      yield* nodeDisk.syncFolder(partition)
      yield* nodeDisk.syncFolder(root)
    }
    yield* Effect.logInfo("The data directory became a partition of the cluster").pipe(
      Effect.annotateLogs({ from: root, to: partition }),
    )
  }).pipe(
    Effect.catchTag("DiskError", (cause: DiskError) =>
      Effect.fail(new Broken({ operation: "open", cause })),
    ),
  )
