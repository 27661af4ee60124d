/**
 * Back-pressure for batches.
 *
 * Invariant: a batch begins only when there is room for all of its events: before the disk, and
 * among the commands without an answer (`commandsUnansweredMax`). Until then nothing of it is
 * applied. Batches wait for room in the order of their arrival, for at most `batchRoomWaitMs`, and
 * are then refused. So a client that looks only at the status of its replies loses nothing.
 *
 * Single commands do not wait here: without room they are refused at once.
 */
import { Effect, Latch } from "effect"
import type { UserCommand } from "../../domain/record/Record.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { monotonicMs } from "../../storage/disk/Deadline.ts"
import type { EngineMetrics } from "../metrics/EngineMetrics.ts"
import type { Intake, UserMessage } from "./Actor.ts"
import { type IntakeCode, overloaded } from "./Actor.ts"
import type { ActorSystem } from "./ActorSystem.ts"
import type { Environments } from "./Environments.ts"

interface BatchRoomOptions {
  readonly actors: ActorSystem
  readonly environments: Environments
  /** While this refuses with `overloaded`, batches wait. */
  readonly intake: Intake
  readonly metrics: EngineMetrics
}

/** A batch that waits for its turn. */
interface Waiting {
  /** Opens when there may be room. */
  readonly woken: Latch.Latch
}

/** The room that a batch holds from its start until its last command has an actor. */
export interface Room {
  /** Returns the room; called when the last command of the batch has an actor. */
  readonly leave: () => void
}

/** There is no room now, but there may be later. */
const noRoom = "no room"
type Taken = Room | LaurelError<IntakeCode> | typeof noRoom

export class BatchRoom {
  readonly #options: BatchRoomOptions
  /** In the order of arrival; only the first one is woken. */
  readonly #waiting: Array<Waiting> = []
  #isWaking = false
  #isWokenAgain = false

  constructor(options: BatchRoomOptions) {
    this.#options = options
  }

  /**
   * There may be room now: records were written, or a snapshot was taken. A woken batch may run and
   * leave within this call, and so wake the next one: a loop wakes that one, since the stack has no
   * room for `batchesWaitingMax` nested calls.
   */
  changed(): void {
    this.#isWokenAgain = true
    if (this.#isWaking) return
    this.#isWaking = true
    try {
      while (this.#isWokenAgain) {
        this.#isWokenAgain = false
        this.#waiting[0]?.woken.openUnsafe()
      }
    } finally {
      this.#isWaking = false
    }
  }

  /**
   * Runs `apply` once there is room for `messages`. If it fails before, nothing was applied.
   * `apply` must leave the room when the last message has an actor.
   */
  enter<Command extends UserCommand, A>(
    environment: string,
    messages: ReadonlyArray<UserMessage<Command>>,
    apply: (room: Room) => Effect.Effect<A, LaurelError<IntakeCode>>,
  ): Effect.Effect<A, LaurelError<IntakeCode>> {
    const attempt = (
      waiting: Waiting | undefined,
    ): Effect.Effect<A | typeof noRoom, LaurelError<IntakeCode>> =>
      Effect.acquireUseRelease(
        Effect.sync(() => this.#take(environment, messages, waiting)),
        (taken): Effect.Effect<A | typeof noRoom, LaurelError<IntakeCode>> => {
          if (taken === noRoom) return Effect.succeed(noRoom)
          return "leave" in taken ? apply(taken) : Effect.fail(taken)
        },
        (taken) =>
          Effect.sync(() => typeof taken === "object" && "leave" in taken && taken.leave()),
      )
    const { metrics } = this.#options
    return Effect.flatMap(attempt(undefined), (first) =>
      first === noRoom ? this.#queue(attempt) : Effect.succeed(first),
    ).pipe(
      Effect.tapError((refusal) => Effect.sync(() => metrics.refused(refusal, messages.length))),
    )
  }

  /** Tries again whenever there may be room and the batch is the first that waits. */
  readonly #queue = <A>(
    attempt: (waiting: Waiting) => Effect.Effect<A | typeof noRoom, LaurelError<IntakeCode>>,
  ): Effect.Effect<A, LaurelError<IntakeCode>> =>
    Effect.suspend(() => {
      if (this.#waiting.length >= limits.batchesWaitingMax) return Effect.fail(overloaded)
      const waiting: Waiting = { woken: Latch.makeUnsafe(false) }
      this.#waiting.push(waiting)
      const again = Effect.gen({ self: this }, function* () {
        const until = (yield* monotonicMs) + limits.batchRoomWaitMs
        while (true) {
          const leftMs = until - (yield* monotonicMs)
          if (leftMs <= 0) return yield* Effect.fail(overloaded)
          // A batch with an Idempotency-Key is uninterruptible, but nothing of it is applied yet,
          // and a shutdown must not wait for it.
          yield* Effect.interruptible(Effect.timeoutOption(waiting.woken.await, leftMs))
          waiting.woken.closeUnsafe()
          const outcome = yield* attempt(waiting)
          if (outcome !== noRoom) return outcome
        }
      })
      return Effect.ensuring(
        again,
        Effect.sync(() => this.#gone(waiting)),
      )
    })

  /** The batch no longer waits; the next batch may take room. */
  #gone(waiting: Waiting): void {
    const at = this.#waiting.indexOf(waiting)
    if (at >= 0) this.#waiting.splice(at, 1)
    if (at === 0) this.changed()
  }

  #take<Command extends UserCommand>(
    environmentId: string,
    messages: ReadonlyArray<UserMessage<Command>>,
    waiting: Waiting | undefined,
  ): Taken {
    const { actors, environments, intake } = this.#options
    const refused = intake.refusal()
    if (refused !== undefined) return refused.code === overloaded.code ? noRoom : refused
    if (this.#waiting[0] !== waiting) return noRoom
    const { users } = environments.of(environmentId)
    const count = messages.length
    // The bound of the commit does not count commands that are not decided yet; this one does.
    const { unanswered } = actors.answers
    if (unanswered > 0 && unanswered + count > limits.commandsUnansweredMax) return noRoom
    // Only with so many commands can the mailbox of one user be too full.
    if (unanswered + count > limits.mailboxMessagesMax) {
      for (const { userId } of messages) {
        const unanswered = users.get(userId)?.unanswered ?? 0
        if (unanswered + count > limits.mailboxMessagesMax) return overloaded
      }
    }
    // A shutdown waits for the rest of the batch.
    actors.answers.unanswered++
    let isIn = true
    return {
      leave: () => {
        if (!isIn) return
        isIn = false
        actors.answers.given()
        // Last, since the next batch begins at once.
        if (waiting !== undefined) this.#gone(waiting)
      },
    }
  }
}
