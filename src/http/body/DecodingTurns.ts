/**
 * Decodes large bodies a little in each turn of the event loop. `decodeTurnMs` of a turn are for all bodies together,
 * however many there are. The environments that wait take steps in turn, and so do the bodies of each: a small one is not
 * behind all of a large one, nor behind the many of another environment.
 *
 * Cost of a body that is decoded at once: two readings of the clock, and one `setImmediate` a turn.
 */
import { limits } from "../../Limits.ts"
import { eventLoop, type Turns } from "../Turns.ts"

/** Takes a step of a body; whether it was the last. Never throws. */
type Step = () => boolean

export class DecodingTurns {
  readonly #budgetMs: number
  readonly #turns: Turns
  /** By environment, in the order of the rotation; none is empty. */
  readonly #waiting = new Map<string, Array<Step>>()
  /** Milliseconds spent in this turn, whose end is awaited. */
  #spentMs = 0
  #inTurn = false

  constructor(budgetMs: number = limits.decodeTurnMs, turns: Turns = eventLoop) {
    this.#budgetMs = budgetMs
    this.#turns = turns
  }

  /** How many bodies wait for their next step. */
  get size(): number {
    let size = 0
    for (const bodies of this.#waiting.values()) size += bodies.length
    return size
  }

  /** Takes steps until one has a result: at once where the turn has time, else in later turns. */
  run<A>(environment: string, step: () => A | undefined): A | Promise<A> {
    if (this.#waiting.size === 0) {
      const startedAt = this.#turns.now()
      const until = startedAt + this.#budgetMs - this.#spentMs
      let now = startedAt
      while (now < until) {
        const result = step()
        now = this.#turns.now()
        if (result === undefined) continue
        this.#spend(now - startedAt)
        return result
      }
      this.#spend(now - startedAt)
    }
    return new Promise((resolve, reject) => {
      const once = (): boolean => {
        try {
          const result = step()
          if (result === undefined) return false
          resolve(result)
        } catch (defect) {
          reject(defect)
        }
        return true
      }
      const bodies = this.#waiting.get(environment)
      if (bodies === undefined) this.#waiting.set(environment, [once])
      else bodies.push(once)
    })
  }

  #spend(ms: number): void {
    this.#spentMs += ms
    if (this.#inTurn) return
    this.#inTurn = true
    this.#turns.atEnd(this.#yieldToEventLoop)
  }

  readonly #yieldToEventLoop = (): void => {
    this.#inTurn = false
    this.#spentMs = 0
    if (this.#waiting.size === 0) return
    const startedAt = this.#turns.now()
    let now = startedAt
    // An environment that goes to the end of the rotation comes up again in this loop.
    for (const [environment, bodies] of this.#waiting) {
      this.#waiting.delete(environment)
      const step = bodies.shift()!
      if (!step()) bodies.push(step)
      if (bodies.length > 0) this.#waiting.set(environment, bodies)
      now = this.#turns.now()
      if (now - startedAt >= this.#budgetMs) break
    }
    this.#spend(now - startedAt)
  }
}
