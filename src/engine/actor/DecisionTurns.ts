/**
 * Bounds the work of deciding users' commands in one turn of the event loop, over all engines of
 * the process, and shares it fairly among environments.
 *
 * Invariants:
 * - Once the decisions of a turn have done `decisionTurnWorkMax` of work, further commands wait for
 *   a later turn. One command may exceed the bound.
 * - The commands of an environment that wait are decided in the order of their arrival.
 *   Environments take turns, each with the same work (deficit round robin).
 * - A command of an environment without waiting commands is decided at once while the turn has
 *   room, even if commands of other environments wait.
 *
 * So a batch of events that match thousands of definitions yields after every few events, and a
 * command of another environment waits for a few events, not for the batch. Its commit does not
 * wait for more of the batch either (`othersWait`). A durable answer takes about five turns, so the
 * bound decides how much one environment can delay another.
 *
 * Cost: work is counted, not measured, so it does not depend on the machine: commands, definitions
 * looked at, conditions evaluated, facts, bytes of loaded values. Below the bound a command costs
 * two additions and two comparisons.
 */
import { Effect, Result } from "effect"
import type { Meter } from "../../domain/decide/Decide.ts"
import { limits } from "../../Limits.ts"

/**
 * Called in a command's turn, or with `ended` when the engine has ended and the turn never comes.
 */
type Waiting = (ended: boolean) => void

/**
 * The waiting commands of an environment, and the work it may still do; negative after a larger
 * command.
 */
interface Line {
  readonly commands: Array<Waiting>
  credit: number
}

export class DecisionTurns {
  readonly #workMax: number
  /** The next decision counts its work here. */
  readonly meter: Meter = { work: 0 }
  readonly #atTurnEnd: (callback: () => void) => void
  /** The work of this turn. */
  #work = 0
  #awaitsEnd = false
  /** By environment, in the order of their turns. */
  readonly #waiting = new Map<string, Line>()

  constructor(
    workMax: number = limits.decisionTurnWorkMax,
    atTurnEnd: (callback: () => void) => void = setImmediate,
  ) {
    this.#workMax = workMax
    this.#atTurnEnd = atTurnEnd
  }

  /** Whether a command of this environment must wait. */
  isFull(environment: string): boolean {
    return this.#work >= this.#workMax || (this.#waiting.size > 0 && this.#waiting.has(environment))
  }

  /** Whether commands of other environments wait, and no command of this one. */
  othersWait(environment: string | undefined): boolean {
    return this.#waiting.size > 0 && (environment === undefined || !this.#waiting.has(environment))
  }

  /** Charges a command that is decided without a wait. */
  taken(): void {
    this.#charge(commandWork)
  }

  /** Charges the metered work and the facts of this decision. */
  decided(decision: Result.Result<{ readonly facts: ReadonlyArray<unknown> }, unknown>): void {
    const { meter } = this
    const facts = Result.isSuccess(decision) ? decision.success.facts.length : 0
    const { work } = meter
    meter.work = 0
    this.#charge(facts > usualFacts ? work + (facts - usualFacts) * factWork : work)
  }

  /** Charges the load of an actor whose stored value has this many bytes. */
  loaded(bytes: number): void {
    if (bytes > usualBytes) this.#charge((bytes - usualBytes) / bytesPerWork)
  }

  #charge(work: number): void {
    this.#work += work
    // Less work than that is carried over, so that most turns need no call at their end.
    if (this.#work >= this.#workMax / 8) this.#awaitEnd()
  }

  /** Calls `decide` in a later turn, when the command may be decided or the engine has ended. */
  wait(environment: string, decide: Waiting): void {
    const line = this.#waiting.get(environment)
    if (line === undefined) this.#waiting.set(environment, { commands: [decide], credit: 0 })
    else line.commands.push(decide)
    this.#awaitEnd()
  }

  /** Ends when a command of this environment may be decided, usually at once. */
  turn(environment: string): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.isFull(environment)
        ? Effect.callback<void>((resume) =>
            this.wait(environment, (ended) => resume(ended ? Effect.interrupt : Effect.void)),
          )
        : Effect.sync(() => this.taken()),
    )
  }

  /** The engine of these environments has ended: none of their waiting commands gets a turn. */
  end(environments: Iterable<{ readonly id: string }>): void {
    for (const { id } of environments) {
      const line = this.#waiting.get(id)
      this.#waiting.delete(id)
      for (const waiting of line?.commands ?? []) waiting(true)
    }
  }

  #awaitEnd(): void {
    if (this.#awaitsEnd) return
    this.#awaitsEnd = true
    this.#atTurnEnd(this.#yieldToEventLoop)
  }

  readonly #yieldToEventLoop = (): void => {
    this.#awaitsEnd = false
    let left = this.#workMax
    for (const [environment, line] of this.#waiting) {
      line.credit += this.#workMax / 8
      while (left > 0 && line.credit > 0 && line.commands.length > 0) {
        this.#work = commandWork
        line.commands.shift()!(false)
        line.credit -= this.#work
        left -= this.#work
      }
      // Moves the environment to the end of the map; this loop reaches it again.
      this.#waiting.delete(environment)
      if (line.commands.length > 0) this.#waiting.set(environment, line)
      if (left <= 0) break
    }
    this.#work = 0
    if (this.#waiting.size > 0) this.#awaitEnd()
  }
}

/**
 * This many facts are free: most records have fewer, so that no usual batch comes near the bound.
 */
const usualFacts = 16
/** The cost of a fact: apply, encode, feed; in units of `Matching.work`. */
const factWork = 25

/** This many bytes of a stored value are free: an ordinary user has fewer. */
const usualBytes = 1_024
/** Bytes that are decoded for one unit of work. */
const bytesPerWork = 16

/** The cost of a command beside its metered work, in the same units. */
const commandWork = 250
