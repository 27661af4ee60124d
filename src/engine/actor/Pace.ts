/**
 * The pace of work that asks many users in the background: it settles leagues, pays prizes and rewards,
 * and wakes users who are due.
 *
 * Invariants:
 * - Users are asked in groups of at most `backgroundGroupUsersMax`, each in a turn of the event loop of
 *   its own. At most `backgroundGroupsMax` groups have no answer.
 * - While a command of somebody else has no answer, no group begins for up to `backgroundWaitMs`. So
 *   a command waits for the groups that were at the disk when it came, and for no others. Under a load
 *   that never ends, a group begins whenever this time is over: the work goes on, and has a small share of
 *   the processor and of the disk.
 * - Without other commands no group waits: one is decided while the one before is at the disk.
 * - Groups begin in the order in which they were asked for, over all environments of the engine.
 * - No reply is made, and of the outcomes only the refusals are kept. Otherwise the objects of a group would live
 *   until all groups are over, and V8 would move it to the old generation.
 * - A user who was not decoded leaves the cache of actors with the group. Otherwise the work would replace
 *   the users who are hot, and each collection of garbage would copy thousands of actors that nobody uses.
 *
 * The wait is one of Node's timers, not of the Effect clock: under a test's virtual clock the work would
 * stop until the test moves that clock.
 *
 * Cost: a turn of the event loop for each group, and a comparison for each answer that a command gets.
 */
import { Effect } from "effect"
import type { LaurelError, Refusal } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { markTurn } from "../../metrics/LongTurns.ts"
import type { UserMessage } from "./Actor.ts"
import type { ActorCache } from "./ActorCache.ts"
import type { Answers } from "./Answers.ts"
import type { Environments } from "./Environments.ts"
import type { Requests } from "./Requests.ts"

interface PaceParts {
  readonly environments: Environments
  readonly actorCache: Pick<ActorCache, "release">
  readonly requests: Pick<Requests, "each">
  readonly answers: Pick<Answers, "unanswered">
}

export class Pace {
  readonly #parts: PaceParts
  /** The groups that have not begun, oldest first. */
  readonly #waiting: Array<() => void> = []
  /** Groups that have begun and are not over. */
  #begun = 0
  /** Their users who have no answer. */
  #unanswered = 0
  #looksNext = false
  /** Runs while the first group waits for commands of others. */
  #patience: NodeJS.Timeout | undefined
  #isPatienceOver = false

  constructor(parts: PaceParts) {
    this.#parts = parts
  }

  /** Asks all, in groups; returns the refusals. */
  refusals(
    environment: string,
    messages: ReadonlyArray<UserMessage>,
  ): Effect.Effect<ReadonlyArray<Refusal>> {
    const most = limits.backgroundGroupUsersMax
    const starts = Array.from({ length: Math.ceil(messages.length / most) }, (_, n) => n * most)
    const asked = Effect.forEach(
      starts,
      (start) => this.#group(environment, messages.slice(start, start + most), start),
      { concurrency: limits.backgroundGroupsMax },
    )
    return Effect.map(asked, (refusals) => refusals.flat())
  }

  /** Asks the group that begins at `start` of all messages. */
  #group(
    environment: string,
    messages: ReadonlyArray<UserMessage>,
    start: number,
  ): Effect.Effect<ReadonlyArray<Refusal>> {
    return Effect.callback((resume) => {
      const refusals: Array<Refusal> = []
      const given = (index: number, error: LaurelError | undefined): void => {
        if (error !== undefined) refusals.push({ index: start + index, error })
        this.#unanswered--
      }
      const { users } = this.#parts.environments.of(environment)
      let cold: ReadonlyArray<UserMessage> = []
      const over = (): void => {
        this.#begun--
        for (const { userId } of cold) {
          const actor = users.get(userId)
          if (actor !== undefined) this.#parts.actorCache.release(actor)
        }
        this.#look()
        resume(Effect.succeed(refusals))
      }
      const begin = (): void => {
        this.#begun++
        this.#unanswered += messages.length
        cold = messages.filter(({ userId }) => !users.has(userId))
        this.#parts.requests.each(environment, messages, given, over)
      }
      this.#waiting.push(begin)
      this.#look()
      return Effect.sync(() => {
        const at = this.#waiting.indexOf(begin)
        if (at >= 0) this.#waiting.splice(at, 1)
      })
    })
  }

  /** A command has its answer. */
  answered(): void {
    if (this.#waiting.length > 0) this.#look()
  }

  /** Looks in the next turn, when all answers of the present one are counted. */
  #look(): void {
    if (this.#looksNext || this.#waiting.length === 0) return
    if (this.#begun >= limits.backgroundGroupsMax) return
    this.#looksNext = true
    setImmediate(this.#begin)
  }

  readonly #begin = (): void => {
    this.#looksNext = false
    if (this.#waiting.length === 0 || this.#begun >= limits.backgroundGroupsMax) return
    if (this.#parts.answers.unanswered > this.#unanswered && !this.#isPatienceOver) {
      this.#patience ??= setTimeout(this.#losePatience, limits.backgroundWaitMs)
      return
    }
    clearTimeout(this.#patience)
    this.#patience = undefined
    this.#isPatienceOver = false
    markTurn("rollover")
    this.#waiting.shift()!()
    this.#look()
  }

  readonly #losePatience = (): void => {
    this.#patience = undefined
    this.#isPatienceOver = true
    this.#look()
  }
}
