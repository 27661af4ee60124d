/**
 * Decides which runner has which partition: all of Effect Cluster that Laurel uses, in one file, since it is marked unstable
 * upstream.
 *
 * - A partition is one singleton. Its name gets a salt that leads to the partition's own shard, so that the hash ring spreads
 *   partitions evenly.
 * - A shard is held by an advisory lock of one PostgreSQL session a runner. `run` is interrupted before the lock is given
 *   away, and when the lock may be lost: then another runner can have the partition already. So the lock decides only who
 *   tries; the fence (`storage/postgres/PgJournal.ts`) decides who writes.
 * - A partition moves only when its owner is gone: the owner's row was removed, as at an end in order, or is older than
 *   `lockExpirationMs`. Effect Cluster itself would move it with each runner that joins or comes back, since the hash ring
 *   of all runners decides; each move is a pause for all callers. So each runner sees itself alone in the ring and wants every
 *   partition, and may ask for the lock of those alone whose last owner, as the fence has it, is gone (`free`).
 * - A runner that has the lock and cannot serve gives it away (`givesAway`), for which it also ceases to be the owner in the
 *   fence: others see nobody to wait for. Where it gives it to a runner that has fewer partitions (`Shares.ts`), the
 *   fence has that one as the owner, before it claims: all but that one wait.
 * - A runner is dead when its row is older than `lockExpirationMs`, or later than now by as much: PostgreSQL's clock was set
 *   back, and nobody has renewed the row since. Runners talk to each other through PostgreSQL alone: no
 *   messages, no ping, so no port of Effect Cluster is open. `address` is a runner's name.
 *
 * A singleton whose effect fails is not run again until its shard moves, without a line in the log: `run` never fails.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Cause, Effect, Equal, Fiber, Layer, Option, Redacted, type Scope } from "effect"
import { PersistenceError } from "effect/cluster/ClusterError"
import * as EntityId from "effect/cluster/EntityId"
import * as MessageStorage from "effect/cluster/MessageStorage"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as RunnerHealth from "effect/cluster/RunnerHealth"
import * as RunnerStorage from "effect/cluster/RunnerStorage"
import * as Runners from "effect/cluster/Runners"
import type * as ShardId from "effect/cluster/ShardId"
import * as Sharding from "effect/cluster/Sharding"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as Singleton from "effect/cluster/Singleton"
import * as SqlRunnerStorage from "effect/cluster/SqlRunnerStorage"
import * as SqlClient from "effect/sql/SqlClient"
import { limits } from "../Limits.ts"
import { silentSecondsText, tablePrefix } from "./status.ts"

export interface PlacementOptions {
  readonly url: string
  /** Unique in the cluster. */
  readonly address: { readonly host: string; readonly port: number }
  /** The same on all runners, for ever. */
  readonly partitions: number
  readonly lockExpirationMs: number
  /** Whether this runner, which has `held` others, may take a partition whose owner is gone: one that follows it goes first. */
  readonly mayTake: (partition: number, held: number) => boolean
  /** The runner to which this one gives the lock of a partition, `anyRunner` where it cannot serve it; `undefined`: it keeps it. */
  readonly givesAway: (partition: number) => string | undefined
  readonly gaveAway: (partition: number, heir: string) => void
  /** Runs while this runner has the lock of a partition, 1 and up. */
  readonly run: (partition: number) => Effect.Effect<never, never, Scope.Scope>
}

export const anyRunner = ""

const nameOf = (sharding: Sharding.Sharding["Service"], partition: number): string => {
  for (let salt = 0; ; salt++) {
    const name = `partition-${partition}.${salt}`
    if (sharding.getShardId(EntityId.make(name), "default").id === partition) return name
  }
}

/** The prefix names the locks, too, which belong to the whole database: clusters in other schemas have others. */
const runnerStorage = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const [row] = yield* sql<{ schema: string }>`SELECT current_schema() AS schema`
  return SqlRunnerStorage.layerWith({ prefix: `${row!.schema}.${tablePrefix}` })
})

const nameOfRunner = ({ host, port }: RunnerAddress.RunnerAddress): string => `${host}:${port}`

/** Of this runner. */
interface Presence {
  /** It takes no more partitions. */
  isLeaving: boolean
}

/** The storage of runners and locks, in which a partition stays where it is until its owner is gone. */
const staying = (options: PlacementOptions, presence: Presence) =>
  Layer.effect(
    RunnerStorage.RunnerStorage,
    Effect.gen(function* () {
      const { gaveAway, givesAway, lockExpirationMs, mayTake } = options
      const storage = yield* RunnerStorage.RunnerStorage
      const sql = yield* SqlClient.SqlClient
      const config = yield* ShardingConfig.ShardingConfig
      const silentSeconds = sql.literal(silentSecondsText)
      const taken = (address: string) =>
        PersistenceError.refail(sql<{ readonly id: number }>`
          SELECT p.id FROM laurel_partition p
          JOIN ${sql(`${tablePrefix}_runners`)} r ON r.address = p.owner
          WHERE p.owner <> ${address} AND ${silentSeconds} <= ${lockExpirationMs / 1_000}::float8`)
      const free = (address: string, shards: ReadonlyArray<ShardId.ShardId>) =>
        Effect.map(taken(address), (rows) => {
          const ids = new Set(rows.map(({ id }) => id))
          let count = holding.size
          return shards.filter(({ id }) => {
            const isFree = !ids.has(id) && mayTake(id, count)
            if (isFree) count++
            return isFree
          })
        })
      /** The partitions whose locks this runner has. */
      const holding = new Set<number>()
      /** The partitions that this runner is giving away, and to whom. */
      const leaving = new Map<number, string>()
      /** How often it gave one away. */
      let given = 0
      /** The fence may have this runner as the owner already: as long as it has, no other runner asks for the lock. */
      const disown = (address: string, id: number, heir: string) =>
        PersistenceError.refail(
          sql`UPDATE laurel_partition SET owner = ${heir} WHERE id = ${id} AND owner = ${address}`,
        )
      return RunnerStorage.RunnerStorage.of({
        ...storage,
        // A lock that is not confirmed is released, once `run` has ended.
        refresh: (address, shardIds) =>
          Effect.gen(function* () {
            const held = yield* storage.refresh(address, shardIds)
            for (const { id } of held) {
              const heir = leaving.has(id) ? undefined : givesAway(id)
              if (heir === undefined) continue
              leaving.set(id, heir)
              given++
              gaveAway(id, heir)
              yield* Effect.annotateLogs(leavingLine(heir), { partition: id })
            }
            return held.filter(({ id }) => !leaving.has(id))
          }),
        release: (address, shard) =>
          Effect.gen(function* () {
            const heir = leaving.get(shard.id)
            if (heir !== undefined) yield* disown(nameOfRunner(address), shard.id, heir)
            yield* storage.release(address, shard)
            holding.delete(shard.id)
            leaving.delete(shard.id)
          }),
        releaseAll: (address) =>
          Effect.andThen(
            storage.releaseAll(address),
            Effect.sync(() => {
              holding.clear()
              leaving.clear()
            }),
          ),
        getRunners: Effect.map(storage.getRunners, (runners) =>
          runners.filter(([{ address }]) =>
            Option.exists(config.runnerAddress, (own) => Equal.equals(own, address)),
          ),
        ),
        acquire: (address, shardIds) =>
          Effect.gen(function* () {
            const wanted = [...shardIds]
            // Effect Cluster pauses for a second after each answer: too long for callers that wait for a new owner. It ends
            // an attempt itself, and asks again, after a third of the expiration.
            // It releases what was given away once this has ended.
            const before = given
            while (!presence.isLeaving && given === before) {
              const shards = yield* free(nameOfRunner(address), wanted)
              if (shards.length > 0) {
                const acquired = yield* storage.acquire(address, shards)
                for (const { id } of acquired) holding.add(id)
                return acquired
              }
              yield* Effect.sleep(limits.clusterAssignmentsMs)
            }
            return []
          }),
      })
    }),
  )

const leavingLine = (heir: string): Effect.Effect<void> =>
  heir === anyRunner
    ? Effect.logWarning(
        "This runner cannot open a partition; it leaves the partition to the others",
      )
    : Effect.annotateLogs(Effect.logInfo("This runner gives a partition to one that has fewer"), {
        heir,
      })

const layerOf = (options: PlacementOptions, presence: Presence) => {
  const { address, lockExpirationMs, partitions, run, url } = options
  const config = ShardingConfig.layer({
    runnerAddress: Option.some(RunnerAddress.make(address.host, address.port)),
    shardsPerGroup: partitions,
    shardLockExpiration: lockExpirationMs,
    shardLockRefreshInterval: lockExpirationMs * 0.3,
    // How soon a shard is tried again, after a failure too.
    entityMessagePollInterval: limits.clusterRetryMs,
    refreshAssignmentsInterval: Math.min(limits.clusterAssignmentsMs, lockExpirationMs / 3),
  })
  const runners = staying(options, presence).pipe(
    Layer.provide(Layer.unwrap(runnerStorage)),
    Layer.provide(
      PgClient.layer({
        url: Redacted.make(url),
        maxConnections: limits.clusterConnectionsMax,
        applicationName: "laurel placement",
        // Signs of life are local times: in a zone with summer time, an hour of them is missing or comes twice.
        startupParameters: { timezone: "UTC" },
      }),
    ),
  )
  const cluster = Sharding.layer.pipe(
    Layer.provide([Runners.layerNoop, RunnerHealth.layerNoop, runners]),
    Layer.provide(MessageStorage.layerNoop),
    Layer.provide(config),
  )
  const singletons = Layer.unwrap(
    Effect.map(Sharding.Sharding, (sharding) =>
      Array.from({ length: partitions }, (_, index) =>
        Singleton.make(nameOf(sharding, index + 1), run(index + 1)),
      ).reduce((all, one) => Layer.merge(all, one)),
    ),
  )
  return Layer.provide(singletons, cluster)
}

/** Takes part in the cluster until the scope closes, which hands all partitions over, or gives that up without PostgreSQL. */
export const takePart = (options: PlacementOptions): Effect.Effect<void, never, Scope.Scope> =>
  Effect.suspend(() => {
    const presence = { isLeaving: false }
    return Effect.asVoid(
      Effect.acquireRelease(Effect.forkDetach(stayIn(options, presence)), (fiber) =>
        Effect.sync(() => {
          presence.isLeaving = true
          fiber.interruptUnsafe()
        }).pipe(
          Effect.andThen(Fiber.await(fiber)),
          Effect.interruptible,
          Effect.timeoutOption(limits.clusterLeaveMs),
        ),
      ),
    )
  })

/** Joins again after a failure. */
const stayIn = (options: PlacementOptions, presence: Presence): Effect.Effect<never> =>
  Layer.launch(layerOf(options, presence)).pipe(
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.logWarning("Joining the cluster failed; the next attempt follows").pipe(
            Effect.annotateLogs({ cause: Cause.pretty(cause) }),
          ),
    ),
    Effect.andThen(Effect.sleep(limits.clusterRetryMs)),
    Effect.forever,
  )
