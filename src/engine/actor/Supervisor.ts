/**
 * Loads actors, and restarts actors that failed.
 *
 * - A defect is logged once, with the id of the request. The actor's state is then dropped and
 *   loaded again (`loadActor`) before the next command, after a pause that grows with each restart.
 * - After `actorRestartsMax` restarts within `actorRestartWindowMs`, or when a load itself fails,
 *   the actor refuses all commands for `actorRestartWindowMs`. The next command after that loads
 *   it.
 * - Other actors are not affected. Only a failure of the storage ends the process.
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
 * Loading an actor: its state is the snapshot's value with the actor's own records after the
 * watermark, whose texts are in memory (`PendingRecords`) until the snapshot has them. A cold actor
 * has no such records. The journal is not read, so a load works whatever was pruned of the journal,
 * and while a batch waits for the disk.
 *
 * Cost: one look-up in the snapshot, and the application of the actor's own records since then.
 */

export interface LoadParts {
  readonly storage: Storage["Service"]
  readonly pending: PendingRecords
  readonly erasures: Erasures
}

/** Loads `actor` in one turn, once its value is read. A throw in decode or apply is a defect. */
const loadActor = <State, Command>(
  parts: LoadParts,
  actor: Actor<State, Command>,
): Effect.Effect<void, Broken> =>
  Effect.suspend(() => {
    const { erasures, pending, storage } = parts
    const { watermark } = pending
    return Effect.flatMap(readActorValue(storage, actor.subject), (value) => {
      // A snapshot ended meanwhile, so memory no longer has records that this value may lack.
      if (pending.watermark !== watermark) return loadActor(parts, actor)
      load(pending, erasures, actor, value)
      return Effect.void
    })
  })

/**
 * Loads `actor` if its value can be read without waiting. Returns the bytes of the value, or
 * `undefined` if the value must be waited for or cannot be read. Throws where `loadActor` has a
 * defect.
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
  // An erasure that is not durable yet is visible only to the actor's own next commands.
  const ahead = erasures.aheadOf(subject)
  const isErasing = ahead > Math.max(lastDurable, after)
  const state = fold(
    isErasing ? kind.empty : durable,
    pending.backFrom(lastVisible, isErasing ? ahead : Math.max(lastDurable, after)),
  )
  actor.resume(durable, state)
}

interface SupervisorOptions extends LoadParts {
  /** Epoch milliseconds that never go back. */
  readonly now: () => number
  readonly metrics: EngineMetrics
  /** Bounds how many actors are loaded at the same time. */
  readonly loads: Semaphore.Semaphore
}

export class Supervisor {
  readonly #options: SupervisorOptions
  /** How many actors wait for their state from disk. */
  loading = 0

  constructor(options: SupervisorOptions) {
    this.#options = options
  }

  /**
   * As the function `loadAtOnce`, but returns `undefined` for a defect: `load` meets it again and
   * logs it.
   */
  loadAtOnce(actor: AnyActor): number | undefined {
    try {
      return loadAtOnce(this.#options, actor)
    } catch {
      return undefined
    }
  }

  /** Ends when the actor has its state, or refuses all commands for a while (`crashed`). */
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

  /**
   * Restarts the actor after a defect. Ends when it has its state, or refuses all commands
   * (`crashed`).
   */
  readonly restart = Effect.fnUntraced(function* (
    this: Supervisor,
    actor: AnyActor,
    defect: unknown,
    annotations: LogAnnotations,
  ): Effect.fn.Return<void, Broken> {
    const { metrics } = this.#options
    metrics.actorFailed()
    // As a cause, since the log has no stack of a bare error.
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

/**
 * The state of a user who is not in memory, from the snapshot as of this call; `undefined`: the
 * user does not exist.
 */
export const readColdUser = (
  storage: Storage["Service"],
  environment: string,
  userId: string,
): Effect.Effect<UserState | undefined, Broken> =>
  continueWith(readActorValue(storage, { actor: "user", environment, userId }), (body) =>
    Exit.succeed(body === undefined ? undefined : decodeUser(body)),
  )
