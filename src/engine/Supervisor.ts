/**
 * What becomes of an actor that failed. The defect is reported once, with the id of the request whose command
 * it was; the actor's state is thrown away and rebuilt from snapshot and journal before the next command,
 * with a growing pause. After `actorRestartsMax` in `actorRestartWindowMs` the actor refuses everything for that
 * long.
 */
import { Cause, Effect } from "effect"
import { limits } from "../Limits.ts"
import type { Broken, Storage } from "../storage/Storage.ts"
import type { Actor, AnyActor, LogAnnotations } from "./Actor.ts"
import type { EngineMetrics } from "./EngineMetrics.ts"
import { rebuildActor } from "./Rebuild.ts"

export interface SupervisorOptions {
  readonly storage: Storage["Service"]
  /** Epoch milliseconds that never go back. */
  readonly now: () => number
  /** Everything up to this sequence is in the snapshot. */
  readonly watermark: () => number
  /** Ends when all that was appended so far is durable. */
  readonly committed: Effect.Effect<void>
  readonly metrics: EngineMetrics
}

export class Supervisor {
  readonly #options: SupervisorOptions

  constructor(options: SupervisorOptions) {
    this.#options = options
  }

  /** Puts an actor's state together anew from disk. */
  rebuild<State, Command>(actor: Actor<State, Command>): Effect.Effect<void, Broken> {
    const { storage, watermark } = this.#options
    return Effect.suspend(() => rebuildActor(storage, watermark(), actor))
  }

  /** After a defect: ends when the actor may go on, or takes nothing for a while (`crashed`). */
  readonly restart = Effect.fnUntraced(function* (
    this: Supervisor,
    actor: AnyActor,
    defect: unknown,
    annotations: LogAnnotations,
  ) {
    const { committed, metrics } = this.#options
    metrics.actorFailed()
    // As a cause, since of a bare error the log would have no stack.
    const cause = Cause.die(defect)
    yield* Effect.logError("An actor failed; its state is rebuilt from disk", cause).pipe(
      Effect.annotateLogs({ ...annotations, actor: actor.subject.actor }),
    )
    const now = this.#options.now()
    if (now - actor.restartedAt > limits.actorRestartWindowMs) actor.restarts = 0
    actor.restartedAt = now
    actor.restarts++
    if (actor.restarts > limits.actorRestartsMax) {
      giveUp(actor, now)
      return
    }
    yield* Effect.sleep(limits.actorRestartBackoffMs * 2 ** (actor.restarts - 1))
    yield* committed
    const rebuilt = yield* Effect.exit(this.rebuild(actor))
    if (rebuilt._tag === "Success") return
    yield* Effect.logError("An actor's state can not be rebuilt", rebuilt.cause)
    giveUp(actor, now)
  })
}

const giveUp = (actor: AnyActor, now: number): void => {
  actor.downUntil = now + limits.actorRestartWindowMs
  actor.crashed = true
}
