/**
 * The gaps of a closed board: the positions of users who were hidden or erased after the board
 * closed. The rows of the board keep their positions, and a reader skips the gaps. The positions
 * are sorted; a lookup is O(log n).
 */
export class Gaps {
  readonly #positions: Array<number>

  /** `positions` are sorted, without duplicates. */
  constructor(positions: Array<number> = []) {
    this.#positions = positions
  }

  get size(): number {
    return this.#positions.length
  }

  has(position: number): boolean {
    return this.#positions[this.before(position)] === position
  }

  /** The number of gaps before `position`. */
  before(position: number): number {
    return this.#first((gap) => gap >= position)
  }

  /** Adds a gap. Returns whether it is new. */
  add(position: number): boolean {
    const at = this.before(position)
    if (this.#positions[at] === position) return false
    this.#positions.splice(at, 0, position)
    return true
  }

  /** The position of the n-th row (from 0) that is not a gap. */
  positionOf(n: number): number {
    return n + this.#first((gap, index) => gap - index > n)
  }

  /**
   * The index of the first gap that satisfies `reached`. Every gap after one that satisfies it
   * does, too.
   */
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
