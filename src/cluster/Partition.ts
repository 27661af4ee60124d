/**
 * A partition on this runner. The runner opens it when it has the partition's lock, and closes it
 * when another runner has claimed it.
 *
 * - **Following** (`Followers.ts`): if the runner is one of the partition's followers, it has an
 *   engine that applies the owner's new records. When the runner gets the lock, it promotes the
 *   follower: only the records that the follower lacks have to be read. A follower that fails is
 *   closed, and opened again after `followRetryMs`. A follower whose promotion fails is closed, and
 *   the partition is opened at once. Neither ends the process. If the lock is lost before the
 *   promotion has claimed the partition, the follower continues to follow.
 * - **Serving** requires three things: the lock, an open engine, and the fence's confirmation that
 *   this runner is the owner, not older than a third of the lock's expiration. A lock counts as
 *   held only while no other runner can have claimed the partition (`RunnerLocks.ts`). Both times
 *   are measured on a monotonic clock. A process that was paused therefore finds out before it
 *   answers, and returns no stale read.
 * - **Frozen**: the lock was given away or may be lost. New requests go to the forwarder, and
 *   requests in progress have `handoverMs` to finish. The engine stays open for `frozenMs`, because
 *   a restart of PostgreSQL makes every runner lose every lock. If the runner gets the lock back
 *   and the fence still has its epoch, the engine continues.
 * - The runner releases the lock before it closes the engine, because closing writes a last
 *   snapshot and may take long. The fence makes this order safe: the next owner's claim includes
 *   every write that this runner has acknowledged, and this runner acknowledges nothing after the
 *   claim.
 * - A runner that has the lock and cannot open the engine gives the partition away (`Opening.ts`),
 *   if another runner is alive.
 *
 * Each request is checked once, on arrival. What the request reads later is the state of that
 * moment or a newer one.
 */
import { Cause, Deferred, Effect, Exit, Fiber, Scope, Semaphore } from "effect"
import { limits } from "../Limits.ts"
import type { HasLock } from "../storage/postgres/PgJournal.ts"
import { nextTick } from "../storage/postgres/ticks.ts"
import { Following } from "./Followers.ts"
import type { PartitionTurns } from "./Opening.ts"
import { Opening, type OpeningFailure } from "./Opening.ts"
import type { HeldPartition, PartitionHandler, PreparedPartition } from "./PreparedPartition.ts"
import type { PartitionLock } from "./RunnerLocks.ts"

export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Opens a resource in its own scope. A failure or an interruption closes the scope. */
const inScope = <A, E>(restore: Restore, open: Effect.Effect<A, E, Scope.Scope>) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const opened = yield* restore(Scope.provide(open, scope)).pipe(
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))),
    )
    return { opened, scope }
  })

export interface PartitionOptions {
  readonly number: number
  readonly lockExpirationMs: number
  /**
   * Opens the engine of the local copy. `hasLock` tells whether this runner may become the owner.
   */
  readonly prepare: (hasLock: HasLock) => Effect.Effect<PreparedPartition, unknown, Scope.Scope>
  /** Called when this runner has the lock and failed to open the partition. */
  readonly onFailed: (cause: Cause.Cause<unknown>) => OpeningFailure
  /** Called each time this runner begins to serve the partition. */
  readonly onServing: () => void
  /** Whether this runner is one of the partition's followers. */
  readonly isFollower: () => boolean
  /** Shared by all partitions of this runner. */
  readonly turns: PartitionTurns
}

interface Follower {
  readonly following: Following
  readonly scope: Scope.Closeable
}

export class Partition {
  readonly #options: PartitionOptions
  readonly #changing = Semaphore.makeUnsafe(1)
  readonly #scope: Scope.Scope
  readonly #confirmedMs: number
  readonly #hasLock: HasLock = (run) =>
    Effect.suspend(() => this.#lock?.hasLock(run) ?? Effect.succeed(false))
  #lock: PartitionLock | undefined
  #held: HeldPartition | undefined
  #follower: Follower | undefined
  #opens: "follower" | undefined
  #confirmedAt = Number.NEGATIVE_INFINITY
  readonly opening = new Opening()

  private constructor(options: PartitionOptions, scope: Scope.Scope) {
    this.#options = options
    this.#scope = scope
    this.#confirmedMs = options.lockExpirationMs / 3
  }

  /** The scope closes the engine. */
  static readonly make = (
    options: PartitionOptions,
  ): Effect.Effect<Partition, never, Scope.Scope> =>
    Effect.gen(function* () {
      const partition = new Partition(options, yield* Effect.scope)
      yield* Effect.addFinalizer(() => partition.#close("the process ends"))
      yield* Effect.addFinalizer(() => partition.#stopFollowing())
      yield* Effect.forkScoped(partition.#keepFollowing)
      return partition
    })

  /** Answers requests. `undefined` while this runner does not serve the partition. */
  get handler(): PartitionHandler | undefined {
    return this.#lock?.isHeld() && this.#isConfirmed ? this.#held?.opened.handler : undefined
  }

  /** This runner's follower of the partition, if it has one. */
  get following(): Following | undefined {
    return this.#follower?.following
  }

  /**
   * Requests answered since the partition was opened. `undefined` while this runner does not serve
   * it.
   */
  get requests(): number | undefined {
    return this.handler?.requests
  }

  /** The epoch of the open engine. */
  get epoch(): number | undefined {
    return this.#held?.opened.epoch
  }

  get #isConfirmed(): boolean {
    return performance.now() - this.#confirmedAt < this.#confirmedMs
  }

  /** Serves the partition while this runner has its lock. */
  readonly run = (lock: PartitionLock): Effect.Effect<never, never, Scope.Scope> =>
    Effect.gen({ self: this }, function* () {
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          this.#lock = lock
        }),
        () =>
          Effect.andThen(
            Effect.sync(() => this.opening.lockLost()),
            this.freeze,
          ),
      )
      while (true) {
        // Without an open or opening engine, the time begins with the turn (`#openAtOnce`). A
        // follower that is filled from an archive may take long, so its time counts from here.
        if ((this.#held ?? this.#follower ?? this.#opens) !== undefined) this.opening.begins()
        const attempt = yield* Effect.exit(this.#serve)
        if (Exit.isFailure(attempt) && !Cause.hasInterruptsOnly(attempt.cause)) {
          const failure = this.#options.onFailed(attempt.cause)
          if (failure === "ends") return yield* Effect.never
          const words = "Opening a partition failed; retrying"
          if (this.opening.failed(failure)) {
            yield* this.#log(Effect.logWarning(words, attempt.cause))
          }
        }
        yield* Effect.sleep(this.opening.retryMs)
      }
    })

  /** Opens the partition, or resumes it. Ends when the partition was closed. */
  readonly #serve = Effect.gen({ self: this }, function* () {
    const isFrozen = this.#held !== undefined
    if (isFrozen) yield* this.#confirm("resume")
    if (this.#held === undefined) yield* this.#open
    const held = this.#held
    if (held === undefined) return
    held.opened.handler.draining = false
    this.opening.succeeded()
    this.#options.onServing()
    const words = isFrozen ? "The partition is served again" : "Serves the partition"
    yield* this.#log(Effect.logInfo(words), { followed: held.followed })
    yield* Deferred.await(held.closed)
  })

  readonly #open = Semaphore.withPermit(
    this.#changing,
    Effect.uninterruptibleMask((restore) =>
      Effect.gen({ self: this }, function* () {
        const startedAt = performance.now()
        const promoted = yield* this.#promote(restore)
        const { opened, scope } = promoted ?? (yield* inScope(restore, this.#openAtOnce))
        const followed = promoted !== undefined
        const held = { opened, followed, scope, closed: Deferred.makeUnsafe<void>() }
        this.#held = held
        this.#confirmedAt = startedAt
        yield* Effect.forkIn(this.#watch(held), this.#scope)
      }),
    ),
  )

  readonly #openAtOnce = Effect.suspend(() => {
    const { number, prepare, turns } = this.#options
    const open = Effect.suspend(() => {
      this.opening.begins()
      return Effect.flatMap(prepare(this.#hasLock), ({ serve }) => serve)
    })
    return turns.owners.within(number, open)
  })

  /** Promotes the follower. `undefined`: there is no follower, or its promotion failed. */
  #promote(restore: Restore) {
    return Effect.gen({ self: this }, function* () {
      const follower = this.#follower
      if (follower === undefined) return undefined
      const { following, scope } = follower
      const promoted = yield* Effect.exit(restore(Scope.provide(following.promote, scope)))
      if (Exit.isSuccess(promoted)) {
        this.#follower = undefined
        return { opened: promoted.value, scope }
      }
      if (Cause.hasInterruptsOnly(promoted.cause) && following.followOn()) {
        return yield* Effect.failCause(promoted.cause)
      }
      this.#follower = undefined
      yield* Scope.close(scope, promoted)
      if (Cause.hasInterrupts(promoted.cause)) return yield* Effect.failCause(promoted.cause)
      yield* this.#log(
        Effect.logWarning("The follower failed to take over; reopening it", promoted.cause),
      )
      return undefined
    })
  }

  /** Follows while this runner is a follower, and retries after a failure. */
  readonly #keepFollowing = Effect.gen({ self: this }, function* () {
    let retryMs: number = limits.followRetryMs
    while (true) {
      const attempt = yield* Effect.exit(this.#followInTurn)
      const follower = this.#follower
      let failure: unknown = Exit.isFailure(attempt) ? attempt.cause : undefined
      if (follower !== undefined) {
        failure = yield* Effect.raceFirst(follower.following.run, this.#followingOver(follower))
        if (follower.following.isCaughtUp) retryMs = limits.followRetryMs
        yield* this.#stopFollowing(follower)
      }
      if (failure === undefined) {
        yield* Effect.sleep(limits.followCheckMs)
      } else {
        yield* this.#log(Effect.logError("Following the owner failed", failure), {
          nextAttemptInSeconds: retryMs / 1_000,
        })
        yield* Effect.sleep(retryMs)
        retryMs = Math.min(retryMs * 2, limits.followRetryMsMax)
      }
    }
  })

  get #isFollower(): boolean {
    return this.#held === undefined && this.#options.isFollower()
  }

  /** The runner may become the owner while it waits for its turn, so `#follow` checks again. */
  readonly #followInTurn = Effect.suspend(() => {
    if (!this.#isFollower) return Effect.void
    const { number, turns } = this.#options
    return turns.followers.within(number, Semaphore.withPermit(this.#changing, this.#follow))
  })

  /** Opens the follower, unless this runner is no longer a follower. */
  readonly #follow = Effect.uninterruptibleMask((restore) =>
    Effect.gen({ self: this }, function* () {
      if (!this.#isFollower || this.#follower !== undefined) return
      this.#opens = "follower"
      const { opened, scope } = yield* Effect.ensuring(
        inScope(restore, this.#options.prepare(this.#hasLock)),
        Effect.sync(() => {
          this.#opens = undefined
        }),
      )
      this.#follower = { following: new Following(opened), scope }
      yield* this.#log(Effect.logInfo("Follows the owner"))
    }),
  )

  /**
   * Ends when the follower was promoted, or when this runner has not been a follower for
   * `followOverMs`.
   */
  readonly #followingOver = Effect.fnUntraced(function* (this: Partition, follower: Follower) {
    let overMs = 0
    while (this.#follower === follower) {
      if (follower.following.isPromoting || this.#isFollower) overMs = 0
      else overMs += limits.followCheckMs
      if (overMs > limits.followOverMs) return
      yield* Effect.sleep(limits.followCheckMs)
    }
  })

  /** Closes the engine of a follower, unless it was promoted. */
  #stopFollowing(follower = this.#follower): Effect.Effect<void> {
    const stop = Effect.suspend(() => {
      if (follower === undefined || this.#follower !== follower) return Effect.void
      this.#follower = undefined
      return Effect.andThen(
        Scope.close(follower.scope, Exit.void),
        this.#log(Effect.logInfo("Stopped following the owner")),
      )
    })
    return Semaphore.withPermit(this.#changing, Effect.uninterruptible(stop))
  }

  /** Confirms ownership at intervals, until the fence has another owner. */
  readonly #watch = (held: HeldPartition): Effect.Effect<void> =>
    Effect.raceFirst(
      Effect.map(held.opened.lost, (why) => {
        if (why === "fenced") return "PostgreSQL refused a write with an outdated epoch"
        // The runner gives the partition to another runner while it fills a new copy, if there is
        // another runner.
        this.opening.begins()
        this.opening.failed("unwritable")
        return "Its local copy is damaged"
      }),
      Effect.gen({ self: this }, function* () {
        const everyMs = Math.min(limits.confirmMs, this.#confirmedMs / 5)
        while (this.#held === held) {
          yield* Effect.exit(this.#confirm("isOwner"))
          yield* nextTick(everyMs)
        }
        return "closed"
      }),
    ).pipe(Effect.flatMap((reason) => (this.#held === held ? this.#close(reason) : Effect.void)))

  /** Fails if PostgreSQL does not answer. */
  readonly #confirm = Effect.fnUntraced(function* (this: Partition, by: "isOwner" | "resume") {
    const held = this.#held
    if (held === undefined) return
    const askedAt = performance.now()
    const isOwner = yield* held.opened[by]
    if (isOwner) this.#confirmedAt = Math.max(this.#confirmedAt, askedAt)
    else if (this.#held === held) yield* this.#close("Another server claimed the partition")
  })

  /** Runs `use` unless the partition is open. Nothing opens the partition while `use` runs. */
  readonly whileClosed = (use: Effect.Effect<void>): Effect.Effect<void> =>
    Semaphore.withPermit(
      this.#changing,
      Effect.suspend(() => ((this.#held ?? this.#follower) === undefined ? use : Effect.void)),
    )

  /** Called before the process ends, while all partitions are still served. */
  readonly leave = Effect.suspend(() => this.#held?.opened.leave ?? Effect.void)

  /** Takes no more requests. Requests in progress have `handoverMs` to finish. */
  readonly freeze: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    this.#lock = undefined
    const held = this.#held
    if (held === undefined) return
    held.opened.handler.drain()
    const deadline = performance.now() + limits.handoverMs
    while (held.opened.handler.inFlight > 0 && performance.now() < deadline) yield* Effect.sleep(5)
    yield* this.#log(Effect.logInfo("Lost the partition's lock; keeps the engine open for now"))
    yield* Effect.sleep(limits.frozenMs).pipe(
      Effect.andThen(
        Effect.suspend(() =>
          this.#held === held && this.#lock === undefined
            ? this.#close("The lock was not regained")
            : Effect.void,
        ),
      ),
      Effect.forkIn(this.#scope),
    )
  })

  /** Runs in a detached fiber, because the caller may be a part of the scope that closes. */
  readonly #close = (reason: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      const held = this.#held
      if (held === undefined) return Effect.void
      this.#held = undefined
      const close = Effect.gen({ self: this }, function* () {
        yield* this.#log(Effect.logInfo("Closes the partition"), { reason })
        held.opened.handler.drain()
        yield* Scope.close(held.scope, Exit.void)
        yield* this.#log(Effect.logInfo("Closed the partition"))
      }).pipe(
        Effect.catchCause((cause) =>
          this.#log(Effect.logError("Closing a partition failed", cause)),
        ),
        Effect.ensuring(Deferred.succeed(held.closed, undefined)),
      )
      return Effect.flatMap(
        Effect.forkDetach(Semaphore.withPermit(this.#changing, close), { startImmediately: true }),
        (fiber) => Fiber.join(fiber),
      )
    })

  #log(line: Effect.Effect<void>, more: Record<string, unknown> = {}): Effect.Effect<void> {
    const { epoch } = this
    return Effect.annotateLogs(line, {
      partition: this.#options.number,
      ...(epoch !== undefined && { epoch }),
      ...more,
    })
  }
}
