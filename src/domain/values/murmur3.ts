/**
 * MurmurHash3, x86, 32 bits, seed 0, of the UTF-8 bytes of a text. By Austin Appleby, in the public
 * domain; reference: `MurmurHash3_x86_32` in https://github.com/aappleby/smhasher. Libraries for all
 * common languages have it, so that callers can compute the same number.
 */
export const murmur3 = (text: string): number => {
  const bytes = encoder.encode(text)
  const wordsEnd = bytes.length & ~3
  let hash = 0
  for (let at = 0; at < wordsEnd; at += 4) {
    const word =
      bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
    hash ^= scrambled(word)
    hash = (hash << 13) | (hash >>> 19)
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0
  }
  let rest = 0
  for (let at = bytes.length - 1; at >= wordsEnd; at--) rest = (rest << 8) | bytes[at]!
  if (wordsEnd < bytes.length) hash ^= scrambled(rest)
  hash ^= bytes.length
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

const encoder = new TextEncoder()

const scrambled = (word: number): number => {
  const mixed = Math.imul(word, 0xcc9e2d51)
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593)
}
