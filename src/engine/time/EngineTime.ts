/** The time of a state: it stands still at the newest record until the engine writes records itself, by a clock. */
export class EngineTime {
  /** The newest time of the data, epoch milliseconds; `undefined`: it has none. */
  latest: number | undefined
  #clock: (() => number) | undefined

  constructor(latest: number | undefined) {
    this.latest = latest
  }

  /** Epoch milliseconds. */
  readonly now = (): number => (this.#clock === undefined ? (this.latest ?? 0) : this.#clock())

  /** A record of this time was folded. */
  reached(at: number): void {
    if (this.latest === undefined || at > this.latest) this.latest = at
  }

  follow(clock: { readonly now: () => number }): void {
    this.#clock = clock.now
  }
}
