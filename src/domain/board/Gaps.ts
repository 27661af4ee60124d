/**
 * The positions of a frozen board whose users are gone (hidden or erased since): the rows keep their
 * positions, and this skips the hidden ones. Sorted; a lookup is O(log n).
 */
export class Gaps {
  readonly #positions: Array<number>

  /** `positions`: sorted, each once. */
  constructor(positions: Array<number> = []) {
    this.#positions = positions
  }

  get size(): number {
    return this.#positions.length
  }

  has(position: number): boolean {
    return this.#positions[this.before(position)] === position
  }

  /** How many gaps there are before `position`. */
  before(position: number): number {
    return this.#first((gap) => gap >= position)
  }

  /** Notes a gap; answers whether it is a new one. */
  add(position: number): boolean {
    const at = this.before(position)
    if (this.#positions[at] === position) return false
    this.#positions.splice(at, 0, position)
    return true
  }

  /** The position of the n-th row (from 0) of those that are left. */
  positionOf(n: number): number {
    return n + this.#first((gap, index) => gap - index > n)
  }

  /** The first index whose gap satisfies `reached`, which holds from some gap on. */
  #first(reached: (gap: number, index: number) => boolean): number {
    let low = 0
    let high = this.#positions.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (reached(this.#positions[middle]!, middle)) high = middle
      else low = middle + 1
    }
    return low
  }

  [Symbol.iterator](): IterableIterator<number> {
    return this.#positions.values()
  }
}
