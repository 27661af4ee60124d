/**
 * Which runner has the partition while runners join and leave. The sessions of PostgreSQL are real,
 * and the test writes claims as an owner does.
 */
import { Deferred, Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { openOwners } from "../../src/cluster/Owners.ts"
import { anyRunner, type PlacementOptions, takePart } from "../../src/cluster/Placement.ts"
import { clusterStatusAt } from "../../src/cluster/status.ts"
import { limits } from "../../src/Limits.ts"
import { PgConnection } from "../../src/storage/postgres/PgConnection.ts"
import { migrate } from "../../src/storage/postgres/schema.ts"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { Link } from "./Link.ts"
import { eventually } from "./Runner.ts"

let postgres: Postgres
let url: string

beforeAll(async () => {
  postgres = await Postgres.make()
  url = await postgres.schema("placement")
  const connection = new PgConnection({ url })
  await Effect.runPromise(Effect.ensuring(migrate(connection), connection.close))
})
afterAll(() => postgres.remove())

const query = (text: string) => postgres.query(text, "placement")

/** What happened to the partition, in order. */
const happened: Array<string> = []

const join = async (
  port: number,
  given?: { away: string | undefined; retry: boolean },
  more: Partial<PlacementOptions> = {},
) => {
  const scope = await Effect.runPromise(Scope.make())
  const claim = `INSERT INTO laurel_partition VALUES (1, 'x', 1, '127.0.0.1:${port}', 0, 0)
    ON CONFLICT (id) DO UPDATE SET epoch = laurel_partition.epoch + 1, owner = EXCLUDED.owner`
  const run = Effect.acquireRelease(
    Effect.promise(async () => {
      await query(claim)
      happened.push(`${port} has it`)
    }),
    () => Effect.sync(() => happened.push(`${port} gave it away`)),
  ).pipe(Effect.andThen(Effect.never))
  const part = takePart({
    url,
    address: { host: "127.0.0.1", port },
    partitions: 1,
    lockExpirationMs: 10_000,
    mayTake: () => given?.retry ?? true,
    givesAway: () => given?.away,
    gaveAway: (_, heir) => {
      happened.push(heir === anyRunner ? `${port} cannot serve it` : `${port} gives it to ${heir}`)
    },
    run: () => run,
    ...more,
  })
  await Effect.runPromise(Scope.provide(part, scope))
  return () => Effect.runPromise(Scope.close(scope, Exit.void))
}

const heartbeats = async (ports: ReadonlyArray<number>): Promise<ReadonlyArray<string>> => {
  const rows = await query(
    "SELECT address, last_heartbeat::text AS at FROM laurel_cluster_runners ORDER BY address",
  )
  return rows
    .filter(({ address }) => ports.some((port) => address === `127.0.0.1:${port}`))
    .map(({ at }) => String(at))
}

/**
 * All of them have joined, and each has renewed its heartbeat since: it has looked for others ten
 * times meanwhile.
 */
const settled = async (ports: ReadonlyArray<number>): Promise<void> => {
  const before = await eventually("all runners", async () => {
    const found = await heartbeats(ports)
    return found.length === ports.length ? found : undefined
  })
  await eventually("a heartbeat of each", async () => {
    const now = await heartbeats(ports)
    return now.every((at, index) => at !== before[index]) || undefined
  })
}

const has = (port: number) =>
  eventually(`${port} has it`, async () => happened.at(-1) === `${port} has it` || undefined)

describe("The partition", () => {
  it("stays with its owner while runners join, and does not return to a former owner", async () => {
    const first = await join(1_001)
    await has(1_001)
    // By the hash of the addresses one of these many would have it.
    const others = [1_002, 1_003, 1_004, 1_005, 1_006, 1_007]
    const leaves = await Promise.all(others.map((port) => join(port)))
    await settled([1_001, ...others])
    expect(happened).toEqual(["1001 has it"])

    await first()
    const owner = await eventually("a new owner", async () => {
      const [port] = /^\d+(?= has it)/.exec(happened.at(-1)!) ?? []
      return happened.length > 2 && port !== undefined ? Number(port) : undefined
    })
    expect(happened).toEqual(["1001 has it", "1001 gave it away", `${owner} has it`])
    const again = await join(1_001)
    await settled([1_001, ...others])
    expect(happened.length).toBe(3)

    await Promise.all(leaves.filter((_, index) => others[index] !== owner).map((leave) => leave()))
    expect(happened.length).toBe(3)
    await leaves[others.indexOf(owner)]!()
    await has(1_001)
    await again()
  })

  // The clock of PostgreSQL's machine was set back after the owner had died.
  it("does not wait for an owner whose last heartbeat is in the future", async () => {
    const first = await join(1_001)
    await has(1_001)
    await first()
    await query(`INSERT INTO laurel_cluster_runners (address, runner, last_heartbeat)
      SELECT owner, '{}', now() AT TIME ZONE 'UTC' + INTERVAL '1 hour' FROM laurel_partition`)
    const second = await join(1_002)
    await has(1_002)
    await second()
  })
})

describe("While PostgreSQL answers late", () => {
  it("the owner keeps the partition, and other runners do not ask for it", async () => {
    happened.length = 0
    const lockExpirationMs = 5_000
    const link = await Link.to(postgres.port)
    const slow = { url: postgres.urlOf("placement", link.port), lockExpirationMs }
    const first = await join(1_001, undefined, slow)
    await has(1_001)
    const second = await join(1_002, undefined, { lockExpirationMs })
    // Longer than Effect Cluster waits, for two answers.
    link.delayMs = lockExpirationMs / 5
    for (let times = 0; times < 3; times++) await settled([1_001, 1_002])
    expect(happened).toEqual(["1001 has it"])
    link.delayMs = 0
    await second()
    await first()
    await link.close()
  })
})

describe("A partition whose lock was lost", () => {
  it("is taken again by its runner, which meanwhile waits for another partition", async () => {
    happened.length = 0
    const mayTake = (partition: number) => partition === 1
    const leave = await join(1_001, undefined, { partitions: 2, mayTake })
    await has(1_001)
    // It has begun to ask for the second one alone.
    await settled([1_001])
    await query("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
    await eventually("its loss", async () => happened.length > 1 || undefined)
    await has(1_001)
    expect(happened).toEqual(["1001 has it", "1001 gave it away", "1001 has it"])
    await leave()
  })
})

describe("A runner that leaves", () => {
  const partitions = limits.clusterPartitions

  /** A runner that has all of many partitions. */
  const joinAll = async (more: Partial<PlacementOptions> = {}) => {
    const running = new Set<number>()
    const run = (partition: number) =>
      Effect.acquireRelease(
        Effect.sync(() => running.add(partition)),
        () => Effect.sync(() => running.delete(partition)),
      ).pipe(Effect.andThen(Effect.never))
    const leave = await join(1_001, undefined, { partitions, run, ...more })
    await eventually("all partitions", async () => running.size === partitions || undefined)
    return { leave, running }
  }

  it("has released all locks when the other runners see that it is gone", async () => {
    await query("CREATE TABLE left_with (locks int)")
    await query(`CREATE FUNCTION leaves() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO left_with SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2;
      RETURN OLD;
    END $$`)
    await query(`CREATE TRIGGER leaves BEFORE DELETE ON laurel_cluster_runners
      FOR EACH ROW EXECUTE FUNCTION leaves()`)
    const { leave, running } = await joinAll()
    await leave()
    expect([running.size, await query("SELECT * FROM left_with")]).toEqual([0, [{ locks: 0 }]])
    await query("DROP TRIGGER leaves ON laurel_cluster_runners")
  })

  it("leaves in time while PostgreSQL answers late: one statement releases all locks", async () => {
    const link = await Link.to(postgres.port)
    const { leave } = await joinAll({ url: postgres.urlOf("placement", link.port) })
    // One by one the locks would take longer than a runner waits.
    link.delayMs = (1.25 * limits.clusterLeaveMs) / partitions
    await leave()
    expect(await heartbeats([1_001])).toEqual([])
    await link.close()
  })
})

describe("A partition that its runner cannot open", () => {
  it("goes to another runner, although the fence had the first runner as its owner", async () => {
    happened.length = 0
    const given = { away: undefined as string | undefined, retry: true }
    const first = await join(1_001, given)
    await has(1_001)
    const second = await join(1_002)
    await settled([1_001, 1_002])
    expect(happened).toEqual(["1001 has it"])
    given.away = anyRunner
    given.retry = false
    await has(1_002)
    expect(happened).toEqual([
      "1001 has it",
      "1001 cannot serve it",
      "1001 gave it away",
      "1002 has it",
    ])
    await second()
    await first()
  })
})

describe("A partition that moves", () => {
  it("goes to its heir, although other runners would take it as well", async () => {
    happened.length = 0
    const given = { away: undefined as string | undefined, retry: true }
    const first = await join(1_001, given)
    await has(1_001)
    const others = [1_002, 1_003, 1_004, 1_005]
    const leaves = await Promise.all(others.map((port) => join(port)))
    await settled([1_001, ...others])
    given.away = "127.0.0.1:1004"
    await has(1_004)
    // Its former owner would take it again now.
    given.away = undefined
    await settled([1_001, ...others])
    expect(happened).toEqual([
      "1001 has it",
      "1001 gives it to 127.0.0.1:1004",
      "1001 gave it away",
      "1004 has it",
    ])
    await Promise.all(
      [first, ...leaves.filter((_, index) => others[index] !== 1_004)].map((leave) => leave()),
    )
    await leaves[others.indexOf(1_004)]!()
  })
})

describe("Clusters", () => {
  const lockExpirationMs = 3_000

  /** Ends when this runner has the partition. */
  const owning = (url: string) =>
    Effect.gen(function* () {
      const connection = new PgConnection({ url })
      yield* Effect.ensuring(migrate(connection), connection.close)
      const has = yield* Deferred.make<void>()
      const run = () => Effect.andThen(Deferred.succeed(has, undefined), Effect.never)
      const address = { host: "127.0.0.1", port: 1_001 }
      yield* openOwners({ url, address: "127.0.0.1:1001", lockExpirationMs })
      const part = { url, address, partitions: 1, lockExpirationMs, mayTake: () => true, run }
      yield* takePart({ ...part, givesAway: () => undefined, gaveAway: () => {} })
      yield* Deferred.await(has)
    })

  it("in schemas of one database have locks and addresses of their own", async () => {
    const urls = [await postgres.schema("one"), await postgres.schema("Another-one")]
    await Effect.runPromise(Effect.scoped(Effect.forEach(urls, owning)))
  })

  // A server's time zone may have summer time: an hour of local time that is missing, or comes
  // twice.
  it("keep heartbeats in UTC", async () => {
    const url = await postgres.schema("zone")
    await postgres.query("ALTER DATABASE postgres SET timezone = 'America/New_York'")
    const { age, status } = await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          yield* owning(url)
          const status = yield* clusterStatusAt(url)
          const text =
            "SELECT extract(epoch FROM now() AT TIME ZONE 'UTC' - last_heartbeat)::float8 AS age FROM laurel_cluster_runners"
          const [row] = yield* Effect.promise(() => postgres.query(text, "zone"))
          return { age: Number(row!.age), status }
        }),
      ),
    )
    expect(Math.abs(age)).toBeLessThan(600)
    expect(status.runners[0]!.silentSeconds).toBeLessThan(600)
  })

  it("count a heartbeat as old by its distance to now, also in the future, after PostgreSQL's clock was set back", async () => {
    const url = await postgres.schema("future")
    await postgres.query(
      "CREATE TABLE laurel_cluster_runners (address text, last_heartbeat timestamp)",
      "future",
    )
    await postgres.query(
      "INSERT INTO laurel_cluster_runners VALUES ('lost', now() AT TIME ZONE 'UTC' + interval '1 hour')",
      "future",
    )
    const { runners } = await Effect.runPromise(clusterStatusAt(url))
    expect(runners[0]!.silentSeconds).toBeGreaterThan(3_000)
  })
})
