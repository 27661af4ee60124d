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
 * - A runner that leaves removes its row once it has released all locks. Effect Cluster would remove the row first: others would
 *   take the locks that are free by then, and ask for the rest a second later, since Effect Cluster pauses after each answer.
 * - A runner is dead when its row is older than `lockExpirationMs`, or later than now by as much: PostgreSQL's clock was set
 *   back, and nobody has renewed the row since. Runners talk to each other through PostgreSQL alone: no
 *   messages, no ping, so no port of Effect Cluster is open. `address` is a runner's name.
 *
 * A singleton whose effect fails is not run again until its shard moves, without a line in the log: `run` never fails.
 */
import { Cause, Effect, Fiber, Layer, Option, type Scope } from "effect"
import { PersistenceError } from "effect/cluster/ClusterError"
import * as EntityId from "effect/cluster/EntityId"
import * as MachineId from "effect/cluster/MachineId"
import * as MessageStorage from "effect/cluster/MessageStorage"
import * as Runner from "effect/cluster/Runner"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as RunnerHealth from "effect/cluster/RunnerHealth"
import * as RunnerStorage from "effect/cluster/RunnerStorage"
import * as Runners from "effect/cluster/Runners"
import * as ShardId from "effect/cluster/ShardId"
import * as Sharding from "effect/cluster/Sharding"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as Singleton from "effect/cluster/Singleton"
import { limits } from "../Limits.ts"
import type { PgFailure } from "../storage/postgres/PgConnection.ts"
import { type PartitionLock, RunnerLocks } from "./RunnerLocks.ts"

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
  readonly run: (partition: number, lock: PartitionLock) => Effect.Effect<never, never, Scope.Scope>
}

export const anyRunner = ""

const nameOf = (sharding: Sharding.Sharding["Service"], partition: number): string => {
  for (let salt = 0; ; salt++) {
    const name = `partition-${partition}.${salt}`
    if (sharding.getShardId(EntityId.make(name), "default").id === partition) return name
  }
}

const nameOfRunner = ({ host, port }: PlacementOptions["address"]): string => `${host}:${port}`

/** Of this runner. */
interface Presence {
  /** It takes no more partitions. */
  isLeaving: boolean
}

const idsOf = (shards: Iterable<ShardId.ShardId>): ReadonlyArray<number> =>
  Array.from(shards, ({ id }) => id)
const shardsOf = (ids: ReadonlyArray<number>): Array<ShardId.ShardId> =>
  ids.map((id) => ShardId.make("default", id))

/** Effect Cluster logs it every few seconds of an outage: with the words alone, no stack. */
const refail = <A>(asked: Effect.Effect<A, PgFailure>): Effect.Effect<A, PersistenceError> =>
  PersistenceError.refail(Effect.mapError(asked, ({ words }) => words))

/** The storage of runners and locks, in which a partition stays where it is until its owner is gone. */
const staying = (
  options: PlacementOptions,
  presence: Presence,
  locks: RunnerLocks,
  scope: Scope.Scope,
) => {
  const { gaveAway, givesAway, mayTake } = options
  /** The partitions whose locks this runner has. */
  const holding = new Set<number>()
  /** The partitions that this runner is giving away, and to whom. */
  const leaving = new Map<number, string>()
  /** How often it gave one away. */
  let given = 0
  /** An attempt to take locks: it may take longer than Effect Cluster waits for one. */
  let attempt: Fiber.Fiber<ReadonlyArray<number>, PgFailure> | undefined
  /** The partitions that Effect Cluster asked for last: an attempt under way goes on with these. */
  let wanted: ReadonlyArray<number> = []
  const acquireFree = Effect.gen(function* () {
    // Effect Cluster pauses for a second after each answer: too long for callers that wait for a new owner.
    // It releases what was given away once this has ended.
    const before = given
    while (!presence.isLeaving && given === before) {
      const free = allowed(yield* locks.free(wanted))
      if (free.length > 0) {
        const acquired = yield* locks.acquire(free)
        for (const id of acquired) holding.add(id)
        return acquired
      }
      yield* Effect.sleep(limits.clusterAssignmentsMs)
    }
    return []
  })
  /** Once it is registered. */
  let runner: Runner.Runner | undefined
  /** Effect Cluster ends: `releaseAll`, its last call, releases the locks with one statement and removes the runner's row. */
  let isEnding = false
  const allowed = (free: ReadonlyArray<number>) => {
    let count = holding.size
    return free.filter((id) => {
      const isAllowed = mayTake(id, count)
      if (isAllowed) count++
      return isAllowed
    })
  }
  return RunnerStorage.RunnerStorage.of({
    register: (own) => {
      runner = own
      return refail(Effect.map(locks.register(Runner.Runner.encodeSync(own)), MachineId.make))
    },
    unregister: () =>
      Effect.sync(() => {
        isEnding = true
      }),
    // Alone in the ring, this runner wants every partition.
    getRunners: refail(
      Effect.map(locks.isPresent, (isPresent) =>
        isPresent && runner !== undefined ? [[runner, true]] : [],
      ),
    ),
    setRunnerHealth: () => Effect.void,
    // A lock that is not confirmed is released, once `run` has ended.
    refresh: (_, shards) =>
      Effect.gen(function* () {
        const held = yield* refail(locks.confirmed(idsOf(shards)))
        for (const id of held) {
          const heir = leaving.has(id) ? undefined : givesAway(id)
          if (heir === undefined) continue
          leaving.set(id, heir)
          given++
          gaveAway(id, heir)
          yield* Effect.annotateLogs(leavingLine(heir), { partition: id })
        }
        return shardsOf(held.filter((id) => !leaving.has(id)))
      }),
    release: (_, { id }) =>
      Effect.gen(function* () {
        const heir = leaving.get(id)
        if (heir !== undefined) yield* refail(locks.disown(id, heir))
        if (!isEnding) yield* refail(locks.release(id))
        holding.delete(id)
        leaving.delete(id)
      }),
    releaseAll: () =>
      Effect.gen(function* () {
        yield* refail(locks.releaseAll)
        holding.clear()
        leaving.clear()
        if (isEnding) yield* refail(locks.unregister)
      }),
    acquire: (_, shards) =>
      Effect.gen(function* () {
        wanted = idsOf(shards)
        attempt ??= yield* Effect.forkIn(acquireFree, scope)
        const ended = yield* Fiber.await(attempt)
        attempt = undefined
        const acquired = yield* refail(ended)
        return shardsOf(acquired.filter((id) => holding.has(id)))
      }),
  })
}

const leavingLine = (heir: string): Effect.Effect<void> =>
  heir === anyRunner
    ? Effect.logWarning("This server cannot open the partition; another server takes it over")
    : Effect.annotateLogs(Effect.logInfo("Rebalancing: moves a partition to another server"), {
        heir,
      })

const layerOf = (
  options: PlacementOptions,
  storage: RunnerStorage.RunnerStorage["Service"],
  locks: RunnerLocks,
) => {
  const { address, lockExpirationMs, partitions, run } = options
  const config = ShardingConfig.layer({
    runnerAddress: Option.some(RunnerAddress.make(address.host, address.port)),
    shardsPerGroup: partitions,
    shardLockExpiration: lockExpirationMs,
    shardLockRefreshInterval: lockExpirationMs * limits.lockRefreshShare,
    // How soon a shard is tried again, after a failure too.
    entityMessagePollInterval: limits.clusterRetryMs,
    refreshAssignmentsInterval: Math.min(limits.clusterAssignmentsMs, lockExpirationMs / 3),
  })
  const runners = Layer.succeed(RunnerStorage.RunnerStorage, storage)
  const cluster = Sharding.layer.pipe(
    Layer.provide([Runners.layerNoop, RunnerHealth.layerNoop, runners]),
    Layer.provide(MessageStorage.layerNoop),
    Layer.provide(config),
  )
  const singletons = Layer.unwrap(
    Effect.map(Sharding.Sharding, (sharding) =>
      Array.from({ length: partitions }, (_, index) => {
        const partition = index + 1
        return Singleton.make(nameOf(sharding, partition), run(partition, locks.of(partition)))
      }).reduce((all, one) => Layer.merge(all, one)),
    ),
  )
  return Layer.provide(singletons, cluster)
}

const joined = (options: PlacementOptions, presence: Presence) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { address, lockExpirationMs, url } = options
      const own = { url, address: nameOfRunner(address), lockExpirationMs }
      const locks = yield* RunnerLocks.open(own)
      return layerOf(options, staying(options, presence, locks, yield* Effect.scope), locks)
    }),
  )

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
  Layer.launch(joined(options, presence)).pipe(
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.logWarning("Joining the cluster failed; retrying").pipe(
            Effect.annotateLogs({ cause: Cause.pretty(cause) }),
          ),
    ),
    Effect.andThen(Effect.sleep(limits.clusterRetryMs)),
    Effect.forever,
  )
