/** The moments at which faults of the chaos matrix are injected, beside the load of the callers. */
import { globSync, statSync } from "node:fs"
import path from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { draftSuffix } from "../../src/storage/archive/ArchiveCatalog.ts"
import type { Random } from "../simulation/random.ts"
import { ask } from "./Caller.ts"
import type { ClusterLoad, Loads } from "./ClusterLoad.ts"
import { secondTermination } from "./faults.ts"
import { eventually, ownerOf, type Runner } from "./Runner.ts"
import type { Cluster } from "./startCluster.ts"

/** `moving`: while another runner takes over the partition. */
export const moments = ["idle", "load", "moving", "snapshot", "archive"] as const
export type Moment = (typeof moments)[number]

export interface Roles {
  readonly owner: Runner
  readonly other: Runner
  /** The runner that the moment ends. */
  readonly leaving?: Runner
  /** Whether the moment is there now; asked as the fault strikes. */
  readonly isThere: () => boolean
  /** Brings back what the moment took away. */
  readonly restore: () => Promise<void>
}

const nothing = async (): Promise<void> => {}
const always = (): boolean => true

/**
 * Within a snapshot changes of the database's file follow each other faster: the next one begins
 * 100 ms after the last.
 */
const pauseMs = 60
const snapshotWaitMs = 5_000

/**
 * Ends with the first change of the file after a pause: more slices follow. False: there was none.
 */
const snapshotBegan = async (file: string): Promise<boolean> => {
  const deadline = performance.now() + snapshotWaitMs
  let last = statSync(file).mtimeMs
  while (performance.now() < deadline) {
    await delay(1)
    const { mtimeMs } = statSync(file)
    if (mtimeMs - last > pauseMs) return true
    last = mtimeMs
  }
  return false
}

/** The runner that is ready to take the partition over. */
const follower = async (
  runners: ReadonlyArray<Runner>,
  partition: number,
): Promise<Runner | undefined> => {
  for (const runner of runners) {
    if (await runner.follows(partition).catch(() => false)) return runner
  }
  return undefined
}

/** Ends when the moment is there, for the partition of `load`. */
export const reach = async (
  moment: Moment,
  cluster: Cluster,
  loads: Loads,
  load: ClusterLoad,
  random: Random,
): Promise<Roles> => {
  const owner = await ownerOf(cluster.runners, load.partition)
  const others = cluster.runners.filter((runner) => runner !== owner && runner.isRunning)
  const other = random.pick(others)
  const { partition } = load
  const folder = path.join(owner.directory, "partitions", String(partition))
  if (moment === "idle") {
    await loads.pause()
    return { owner, other, isThere: always, restore: nothing }
  }
  await load.progress(50)
  switch (moment) {
    case "load":
      return { owner, other, isThere: always, restore: nothing }
    case "moving": {
      const heir = await follower(others, partition)
      const before = others.map(({ process }) => [process, process.written] as const)
      owner.signal("SIGTERM")
      const leaving = owner.process
      await delay(random.integer(0, 600))
      const restore = async (): Promise<void> => {
        const end = await leaving.ended
        const isByFault = end === "SIGKILL" || end === secondTermination
        if (end !== 0 && !isByFault) throw new Error(`SIGTERM ended with ${end}: ${leaving.stderr}`)
        // A fault may have started it again.
        if (owner.process === leaving) await owner.start()
      }
      const serves = new RegExp(`"Serves the partition".*"partition":${partition}\\b`)
      const isThere = () => !before.some(([process, from]) => process.hasWritten(serves, from))
      return { owner: heir ?? other, other: owner, leaving: owner, isThere, restore }
    }
    case "snapshot": {
      // So many states that the snapshot has several slices.
      const events = Array.from({ length: 1_000 }, () => ({
        userId: `crowd-${random.integer(1, 5_000)}`,
        action: "OTHER",
      }))
      await eventually("a batch", async () => {
        const { status } = await ask(owner.url, load.key, "/v1/events/batch", { events })
        return status === 200 || undefined
      })
      const isBegun = await snapshotBegan(path.join(folder, "live/data.mdb"))
      return { owner, other, isThere: () => isBegun, restore: nothing }
    }
    case "archive": {
      const drafts = () => globSync(path.join(folder, `archive/*${draftSuffix}`))
      const left = new Set(drafts())
      const archiving = owner.run(["snapshots", "create", "--partition", String(partition)])
      // It ends at once where the partition has just moved.
      const draft = await eventually("a draft of an archive", async () => {
        const found = drafts().find((each) => !left.has(each))
        return found ?? (archiving.hasEnded ? "none" : undefined)
      })
      await Promise.race([archiving.ended, delay(random.integer(0, 500))])
      return {
        owner,
        other,
        isThere: () => drafts().includes(draft),
        // What makes it has the lowest priority of all, and is left to the next faults.
        restore: async () => void (await archiving.end("SIGKILL")),
      }
    }
  }
}
