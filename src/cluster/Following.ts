/**
 * A partition's engine on a runner that follows the owner: every `followIntervalMs` it reads from PostgreSQL what the owner has
 * appended since, folds it, and writes nothing there. So at the end of the owner it lacks only the last moment.
 *
 * It waits for a PostgreSQL that does not answer. Any other failure ends it, since the state may have a part of a batch
 * alone: then the copy has to be opened again. `promote` makes the engine the owner's, with what it still lacks; where that is
 * interrupted before the claim and not within a batch, it follows on.
 */
import { Effect, Exit, type Scope, Semaphore } from "effect"
import { limits } from "../Limits.ts"
import { nextTick } from "../storage/postgres/ticks.ts"
import { isOutage } from "../storage/Storage.ts"
import type { OpenedPartition, PreparedPartition } from "./PreparedPartition.ts"

export class Following {
  readonly #prepared: PreparedPartition
  readonly #looking = Semaphore.makeUnsafe(1)
  /** A look failed: the state may have a part of a batch. */
  #isTorn = false
  #upToDateAt: number | undefined
  readonly #since = performance.now()
  isPromoting = false

  constructor(prepared: PreparedPartition) {
    this.#prepared = prepared
  }

  /** It has had all records of PostgreSQL a moment ago. */
  get isCaughtUp(): boolean {
    return (
      this.#upToDateAt !== undefined &&
      performance.now() - this.#upToDateAt < limits.followerCaughtUpMs
    )
  }

  /** The last record that it has folded. */
  get lastSequence(): number {
    return this.#prepared.progress().lastSequence
  }

  /** Records that PostgreSQL had at the last look and that are not folded. */
  get behindRecords(): number {
    const { lastSequence, seen } = this.#prepared.progress()
    return Math.max(0, seen - lastSequence)
  }

  /** Time since it last had all records of PostgreSQL; before that, since it was opened. */
  get behindSeconds(): number {
    return (performance.now() - (this.#upToDateAt ?? this.#since)) / 1_000
  }

  /** Follows until that fails; succeeds with the cause. */
  readonly run: Effect.Effect<unknown> = Effect.suspend(() =>
    Effect.raceFirst(this.#prepared.failed, this.#run),
  )

  readonly #run: Effect.Effect<unknown> = Effect.gen({ self: this }, function* () {
    while (true) {
      const attempt = yield* Effect.exit(Semaphore.withPermit(this.#looking, this.#look))
      if (Exit.isFailure(attempt)) return attempt.cause
      yield* nextTick(limits.followIntervalMs)
    }
  })

  /** Succeeds also while PostgreSQL does not answer, and does nothing during a promotion. */
  readonly #look = Effect.suspend(() => {
    if (this.isPromoting) return Effect.void
    const askedAt = performance.now()
    return this.#prepared.look.pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          this.#upToDateAt = askedAt
        }),
      ),
      Effect.catchIf(isOutage, () => Effect.void),
      Effect.onError(() =>
        Effect.sync(() => {
          this.#isTorn = true
        }),
      ),
    )
  })

  /** Makes this runner the owner, after the look that is under way. */
  readonly promote: Effect.Effect<OpenedPartition, unknown, Scope.Scope> = Effect.suspend(() => {
    this.isPromoting = true
    return Semaphore.withPermit(
      this.#looking,
      Effect.suspend(() =>
        this.#isTorn
          ? Effect.fail(new Error("The follower stopped within a batch"))
          : this.#prepared.serve,
      ),
    )
  })

  /** After a promotion that was interrupted: whether it follows on. */
  followOn(): boolean {
    if (this.#isTorn || this.#prepared.progress().isTorn) return false
    this.isPromoting = false
    return true
  }
}
