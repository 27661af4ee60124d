/** Runners of one cluster with projects, a key and a rule in each, and what is to be true of them after the load has ended. */
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
  /** Of a further runner. */
  readonly settings: Settings
  /** Of projects in the partitions 1 and up. */
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

  /** Callers of all runners, in the project of one partition. */
  load(callers: number, more: Partial<LoadOptions> = {}): ClusterLoad {
    const urls = () => this.runners.map(({ url }) => url)
    const key = this.keys[(more.partition ?? 1) - 1]!
    return new ClusterLoad({ key, urls, callers, name: "user", ...more })
  }

  /** Ends once each partition has an owner, and no runner two more than another; returns the partitions of each. */
  evenShares(): Promise<ReadonlyArray<ReadonlyArray<number>>> {
    return eventually("even shares", async () => {
      const running = this.runners.filter(({ isRunning }) => isRunning)
      const shares = await Promise.all(running.map((runner) => runner.served()))
      const counts = shares.map(({ length }) => length)
      const isWhole = new Set(shares.flat()).size === limits.clusterPartitions
      return isWhole && Math.max(...counts) - Math.min(...counts) < 2 ? shares : undefined
    })
  }

  /** `expectBoard`, also of a runner with an empty directory, which folds all of the journal, and has the same board. */
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
      // The page of the board may not reach as far as to this user.
      else if (xp !== (board.get(userId) ?? xp)) load.found({ kind: "changed", words })
    }
  }

  /** In order; without the users that change although nobody calls: what was given up may still be done. */
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

/** The first start of a cluster makes the first one. */
const nameOf = (partition: number): string =>
  partition === 1 ? firstProjectName : `project-${partition}`

/** Starts these runners; the first one makes projects, each in a partition of its own, with a key and a rule. */
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
    // One rule, however often it is asked for: a rule may be there although no reply came in time.
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
): Promise<Cluster> => {
  const settings = { LAUREL_CLUSTER: url, ...more }
  const runners = await Promise.all(Array.from({ length: count }, () => Runner.make(settings)))
  return startRunners(runners, settings, projects)
}
