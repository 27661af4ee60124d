/**
 * A partition on this runner: opened once the runner has the partition's lock, closed when another runner has claimed it.
 *
 * - **Serving** needs three things: the lock, an open engine, and ownership confirmed by the fence within a third of the
 *   lock's expiration, on a clock that only goes forward. A runner that was stopped for longer finds the last one out
 *   before it answers: no stale read. Nobody takes the partition over earlier: the runner's last sign of life is at most a
 *   third of the expiration older than the confirmation, and others wait for the whole of it.
 * - **Frozen**: the lock was given away or may be lost. Requests go to the forwarder, those in progress have `handoverMs`. The
 *   engine stays open for `frozenMs`, since a restart of PostgreSQL makes every runner lose every lock: with the lock
 *   back and the fence's epoch still its own, it goes on as if nothing had happened.
 * - The lock is given away before the engine is closed, which may take a while (the last snapshot). The fence makes that
 *   safe: the next owner's claim comes after all that this one has acknowledged, and nothing is acknowledged after the claim.
 *
 * A check of the request as it arrives is enough: what it reads later is the state of that moment, or newer.
 */
import { Cause, Deferred, Effect, Exit, Fiber, Scope, Semaphore } from "effect"
import type { RequestHandler } from "../http/request/Exchange.ts"
import { limits } from "../Limits.ts"

/** What answers the requests of a partition. */
export interface PartitionHandler extends RequestHandler {
  /** Requests that wait for their reply. */
  readonly inFlight: number
  /** It refuses new requests. */
  draining: boolean
  /** Sets `draining`, and ends endless replies. */
  readonly drain: () => void
}

export interface OpenedPartition {
  readonly handler: PartitionHandler
  readonly epoch: number
  /** Asks the fence whether no other runner has claimed the partition since. */
  readonly isOwner: Effect.Effect<boolean, unknown>
  /** Ends when the fence has refused a write. */
  readonly fenced: Effect.Effect<void>
}

export interface PartitionOptions {
  readonly number: number
  readonly lockExpirationMs: number
  /** Claims the partition and opens its engine. */
  readonly open: Effect.Effect<OpenedPartition, unknown, Scope.Scope>
  /** An opening failed for a reason that does not pass: the process is to end. */
  readonly onFailed: (cause: Cause.Cause<unknown>) => boolean
}

interface Held {
  readonly opened: OpenedPartition
  readonly scope: Scope.Closeable
  readonly closed: Deferred.Deferred<void>
}

export class Partition {
  readonly #options: PartitionOptions
  readonly #changing = Semaphore.makeUnsafe(1)
  readonly #scope: Scope.Scope
  readonly #confirmedMs: number
  #hasLock = false
  #held: Held | undefined
  #confirmedAt = Number.NEGATIVE_INFINITY

  private constructor(options: PartitionOptions, scope: Scope.Scope) {
    this.#options = options
    this.#scope = scope
    this.#confirmedMs = options.lockExpirationMs / 3
  }

  /** Its engine is closed with the scope. */
  static readonly make = (
    options: PartitionOptions,
  ): Effect.Effect<Partition, never, Scope.Scope> =>
    Effect.gen(function* () {
      const partition = new Partition(options, yield* Effect.scope)
      yield* Effect.addFinalizer(() => partition.#close("the process ends"))
      return partition
    })

  /** Who answers requests; `undefined`: not this runner, now. */
  get handler(): PartitionHandler | undefined {
    const held = this.#held
    return held !== undefined && this.#hasLock && this.#isConfirmed
      ? held.opened.handler
      : undefined
  }

  /** The epoch of the open engine. */
  get epoch(): number | undefined {
    return this.#held?.opened.epoch
  }

  get #isConfirmed(): boolean {
    return performance.now() - this.#confirmedAt < this.#confirmedMs
  }

  /** Serves the partition, while this runner has its lock. */
  readonly run: Effect.Effect<never, never, Scope.Scope> = Effect.gen({ self: this }, function* () {
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        this.#hasLock = true
      }),
      () => this.freeze,
    )
    while (true) {
      const attempt = yield* Effect.exit(this.#serve)
      if (Exit.isFailure(attempt) && !Cause.hasInterruptsOnly(attempt.cause)) {
        if (this.#options.onFailed(attempt.cause)) return yield* Effect.never
        yield* this.#log(
          Effect.logWarning("Opening a partition failed; the next attempt follows", attempt.cause),
        )
      }
      yield* Effect.sleep(limits.clusterRetryMs)
    }
  })

  /** Opens it or lets it go on; ends when it was closed. */
  readonly #serve = Effect.gen({ self: this }, function* () {
    const isFrozen = this.#held !== undefined
    if (isFrozen) yield* this.#confirm
    if (this.#held === undefined) yield* this.#open
    const held = this.#held
    if (held === undefined) return
    held.opened.handler.draining = false
    yield* this.#log(
      Effect.logInfo(isFrozen ? "The partition is served again" : "Serves the partition"),
    )
    yield* Deferred.await(held.closed)
  })

  readonly #open = Semaphore.withPermit(
    this.#changing,
    Effect.uninterruptibleMask((restore) =>
      Effect.gen({ self: this }, function* () {
        const scope = yield* Scope.make()
        const startedAt = performance.now()
        const opened = yield* restore(Scope.provide(this.#options.open, scope)).pipe(
          Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))),
        )
        const held = { opened, scope, closed: Deferred.makeUnsafe<void>() }
        this.#held = held
        this.#confirmedAt = startedAt
        yield* Effect.forkIn(this.#watch(held), this.#scope)
      }),
    ),
  )

  /** Confirms ownership again and again, until the fence tells of another owner. */
  readonly #watch = (held: Held): Effect.Effect<void> =>
    Effect.raceFirst(
      Effect.as(held.opened.fenced, "The fence refused a write"),
      Effect.gen({ self: this }, function* () {
        const everyMs = Math.min(limits.confirmMs, this.#confirmedMs / 5)
        while (this.#held === held) {
          yield* Effect.exit(this.#confirm)
          yield* Effect.sleep(everyMs)
        }
        return "closed"
      }),
    ).pipe(Effect.flatMap((reason) => (this.#held === held ? this.#close(reason) : Effect.void)))

  /** Fails where PostgreSQL does not answer. */
  readonly #confirm = Effect.gen({ self: this }, function* () {
    const held = this.#held
    if (held === undefined) return
    const askedAt = performance.now()
    const isOwner = yield* held.opened.isOwner
    if (isOwner) this.#confirmedAt = Math.max(this.#confirmedAt, askedAt)
    else if (this.#held === held) yield* this.#close("Another runner claimed the partition")
  })

  /** Takes no more requests; those in progress have `handoverMs`. */
  readonly freeze: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    this.#hasLock = false
    const held = this.#held
    if (held === undefined) return
    held.opened.handler.drain()
    const deadline = performance.now() + limits.handoverMs
    while (held.opened.handler.inFlight > 0 && performance.now() < deadline) yield* Effect.sleep(5)
    yield* this.#log(Effect.logInfo("The partition's lock is gone; its engine waits"))
    yield* Effect.sleep(limits.frozenMs).pipe(
      Effect.andThen(
        Effect.suspend(() =>
          this.#held === held && !this.#hasLock
            ? this.#close("Its lock did not come back")
            : Effect.void,
        ),
      ),
      Effect.forkIn(this.#scope),
    )
  })

  /** Detached: what closes may be a part of what is closed. */
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
