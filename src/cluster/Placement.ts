/**
 * Decides which runner (a server of the cluster) has which partition. Effect Cluster is marked
 * unstable upstream, so Laurel uses it in this file only.
 *
 * - Each partition is one singleton of Effect Cluster and one shard. A salt in the singleton's name
 *   makes its hash select that shard.
 * - A shard has an advisory lock, which one PostgreSQL session of the runner holds. Effect Cluster
 *   interrupts `run` before it releases the lock, and also when the lock may be lost, because
 *   another runner may then have the partition already. The lock decides only which runner tries to
 *   serve the partition. The fence (`storage/postgres/PgJournal.ts`) decides which runner writes.
 * - A partition moves only when its owner is gone: the owner's row was deleted (an orderly end), or
 *   its heartbeat is older than `lockExpirationMs`. Effect Cluster alone would move partitions
 *   whenever a runner joins or returns, because it assigns shards by a hash ring of all runners,
 *   and each move is a pause for callers. So each runner sees a ring of itself alone and wants
 *   every partition, and may acquire the lock only if the last owner according to the fence is gone
 *   (`RunnerLocks.free`).
 * - A runner that has the lock and cannot serve the partition gives it away (`givesAway`): it
 *   deletes itself as the owner in the fence, so other runners need not wait for its heartbeat to
 *   expire. To rebalance (`Shares.ts`), it writes the receiving runner as the owner. All other
 *   runners then wait.
 * - A runner that leaves releases all locks before it deletes its row. Effect Cluster would delete
 *   the row first. Other runners would then acquire the locks that are free at that moment, and ask
 *   for the rest a second later, because Effect Cluster pauses after each answer.
 * - A heartbeat in the future counts as expired if it is that far off: PostgreSQL's clock was set
 *   back, and a live runner would have renewed its heartbeat since. Runners communicate through
 *   PostgreSQL alone: Effect Cluster sends no messages and opens no port. `address` only names a
 *   runner.
 *
 * Effect Cluster does not restart a singleton that fails until its shard moves, and logs nothing.
 * So `run` must not fail.
 *
 * A failover, step by step. Runner A owns partition 3 in epoch 7, runner B follows it, runner C
 * does neither. The locks expire after 10 s.
 *
 * 1. 0.0 s: A renews its heartbeat. The partition's row in `laurel_partition` is owner A, epoch 7,
 *    last record 4,120. B has read all records up to 4,120.
 * 2. 2.0 s: A appends record 4,121 in epoch 7. PostgreSQL commits, and A acknowledges the write.
 *    Then `kill -9` ends A, before PostgreSQL has committed record 4,122. Its caller
 *    must retry, with the same id. PostgreSQL ends A's session, which releases partition 3's lock.
 * 3. 2.1 s: B reads record 4,121 (`Following`, every 0.1 s).
 * 4. Until 10.0 s: B and C ask every 0.3 s which partitions are free (`RunnerLocks.free`).
 *    Partition 3 is not, although its lock is: A's heartbeat is not old enough. A may be paused,
 *    not dead.
 * 5. 10.1 s: A's heartbeat is older than 10 s, so partition 3 is free. `Followers.mayTake` lets B
 *    try at once, since it had all records within the last 5 s, and lets C try only 2 s later. B
 *    acquires the lock, asks once more whether the partition is free, and keeps the lock.
 * 6. 10.2 s: Effect Cluster starts `run`. `Partition` promotes its follower, which claims the
 *    partition: the row becomes owner B, epoch 8, last record still 4,121. PostgreSQL confirms that
 *    B has the lock, before the commit and after it. B lacks no record, and serves.
 * 7. 10.3 s: B appends the next write as record 4,122, in epoch 8. B announced that it serves the
 *    partition, so other runners forward the requests that waited.
 * 8. If A was only paused and resumes now, it has answered nothing since 8.0 s: its lock counts as
 *    held for 0.8 of the expiration. Its append of record 4,122 in epoch 7 changes no row, so it is
 *    `Fenced`. A closes its engine, forwards requests to B, and follows B.
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
  /** The runner's name, unique in the cluster. */
  readonly address: { readonly host: string; readonly port: number }
  /** The same number on all runners, for the life of the cluster. */
  readonly partitions: number
  readonly lockExpirationMs: number
  /**
   * Whether this runner, which has `held` other partitions, may take a partition whose owner is
   * gone. Followers go first.
   */
  readonly mayTake: (partition: number, held: number) => boolean
  /**
   * The heir of a partition: `anyRunner` if this runner cannot serve the partition, `undefined` if
   * it keeps the partition.
   */
  readonly givesAway: (partition: number) => string | undefined
  /** Called when this runner begins to give a partition away. */
  readonly gaveAway: (partition: number, heir: string) => void
  /** Runs while this runner has the lock of a partition. Partitions are numbered from 1. */
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

/** Shared with the end of the process. */
interface Presence {
  /** This runner acquires no more locks. */
  isLeaving: boolean
}

const idsOf = (shards: Iterable<ShardId.ShardId>): ReadonlyArray<number> =>
  Array.from(shards, ({ id }) => id)
const shardsOf = (ids: ReadonlyArray<number>): Array<ShardId.ShardId> =>
  ids.map((id) => ShardId.make("default", id))

/**
 * Effect Cluster logs the failure every few seconds of an outage, so it gets the text without a
 * stack.
 */
const refail = <A>(asked: Effect.Effect<A, PgFailure>): Effect.Effect<A, PersistenceError> =>
  PersistenceError.refail(Effect.mapError(asked, ({ words }) => words))

type Service = RunnerStorage.RunnerStorage["Service"]

/**
 * Effect Cluster's storage of runners and locks. It leaves a partition where it is until the owner
 * is gone. Owns the sets of held and leaving partitions. Effect Cluster calls the methods without
 * their object.
 */
class StayingStorage implements Service {
  readonly #options: PlacementOptions
  readonly #presence: Presence
  readonly #locks: RunnerLocks
  /** Runs attempts to acquire locks: an attempt may outlive the call that started it. */
  readonly #scope: Scope.Scope
  /** The partitions whose locks this runner has. */
  readonly #holding = new Set<number>()
  /** The partitions that this runner is giving away, and their heirs. */
  readonly #leaving = new Map<number, string>()
  /** How many times this runner gave a partition away. */
  #given = 0
  /** The attempt to acquire locks that is in progress. */
  #attempt: Fiber.Fiber<ReadonlyArray<number>, PgFailure> | undefined
  /** The partitions of Effect Cluster's last call. The attempt in progress goes on with these. */
  #wanted: ReadonlyArray<number> = []
  /** Set by `register`. */
  #runner: Runner.Runner | undefined
  /**
   * Effect Cluster ends. Its last call, `releaseAll`, releases the locks and deletes the runner's
   * row.
   */
  #isEnding = false

  constructor(
    options: PlacementOptions,
    presence: Presence,
    locks: RunnerLocks,
    scope: Scope.Scope,
  ) {
    this.#options = options
    this.#presence = presence
    this.#locks = locks
    this.#scope = scope
  }

  readonly register: Service["register"] = (own) => {
    this.#runner = own
    const registered = this.#locks.register(Runner.Runner.encodeSync(own))
    return refail(Effect.map(registered, MachineId.make))
  }

  readonly unregister: Service["unregister"] = () =>
    Effect.sync(() => {
      this.#isEnding = true
    })

  /** Returns this runner alone, so that it wants every partition. */
  readonly getRunners: Service["getRunners"] = Effect.suspend(() =>
    refail(
      Effect.map(this.#locks.isPresent, (isPresent) =>
        isPresent && this.#runner !== undefined ? [[this.#runner, true] as const] : [],
      ),
    ),
  )

  readonly setRunnerHealth: Service["setRunnerHealth"] = () => Effect.void

  /** Returns the confirmed locks. Effect Cluster ends `run` for the others, then releases them. */
  readonly refresh: Service["refresh"] = (_, shards) =>
    Effect.gen({ self: this }, function* () {
      const held = yield* refail(this.#locks.confirmed(idsOf(shards)))
      for (const id of held) {
        const heir = this.#leaving.has(id) ? undefined : this.#options.givesAway(id)
        if (heir === undefined) continue
        this.#leaving.set(id, heir)
        this.#given++
        this.#options.gaveAway(id, heir)
        yield* Effect.annotateLogs(leavingLine(heir), { partition: id })
      }
      return shardsOf(held.filter((id) => !this.#leaving.has(id)))
    })

  readonly release: Service["release"] = (_, { id }) =>
    Effect.gen({ self: this }, function* () {
      const heir = this.#leaving.get(id)
      if (heir !== undefined) yield* refail(this.#locks.disown(id, heir))
      if (!this.#isEnding) yield* refail(this.#locks.release(id))
      this.#holding.delete(id)
      this.#leaving.delete(id)
    })

  readonly releaseAll: Service["releaseAll"] = () =>
    Effect.gen({ self: this }, function* () {
      yield* refail(this.#locks.releaseAll)
      this.#holding.clear()
      this.#leaving.clear()
      if (this.#isEnding) yield* refail(this.#locks.unregister)
    })

  readonly acquire: Service["acquire"] = (_, shards) =>
    Effect.gen({ self: this }, function* () {
      this.#wanted = idsOf(shards)
      this.#attempt ??= yield* Effect.forkIn(this.#acquireFree, this.#scope)
      const ended = yield* Fiber.await(this.#attempt)
      this.#attempt = undefined
      const acquired = yield* refail(ended)
      return shardsOf(acquired.filter((id) => this.#holding.has(id)))
    })

  /**
   * Repeats the attempt until a lock is acquired. An answer without locks would make Effect Cluster
   * pause for a second: too long for callers that wait for a new owner. Ends when a partition is
   * given away, because Effect Cluster releases the partition's lock only after this call.
   */
  readonly #acquireFree: Effect.Effect<ReadonlyArray<number>, PgFailure> = Effect.gen(
    { self: this },
    function* () {
      const before = this.#given
      while (!this.#presence.isLeaving && this.#given === before) {
        const free = this.#allowed(yield* this.#locks.free(this.#wanted))
        if (free.length > 0) {
          const acquired = yield* this.#locks.acquire(free)
          for (const id of acquired) this.#holding.add(id)
          return acquired
        }
        yield* Effect.sleep(limits.clusterAssignmentsMs)
      }
      return []
    },
  )

  #allowed(free: ReadonlyArray<number>): ReadonlyArray<number> {
    let count = this.#holding.size
    return free.filter((id) => {
      const isAllowed = this.#options.mayTake(id, count)
      if (isAllowed) count++
      return isAllowed
    })
  }
}

const leavingLine = (heir: string): Effect.Effect<void> =>
  heir === anyRunner
    ? Effect.logWarning("This server cannot open the partition; another server takes it over")
    : Effect.annotateLogs(Effect.logInfo("Rebalancing: moves a partition to another server"), {
        heir,
      })

const layerOf = (options: PlacementOptions, storage: Service, locks: RunnerLocks) => {
  const { address, lockExpirationMs, partitions, run } = options
  const config = ShardingConfig.layer({
    runnerAddress: Option.some(RunnerAddress.make(address.host, address.port)),
    shardsPerGroup: partitions,
    shardLockExpiration: lockExpirationMs,
    shardLockRefreshInterval: lockExpirationMs * limits.lockRefreshShare,
    // The delay before Effect Cluster tries a shard again, also after a failure.
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
      const storage = new StayingStorage(options, presence, locks, yield* Effect.scope)
      return layerOf(options, RunnerStorage.RunnerStorage.of(storage), locks)
    }),
  )

/**
 * Takes part in the cluster until the scope closes. Closing the scope releases all partitions. It
 * waits at most `clusterLeaveMs`, because PostgreSQL may not answer.
 */
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

/** Rejoins after a failure. */
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
