/**
 * Decodes large bodies a little in each turn of the event loop. `decodeTurnMs` of a turn are for all bodies together,
 * however many there are; those that wait take steps in turn, so that a small one is not behind all of a large one.
 *
 * Cost of a body that is decoded at once: two readings of the clock, and one `setImmediate` a turn.
 */
import { limits } from "../../Limits.ts"
import { eventLoop, type Turns } from "../Turns.ts"

interface Waiting {
  /** Takes a step; whether it was the last. Never throws. */
  readonly step: () => boolean
}

export class DecodingTurns {
  readonly #budgetMs: number
  readonly #turns: Turns
  readonly #waiting: Array<Waiting> = []
  /** Milliseconds spent in this turn, whose end is awaited. */
  #spentMs = 0
  #inTurn = false

  constructor(budgetMs: number = limits.decodeTurnMs, turns: Turns = eventLoop) {
    this.#budgetMs = budgetMs
    this.#turns = turns
  }

  /** How many bodies wait for their next step. */
  get size(): number {
    return this.#waiting.length
  }

  /** Takes steps until one has a result: at once where the turn has time, else in later turns. */
  run<A>(step: () => A | undefined): A | Promise<A> {
    if (this.#waiting.length === 0) {
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
      this.#waiting.push({ step: once })
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
    if (this.#waiting.length === 0) return
    const startedAt = this.#turns.now()
    let now = startedAt
    do {
      const body = this.#waiting.shift()!
      if (!body.step()) this.#waiting.push(body)
      now = this.#turns.now()
    } while (this.#waiting.length > 0 && now - startedAt < this.#budgetMs)
    this.#spend(now - startedAt)
  }
}
