/**
 * Sends refusals without letting them take the server from those that were accepted: a refusal costs a quarter of
 * an event, so many of them would be a load of their own. Each turn of the event loop sends them for
 * `overloadRefusalMs`; what is left waits for the next, in order. As a rule that is at once. Beyond it, callers who
 * wait for their refusal send nothing meanwhile on that connection, which is what bounds the load, and
 * `connectionsMax` bounds how many wait here.
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
