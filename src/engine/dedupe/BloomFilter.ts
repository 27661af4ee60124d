/**
 * Recognises new ids of callers, so that an event with a new id, the usual case, needs no look-up in the snapshot's
 * index.
 *
 * A blocked Bloom filter (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007):
 * an id sets `bitsPerId` bits within one block of 64 bytes, one cache line. At 12 bits of the filter an id
 * about one new id in a hundred is looked up in vain; beyond that more are, but a known id is never missed.
 * It is filled from the index after start; until it is, everything may be known. Engines of one process share the bits:
 * the ids of others only make look-ups in vain more frequent.
 */
export class BloomFilter {
  readonly #words: Uint32Array
  readonly #blocks: number
  #complete = false

  /** `size` is bytes, rounded down to whole blocks of 64, or another filter, whose bits it shares. */
  constructor(size: number | BloomFilter) {
    const isOwn = typeof size === "number"
    this.#blocks = isOwn ? Math.max(1, Math.floor(size / blockBytes)) : size.#blocks
    this.#words = isOwn ? new Uint32Array(this.#blocks * blockWords) : size.#words
  }

  /** Every id that was stored before is in it now. Says nothing about other filters with the same bits. */
  complete(): void {
    this.#complete = true
  }

  /** Whether an id with this hash may have been added; `false` is certain. */
  mayHave(hash: number): boolean {
    if (!this.#complete) return true
    const block = (hash % this.#blocks) * blockWords
    let bits = mix(hash)
    for (let bit = 0; bit < bitsPerId; bit++) {
      if (((this.#words[block + (bits & 15)]! >>> ((bits >>> 4) & 31)) & 1) === 0) return false
      bits = nextBits(bits)
    }
    return true
  }

  add(hash: number): void {
    const block = (hash % this.#blocks) * blockWords
    let bits = mix(hash)
    for (let bit = 0; bit < bitsPerId; bit++) {
      const word = block + (bits & 15)
      this.#words[word] = this.#words[word]! | (1 << ((bits >>> 4) & 31))
      bits = nextBits(bits)
    }
  }
}

const blockBytes = 64
const blockWords = 16
const bitsPerId = 6

// The finisher of MurmurHash3: every bit of the hash reaches every bit of the result.
const mix = (hash: number): number => {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

const nextBits = (bits: number): number => mix((bits + 0x9e3779b9) | 0)

/** A 32-bit hash of `text` (FNV-1a over UTF-16 units), going on from `seed`. */
export const hashText = (text: string, seed = 0x811c9dc5): number => {
  let hash = seed
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return hash >>> 0
}

/** Where the hashes of one user's ids begin. */
export const idSeed = (environment: string, userId: string): number =>
  hashText(userId, hashText(environment))
