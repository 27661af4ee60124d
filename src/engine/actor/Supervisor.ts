/**
 * Loads actors, and restarts those that failed. A defect is reported once, with the id of the request whose command
 * it was; the actor's state is thrown away and loaded again (`loadActor`) before the next command,
 * with a growing pause. After `actorRestartsMax` in `actorRestartWindowMs`, or when loading itself fails, the actor
 * refuses all commands for that long, and is loaded then. Other actors are not affected; only a failure of the storage
 * ends the process.
 */
import { Cause, Effect, Semaphore } from "effect"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"
import type { EngineMetrics } from "../metrics/EngineMetrics.ts"
import type { AnyActor } from "./Actor.ts"
import type { LogAnnotations } from "./Envelope.ts"
import { type LoadParts, loadActor, loadAtOnce } from "./loadActor.ts"

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
