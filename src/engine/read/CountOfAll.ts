/**
 * A count over all users of an environment, made in the background from their states. A read gets the
 * last result, and asks for a new one if that is old. If a result takes at most `activityWaitMs`, the
 * read waits for the new one, and so does the first read: for `countWaitMs` at most (`waitFor`), since a pass
 * may take long, and passes of others may come before it. Then it gets the last result, or none yet. A pass sees each user as of the moment at
 * which it reaches that user: so an undone event and an erased user are in no number. Nothing is
 * stored: the states have all that is needed.
 *
 * Cost: passes run in turns of `segmentCountTurnMs` or of one bucket of users, and use at most one part in
 * `activityPassShare` of the time. The results of the `activityResultsMax` environments that were read
 * last are kept. A count may have a key, as a range of days: then each key has a result.
 */
import { Cause, Deferred, Effect, Latch, Option } from "effect"
import { timeIn } from "../../domain/project/Project.ts"
import { limits } from "../../Limits.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import { prefixesEnd } from "../users/BucketTable.ts"

/** `countedAt`: the environment's time, epoch milliseconds. `counting`: a newer one is under way. */
export type Counted<Result> =
  | { readonly result: Result; readonly countedAt: number; readonly counting: boolean }
  | NotCounted

/** The first result is under way. */
export interface NotCounted {
  readonly result: null
  readonly countedAt: null
  readonly counting: true
}

export const notCounted: NotCounted = { result: null, countedAt: null, counting: true }

/** How long a read waits: `briefly`, for `countWaitMs` at most, or until all is `counted`, as for a table. */
export type Wait = "briefly" | "counted"

/** The result of the pass; `undefined`: it has not ended yet, or has no result. */
export const waitFor = <Result>(
  done: Deferred.Deferred<Result>,
  wait: Wait,
): Effect.Effect<Result | undefined> => {
  const waiting = Deferred.await(done)
  return wait === "counted"
    ? waiting
    : Effect.map(Effect.timeoutOption(waiting, limits.countWaitMs), Option.getOrUndefined)
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
  readonly begin: (environment: Environment, now: number, key: string) => Pass<Result>
}

/** An environment, and the key of its count. */
interface Asked<Result> {
  readonly environment: string
  readonly key: string
  /** Gets the result of the next pass, or nothing if that fails. */
  readonly done: Deferred.Deferred<Kept<Result> | undefined>
}

export class CountOfAll<Result> {
  readonly #parts: CountParts<Result>
  /** The results, the one that was read last at the end. */
  readonly #kept = new Map<string, Kept<Result>>()
  /** What to count, by its name. */
  readonly #asked = new Map<string, Asked<Result>>()
  /** The name of what is being counted. */
  #running: string | undefined
  readonly #woken = Latch.makeUnsafe(false)

  constructor(parts: CountParts<Result>) {
    this.#parts = parts
  }

  /** The last result; asks for a new one if it is old. */
  read({ id }: Environment, wait: Wait = "briefly", key = ""): Effect.Effect<Counted<Result>> {
    return Effect.suspend(() => {
      const name = `${id} ${key}`
      const last = this.#kept.get(name)
      if (last !== undefined) this.#keep(name, last)
      if (last !== undefined && this.#parts.now() < last.oldAt) {
        return Effect.succeed(this.#shown(name))
      }
      if (last === undefined || last.tookMs <= limits.activityWaitMs) {
        const { done } = this.#ask(name, id, key)
        // Later passes may have dropped the result before this fiber goes on.
        return Effect.map(waitFor(done, wait), (made) => this.#shown(name, made))
      }
      if (this.#running !== name) this.#ask(name, id, key)
      return Effect.succeed(this.#shown(name))
    })
  }

  /** Keeps a result as the latest, and drops the one that was read longest ago. */
  #keep(name: string, result: Kept<Result>): void {
    this.#kept.delete(name)
    this.#kept.set(name, result)
    if (this.#kept.size <= limits.activityResultsMax) return
    const [oldest] = this.#kept.keys()
    this.#kept.delete(oldest!)
  }

  #shown(name: string, made?: Kept<Result>): Counted<Result> {
    const counting = this.#running === name || this.#asked.has(name)
    const last = this.#kept.get(name) ?? made
    if (last === undefined && counting) return notCounted
    if (last === undefined) throw new Error(`The ${this.#parts.what} could not be counted`)
    const { countedAt, result } = last
    return { result, countedAt, counting }
  }

  #ask(name: string, environment: string, key: string): Asked<Result> {
    const asked = this.#asked.get(name) ?? { environment, key, done: Deferred.makeUnsafe() }
    this.#asked.set(name, asked)
    this.#woken.openUnsafe()
    return asked
  }

  /** Counts what reads ask for; never ends by itself. */
  readonly run: Effect.Effect<never> = Effect.gen({ self: this }, function* () {
    while (true) {
      yield* this.#woken.await
      this.#woken.closeUnsafe()
      for (const [name, asked] of [...this.#asked]) {
        // Reads that come during a pass ask for the next one: they may follow a write.
        this.#asked.delete(name)
        this.#running = name
        // A defect in one user's state must not end the process: it would do so at each read.
        const made = yield* Effect.catchCause(this.#pass(name, asked), (cause) =>
          Cause.hasDies(cause)
            ? Effect.as(
                Effect.logError(`The ${this.#parts.what} could not be counted`, cause),
                undefined,
              )
            : Effect.failCause(cause),
        )
        this.#running = undefined
        Deferred.doneUnsafe(asked.done, Effect.succeed(made))
      }
    }
  })

  readonly #pass = Effect.fnUntraced(function* (
    this: CountOfAll<Result>,
    name: string,
    asked: Asked<Result>,
  ) {
    const environment = this.#parts.environments.of(asked.environment)
    const began = performance.now()
    const begunAt = timeIn(environment.project.durable, this.#parts.now())
    const { from, result } = this.#parts.begin(environment, begunAt, asked.key)
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
    const made = { result, countedAt, tookMs, oldAt }
    this.#keep(name, made)
    return made
  })
}
