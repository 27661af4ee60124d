/**
 * How many attempts there may be at once, over all endpoints. Those whose last attempt failed may have no more
 * than half of them, those of which nothing is known yet three quarters, and a second attempt at once to
 * one endpoint also counts among the half: so however many hang, the others go on. Who gets none waits its
 * turn among its equals.
 */
export type Standing = "proven" | "unknown" | "failing"

export class Slots {
  readonly #most: Readonly<Record<Standing, number>>
  readonly #waiting: Readonly<Record<Standing, Set<() => void>>> = {
    proven: new Set(),
    unknown: new Set(),
    failing: new Set(),
  }
  inUse = 0

  constructor(most: number) {
    this.#most = {
      proven: most,
      unknown: Math.max(1, Math.floor(0.75 * most)),
      failing: Math.max(1, Math.floor(0.5 * most)),
    }
  }

  /** Whether there is one for anybody. */
  get areFree(): boolean {
    return this.inUse < this.#most.failing
  }

  /** Takes a slot, or has `wake` called, once, when there may be one. `first`: no other attempt to it is under way. */
  take(endpoint: Standing, first: boolean, wake: () => void): boolean {
    const standing = first ? endpoint : "failing"
    if (this.inUse >= this.#most[standing]) {
      this.#waiting[standing].add(wake)
      return false
    }
    this.inUse++
    return true
  }

  release(): void {
    this.inUse--
    this.offer()
  }

  /** Wakes the next one for whom there is a slot. Whoever was woken and takes none passes the offer on. */
  offer(): void {
    const { failing, proven, unknown } = this.#waiting
    if (proven.size + unknown.size + failing.size === 0) return
    for (const standing of ["proven", "unknown", "failing"] as const) {
      const [first] = this.#waiting[standing]
      if (first === undefined || this.inUse >= this.#most[standing]) continue
      this.#waiting[standing].delete(first)
      first()
      return
    }
  }

  /** Whoever waits does not any more. */
  forget(wake: () => void): void {
    for (const waiting of Object.values(this.#waiting)) waiting.delete(wake)
  }
}
