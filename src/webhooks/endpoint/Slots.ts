/**
 * The attempts under way over all endpoints, bounded. Endpoints whose last attempt failed may use half of the slots, new
 * ones three quarters, and an endpoint's second attempt at once counts as failing: endpoints that hang cannot take the
 * slots of those that answer. An endpoint without a slot waits in the queue of its standing.
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

  /** Whether a slot is free for any standing. */
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

  /** Wakes the next endpoint that may have a slot. If it takes none, it calls `offer` again. */
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

  /** Removes a waiting endpoint. */
  forget(wake: () => void): void {
    for (const waiting of Object.values(this.#waiting)) waiting.delete(wake)
  }
}
