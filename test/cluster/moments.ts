/** When a fault of the chaos matrix strikes, beside the load of the callers. */
import { setTimeout as delay } from "node:timers/promises"
import type { Random } from "../simulation/random.ts"
import { ask } from "./Caller.ts"
import type { ClusterLoad, Loads } from "./ClusterLoad.ts"
import { eventually, ownerOf, type Runner } from "./Runner.ts"
import type { Cluster } from "./startCluster.ts"

/** `moving`: while another runner takes the partition over. */
export const moments = ["idle", "load", "moving", "snapshot", "archive"] as const
export type Moment = (typeof moments)[number]

export interface Roles {
  readonly owner: Runner
  readonly other: Runner
  /** The runner that the moment ends. */
  readonly leaving?: Runner
  /** Brings back what the moment took away. */
  readonly restore: () => Promise<void>
}

const nothing = async (): Promise<void> => {}

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
  if (moment === "idle") {
    await loads.pause()
    return { owner, other, restore: nothing }
  }
  await load.progress(50)
  switch (moment) {
    case "load":
      return { owner, other, restore: nothing }
    case "moving": {
      owner.signal("SIGTERM")
      const leaving = owner.process
      await delay(random.integer(0, 600))
      const restore = async (): Promise<void> => {
        const end = await leaving.ended
        if (end !== 0 && end !== "SIGKILL")
          throw new Error(`SIGTERM ended with ${end}: ${leaving.stderr}`)
        // A fault may have started it again.
        if (owner.process === leaving) await owner.start()
      }
      return { owner: other, other: owner, leaving: owner, restore }
    }
    case "snapshot": {
      // So many states that a snapshot is under way most of the time: one begins every 100 ms.
      const events = Array.from({ length: 1_000 }, () => ({
        userId: `crowd-${random.integer(1, 5_000)}`,
        action: "OTHER",
      }))
      await eventually("a batch", async () => {
        const { status } = await ask(owner.url, load.key, "/v1/events/batch", { events })
        return status === 200 || undefined
      })
      await delay(random.integer(0, 200))
      return { owner, other, restore: nothing }
    }
    case "archive": {
      const archiving = owner.run(["snapshots", "create"])
      await Promise.race([archiving.ended, delay(random.integer(200, 1_500))])
      return {
        owner,
        other,
        // What makes it has the lowest priority of all, and is left to the next faults.
        restore: async () => void (await archiving.end("SIGKILL")),
      }
    }
  }
}
