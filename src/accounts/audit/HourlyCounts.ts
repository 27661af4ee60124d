/** Counts by name within the present hour; the next hour begins with none, so few names are held. */
export class HourlyCounts {
  readonly #most: number
  readonly #now: () => number
  readonly #counts = new Map<string, number>()
  #hour = 0

  constructor(most: number, now: () => number) {
    this.#most = most
    this.#now = now
  }

  #current(): Map<string, number> {
    const hour = Math.floor(this.#now() / 3_600_000)
    if (hour !== this.#hour) {
      this.#counts.clear()
      this.#hour = hour
    }
    return this.#counts
  }

  /** Whether `name` was counted as often as is allowed. */
  isFull(name: string): boolean {
    return (this.#current().get(name) ?? 0) >= this.#most
  }

  add(name: string): void {
    const counts = this.#current()
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
}
