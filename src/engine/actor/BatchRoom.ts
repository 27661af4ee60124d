/**
 * Back-pressure for batches: a batch is applied whole or not at all. It begins when there is room for all of its events,
 * in memory, before the disk and among the commands without an answer (`commandsUnansweredMax`), and waits for that in
 * turn, at most `batchRoomWaitMs`; then it is refused before anything of it was applied. So a loader that only looks at
 * the status of its replies loses nothing, and one that loads new users is slowed down to the pace of the snapshots that
 * make room for them.
 *
 * Single commands do not queue here: they are refused at once.
 */
import { Effect, Latch } from "effect"
import type { UserCommand } from "../../domain/record/Record.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { monotonicMs } from "../../storage/disk/Deadline.ts"
import type { EngineMetrics } from "../metrics/EngineMetrics.ts"
import type { Intake, UserMessage } from "./Actor.ts"
import { type IntakeCode, overloaded } from "./Actor.ts"
import type { ActorCache, Room } from "./ActorCache.ts"
import type { ActorSystem } from "./ActorSystem.ts"
import type { Environments } from "./Environments.ts"

export interface BatchRoomOptions {
  readonly actors: ActorSystem
  readonly actorCache: ActorCache
  readonly environments: Environments
  /** A batch waits as long as this says `overloaded`. */
  readonly intake: Intake
  readonly metrics: EngineMetrics
}

/** A batch that waits for its turn. */
interface Waiting {
  /** Opens when there may be room. */
  readonly woken: Latch.Latch
  /** How it was when memory had no room for the batch: `#isAsCrowded`. */
  crowded: { readonly occupied: number; readonly watermarks: number } | undefined
}

/** There is no room now; there may be soon. */
const noRoom = "no room"
type Taken = Room | LaurelError<IntakeCode> | typeof noRoom

export class BatchRoom {
  readonly #options: BatchRoomOptions
  /** In the order of arrival; the first one is woken. */
  readonly #waiting: Array<Waiting> = []

  constructor(options: BatchRoomOptions) {
    this.#options = options
  }

  /** There may be room now: records were written, users evicted, or a snapshot taken. */
  changed(): void {
    this.#waiting[0]?.woken.openUnsafe()
  }

  /**
   * Runs `apply` once there is room for `messages`, or fails and has done nothing. `apply` leaves the room when the last
   * of them has an actor.
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

  /** Tries again whenever there may be room and it is the batch's turn. */
  readonly #queue = <A>(
    attempt: (waiting: Waiting) => Effect.Effect<A | typeof noRoom, LaurelError<IntakeCode>>,
  ): Effect.Effect<A, LaurelError<IntakeCode>> =>
    Effect.suspend(() => {
      if (this.#waiting.length >= limits.batchesWaitingMax) return Effect.fail(overloaded)
      const waiting: Waiting = { woken: Latch.makeUnsafe(false), crowded: undefined }
      this.#waiting.push(waiting)
      const again = Effect.gen({ self: this }, function* () {
        const until = (yield* monotonicMs) + limits.batchRoomWaitMs
        while (true) {
          const leftMs = until - (yield* monotonicMs)
          if (leftMs <= 0) return yield* Effect.fail(overloaded)
          // A batch with an Idempotency-Key is uninterruptible; up to here nothing of it is applied, and a stop must not wait.
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

  /** The batch waits no more; the next one may have its turn. */
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
    const { actorCache, actors, environments, intake } = this.#options
    const refused = intake.refusal()
    if (refused !== undefined) return refused.code === overloaded.code ? noRoom : refused
    if (this.#waiting[0] !== waiting) return noRoom
    const { users } = environments.of(environmentId)
    const count = messages.length
    // Undecided commands do not wait for the disk yet.
    const { unanswered } = actors.answers
    if (unanswered > 0 && unanswered + count > limits.commandsUnansweredMax) return noRoom
    // Only then can one of them have a mailbox that is too full.
    if (unanswered + count > limits.mailboxMessagesMax) {
      for (const { userId } of messages) {
        const unanswered = users.get(userId)?.unanswered ?? 0
        if (unanswered + count > limits.mailboxMessagesMax) return overloaded
      }
    }
    let newcomers = count
    if (!actorCache.hasRoom(count)) {
      if (this.#isAsCrowded(waiting)) {
        // Asked for while one was being written, it was asked for in vain.
        actorCache.askForSnapshots()
        return noRoom
      }
      newcomers = new Set(messages.map(({ userId }) => userId).filter((id) => !users.has(id))).size
      const before = actorCache.occupied
      if (actorCache.admit(newcomers) !== undefined) {
        const { occupied, watermarks } = actorCache
        if (waiting !== undefined && occupied === before) {
          waiting.crowded = { occupied, watermarks }
        }
        return noRoom
      }
    }
    actorCache.promised += newcomers
    // A shutdown waits for the rest of the batch.
    actors.answers.unanswered++
    let isIn = true
    const room = {
      newcomers,
      leave: () => {
        if (!isIn) return
        isIn = false
        actorCache.promised -= room.newcomers
        actors.answers.given()
        // Not before: the next one begins at once.
        if (waiting !== undefined) this.#gone(waiting)
      },
    }
    return room
  }

  /**
   * Whether no user can have left memory since the batch found no room there. It is woken after every answer; to count its
   * users each time cost more than to apply them.
   */
  #isAsCrowded(waiting: Waiting | undefined): boolean {
    const { occupied, watermarks } = this.#options.actorCache
    const before = waiting?.crowded
    return before !== undefined && occupied >= before.occupied && watermarks === before.watermarks
  }
}
