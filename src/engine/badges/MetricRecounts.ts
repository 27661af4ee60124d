/**
 * Recounts metrics whose undo or merge needed more of the user's history than a decision reads. The
 * user's state says which (`recalculating`), and the agenda has the user as due, so a recount that a
 * crash interrupted begins again after the next start. A backfill asks for recounts of its own
 * (`MetricBackfillRun`).
 *
 * A recount reads the user's whole history while the user's actor goes on. Then, while the actor
 * handles the command that ends it, the recount adds the events since. If one of these records
 * revokes an event that was read before, or merges another user into this one, the history is read
 * again in that place.
 *
 * Cost: one read of the user's history for each recounted metric; one recount at a time.
 */
import { Cause, Effect, Queue, Stream } from "effect"
import { MetricRecount, recountOf } from "../../domain/record/MetricRecount.ts"
import type { Tick } from "../../domain/record/Record.ts"
import type { CountedEvent } from "../../domain/user/MetricState.ts"
import { recountedMetric, type UserState } from "../../domain/user/User.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { type Broken, isDamagedRecord } from "../../storage/Storage.ts"
import type { UserMessage } from "../actor/Actor.ts"
import type { Environment } from "../actor/Environments.ts"
import type { UserHistory } from "../read/UserHistory.ts"
import { type Ended, insist } from "./BackfillRun.ts"

interface MetricRecountsParts {
  readonly history: UserHistory
  /** `prepare` as in `Envelope`. */
  readonly askUser: (
    environment: string,
    message: UserMessage<Tick>,
    prepare: Effect.Effect<Tick, Broken>,
  ) => Effect.Effect<unknown, LaurelError>
}

interface Asked {
  readonly environment: Environment
  readonly userId: string
}

/** A metric to count; `backfill`: also in records that have no fact of it. */
interface Counted {
  readonly metricId: string
  readonly backfill: boolean
}

/** The events of the user's records up to `upTo`. */
interface Recounted {
  readonly recount: MetricRecount
  readonly upTo: number
  /** As the state was then: which records count, and how many users were merged into the user. */
  readonly backfilled: number | undefined
  readonly merged: number
}

const tick: Tick = { kind: "tick" }

export class MetricRecounts {
  readonly #parts: MetricRecountsParts
  readonly #queue: Queue.Queue<Asked>
  /** Those in the queue or under way, by environment and user. */
  readonly #open = new Set<string>()

  private constructor(parts: MetricRecountsParts, queue: Queue.Queue<Asked>) {
    this.#parts = parts
    this.#queue = queue
  }

  static readonly make = (parts: MetricRecountsParts): Effect.Effect<MetricRecounts> =>
    Effect.map(Queue.unbounded<Asked>(), (queue) => new MetricRecounts(parts, queue))

  /** Asks for a recount of the user's metrics that need it, unless one is under way. */
  ask(environment: Environment, userId: string): void {
    const name = nameOf(environment, userId)
    if (this.#open.has(name)) return
    this.#open.add(name)
    Queue.offerUnsafe(this.#queue, { environment, userId })
  }

  /** Never ends by itself. */
  readonly run: Effect.Effect<never, Broken> = Effect.gen({ self: this }, function* () {
    while (true) {
      const { environment, userId } = yield* Queue.take(this.#queue)
      const name = nameOf(environment, userId)
      // A defect in one user's state or a damaged record must not end the process: it would do so
      // at each start.
      yield* this.#recount(environment, userId).pipe(
        Effect.catchCause((cause) =>
          Cause.hasDies(cause) || isDamagedRecord(Cause.squash(cause))
            ? Effect.logError("A metric could not be recounted", cause)
            : Effect.failCause(cause),
        ),
        Effect.ensuring(Effect.sync(() => this.#open.delete(name))),
      )
    }
  })

  readonly #recount = Effect.fnUntraced(function* (
    this: MetricRecounts,
    environment: Environment,
    userId: string,
  ): Effect.fn.Return<void, Broken> {
    const user = environment.durableOf(userId)
    const metricId = user && recountedMetric(user)
    if (user === undefined || metricId === undefined) return
    const asked = { metricId, backfill: false }
    const early = yield* this.#read(environment, user, asked)
    yield* Effect.catchTag(this.#ask(environment, userId, asked, early), "Ended", () => Effect.void)
  })

  /**
   * Counts the metric also in the user's records that have no fact of it; returns whether there was
   * any such event.
   */
  readonly backfill = Effect.fnUntraced(function* (
    this: MetricRecounts,
    environment: Environment,
    user: UserState,
    metricId: string,
  ): Effect.fn.Return<boolean, Broken | Ended> {
    if (user.metrics.get(metricId)?.backfilled !== undefined) return false
    const asked = { metricId, backfill: true }
    const early = yield* this.#read(environment, user, asked)
    if (!early.recount.isMore) return false
    return (yield* this.#ask(environment, user.id, asked, early)) === undefined
  })

  #ask(environment: Environment, userId: string, counted: Counted, early: Recounted) {
    const prepare = Effect.suspend(() => this.#prepare(environment, userId, counted, early))
    return insist(this.#parts.askUser(environment.id, { userId, command: tick }, prepare))
  }

  /** Adds the events since, while the user's actor handles the command (`Envelope.prepare`). */
  readonly #prepare = Effect.fnUntraced(function* (
    this: MetricRecounts,
    environment: Environment,
    userId: string,
    counted: Counted,
    early: Recounted,
  ): Effect.fn.Return<Tick, Broken> {
    const user = environment.users.get(userId)?.durable
    if (user === undefined) return tick
    const { backfill, metricId } = counted
    const isAsBefore =
      user.metrics.get(metricId)?.backfilled === early.backfilled &&
      user.absorbed.length === early.merged
    const since = isAsBefore
      ? yield* this.#readSince(environment, user, metricId, early.upTo)
      : undefined
    const { recount } = since === undefined ? yield* this.#read(environment, user, counted) : early
    const state = recount.stateWith(since ?? [])
    const upTo = user.sequence
    return { ...tick, recount: { metricId, state, upTo, ...(backfill && { backfill }) } }
  })

  /** Reads the user's whole history. */
  readonly #read = Effect.fnUntraced(function* (
    this: MetricRecounts,
    environment: Environment,
    user: UserState,
    { backfill, metricId }: Counted,
  ): Effect.fn.Return<Recounted, Broken> {
    const { backfilled, day = 0 } = user.metrics.get(metricId) ?? {}
    const recount = recountOf(user, environment.project.durable, metricId, {
      day,
      ...(backfill && { through: user.sequence }),
    })
    const records = this.#parts.history.read(environment.id, user.id, user.sequence + 1)
    yield* Stream.runForEach(records, (chunk) =>
      Effect.sync(() => {
        for (const record of chunk) recount.add(record)
      }),
    )
    return { recount, upTo: user.sequence, backfilled, merged: user.absorbed.length }
  })

  /**
   * The events that came after the record `after`, oldest first; `undefined`: an earlier event was
   * revoked since, or the user was erased and created again.
   */
  readonly #readSince = Effect.fnUntraced(function* (
    this: MetricRecounts,
    environment: Environment,
    user: UserState,
    metricId: string,
    after: number,
  ): Effect.fn.Return<ReadonlyArray<CountedEvent> | undefined, Broken> {
    const since = new MetricRecount(metricId, 0)
    const events: Array<CountedEvent> = []
    let reached = false
    const records = this.#parts.history.read(environment.id, user.id, user.sequence + 1)
    yield* Stream.runForEachWhile(records, (chunk) =>
      Effect.sync(() => {
        for (const record of chunk) {
          reached = record.sequence <= after
          if (reached) return false
          events.push(...since.eventsOf(record))
        }
        return true
      }),
    )
    return reached && !since.open ? events.toReversed() : undefined
  })
}

const nameOf = ({ id }: Environment, userId: string): string => `${id} ${userId}`
