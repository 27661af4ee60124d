/**
 * Two runners and a PostgreSQL, real processes all: any runner takes any request, and faults of the owner lose no acknowledged
 * write, double none, and show no reader less than its callers have seen. `npm run torture -- --cluster` goes on from here.
 */
import { setTimeout as delay } from "node:timers/promises"
import { isDeepStrictEqual } from "node:util"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { version } from "../../src/Build.ts"
import { type PartitionStatus, readClusterStatus } from "../../src/cluster/status.ts"
import { limits } from "../../src/Limits.ts"
import type { ArchiveDetails } from "../../src/storage/archive/ArchiveCatalog.ts"
import { newestFormat } from "../../src/storage/postgres/formats.ts"
import { PgConnection } from "../../src/storage/postgres/PgConnection.ts"
import { migrate } from "../../src/storage/postgres/schema.ts"
import { setUpOwner } from "../e2e/owner.ts"
import { Postgres } from "../storage/postgres/Postgres.ts"
import type { End } from "../torture/ServerProcess.ts"
import { waitMs } from "../waitMs.ts"
import { ask } from "./Caller.ts"
import { Loads } from "./ClusterLoad.ts"
import { eventually, followed, ownerOf, Runner } from "./Runner.ts"
import { type Cluster, loadedPartitions, startCluster } from "./startCluster.ts"
import { expectNewProject, expectPages, expectUsable } from "./usable.ts"

const lockExpirationMs = 3_000

describe("A cluster of two runners", () => {
  let postgres: Postgres
  let cluster: Cluster
  let load: Loads

  beforeAll(async () => {
    postgres = await Postgres.make()
    const settings = {
      LAUREL_CLUSTER_LOCK_EXPIRATION: `${lockExpirationMs} millis`,
      LAUREL_WEBHOOK_ALLOW_CIDR: "127.0.0.0/8",
      // Of each of the partitions; `npm run torture -- --cluster` takes them ten times as often.
      LAUREL_SNAPSHOT_INTERVAL: "1 second",
    }
    const url = await postgres.schema("cluster")
    cluster = await startCluster(url, 2, settings, limits.clusterPartitions)
    // As if a server of a newer version had begun an upgrade: all starts below are beside it.
    await postgres.query("UPDATE laurel_schema SET version = version + 1", "cluster")
    load = new Loads(
      loadedPartitions.map((partition) => cluster.load(3, { partition, restMs: 300 })),
    )
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

  it("gives each of them its share of the partitions, which all have their own project's data", async () => {
    const shares = await cluster.evenShares()
    expect(shares.flat().length).toBe(limits.clusterPartitions)
    const connection = new PgConnection({ url: postgres.urlOf("cluster") })
    const { partitions } = await Effect.runPromise(readClusterStatus(connection))
    await Effect.runPromise(connection.close)
    // Beside the record with which a partition begins.
    expect(partitions.filter(({ records }) => records < 2)).toEqual([])
    await load.progress(20)
    expect(load.faults).toEqual([])
  })

  it("has what was made at one of them at the other, in each partition", async () => {
    const [one, other] = cluster.runners as [Runner, Runner]
    for (const [index, key] of cluster.keys.entries()) {
      const isOdd = index % 2 === 1
      await expectUsable(cluster.projects[index]!, key, isOdd ? one : other, isOdd ? other : one)
    }
    await expectNewProject("made-at-one", one, other)
    await expectNewProject("made-at-other", other, one)
    const owner = await ownerOf(cluster.runners)
    const browser = await setUpOwner(one, owner.directory)
    await expectPages(browser, cluster.runners, cluster.projects)
  })

  it("takes commands beside each of them, or names the owner", async () => {
    // The owner may change in between, on a machine that stands still for a while.
    const besideOther = async (args: ReadonlyArray<string>) => {
      const owner = await ownerOf(cluster.runners)
      const [other] = others(owner)
      const running = other!.run(args)
      return { code: await running.ended, owner, other: other!, running }
    }
    const create = "keys create --project beside --environment sandbox --json".split(" ")
    const { key, url } = await eventually("a key made beside another server", async () => {
      const { code, other, running } = await besideOther(create)
      return code === 0
        ? { ...(JSON.parse(running.stdout) as { key: string }), url: other.url }
        : undefined
    })
    await eventually("a read with it", async () =>
      (await ask(url, key, "/v1/leaderboard")).status === 200 ? true : undefined,
    )
    const verify = "snapshots verify --partition 1".split(" ")
    await eventually("a refusal that names the owner", async () => {
      const { code, owner, running } = await besideOther(verify)
      const words = `The server ${owner.internal} of the cluster owns partition 1.`
      return code === 66 && running.stderr.includes(words) ? true : undefined
    })
    const json = (args: string) => besideOther(`${args} --partition 1 --json`.split(" "))
    await eventually("an archive that the owner alone has", async () => {
      const created = await json("snapshots create")
      if (created.code !== 0) return undefined
      const { id } = JSON.parse(created.running.stdout) as { id: string }
      const { running } = await json("snapshots list")
      const listed = JSON.parse(running.stdout) as ReadonlyArray<ArchiveDetails>
      const { folder, server } = listed.find((archive) => archive.id === id) ?? {}
      const { code, owner, running: verify } = await json(`snapshots verify ${id}`)
      const words = `The server ${owner.internal} of the cluster has archive ${id} of partition 1, in ${owner.directory}`
      const isNamed = folder === null && server === owner.internal && verify.stderr.includes(words)
      return code === 66 && isNamed ? true : undefined
    })
  })

  it("refuses a runner with the address of another one", async () => {
    const twin = await cluster.runners[0]!.twin()
    await expect(twin.start()).rejects.toThrow(/has the address .* LAUREL_CLUSTER_ADDRESS/)
    expect(await twin.process.ended).toBe(78)
    await twin.remove()
  })

  it("refuses a runner with another expiration of locks: it could show stale data", async () => {
    const runner = await Runner.make({
      LAUREL_CLUSTER: postgres.urlOf("cluster"),
      LAUREL_CLUSTER_LOCK_EXPIRATION: "4 seconds",
    })
    await expect(runner.start()).rejects.toThrow(
      /The server 127\.0\.0\.1:\d+ of the cluster runs with .* 3000 ms, this one has 4000 ms/,
    )
    expect(await runner.process.ended).toBe(78)
    await runner.remove()
  })

  it("refuses a runner that does not know the format in force", async () => {
    const url = await postgres.schema("newer")
    const connection = new PgConnection({ url })
    await Effect.runPromise(Effect.ensuring(migrate(connection), connection.close))
    await postgres.query(
      `INSERT INTO laurel_partition (id, lineage, epoch, owner, last, checksum, format)
      VALUES (1, 'lineage', 1, 'newer', 0, 0, ${newestFormat + 1})`,
      "newer",
    )
    const old = await Runner.make({ LAUREL_CLUSTER: url })
    await expect(old.start()).rejects.toThrow(/writes format .* made by a newer Laurel/)
    expect(await old.process.ended).toBe(78)
    await old.remove()
  })

  /** The follower takes over with the engine that it has, and the former owner follows it. */
  const endsOwner = async (signal: NodeJS.Signals): Promise<End> => {
    const owner = await ownerOf(cluster.runners)
    const [other] = others(owner)
    // On a slow machine some of them have moved to the other runner meanwhile.
    for (const partition of await owner.served()) {
      await eventually("a follower, or the owner", async () => {
        const isThere =
          (await other!.follows(partition)) || (await other!.served()).includes(partition)
        return isThere || undefined
      })
    }
    const end = await owner.end(signal)
    await load.progress(100)
    expect(await other!.process.heard(/"Serves the partition".*"followed":true/)).toBe(true)
    await owner.start()
    await followed(owner)
    expect(load.faults).toEqual([])
    return end
  }

  it("hands over to the follower at SIGTERM, and ends with 0", async () => {
    expect(await endsOwner("SIGTERM")).toBe(0)
  })

  it("goes on with the follower after kill -9 of the owner", async () => {
    await endsOwner("SIGKILL")
  })

  it("says who owns and who follows, how far, with which version, and how many requests are forwarded", async () => {
    const connection = new PgConnection({ url: postgres.urlOf("cluster") })
    const runners = cluster.runners.map(({ internal }) => internal).sort()
    const { followers, runners: listed } = await eventually("an owner and a follower", async () => {
      const status = await Effect.runPromise(readClusterStatus(connection))
      const [{ owner }] = status.partitions as [PartitionStatus]
      const followers = status.followers.filter(({ partition }) => partition === 1)
      const found = [owner, ...followers.map(({ address }) => address)].sort()
      const share = status.forwardedShare ?? 0
      return isDeepStrictEqual(found, runners) && share > 0 ? status : undefined
    })
    const known = listed.map(({ format, version }) => ({ format, version }))
    expect(known).toEqual(runners.map(() => ({ format: newestFormat, version })))
    await Effect.runPromise(connection.close)
    expect(followers[0]).toMatchObject({ partition: 1 })
    expect(followers[0]!.lagSeconds).toBeLessThan(waitMs / 1_000)
    expect(followers[0]!.behindRecords).toBeLessThan(load.total)
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
    for (const each of load.all) await cluster.expectBoard(each)
    expect(load.faults).toEqual([])
  })
})
