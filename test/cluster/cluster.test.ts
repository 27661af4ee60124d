/**
 * Two runners and a PostgreSQL, real processes all: any runner takes any request, and faults of the owner lose no acknowledged
 * write, double none, and show no reader less than its callers have seen. `npm run torture -- --cluster` goes on from here.
 */
import { setTimeout as delay } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Postgres } from "../storage/postgres/Postgres.ts"
import type { ClusterLoad } from "./ClusterLoad.ts"
import { ownerOf, type Runner } from "./Runner.ts"
import { type Cluster, startCluster } from "./startCluster.ts"

const lockExpirationMs = 3_000

describe("A cluster of two runners", () => {
  let postgres: Postgres
  let cluster: Cluster
  let load: ClusterLoad

  beforeAll(async () => {
    postgres = await Postgres.make()
    const settings = { LAUREL_CLUSTER_LOCK_EXPIRATION: `${lockExpirationMs} millis` }
    cluster = await startCluster(await postgres.schema("cluster"), 2, settings)
    load = cluster.load(6)
  })

  afterAll(async () => {
    await load?.stop()
    await cluster?.remove()
    await postgres?.remove()
  })

  const others = (owner: Runner) => cluster.runners.filter((runner) => runner !== owner)

  it("answers at each of them alike", async () => {
    await load.progress(100)
    expect(load.faults).toEqual([])
    const owner = await ownerOf(cluster.runners)
    const [other] = others(owner)
    expect(
      await other!.metric('laurel_cluster_forwarded_requests_total{outcome="answered"}'),
    ).toBeGreaterThan(0)
  })

  it("refuses a runner with the address of another one", async () => {
    const twin = await cluster.runners[0]!.twin()
    await expect(twin.start()).rejects.toThrow(/has the address .* LAUREL_CLUSTER_ADDRESS/)
    expect(await twin.process.ended).toBe(78)
    await twin.remove()
  })

  it("hands over at SIGTERM, and ends with 0", async () => {
    const owner = await ownerOf(cluster.runners)
    expect(await owner.end("SIGTERM")).toBe(0)
    await load.progress(100)
    await owner.start()
    expect(load.faults).toEqual([])
  })

  it("goes on after kill -9 of the owner", async () => {
    const owner = await ownerOf(cluster.runners)
    await owner.end("SIGKILL")
    await load.progress(100)
    await owner.start()
    expect(load.faults).toEqual([])
  })

  it("goes on while its owner stands still, which answers nothing from before afterwards", async () => {
    const owner = await ownerOf(cluster.runners)
    owner.signal("SIGSTOP")
    await ownerOf(others(owner))
    await load.progress(6)
    owner.signal("SIGCONT")
    await load.progress(100)
    expect(load.faults).toEqual([])
  })

  // Whoever comes first when PostgreSQL is back: a start that takes longer than the expiration makes each runner look dead.
  it("goes on after a restart of PostgreSQL", async () => {
    const owner = await ownerOf(cluster.runners)
    await postgres.stop("SIGQUIT")
    // Long enough for each runner to lose its lock, and for the owner to stop serving.
    while (await owner.serves()) await delay(20)
    await postgres.start()
    await load.progress(100)
    expect(load.faults).toEqual([])
  })

  it("has every acknowledged event once, on the board, too", async () => {
    await load.stop()
    await cluster.expectBoard(load)
    expect(load.faults).toEqual([])
  })
})
