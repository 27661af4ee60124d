/** A set of record numbers, as bits. Cost: one bit for each number of a range with a member. */

const bitsOfChunk = 65_536

export class Sequences {
  readonly #chunks = new Map<number, Uint8Array>()

  /** Adds; returns whether it was a member before. */
  add(sequence: number): boolean {
    const number = Math.floor(sequence / bitsOfChunk)
    let chunk = this.#chunks.get(number)
    if (chunk === undefined) {
      chunk = new Uint8Array(bitsOfChunk / 8)
      this.#chunks.set(number, chunk)
    }
    const at = sequence % bitsOfChunk
    const bit = 1 << (at & 7)
    const before = chunk[at >>> 3]!
    chunk[at >>> 3] = before | bit
    return (before & bit) !== 0
  }

  has(sequence: number): boolean {
    const chunk = this.#chunks.get(Math.floor(sequence / bitsOfChunk))
    const at = sequence % bitsOfChunk
    return chunk !== undefined && ((chunk[at >>> 3]! >>> (at & 7)) & 1) === 1
  }

  /** Those that `other` lacks. */
  *notIn(other: Sequences): Generator<number> {
    for (const [number, chunk] of this.#chunks) {
      const others = other.#chunks.get(number)
      for (let at = 0; at < chunk.length; at++) {
        const left = chunk[at]! & ~(others?.[at] ?? 0)
        for (let bit = 0; left >>> bit > 0; bit++) {
          if (((left >>> bit) & 1) === 1) yield number * bitsOfChunk + at * 8 + bit
        }
      }
    }
  }
}
