/**
 * Active users and retention of an environment (`ActivityOfAll.ts`), computed in the background from
 * the bytes of all users' states. A read gets the last result, and asks for a new one if that is old.
 * If a result takes at most `activityWaitMs`, the read waits for the new one, and so does the first
 * read. A pass sees each user as of the moment at which it reaches that user: so an undone event and
 * an erased user are in no number. Nothing is stored: the states have all that is needed.
 *
 * Cost: a pass over 10^6 users takes about 0.4 s of processor time, in turns of `segmentCountTurnMs`. Passes
 * use at most one part in `activityPassShare` of the time. A result takes 170 KiB for each environment
 * that was asked for since the start.
 */
import { Cause, Deferred, Effect, Latch } from "effect"
import { timeIn } from "../../domain/project/Project.ts"
import { ActivityOfAll } from "../../domain/user/ActivityOfAll.ts"
import { limits } from "../../Limits.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import { DaysRead } from "../records/ActivityBytes.ts"
import { prefixesEnd } from "../users/BucketTable.ts"

/** `countedAt`: the environment's time, epoch milliseconds. */
export interface ActiveUsersCount {
  readonly activity: ActivityOfAll
  readonly countedAt: number
  readonly counting: boolean
}

interface Counted {
  readonly activity: ActivityOfAll
  readonly countedAt: number
  readonly tookMs: number
  /** When it is old, in the server's time. */
  readonly oldAt: number
}

interface ActiveUsersParts {
  readonly environments: Environments
  readonly now: () => number
}

const dayMs = 86_400_000
/** The earliest calendar is so far ahead of UTC. */
const aheadMsMax = 14 * 3_600_000

export class ActiveUsers {
  readonly #parts: ActiveUsersParts
  readonly #counted = new Map<string, Counted>()
  /** The environments to count, and what ends with their next pass. */
  readonly #asked = new Map<string, Deferred.Deferred<void>>()
  /** The environment that is being counted. */
  #running: string | undefined
  readonly #woken = Latch.makeUnsafe(false)
  readonly #days = new DaysRead()

  constructor(parts: ActiveUsersParts) {
    this.#parts = parts
  }

  /** The last result; asks for a new one if it is old. */
  read({ id }: Environment): Effect.Effect<ActiveUsersCount> {
    return Effect.suspend(() => {
      const last = this.#counted.get(id)
      if (last !== undefined && this.#parts.now() < last.oldAt) {
        return Effect.succeed(this.#shown(id))
      }
      if (last === undefined || last.tookMs <= limits.activityWaitMs) {
        return Effect.map(Deferred.await(this.#ask(id)), () => this.#shown(id))
      }
      if (this.#running !== id) this.#ask(id)
      return Effect.succeed(this.#shown(id))
    })
  }

  #shown(id: string): ActiveUsersCount {
    const last = this.#counted.get(id)
    if (last === undefined) throw new Error("The active users could not be counted")
    const { activity, countedAt } = last
    return { activity, countedAt, counting: this.#running === id || this.#asked.has(id) }
  }

  #ask(id: string): Deferred.Deferred<void> {
    const asked = this.#asked.get(id) ?? Deferred.makeUnsafe<void>()
    this.#asked.set(id, asked)
    this.#woken.openUnsafe()
    return asked
  }

  /** Counts what reads ask for; never ends by itself. */
  readonly run: Effect.Effect<never> = Effect.gen({ self: this }, function* () {
    while (true) {
      yield* this.#woken.await
      this.#woken.closeUnsafe()
      for (const [id, asked] of [...this.#asked]) {
        // Reads that come during a pass ask for the next one: they may follow a write.
        this.#asked.delete(id)
        this.#running = id
        // A defect in one user's state must not end the process: it would do so at each read.
        yield* Effect.catchCause(this.#pass(this.#parts.environments.of(id)), (cause) =>
          Cause.hasDies(cause)
            ? Effect.logError("The active users could not be counted", cause)
            : Effect.failCause(cause),
        )
        this.#running = undefined
        Deferred.doneUnsafe(asked, Effect.void)
      }
    }
  })

  readonly #pass = Effect.fnUntraced(function* (this: ActiveUsers, environment: Environment) {
    const began = performance.now()
    const begunAt = timeIn(environment.project.durable, this.#parts.now())
    const activity = new ActivityOfAll(Math.floor((begunAt + aheadMsMax) / dayMs))
    let turnEndsAt = began + limits.segmentCountTurnMs
    for (let prefix = 0; prefix < prefixesEnd; ) {
      prefix = environment.activityFrom(prefix, this.#days, () => activity.add(this.#days))
      if (performance.now() < turnEndsAt) continue
      yield* yieldToEventLoop
      turnEndsAt = performance.now() + limits.segmentCountTurnMs
    }
    const tookMs = performance.now() - began
    const countedAt = timeIn(environment.project.durable, this.#parts.now())
    const oldAt = this.#parts.now() + tookMs * (limits.activityPassShare - 1)
    this.#counted.set(environment.id, { activity, countedAt, tookMs, oldAt })
  })
}
