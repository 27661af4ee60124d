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
import { Cause, Effect } from "effect"
import { limits } from "../../Limits.ts"
import type { Broken, Storage } from "../../storage/Storage.ts"
import type { Erasures } from "../erasure/Erasures.ts"
import type { EngineMetrics } from "../metrics/EngineMetrics.ts"
import type { PendingRecords } from "../records/PendingRecords.ts"
import { readActorValue } from "../records/SnapshotValues.ts"
import type { Actor, AnyActor, LogAnnotations } from "./Actor.ts"
import type { Environments } from "./Environments.ts"

/*
 * Loading an actor: its state is the stored one with the actor's own records after it, whose texts
 * are in memory (`PendingRecords`) until the snapshot has them. The stored state of a user is in
 * its bucket, that of a project or the directory in the snapshot. The journal is not read, so a
 * load works whatever was pruned of the journal, and while a batch waits for the disk.
 *
 * Cost: a user who was evicted has no records after its state: a decode.
 */

export interface LoadParts {
  readonly storage: Storage["Service"]
  readonly pending: PendingRecords
  readonly erasures: Erasures
  readonly environments: Environments
}

/** Loads a user. A throw in decode or apply is a defect. */
export const loadUser = (
  parts: Omit<LoadParts, "storage">,
  actor: AnyActor,
  environment: string,
  userId: string,
): void => {
  const stored = parts.environments.of(environment).states.read(userId)
  const isNew = actor.lastAppended === 0
  load(parts, actor, stored)
  // During recovery, the state may be ahead of the records that were read.
  if (!isNew || stored === undefined) return
  if (stored.sequence < parts.pending.texts.nextSequence) actor.leadTo(stored.sequence)
}

/** Loads `actor` in one turn, once its stored state is read. A throw is a defect. */
const loadActor = <State, Command>(
  parts: LoadParts,
  actor: Actor<State, Command>,
): Effect.Effect<void, Broken> =>
  Effect.suspend(() => {
    const { pending, storage } = parts
    const { kind, subject } = actor
    if (subject.actor === "user") {
      loadUser(parts, actor, subject.environment, subject.userId)
      return Effect.void
    }
    const { watermark } = pending
    return Effect.flatMap(readActorValue(storage, subject), (value) => {
      // A snapshot ended meanwhile, so memory no longer has records that this value may lack.
      if (pending.watermark !== watermark) return loadActor(parts, actor)
      load(parts, actor, value === undefined ? kind.empty : kind.stored!.decode(value))
      return Effect.void
    })
  })

const load = <State, Command>(
  { erasures, pending }: Pick<LoadParts, "erasures" | "pending">,
  actor: Actor<State, Command>,
  stored: State,
): void => {
  const { kind, lastDurable, lastVisible, subject } = actor
  const fold = (from: State, sequences: ReadonlyArray<number>): State =>
    sequences.reduce((state, sequence) => kind.apply(state, pending.decode(sequence)), from)
  const erased =
    subject.actor === "user" ? erasures.throughOf(subject.environment, subject.userId) : 0
  const isErased = erased > 0 && kind.sequenceOf(stored) <= erased
  const after = Math.max(erased, kind.sequenceOf(stored))
  const durable = fold(isErased ? kind.empty : stored, pending.backFrom(lastDurable, after))
  // An erasure that is not durable yet is visible only to the actor's own next commands.
  const ahead = erasures.aheadOf(subject)
  const isErasing = ahead > Math.max(lastDurable, after)
  const visible = pending.backFrom(lastVisible, isErasing ? ahead : Math.max(lastDurable, after))
  actor.resume(
    durable,
    isErasing || visible.length > 0 ? fold(isErasing ? kind.empty : durable, visible) : durable,
  )
}

interface SupervisorOptions extends LoadParts {
  /** Epoch milliseconds that never go back. */
  readonly now: () => number
  readonly metrics: EngineMetrics
}

export class Supervisor {
  readonly #options: SupervisorOptions
  constructor(options: SupervisorOptions) {
    this.#options = options
  }

  /**
   * Loads a user; returns the bytes of the state, or `undefined` after a defect, which `load` meets
   * again and logs.
   */
  loadAtOnce(actor: AnyActor): number | undefined {
    const { subject } = actor
    if (subject.actor !== "user") return undefined
    try {
      loadUser(this.#options, actor, subject.environment, subject.userId)
      return this.#options.environments.of(subject.environment).states.readBytes
    } catch {
      return undefined
    }
  }

  /** Ends when the actor has its state, or refuses all commands for a while (`crashed`). */
  load(actor: AnyActor): Effect.Effect<void, Broken> {
    return Effect.catchDefect(loadActor(this.#options, actor), (defect) =>
      this.#failed(actor, defect),
    )
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
