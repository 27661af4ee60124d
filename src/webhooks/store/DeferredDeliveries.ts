/**
 * New deliveries that are in memory and not written yet: one that succeeds soon is written once. In journal order, since
 * the cursor stays before the oldest.
 */
import type { Delivery } from "./Delivery.ts"

export class DeferredDeliveries {
  readonly #deliveries = new Set<Delivery>()
  #newest = 0

  get size(): number {
    return this.#deliveries.size
  }

  /** The record of the oldest. */
  get oldest(): number | undefined {
    const [oldest] = this.#deliveries
    return oldest?.sequence
  }

  /** Takes those out of `dirty` that need not be written yet, and adds those that were expanded by `before`. */
  setAside(dirty: Set<Delivery>, before: number): void {
    for (const delivery of dirty) {
      if (!mayWait(delivery) || delivery.sequence < this.#newest) continue
      dirty.delete(delivery)
      this.#deliveries.add(delivery)
      this.#newest = delivery.sequence
    }
    for (const delivery of this.#deliveries) {
      if (delivery.expandedAt! > before) break
      this.#deliveries.delete(delivery)
      dirty.add(delivery)
    }
    if (this.#deliveries.size === 0) this.#newest = 0
  }

  /** Adds all to `dirty`. */
  takeAll(dirty: Set<Delivery>): void {
    for (const delivery of this.#deliveries) dirty.add(delivery)
    this.#deliveries.clear()
    this.#newest = 0
  }

  delete(delivery: Delivery): void {
    this.#deliveries.delete(delivery)
  }
}

const mayWait = ({ entry, expandedAt, stored }: Delivery): boolean =>
  expandedAt !== undefined && entry !== undefined && stored === undefined
