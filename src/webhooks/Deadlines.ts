/**
 * Ends what takes longer than it may. One timer serves all, since all may take the same time: who began first is due
 * first. Setting and clearing a timer for each would cost more.
 */
export class Deadlines<A> {
  readonly #timeoutMs: number
  readonly #expired: (one: A) => void
  /** What is under way, in the order in which it began, and when it is over. */
  readonly #ends = new Map<A, number>()
  #timer: NodeJS.Timeout | undefined

  /** `expired` is called with what has not been removed after the time. */
  constructor(timeoutMs: number, expired: (one: A) => void) {
    this.#timeoutMs = timeoutMs
    this.#expired = expired
  }

  add(one: A): void {
    this.#ends.set(one, performance.now() + this.#timeoutMs)
    this.#timer ??= setTimeout(this.#look, this.#timeoutMs)
  }

  remove(one: A): void {
    this.#ends.delete(one)
    if (this.#ends.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  readonly #look = (): void => {
    this.#timer = undefined
    for (const [one, end] of this.#ends) {
      const left = end - performance.now()
      if (left > 0) {
        this.#timer = setTimeout(this.#look, Math.ceil(left))
        return
      }
      this.#ends.delete(one)
      this.#expired(one)
    }
  }
}
