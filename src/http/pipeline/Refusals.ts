/**
 * Throttles refusals, so that they do not starve accepted requests: most of a refusal's cost is Node's, which reads and parses
 * the head and cleans up behind the reply, whatever the reply says. Each turn of the event loop sends refusals for `overloadRefusalMs`; the rest waits for the next turn, in order. A caller that waits
 * for its refusal sends nothing on that connection, which bounds the load; `connectionsMax` bounds the queue.
 */
import { eventLoop, type Turns } from "../Turns.ts"

export class Refusals {
  readonly #budgetMs: number
  readonly #turns: Turns
  #waiting: Array<() => void> = []
  #next = 0

  constructor(budgetMs: number, turns: Turns = eventLoop) {
    this.#budgetMs = budgetMs
    this.#turns = turns
  }

  /** How many wait to be sent. */
  get size(): number {
    return this.#waiting.length - this.#next
  }

  /** `send` must not throw. */
  add(send: () => void): void {
    if (this.size === 0) this.#turns.atEnd(this.#sendSome)
    this.#waiting.push(send)
  }

  readonly #sendSome = (): void => {
    const until = this.#turns.now() + this.#budgetMs
    do this.#waiting[this.#next++]!()
    while (this.size > 0 && this.#turns.now() < until)
    if (this.size > 0) {
      this.#turns.atEnd(this.#sendSome)
      if (this.#next < 1_024) return
      this.#waiting = this.#waiting.slice(this.#next)
    } else {
      this.#waiting = []
    }
    this.#next = 0
  }
}
