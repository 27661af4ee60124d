/**
 * Two runners and a PostgreSQL, all real processes. Any runner accepts any request. Faults of the
 * owner lose no acknowledged write, apply none twice, and cause no stale read. `npm run torture --
 * --cluster` tests more faults. The tests share one cluster, since a start costs more than most of
 * them.
 */
import { isDeepStrictEqual } from "node:util"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { version } from "../../src/Build.ts"
import { type PartitionStatus, readClusterStatus } from "../../src/cluster/status.ts"
import { limits } from "../../src/Limits.ts"
import type { ArchiveDetails } from "../../src/storage/archive/ArchiveCatalog.ts"
import { dataFormat } from "../../src/storage/format.ts"
import { PgConnection } from "../../src/storage/postgres/PgConnection.ts"
import { migrate } from "../../src/storage/postgres/schema.ts"
import { setUpOwner } from "../e2e/owner.ts"
import { Postgres } from "../storage/postgres/Postgres.ts"
import type { End } from "../torture/ServerProcess.ts"
import { waitMs } from "../waitMs.ts"
import { action, ask } from "./Caller.ts"
import { Loads } from "./ClusterLoad.ts"
import { expectGoneBack } from "./goneBack.ts"
import { Inbox } from "./Inbox.ts"
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
      ...Inbox.settings,
      // For each partition. `npm run torture -- --cluster` takes snapshots much more often.
      LAUREL_SNAPSHOT_INTERVAL: "4 seconds",
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

  it("answers the same at each runner", async () => {
    await load.progress(100)
    expect(load.faults).toEqual([])
    const owner = await ownerOf(cluster.runners)
    const [other] = others(owner)
    expect(
      await other!.metric('laurel_cluster_forwarded_requests_total{outcome="answered"}'),
    ).toBeGreaterThan(0)
  })

  it("gives each runner its share of the partitions, and each partition has its own project's data", async () => {
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

  it("shows at one runner what was created at the other, in each partition", async () => {
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

  it("executes commands on the machine of each runner, or names the owner", async () => {
    // The owner may change in between, while the machine is paused.
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

  it("refuses a runner with another lock expiration, which could return stale reads", async () => {
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

  it.each([-1, 1])("refuses a runner whose format differs by %i", async (by) => {
    const schema = `format_${dataFormat + by}`
    const url = await postgres.schema(schema)
    const connection = new PgConnection({ url })
    await Effect.runPromise(Effect.ensuring(migrate(connection), connection.close))
    await postgres.query(
      `INSERT INTO laurel_partition (id, lineage, epoch, owner, last, checksum, format)
      VALUES (1, 'lineage', 1, 'other', 0, 0, ${dataFormat + by})`,
      schema,
    )
    const runner = await Runner.make({ LAUREL_CLUSTER: url })
    const words = `The cluster has format ${dataFormat + by}, and this version of Laurel has format ${dataFormat} alone`
    await expect(runner.start()).rejects.toThrow(words)
    expect(await runner.process.ended).toBe(78)
    await runner.remove()
  })

  /** The follower takes over with its open engine, and the former owner follows it. */
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

  it("continues with the follower after kill -9 of the owner", async () => {
    await endsOwner("SIGKILL")
  })

  it("reports owners, followers with their lag, versions, and the share of forwarded requests", async () => {
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
    expect(listed.map((runner) => runner.version)).toEqual(runners.map(() => version))
    await Effect.runPromise(connection.close)
    expect(followers[0]).toMatchObject({ partition: 1 })
    expect(followers[0]!.lagSeconds).toBeLessThan(waitMs / 1_000)
    expect(followers[0]!.behindRecords).toBeLessThan(load.total)
  })

  it("continues while the owner is paused, and the owner returns no stale read after it resumes", async () => {
    const owner = await ownerOf(cluster.runners)
    owner.signal("SIGSTOP")
    await ownerOf(others(owner))
    await load.progress(6)
    owner.signal("SIGCONT")
    await load.progress(100)
    expect(load.faults).toEqual([])
  })

  const send = async (url: string, key: string, target: string, body?: unknown) => {
    const reply = await fetch(url + target, {
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    })
    const { code } = (await reply.json()) as { readonly code?: string }
    return `${reply.status} ${code ?? ""}`
  }

  // A start that takes longer than the expiration makes each runner look dead: any runner may be
  // the first to take partitions when PostgreSQL is back.
  it("tells all callers of an outage of PostgreSQL, from the first write to the last read, and continues after it", async () => {
    const { runners } = cluster
    const keys = cluster.keys.slice(0, 2)
    for (const { url } of runners) {
      await eventually("readiness", async () => (await fetch(`${url}/readyz`)).ok || undefined)
    }
    await postgres.stop("SIGQUIT")
    const asked = () =>
      runners.flatMap(({ url }) =>
        keys.flatMap((key, index) => [
          send(url, key, "/v1/events", { userId: `u${index}`, action }),
          send(url, key, "/v1/events", { userId: `u${index}`, action, id: `${url}-${index}` }),
        ]),
      )
    // Some of these reach an engine before the outage is noticed, others find no owner.
    const first = asked()
    // Long enough for each runner to lose its locks, and for the owners to stop serving.
    await eventually("no owner", async () => {
      const served = await Promise.all(runners.map((runner) => runner.served()))
      return served.flat().length === 0 || undefined
    })
    const reads = runners.flatMap(({ url }) =>
      keys.map((key) => send(url, key, "/v1/leaderboard?window=daily")),
    )
    const replies = await Promise.all([...first, ...asked(), ...reads])
    expect(new Set(replies)).toEqual(new Set(["503 storage_unavailable"]))
    for (const { url } of runners) {
      const reply = await fetch(`${url}/readyz`)
      expect([reply.status, await reply.json()]).toMatchObject([
        503,
        { code: "storage_unavailable" },
      ])
    }
    await postgres.start()
    for (const { url } of runners) {
      await eventually("the end of the outage", async () => {
        const sent = await send(url, keys[1]!, "/v1/events", { userId: "after", action, id: url })
        return sent.startsWith("200") || undefined
      })
    }
    await load.progress(100)
    expect(load.faults).toEqual([])
  })

  // Last, since one runner has no archive from which it could follow the partition afterwards.
  it("restores one partition to an archive that only the other runner has, while the others notice nothing", async () => {
    const auditOf = async (words: string) => {
      const text = `SELECT 1 FROM laurel_audit WHERE position('${words}' IN convert_from(body, 'UTF8')) > 0`
      return (await postgres.query(text, "cluster")).length
    }
    await expectGoneBack(cluster, 3, auditOf)
    await load.progress(30)
    expect(load.faults).toEqual([])
  })

  it("has every acknowledged event once, also on the board", async () => {
    await load.stop()
    for (const each of load.all) await cluster.expectBoard(each)
    expect(load.faults).toEqual([])
  })
})
