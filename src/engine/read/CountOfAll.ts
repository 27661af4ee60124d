/**
 * A count over all users of an environment, made in the background from their states. A read gets the
 * last result, and asks for a new one if that is old. If a result takes at most `activityWaitMs`, the
 * read waits for the new one, and so does the first read. A pass sees each user as of the moment at
 * which it reaches that user: so an undone event and an erased user are in no number. Nothing is
 * stored: the states have all that is needed.
 *
 * Cost: passes run in turns of `segmentCountTurnMs` or of one bucket of users, and use at most one part in
 * `activityPassShare` of the time. The results of the `activityResultsMax` environments that were read
 * last are kept.
 */
import { Cause, Deferred, Effect, Latch } from "effect"
import { timeIn } from "../../domain/project/Project.ts"
import { limits } from "../../Limits.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import { prefixesEnd } from "../users/BucketTable.ts"

/** `countedAt`: the environment's time, epoch milliseconds. `counting`: a newer one is under way. */
export interface Counted<Result> {
  readonly result: Result
  readonly countedAt: number
  readonly counting: boolean
}

interface Kept<Result> {
  readonly result: Result
  readonly countedAt: number
  readonly tookMs: number
  /** When it is old, in the server's time. */
  readonly oldAt: number
}

/** A pass: `from` counts the users of the bucket that covers a prefix, and returns the prefix behind it. */
export interface Pass<Result> {
  readonly result: Result
  readonly from: (prefix: number) => number
}

interface CountParts<Result> {
  readonly environments: Environments
  readonly now: () => number
  /** What is counted, for the log. */
  readonly what: string
  /** Begins a pass at `now`, in the environment's time. */
  readonly begin: (environment: Environment, now: number) => Pass<Result>
}

export class CountOfAll<Result> {
  readonly #parts: CountParts<Result>
  /** The results, the one that was read last at the end. */
  readonly #kept = new Map<string, Kept<Result>>()
  /** The environments to count, and what has the result of their next pass. */
  readonly #asked = new Map<string, Deferred.Deferred<Kept<Result> | undefined>>()
  /** The environment that is being counted. */
  #running: string | undefined
  readonly #woken = Latch.makeUnsafe(false)

  constructor(parts: CountParts<Result>) {
    this.#parts = parts
  }

  /** The last result; asks for a new one if it is old. */
  read({ id }: Environment): Effect.Effect<Counted<Result>> {
    return Effect.suspend(() => {
      const last = this.#kept.get(id)
      if (last !== undefined) this.#keep(id, last)
      if (last !== undefined && this.#parts.now() < last.oldAt) {
        return Effect.succeed(this.#shown(id, last))
      }
      if (last === undefined || last.tookMs <= limits.activityWaitMs) {
        return Effect.map(Deferred.await(this.#ask(id)), (next) => this.#shown(id, next ?? last))
      }
      if (this.#running !== id) this.#ask(id)
      return Effect.succeed(this.#shown(id, last))
    })
  }

  /** Keeps a result as the latest, and drops the one that was read longest ago. */
  #keep(id: string, result: Kept<Result>): void {
    this.#kept.delete(id)
    this.#kept.set(id, result)
    if (this.#kept.size <= limits.activityResultsMax) return
    const [oldest] = this.#kept.keys()
    this.#kept.delete(oldest!)
  }

  #shown(id: string, last: Kept<Result> | undefined): Counted<Result> {
    if (last === undefined) throw new Error(`The ${this.#parts.what} could not be counted`)
    const { countedAt, result } = last
    return { result, countedAt, counting: this.#running === id || this.#asked.has(id) }
  }

  #ask(id: string): Deferred.Deferred<Kept<Result> | undefined> {
    const asked = this.#asked.get(id) ?? Deferred.makeUnsafe<Kept<Result> | undefined>()
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
            ? Effect.logError(`The ${this.#parts.what} could not be counted`, cause)
            : Effect.failCause(cause),
        )
        this.#running = undefined
        Deferred.doneUnsafe(asked, Effect.succeed(this.#kept.get(id)))
      }
    }
  })

  readonly #pass = Effect.fnUntraced(function* (
    this: CountOfAll<Result>,
    environment: Environment,
  ) {
    const began = performance.now()
    const begunAt = timeIn(environment.project.durable, this.#parts.now())
    const { from, result } = this.#parts.begin(environment, begunAt)
    let turnEndsAt = began + limits.segmentCountTurnMs
    for (let prefix = 0; prefix < prefixesEnd; ) {
      prefix = from(prefix)
      if (performance.now() < turnEndsAt) continue
      yield* yieldToEventLoop
      turnEndsAt = performance.now() + limits.segmentCountTurnMs
    }
    const tookMs = performance.now() - began
    const countedAt = timeIn(environment.project.durable, this.#parts.now())
    const oldAt = this.#parts.now() + tookMs * (limits.activityPassShare - 1)
    this.#keep(environment.id, { result, countedAt, tookMs, oldAt })
  })
}
