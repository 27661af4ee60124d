/**
 * The runners of one cluster, with projects that have a key and a rule each, and the checks after a
 * load.
 */
import { firstProjectName } from "../../src/domain/project/Directory.ts"
import { limits } from "../../src/Limits.ts"
import { action, ask, type BoardEntry, boardPath, xpOfUser } from "./Caller.ts"
import { ClusterLoad, type LoadOptions } from "./ClusterLoad.ts"
import { eventually, ownerOf, Runner } from "./Runner.ts"

/** Partitions with a project under load: with even shares they have different owners. */
export const loadedPartitions: ReadonlyArray<number> = [
  ...new Set([1, Math.ceil(limits.clusterPartitions / 2), limits.clusterPartitions]),
]

type Settings = Readonly<Record<string, string>>

export class Cluster {
  readonly runners: ReadonlyArray<Runner>
  /** The settings for a further runner. */
  readonly settings: Settings
  /** The keys of the projects in the partitions 1 and up. */
  readonly keys: ReadonlyArray<string>

  constructor(runners: ReadonlyArray<Runner>, settings: Settings, keys: ReadonlyArray<string>) {
    this.runners = runners
    this.settings = settings
    this.keys = keys
  }

  /** The names of these projects. */
  get projects(): ReadonlyArray<string> {
    return this.keys.map((_, index) => nameOf(index + 1))
  }

  /** Starts callers of all runners, in the project of one partition. */
  load(callers: number, more: Partial<LoadOptions> = {}): ClusterLoad {
    const urls = () => this.runners.map(({ url }) => url)
    const key = this.keys[(more.partition ?? 1) - 1]!
    return new ClusterLoad({ key, urls, callers, name: "user", ...more })
  }

  /**
   * Ends once each partition has an owner, and the runners have equal numbers of partitions, up to
   * one. Returns the partitions of each.
   */
  evenShares(): Promise<ReadonlyArray<ReadonlyArray<number>>> {
    return eventually("even shares", async () => {
      const running = this.runners.filter(({ isRunning }) => isRunning)
      const shares = await Promise.all(running.map((runner) => runner.served()))
      const counts = shares.map(({ length }) => length)
      const isWhole = new Set(shares.flat()).size === limits.clusterPartitions
      return isWhole && Math.max(...counts) - Math.min(...counts) < 2 ? shares : undefined
    })
  }

  /**
   * `expectBoard`, also for a runner with an empty directory, which folds the whole journal and
   * must have the same board.
   */
  async expectExactlyOnce(loads: ReadonlyArray<ClusterLoad>): Promise<void> {
    const boards: Array<string> = []
    for (const load of loads) {
      await this.expectBoard(load)
      boards.push(await this.#boardOfPatient(load))
    }
    const fresh = await Runner.make(this.settings)
    const running = this.runners.filter((runner) => runner.isRunning)
    try {
      await Promise.all(running.map((runner) => runner.end("SIGTERM")))
      await fresh.start()
      for (const [index, load] of loads.entries()) {
        await ownerOf([fresh], load.partition)
        await this.expectBoard(load, fresh)
        const folded = await this.#boardOfPatient(load, fresh)
        const words = `Folded: ${folded}, and before: ${boards[index]}`
        if (folded !== boards[index]) load.found({ kind: "changed", words })
      }
      await Promise.all(running.map((runner) => runner.start()))
    } finally {
      await fresh.end("SIGTERM")
      await fresh.remove()
    }
  }

  /** Each user of the load has one xp for each acknowledged event, on the board of `runner`. */
  async expectBoard(load: ClusterLoad, runner?: Runner): Promise<void> {
    const { url } = runner ?? (await ownerOf(this.runners, load.partition))
    const board = await this.#board(url, load.key)
    for (const [userId, { least, most }] of load.expected) {
      const path = `/v1/users/${userId}`
      const xp = await eventually(path, async () => xpOfUser(await ask(url, load.key, path)))
      const words = `${userId} has ${xp} xp, on the board ${board.get(userId)}, acknowledged: ${least} to ${most}`
      if (xp < least) load.found({ kind: "lost", words })
      else if (xp > most) load.found({ kind: "doubled", words })
      // This user may be beyond the page of the board.
      else if (xp !== (board.get(userId) ?? xp)) load.found({ kind: "changed", words })
    }
  }

  /**
   * The board in order, without users whose writes have an unknown outcome: such a write may still
   * be executed.
   */
  async #boardOfPatient(
    { expected, key, partition }: ClusterLoad,
    runner?: Runner,
  ): Promise<string> {
    const { url } = runner ?? (await ownerOf(this.runners, partition))
    return [...(await this.#board(url, key))]
      .filter(([userId]) => expected.get(userId)?.least === expected.get(userId)?.most)
      .join(" ")
  }

  async #board(url: string, key: string): Promise<ReadonlyMap<string, number>> {
    const { entries } = await eventually("the leaderboard", async () => {
      const { body, status } = await ask(url, key, boardPath)
      return status === 200 ? (body as { readonly entries: ReadonlyArray<BoardEntry> }) : undefined
    })
    return new Map(entries.map(({ userId, xp }) => [userId, xp]))
  }

  async remove(): Promise<void> {
    await Promise.all(this.runners.map((runner) => runner.remove()))
  }
}

/** The first start of a cluster creates the first project. */
const nameOf = (partition: number): string =>
  partition === 1 ? firstProjectName : `project-${partition}`

/**
 * Starts these runners. The first one creates projects, each in its own partition, with a key and a
 * rule.
 */
export const startRunners = async (
  runners: ReadonlyArray<Runner>,
  settings: Settings,
  projects = 1,
): Promise<Cluster> => {
  const [first, ...others] = runners
  await first!.start()
  const keys = [await eventually("the first key", async () => first!.firstKey)]
  while (keys.length < projects) keys.push(await first!.createKey(nameOf(keys.length + 1)))
  for (const [index, key] of keys.entries()) {
    // The `Idempotency-Key` prevents a second rule if the first reply was late.
    await eventually(`a rule in partition ${index + 1}`, async () => {
      const rule = { action, reward: { xp: 1 } }
      const { status, text } = await ask(first!.url, key, "/v1/rules", rule, "rule")
      if (status !== 201) throw new Error(text)
      return true
    })
  }
  await Promise.all(others.map((runner) => runner.start()))
  return new Cluster(runners, settings, keys)
}

export const startCluster = async (
  url: string,
  count: number,
  more: Settings,
  projects = 1,
  trouble: Runner["trouble"] = {},
): Promise<Cluster> => {
  const settings = { LAUREL_CLUSTER: url, ...more }
  const runners = await Promise.all(Array.from({ length: count }, () => Runner.make(settings)))
  for (const runner of runners) runner.trouble = trouble
  return startRunners(runners, settings, projects)
}
