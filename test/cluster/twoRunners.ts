/** A cluster of two runners and one project for the tests of a `describe`, over a PostgreSQL of its own. */
import { setTimeout as delay } from "node:timers/promises"
import { afterAll, beforeAll } from "vitest"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { ask, type Reply } from "./Caller.ts"
import { eventually, ownerOf, type Runner } from "./Runner.ts"
import { type Cluster, startCluster } from "./startCluster.ts"

/** `schema`: the name of the cluster in PostgreSQL. */
export const useTwoRunners = (schema: string) => {
  let postgres: Postgres
  let cluster: Cluster

  beforeAll(async () => {
    postgres = await Postgres.make()
    const settings = { LAUREL_CLUSTER_LOCK_EXPIRATION: "3 seconds" }
    cluster = await startCluster(await postgres.schema(schema), 2, settings, 1)
  })
  afterAll(async () => {
    await cluster?.remove()
    await postgres?.remove()
  })

  const key = () => cluster.keys[0]!
  return {
    /** The runner that owns the partition of the project, and the other one. */
    roles: async () => {
      const owner = await ownerOf(cluster.runners)
      return { owner, other: cluster.runners.find((runner) => runner !== owner)! }
    },
    /** Asks runner after runner, from the one at `first` on, until one decides. */
    decided: async (path: string, body: unknown, first = 0): Promise<Reply> => {
      for (let turn = first; ; turn++) {
        const { url } = cluster.runners[turn % cluster.runners.length]!
        const reply = await ask(url, key(), path, body).catch(() => undefined)
        if (reply !== undefined && reply.status < 500) return reply
        await delay(20)
      }
    },
    /** The body of the reply to a read, once the runner answers. */
    read: <Body>(runner: Runner, path: string): Promise<Body> =>
      eventually(path, async () => {
        const { body, status } = await ask(runner.url, key(), path)
        return status === 200 ? (body as Body) : undefined
      }),
  }
}
