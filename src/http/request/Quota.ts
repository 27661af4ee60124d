/** So many a minute: a full minute's worth at once, then as they come back. */
export class Quota {
  readonly #perMinute: number
  #left: number
  #filledAt = Number.NEGATIVE_INFINITY
  #refused = 0

  constructor(perMinute: number) {
    this.#perMinute = perMinute
    this.#left = perMinute
  }

  /** `nowMs` is a clock that never goes back. */
  take(nowMs: number): boolean {
    const back = ((nowMs - this.#filledAt) / 60_000) * this.#perMinute
    this.#left = Math.min(this.#perMinute, this.#left + back)
    this.#filledAt = nowMs
    if (this.#left < 1) {
      this.#refused++
      return false
    }
    this.#left--
    return true
  }

  /** How many were refused since the last call. */
  takeRefused(): number {
    const refused = this.#refused
    this.#refused = 0
    return refused
  }
}
