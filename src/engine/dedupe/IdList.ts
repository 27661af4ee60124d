/** Ids of callers on their way into the index (`IdIndex.ts`): what it keeps of each, side by side in typed arrays. */
export class IdList {
  count = 0
  hashes: Uint32Array
  sequences: Float64Array

  constructor(capacity = 1_024) {
    this.hashes = new Uint32Array(capacity)
    this.sequences = new Float64Array(capacity)
  }

  /** `hash` is of an environment, a user and an id; `sequence` that of the record with this id. */
  add(hash: number, sequence: number): void {
    if (this.count === this.hashes.length) this.#grow()
    this.hashes[this.count] = hash
    this.sequences[this.count++] = sequence
  }

  #grow(): void {
    const { hashes, sequences } = this
    const capacity = 2 * this.count + 64
    this.hashes = new Uint32Array(capacity)
    this.sequences = new Float64Array(capacity)
    this.hashes.set(hashes)
    this.sequences.set(sequences)
  }

  /** The ids in 2^bits lists, by the first bits of their hashes, in the order of these. */
  parts(bits: number): ReadonlyArray<IdList> {
    if (bits === 0) return [this]
    const counts = this.countsOf(bits, 0, 2 ** bits)
    const parts = Array.from(counts, (count) => new IdList(count))
    for (let n = 0; n < this.count; n++) {
      const hash = this.hashes[n]!
      parts[firstBits(hash, bits)]!.add(hash, this.sequences[n]!)
    }
    return parts
  }

  /** How many ids there are of each value of the hash's first bits, of `values` from `first` on. */
  countsOf(bits: number, first: number, values: number): Uint32Array {
    const counts = new Uint32Array(values)
    for (let n = 0; n < this.count; n++) {
      const at = firstBits(this.hashes[n]!, bits) - first
      counts[at] = counts[at]! + 1
    }
    return counts
  }
}

/** The first `bits` of a hash of 32 bits, as a number. */
export const firstBits = (hash: number, bits: number): number =>
  bits === 0 ? 0 : hash >>> (32 - bits)
