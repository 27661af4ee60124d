/**
 * Loads actors, and restarts those that failed. A defect is reported once, with the id of the request whose command
 * it was; the actor's state is thrown away and loaded again (`loadActor`) before the next command,
 * with a growing pause. After `actorRestartsMax` in `actorRestartWindowMs`, or when loading itself fails, the actor
 * refuses all commands for that long, and is loaded then. Other actors are not affected; only a failure of the storage
 * ends the process.
 */
import { Cause, Effect, Exit, Semaphore } from "effect"
import type { UserState } from "../../domain/user/User.ts"
import { limits } from "../../Limits.ts"
import { continueWith, exitOf } from "../../storage/exitOf.ts"
import type { Broken, Storage } from "../../storage/Storage.ts"
import type { Erasures } from "../erasure/Erasures.ts"
import type { EngineMetrics } from "../metrics/EngineMetrics.ts"
import type { PendingRecords } from "../records/PendingRecords.ts"
import { readActorValue } from "../records/SnapshotValues.ts"
import { decodeUser } from "../records/UserCodec.ts"
import type { Actor, AnyActor, LogAnnotations } from "./Actor.ts"

/*
 * An actor's state put together from the snapshot's value and its own records after the watermark, whose texts are in
 * memory (`PendingRecords`) until the snapshot has them. The same for a cold actor, which has no such records, and for
 * one that failed. The journal is not read, so that neither its age, nor what was pruned of it, nor a batch that still
 * waits for the disk makes a difference.
 *
 * Cost: one look-up in the snapshot, and the actor's own records since the last one.
 */

export interface LoadParts {
  readonly storage: Storage["Service"]
  readonly pending: PendingRecords
  readonly erasures: Erasures
}

/** Loads `actor`, in one turn once its value is read. A throw in decode or apply is a defect. */
const loadActor = <State, Command>(
  parts: LoadParts,
  actor: Actor<State, Command>,
): Effect.Effect<void, Broken> =>
  Effect.suspend(() => {
    const { erasures, pending, storage } = parts
    const { watermark } = pending
    return Effect.flatMap(readActorValue(storage, actor.subject), (value) => {
      // A snapshot ended meanwhile: records are gone from memory which this value may lack.
      if (pending.watermark !== watermark) return loadActor(parts, actor)
      load(pending, erasures, actor, value)
      return Effect.void
    })
  })

/**
 * Loads `actor`; returns the bytes of its value, or `undefined` where that has to be waited for or can not be read. Throws
 * as `loadActor`.
 */
const loadAtOnce = (
  { erasures, pending, storage }: LoadParts,
  actor: AnyActor,
): number | undefined => {
  const exit = exitOf(readActorValue(storage, actor.subject))
  if (exit?._tag !== "Success") return undefined
  load(pending, erasures, actor, exit.value)
  return exit.value?.length ?? 0
}

const load = <State, Command>(
  pending: PendingRecords,
  erasures: Erasures,
  actor: Actor<State, Command>,
  value: Uint8Array | undefined,
): void => {
  const { kind, lastDurable, lastVisible, subject } = actor
  const fold = (from: State, sequences: ReadonlyArray<number>): State =>
    sequences.reduce((state, sequence) => kind.apply(state, pending.decode(sequence)), from)
  const stored = value === undefined ? kind.empty : kind.decode(value)
  const erased =
    subject.actor === "user" ? erasures.throughOf(subject.environment, subject.userId) : 0
  const isErased = erased > 0 && kind.sequenceOf(stored) <= erased
  const after = Math.max(erased, kind.sequenceOf(stored))
  const durable = fold(isErased ? kind.empty : stored, pending.backFrom(lastDurable, after))
  // An erasure that is not durable yet counts for the actor's own next commands alone.
  const ahead = erasures.aheadOf(subject)
  const isErasing = ahead > Math.max(lastDurable, after)
  const state = fold(
    isErasing ? kind.empty : durable,
    pending.backFrom(lastVisible, isErasing ? ahead : Math.max(lastDurable, after)),
  )
  actor.resume(durable, state)
}

export interface SupervisorOptions extends LoadParts {
  /** Epoch milliseconds that never go back. */
  readonly now: () => number
  readonly metrics: EngineMetrics
  /** A permit for each actor that is loaded at once. */
  readonly loads: Semaphore.Semaphore
}

export class Supervisor {
  readonly #options: SupervisorOptions
  /** Actors that wait for their state from disk. */
  loading = 0

  constructor(options: SupervisorOptions) {
    this.#options = options
  }

  /** As the function. A failure is `undefined`: `load` fails again and reports it. */
  loadAtOnce(actor: AnyActor): number | undefined {
    try {
      return loadAtOnce(this.#options, actor)
    } catch {
      return undefined
    }
  }

  /** Ends when the actor has its state, or takes nothing for a while (`crashed`). */
  load(actor: AnyActor): Effect.Effect<void, Broken> {
    return Effect.suspend(() => {
      this.loading++
      return Semaphore.withPermit(this.#options.loads, loadActor(this.#options, actor)).pipe(
        Effect.catchDefect((defect) => this.#failed(actor, defect)),
        Effect.ensuring(Effect.sync(() => this.loading--)),
      )
    })
  }

  readonly #failed = Effect.fnUntraced(function* (
    this: Supervisor,
    actor: AnyActor,
    defect: unknown,
  ) {
    this.#options.metrics.actorFailed()
    yield* Effect.logError("An actor's state could not be loaded", Cause.die(defect)).pipe(
      Effect.annotateLogs({ actor: actor.subject.actor }),
    )
    this.#giveUp(actor)
  }).bind(this)

  /** After a defect: ends when the actor may continue, or refuses all commands for a while (`crashed`). */
  readonly restart = Effect.fnUntraced(function* (
    this: Supervisor,
    actor: AnyActor,
    defect: unknown,
    annotations: LogAnnotations,
  ): Effect.fn.Return<void, Broken> {
    const { metrics } = this.#options
    metrics.actorFailed()
    // As a cause, since of a bare error the log would have no stack.
    const cause = Cause.die(defect)
    yield* Effect.logError("An actor crashed; restarting it", cause).pipe(
      Effect.annotateLogs({ ...annotations, actor: actor.subject.actor }),
    )
    const now = this.#options.now()
    if (now - actor.restartedAt > limits.actorRestartWindowMs) actor.restarts = 0
    actor.restartedAt = now
    actor.restarts++
    if (actor.restarts > limits.actorRestartsMax) {
      this.#giveUp(actor)
      return
    }
    yield* Effect.sleep(limits.actorRestartBackoffMs * 2 ** (actor.restarts - 1))
    yield* this.load(actor)
  })

  #giveUp(actor: AnyActor): void {
    actor.downUntil = this.#options.now() + limits.actorRestartWindowMs
    actor.crashed = true
  }
}

/** The state of a user who is not in memory, from the snapshot; `undefined`: never seen. As `Storage.readEntry` when it is called. */
export const readColdUser = (
  storage: Storage["Service"],
  environment: string,
  userId: string,
): Effect.Effect<UserState | undefined, Broken> =>
  continueWith(readActorValue(storage, { actor: "user", environment, userId }), (body) =>
    Exit.succeed(body === undefined ? undefined : decodeUser(body)),
  )
