/**
 * Throttles refusals, so that they do not starve accepted requests: with 2,000 connections a refusal costs about 40 µs, half of an
 * event; two thirds of it are reading and parsing its head, and what Node does after the reply. Bare `node:http` needs 25. Each
 * turn of the event loop sends refusals for `overloadRefusalMs`; the rest waits for the next turn, in order. A caller that waits
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
