/**
 * Three servers and twelve projects under equal load: each server must end up with about a third of
 * the load. Real processes.
 */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { readClusterStatus } from "../../src/cluster/status.ts"
import { PgConnection } from "../../src/storage/postgres/PgConnection.ts"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { Loads } from "./ClusterLoad.ts"
import { eventually } from "./Runner.ts"
import { type Cluster, startCluster } from "./startCluster.ts"

const projects = 12
const servers = 3
/** Shorter than in a real server, which would need minutes for all moves. */
const times = { loadWindowMs: 8_000, movePauseMs: 2_000, moveRestMs: 500 }

describe("A cluster of three servers", () => {
  let postgres: Postgres
  let cluster: Cluster
  let load: Loads

  beforeAll(async () => {
    postgres = await Postgres.make()
    // The first server makes all projects, and has them all when the others join.
    cluster = await startCluster(await postgres.schema("spread"), servers, {}, projects, {
      limits: times,
    })
    const partitions = Array.from({ length: projects }, (_, index) => index + 1)
    load = new Loads(partitions.map((partition) => cluster.load(1, { partition, restMs: 200 })))
  })

  afterAll(async () => {
    await load?.stop()
    await cluster?.remove()
    await postgres?.remove()
  })

  it("divides the load of twelve projects, not only the number of their partitions", async () => {
    const connection = new PgConnection({ url: postgres.urlOf("spread") })
    try {
      await eventually("even loads", async () => {
        const { partitions, runners } = await Effect.runPromise(readClusterStatus(connection))
        const loads = runners.map(({ address }) =>
          partitions
            .filter(({ owner }) => owner === address)
            .reduce((sum, each) => sum + each.load, 0),
        )
        const total = loads.reduce((sum, one) => sum + one, 0)
        const measured = partitions.filter((each) => each.load > 0).length
        const shares = loads.map((one) => one / total)
        const isEven = shares.every((share) => share > 0.22 && share < 0.45)
        if (measured >= projects && shares.length === servers && isEven) return true
        throw new Error(`${measured} partitions with load, shares ${shares}`)
      })
    } finally {
      await Effect.runPromise(connection.close)
    }
    expect(load.faults).toEqual([])
  })
})
