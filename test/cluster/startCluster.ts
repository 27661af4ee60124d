/** Runners of one cluster with a key and a rule, and what is to be true of them after the load has ended. */
import { action, ask, ClusterLoad } from "./ClusterLoad.ts"
import { eventually, ownerOf, Runner } from "./Runner.ts"

interface Entry {
  readonly userId: string
  readonly xp: number
}

export class Cluster {
  readonly runners: ReadonlyArray<Runner>
  readonly #settings: Readonly<Record<string, string>>
  readonly #key: string

  constructor(
    runners: ReadonlyArray<Runner>,
    settings: Readonly<Record<string, string>>,
    key: string,
  ) {
    this.runners = runners
    this.#settings = settings
    this.#key = key
  }

  load(callers: number, name = "user"): ClusterLoad {
    const urls = () => this.runners.map(({ url }) => url)
    return new ClusterLoad({ key: this.#key, urls, callers, name })
  }

  /** `expectBoard`, also of a runner with an empty directory, which folds all of the journal. */
  async expectExactlyOnce(load: ClusterLoad): Promise<void> {
    await this.expectBoard(load)
    const fresh = await Runner.make(this.#settings)
    try {
      await Promise.all(this.runners.map((runner) => runner.end("SIGTERM")))
      await fresh.start()
      await ownerOf([fresh])
      await this.expectBoard(load, fresh)
      await Promise.all(this.runners.map((runner) => runner.start()))
    } finally {
      await fresh.end("SIGTERM")
      await fresh.remove()
    }
  }

  /** Each user of the load has one xp for each acknowledged event, on the board of `runner`. */
  async expectBoard(load: ClusterLoad, runner?: Runner): Promise<void> {
    const { url } = runner ?? (await ownerOf(this.runners))
    const board = await this.#board(url)
    for (const [userId, count] of load.acknowledged) {
      const path = `/v1/users/${userId}`
      const user = await eventually(path, async () => {
        const { body, status } = await ask(url, this.#key, path)
        return status === 200 ? (body as { readonly xp: number }) : undefined
      })
      // The page of the board may not reach as far as to this user.
      const found = [user.xp, board.get(userId) ?? count]
      if (found.some((xp) => xp !== count)) {
        throw new Error(
          `${userId} has ${found.join(" and on the board ")} xp, acknowledged: ${count}`,
        )
      }
    }
  }

  async #board(url: string): Promise<ReadonlyMap<string, number>> {
    const { entries } = await eventually("the leaderboard", async () => {
      const { body, status } = await ask(url, this.#key, "/v1/leaderboard?limit=100")
      return status === 200 ? (body as { readonly entries: ReadonlyArray<Entry> }) : undefined
    })
    return new Map(entries.map(({ userId, xp }) => [userId, xp]))
  }

  async remove(): Promise<void> {
    await Promise.all(this.runners.map((runner) => runner.remove()))
  }
}

export const startCluster = async (
  url: string,
  count: number,
  more: Readonly<Record<string, string>>,
): Promise<Cluster> => {
  const settings = { LAUREL_CLUSTER: url, ...more }
  const runners: Array<Runner> = []
  for (let index = 0; index < count; index++) runners.push(await Runner.make(settings))
  const [first, ...others] = runners
  await first!.start()
  const key = await eventually("the first key", async () => first!.firstKey)
  // One rule, however often it is asked for: a rule may be there although no reply came in time.
  await eventually("a rule", async () => {
    const { status } = await fetch(`${first!.url}/v1/rules`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "idempotency-key": "the rule",
      },
      body: JSON.stringify({ action, reward: { xp: 1 } }),
    })
    return status === 201 || undefined
  })
  await Promise.all(others.map((runner) => runner.start()))
  return new Cluster(runners, settings, key)
}
