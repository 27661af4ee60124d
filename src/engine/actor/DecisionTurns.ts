/**
 * How long users' commands may be decided in one turn of the event loop, by all engines of the process. Once what was decided in a turn took
 * `decisionTurnWorkMax`, further commands wait for a later turn: those of one environment in the order in which they
 * came, and the environments in rotation, with the same work for each (deficit round robin). So a batch of events that
 * thousands of definitions concern gives way after each few of them, and the commands of another environment wait
 * for one of them, not for the batch. Nor does their commit wait for more of the batch (`othersWait`).
 *
 * A durable answer takes some five turns, so the bound decides how much longer one environment waits because of another.
 *
 * Work is counted, not measured: commands, definitions looked at, conditions evaluated, facts, bytes of loaded values. So
 * it does not depend on the machine. Below the bound a command costs two additions and two comparisons. Commands of an
 * environment that has none waiting are taken at once, even in a turn in which others waited.
 */
import { Effect, Result } from "effect"
import type { Meter } from "../../domain/decide/Decide.ts"
import { limits } from "../../Limits.ts"

/** What waits for a command's turn; `ended`: the engine has ended, and the turn never comes. */
type Waiting = (ended: boolean) => void

/** The waiting commands of an environment, and its remaining work; negative after a command that took more. */
interface Line {
  readonly commands: Array<Waiting>
  credit: number
}

export class DecisionTurns {
  readonly #workMax: number
  /** For the next decision to count what it costs. */
  readonly meter: Meter = { work: 0 }
  readonly #atTurnEnd: (callback: () => void) => void
  /** The work of this turn. */
  #work = 0
  #awaitsEnd = false
  /** By environment, in the order of the rotation. */
  readonly #waiting = new Map<string, Line>()

  constructor(
    workMax: number = limits.decisionTurnWorkMax,
    atTurnEnd: (callback: () => void) => void = setImmediate,
  ) {
    this.#workMax = workMax
    this.#atTurnEnd = atTurnEnd
  }

  /** Whether a command of this environment has to wait. */
  isFull(environment: string): boolean {
    return this.#work >= this.#workMax || (this.#waiting.size > 0 && this.#waiting.has(environment))
  }

  /** Whether commands of other environments wait, and none of this one. */
  othersWait(environment: string | undefined): boolean {
    return this.#waiting.size > 0 && (environment === undefined || !this.#waiting.has(environment))
  }

  /** Charges a command that is taken without a wait. */
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

  /** Charges a load of an actor, whose stored value has so many bytes. */
  loaded(bytes: number): void {
    if (bytes > usualBytes) this.#charge((bytes - usualBytes) / bytesPerWork)
  }

  #charge(work: number): void {
    this.#work += work
    // Less than that may stay from turn to turn, so that most turns need no call at their end.
    if (this.#work >= this.#workMax / 8) this.#awaitEnd()
  }

  /** Calls `decide` in a later turn, when it is the command's time, or when the engine has ended. */
  wait(environment: string, decide: Waiting): void {
    const line = this.#waiting.get(environment)
    if (line === undefined) this.#waiting.set(environment, { commands: [decide], credit: 0 })
    else line.commands.push(decide)
    this.#awaitEnd()
  }

  /** Ends when a command of this environment may be decided, mostly at once. */
  turn(environment: string): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.isFull(environment)
        ? Effect.callback<void>((resume) =>
            this.wait(environment, (ended) => resume(ended ? Effect.interrupt : Effect.void)),
          )
        : Effect.sync(() => this.taken()),
    )
  }

  /** Nothing that waits of these environments has a turn any more: their engine has ended. */
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
      // To the end of the rotation, which comes to it again in this loop.
      this.#waiting.delete(environment)
      if (line.commands.length > 0) this.#waiting.set(environment, line)
      if (left <= 0) break
    }
    this.#work = 0
    if (this.#waiting.size > 0) this.#awaitEnd()
  }
}

/** As many facts as most records have count as nothing, so that no usual batch comes near the bound. */
const usualFacts = 16
/** The cost of a fact: apply, encode, feed; in units of `Matching.work`. */
const factWork = 25

/** So many bytes of a stored value count as nothing: an ordinary user has fewer. */
const usualBytes = 1_024
/** Bytes that are decoded for one unit of work. */
const bytesPerWork = 16

/** The cost of a command beside its metered work, in the same units. */
const commandWork = 250
