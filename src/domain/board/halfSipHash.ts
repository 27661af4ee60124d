/**
 * HalfSipHash-1-3: a keyed 32-bit hash of bytes. Without the key, nobody can choose ids that
 * collide. By Jean-Philippe Aumasson and Daniel J. Bernstein; reference: halfsiphash.c in
 * https://github.com/veorq/SipHash, with one compression and three finalisation rounds.
 */
export const halfSipHash = (
  bytes: Uint8Array,
  start: number,
  end: number,
  key0: number,
  key1: number,
): number => {
  let v0 = key0 | 0
  let v1 = key1 | 0
  let v2 = key0 ^ 0x6c796765
  let v3 = key1 ^ 0x74656462
  const length = end - start
  const wordsEnd = end - (length & 3)
  let rounds = 0
  let word = 0
  for (let at = start; ; at += 4) {
    if (at < wordsEnd) {
      word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
      rounds = 1
    } else if (at === wordsEnd) {
      // The last word holds the remaining bytes and the length.
      word = length << 24
      if ((length & 3) > 2) word |= bytes[at + 2]! << 16
      if ((length & 3) > 1) word |= bytes[at + 1]! << 8
      if ((length & 3) > 0) word |= bytes[at]!
      rounds = 1
    } else {
      v2 ^= 0xff
      word = 0
      rounds = 3
    }
    v3 ^= word
    for (let round = 0; round < rounds; round++) {
      v0 = (v0 + v1) | 0
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
      v0 = (v0 + v3) | 0
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
      v2 = (v2 + v1) | 0
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
      v2 = (v2 << 16) | (v2 >>> 16)
    }
    v0 ^= word
    if (rounds === 3) return (v1 ^ v3) >>> 0
  }
}
