/**
 * The locks of a runner in a real PostgreSQL, while they are confirmed late, lost, or requested by
 * others.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted } from "effect"
import * as Runner from "effect/cluster/Runner"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as ShardId from "effect/cluster/ShardId"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as SqlRunnerStorage from "effect/cluster/SqlRunnerStorage"
import { lockPrefix, RunnerLocks } from "../../src/cluster/RunnerLocks.ts"
import { limits } from "../../src/Limits.ts"
import { PgConnection } from "../../src/storage/postgres/PgConnection.ts"
import { PgJournal } from "../../src/storage/postgres/PgJournal.ts"
import { openSessions } from "../../src/storage/postgres/PgPool.ts"
import { migrate } from "../../src/storage/postgres/schema.ts"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { Link } from "./Link.ts"
import { eventually } from "./Runner.ts"

const lockExpirationMs = 10_000
const heldMs = lockExpirationMs * limits.lockHeldShare

let server: Postgres
let link: Link
let schemas = 0
beforeAll(async () => {
  server = await Postgres.make()
  link = await Link.to(server.port)
})
afterAll(async () => {
  await link.close()
  await server.remove()
})

const schema = () => `locks_${schemas}`
const query = (text: string) => Effect.promise(() => server.query(text, schema()))

/** Effect Cluster's own storage, with the tables. */
const theirs = Effect.gen(function* () {
  schemas++
  const url = yield* Effect.promise(() => server.schema(schema()))
  const connection = new PgConnection({ url })
  yield* Effect.ensuring(migrate(connection), connection.close)
  const config = ShardingConfig.layer({
    shardsPerGroup: limits.clusterPartitions,
    shardLockExpiration: lockExpirationMs,
  })
  const sql = PgClient.layer({ url: Redacted.make(url), maxConnections: 2 })
  const needs = yield* Layer.build(Layer.merge(config, sql))
  return yield* Effect.provide(SqlRunnerStorage.make({ prefix: lockPrefix(schema()) }), needs)
})

/** A runner that is registered. */
const runner = Effect.fnUntraced(function* (address: string, now = () => 0, port = server.port) {
  const url = server.urlOf(schema(), port)
  const locks = yield* RunnerLocks.open({ url, address, lockExpirationMs, now })
  yield* locks.register("{}")
  return locks
})

/** PostgreSQL ends the sessions that have locks of partitions. */
const endSessions = query(`SELECT pg_terminate_backend(pid, 60000) FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 2`)

/**
 * A runner with its journal of partition 1; `afterLook` comes after its first look for the lock.
 */
const claimant = Effect.fnUntraced(function* (address: string, afterLook = Effect.void) {
  const locks = yield* runner(address)
  const sessions = yield* openSessions({ url: server.urlOf(schema()) })
  let looks = 0
  const journal = new PgJournal({
    sessions,
    partition: 1,
    hasLock: (run) =>
      Effect.tap(locks.of(1).hasLock(run), () => (++looks === 1 ? afterLook : Effect.void)),
  })
  return { locks, journal, claim: journal.claim(address) }
})

/** Two runners with an empty partition 1, of which the first one has the lock. */
const rivals = Effect.fnUntraced(function* (isLostAfterLook = false) {
  yield* theirs
  const other = yield* claimant("127.0.0.1:3")
  const taken = Effect.gen(function* () {
    yield* endSessions
    expect(yield* other.locks.acquire([1])).toEqual([1])
  })
  const former = yield* claimant("127.0.0.1:2", isLostAfterLook ? Effect.orDie(taken) : Effect.void)
  yield* former.journal.create("lineage", () => Effect.void)
  expect(yield* former.locks.acquire([1])).toEqual([1])
  return { former, other, taken }
})

const owned = (partition: number, owner: string) =>
  query(`INSERT INTO laurel_partition VALUES (${partition}, 'x', 1, '${owner}', 0, 0)`)

describe("Locks", () => {
  it.live("are those of Effect Cluster's own storage, and so are heartbeats", () =>
    Effect.gen(function* () {
      const storage = yield* theirs
      const address = RunnerAddress.make("127.0.0.1", 1)
      const shards = [1, 2, 3].map((id) => ShardId.make("default", id))
      yield* storage.register(Runner.make({ address, groups: ["default"], weight: 1 }), true)
      expect((yield* storage.acquire(address, shards.slice(0, 2))).length).toBe(2)
      const locks = yield* runner("127.0.0.1:2")
      expect(yield* locks.acquire([1, 2, 3])).toEqual([3])
      expect(yield* locks.confirmed([1, 2, 3])).toEqual([3])
      expect(yield* storage.acquire(address, shards.slice(2))).toEqual([])
      yield* locks.release(3)
      expect((yield* storage.acquire(address, shards.slice(2))).length).toBe(1)
      yield* owned(1, "127.0.0.1:1")
      expect(yield* locks.free([1, 2])).toEqual([2])
    }),
  )

  it.live("are held while PostgreSQL is silent, for their share of the expiration alone", () =>
    Effect.gen(function* () {
      yield* theirs
      let now = 0
      const locks = yield* runner("127.0.0.1:2", () => now, link.port)
      yield* locks.acquire([1, 2])
      expect(yield* locks.confirmed([1, 2, 3])).toEqual([1, 2])
      link.set("silent")
      now = heldMs - 1
      expect(yield* locks.confirmed([1, 2])).toEqual([1, 2])
      now = heldMs
      expect([1, 2].map(locks.isHeld)).toEqual([false, false])
      const waiting = Effect.timeoutOption(locks.confirmed([1, 2]), 2 * limits.lockWaitShare)
      expect((yield* waiting)._tag).toBe("None")
      // What was asked in time counts from then on.
      link.set("open")
      yield* Effect.promise(() =>
        eventually("the late answer", async () => locks.isHeld(1) || undefined),
      )
      now = 2 * heldMs - 1
      expect(yield* locks.confirmed([1, 2])).toEqual([1, 2])
    }),
  )

  it.live("are lost with their session", () =>
    Effect.gen(function* () {
      yield* theirs
      const locks = yield* runner("127.0.0.1:2")
      yield* locks.acquire([1])
      yield* query("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
      yield* Effect.promise(() =>
        eventually("a new session", async () => {
          const exit = await Effect.runPromiseExit(locks.confirmed([1]))
          return (Exit.isSuccess(exit) && exit.value.length === 0) || undefined
        }),
      )
      expect(locks.isHeld(1)).toBe(false)
      const other = yield* runner("127.0.0.1:3")
      expect(yield* other.acquire([1])).toEqual([1])
    }),
  )

  it.live("count only with a heartbeat", () =>
    Effect.gen(function* () {
      yield* theirs
      const locks = yield* runner("127.0.0.1:2")
      yield* locks.acquire([1])
      yield* query("DELETE FROM laurel_cluster_runners")
      expect(yield* locks.isPresent).toBe(false)
      expect(yield* locks.confirmed([1])).toEqual([])
      expect(yield* locks.acquire([2])).toEqual([])
    }),
  )

  it.live("of owners that are silent are asked for, after an outage only when they had time", () =>
    Effect.gen(function* () {
      yield* theirs
      let now = 0
      const locks = yield* runner("127.0.0.1:2", () => now)
      yield* runner("127.0.0.1:3")
      yield* owned(1, "127.0.0.1:3")
      yield* locks.confirmed([])
      expect(yield* locks.free([1, 2])).toEqual([2])
      yield* query(`UPDATE laurel_cluster_runners SET last_heartbeat = '2000-01-01'
        WHERE address = '127.0.0.1:3'`)
      expect(yield* locks.free([1, 2])).toEqual([1, 2])
      now = heldMs
      expect(yield* locks.free([1, 2])).toEqual([2])
      yield* locks.confirmed([])
      now += lockExpirationMs * limits.lockGraceShare - 1
      yield* locks.confirmed([])
      expect(yield* locks.free([1, 2])).toEqual([2])
      now += 1
      expect(yield* locks.free([1, 2])).toEqual([1, 2])
    }),
  )

  it.live("are released again if the owner has renewed its heartbeat since they were free", () =>
    Effect.gen(function* () {
      yield* theirs
      const [owner, other] = [yield* runner("127.0.0.1:2"), yield* runner("127.0.0.1:3")]
      yield* owned(1, "127.0.0.1:2")
      expect(yield* other.acquire([1])).toEqual([])
      expect(yield* owner.acquire([1])).toEqual([1])
    }),
  )

  it.live("are none where all were released meanwhile", () =>
    Effect.gen(function* () {
      yield* theirs
      const [one, other] = [yield* runner("127.0.0.1:2"), yield* runner("127.0.0.1:3")]
      yield* one.confirmed([])
      const both = [one.acquire([1]), one.releaseAll] as const
      const [acquired] = yield* Effect.all(both, { concurrency: "unbounded" })
      expect(acquired).toEqual([])
      expect(one.isHeld(1)).toBe(false)
      expect(yield* other.acquire([1])).toEqual([1])
    }),
  )
})

describe("A runner that has lost its lock without notice", () => {
  it.live("claims nothing: the runner that has the lock stays the owner", () =>
    Effect.gen(function* () {
      const { former, other, taken } = yield* rivals()
      yield* taken
      yield* other.claim
      expect(former.locks.isHeld(1)).toBe(true)
      expect(yield* Effect.flip(former.claim)).toMatchObject({ code: "lock", isOutage: true })
      expect(yield* other.journal.isOwner).toBe(true)
      yield* other.locks.release(1)
      yield* other.locks.disown(1, "")
      yield* former.locks.releaseAll.pipe(Effect.retry({ while: ({ isOutage }) => isOutage }))
      expect(yield* former.locks.acquire([1])).toEqual([1])
      yield* former.claim
      expect(yield* other.journal.isOwner).toBe(false)
    }),
  )

  it.live("does not serve where the lock was lost before its claim was committed", () =>
    Effect.gen(function* () {
      const { former, other } = yield* rivals(true)
      expect(yield* Effect.flip(former.claim)).toMatchObject({ code: "lock", isOutage: true })
      yield* other.claim
      expect(yield* other.journal.isOwner).toBe(true)
    }),
  )

  it.live("does not go on with a partition that it gave away", () =>
    Effect.gen(function* () {
      const { former, other, taken } = yield* rivals()
      yield* former.claim
      expect(yield* former.journal.resume).toBe(true)
      yield* former.locks.disown(1, "")
      yield* taken
      expect(yield* Effect.flip(former.journal.resume)).toMatchObject({ code: "lock" })
      yield* other.claim
      expect(yield* former.journal.resume).toBe(false)
    }),
  )
})
