/**
 * Ends what takes longer than it may. One timer serves all, since all may take the same time: who began first is due
 * first. Setting and clearing a timer for each would cost more.
 */
export class Deadlines {
  readonly #timeoutMs: number
  /** What is under way, in the order in which it began, and when it is over. */
  readonly #ends = new Map<() => void, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** Calls `expired` after the time, unless it is removed before. */
  add(expired: () => void): void {
    this.#ends.set(expired, performance.now() + this.#timeoutMs)
    this.#timer ??= setTimeout(this.#look, this.#timeoutMs)
  }

  remove(expired: () => void): void {
    this.#ends.delete(expired)
    if (this.#ends.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  readonly #look = (): void => {
    this.#timer = undefined
    for (const [expired, end] of this.#ends) {
      const left = end - performance.now()
      if (left > 0) {
        this.#timer = setTimeout(this.#look, Math.ceil(left))
        return
      }
      this.#ends.delete(expired)
      expired()
    }
  }
}
