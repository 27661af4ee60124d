/**
 * Ends what takes longer than it may: a few at once, such as the attempts of one endpoint. One timer serves all, since
 * all may take the same time: who began first is due first. Setting and clearing a timer for each would cost more.
 *
 * An array, looked through: a map that changes all the time leaves a trail of old tables, and through one of them that
 * has grown old the garbage collector keeps all that came after it.
 */
export class Deadlines<A> {
  readonly #timeoutMs: number
  readonly #expired: (one: A) => void
  /** What is under way, in the order in which it began, and when it is over. */
  readonly #ends: Array<{ readonly one: A; readonly at: number }> = []
  #timer: NodeJS.Timeout | undefined

  /** `expired` is called with what has not been removed after the time. */
  constructor(timeoutMs: number, expired: (one: A) => void) {
    this.#timeoutMs = timeoutMs
    this.#expired = expired
  }

  add(one: A): void {
    this.#ends.push({ one, at: performance.now() + this.#timeoutMs })
    this.#timer ??= setTimeout(this.#look, this.#timeoutMs)
  }

  remove(one: A): void {
    const place = this.#ends.findIndex((end) => end.one === one)
    if (place === -1) return
    this.#ends.splice(place, 1)
    if (this.#ends.length > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  readonly #look = (): void => {
    this.#timer = undefined
    for (let [first] = this.#ends; first !== undefined; [first] = this.#ends) {
      const left = first.at - performance.now()
      if (left > 0) {
        // One that began meanwhile, because another ended, may have set it to its own end.
        clearTimeout(this.#timer)
        this.#timer = setTimeout(this.#look, Math.ceil(left))
        return
      }
      this.#ends.shift()
      this.#expired(first.one)
    }
  }
}
