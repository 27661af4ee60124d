/**
 * Decides which runner has which partition: all of Effect Cluster that Laurel uses, in one file, since it is marked unstable
 * upstream.
 *
 * - A partition is one singleton. Its name gets a salt that leads to the partition's own shard, so that the hash ring spreads
 *   partitions evenly.
 * - A shard is held by an advisory lock of one PostgreSQL session a runner. `run` is interrupted before the lock is given
 *   away, and when the lock may be lost: then another runner can have the partition already. So the lock decides only who
 *   tries; the fence (`storage/postgres/PgJournal.ts`) decides who writes.
 * - A runner is dead when its row is older than `lockExpirationMs`. Runners talk to each other through PostgreSQL alone: no
 *   messages, no ping, so no port of Effect Cluster is open. `address` is a runner's name.
 *
 * A singleton whose effect fails is not run again until its shard moves, without a line in the log: `run` never fails.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Cause, Effect, Fiber, Layer, Option, Redacted, type Scope } from "effect"
import * as EntityId from "effect/cluster/EntityId"
import * as MessageStorage from "effect/cluster/MessageStorage"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as RunnerHealth from "effect/cluster/RunnerHealth"
import * as Runners from "effect/cluster/Runners"
import * as Sharding from "effect/cluster/Sharding"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as Singleton from "effect/cluster/Singleton"
import * as SqlRunnerStorage from "effect/cluster/SqlRunnerStorage"
import { limits } from "../Limits.ts"
import { tablePrefix } from "./status.ts"

export interface PlacementOptions {
  readonly url: string
  /** Unique in the cluster. */
  readonly address: { readonly host: string; readonly port: number }
  /** The same on all runners, for ever. */
  readonly partitions: number
  readonly lockExpirationMs: number
  /** Runs while this runner has the lock of a partition, 1 and up. */
  readonly run: (partition: number) => Effect.Effect<never, never, Scope.Scope>
}

const nameOf = (sharding: Sharding.Sharding["Service"], partition: number): string => {
  for (let salt = 0; ; salt++) {
    const name = `partition-${partition}.${salt}`
    if (sharding.getShardId(EntityId.make(name), "default").id === partition) return name
  }
}

const layerOf = (options: PlacementOptions) => {
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
  const runners = SqlRunnerStorage.layerWith({ prefix: tablePrefix }).pipe(
    Layer.provide(
      PgClient.layer({
        url: Redacted.make(url),
        maxConnections: limits.clusterConnectionsMax,
        applicationName: "laurel placement",
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
  Effect.asVoid(
    Effect.acquireRelease(Effect.forkDetach(stayIn(options)), (fiber) =>
      Effect.sync(() => fiber.interruptUnsafe()).pipe(
        Effect.andThen(Fiber.await(fiber)),
        Effect.interruptible,
        Effect.timeoutOption(limits.clusterLeaveMs),
      ),
    ),
  )

/** Joins again after a failure. */
const stayIn = (options: PlacementOptions): Effect.Effect<never> =>
  Layer.launch(layerOf(options)).pipe(
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
