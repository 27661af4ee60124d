/**
 * Composite binary keys. A key is its parts one after another, each self-delimiting, so that no choice of
 * ids can make two different lists of parts collide and a list of parts is a prefix of exactly those lists
 * that begin with it.
 *
 * - A string is a 16-bit big-endian byte length and its UTF-8. Strings must be well formed: a lone
 *   surrogate would collide with U+FFFD, so it is refused where ids enter.
 * - A number is a safe integer in 8 bytes, big-endian two's complement with the sign bit flipped.
 *
 * Order: numbers by value; strings by length, then by bytes; a string before a number. The first byte tells
 * the two apart: lengths stay below 0x0800, numbers start with 0x7f or 0x80.
 */
import type { Range } from "./Storage.ts"

export type KeyPart = string | number

/** What LMDB takes with 4-KiB pages. */
export const keyBytesMax = 1_978

const numberBytes = 8
const lengthBytes = 2
const wordValues = 0x1_0000_0000
const signBit = 0x8000_0000

/** The key of `parts`. Throws a RangeError for an unsafe integer or a key above `keyBytesMax` bytes. */
export const compositeKey = (...parts: ReadonlyArray<KeyPart>): Uint8Array => {
  let size = 0
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!
    size += typeof part === "number" ? numberBytes : lengthBytes + Buffer.byteLength(part)
  }
  if (size > keyBytesMax) throw new RangeError(`a key of ${size} bytes is above ${keyBytesMax}`)
  const key = Buffer.allocUnsafe(size)
  let at = 0
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!
    at = typeof part === "number" ? writeNumber(key, part, at) : writeString(key, part, at)
  }
  return key
}

const writeNumber = (key: Buffer, value: number, at: number): number => {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a safe integer`)
  const high = Math.floor(value / wordValues)
  key.writeUInt32BE(high + signBit, at)
  return key.writeUInt32BE(value - high * wordValues, at + 4)
}

const writeString = (key: Buffer, value: string, at: number): number => {
  const start = at + lengthBytes
  const written = key.write(value, start, "utf8")
  key.writeUInt16BE(written, at)
  return start + written
}

/** `bytes` as a Buffer over the same memory. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** The text of a key's last part, which follows the parts that `prefix` has. */
export const textAfter = (prefix: Uint8Array, key: Uint8Array): string =>
  asBuffer(key).toString("utf8", prefix.length + lengthBytes)

/** Whether `key` begins with the bytes of `prefix`. */
export const hasPrefix = (prefix: Uint8Array, key: Uint8Array): boolean => {
  if (key.length < prefix.length) return false
  for (let index = 0; index < prefix.length; index++) {
    if (key[index] !== prefix[index]) return false
  }
  return true
}

/** The parts of a key that `compositeKey` made. Throws a RangeError for other bytes. */
export const keyParts = (key: Uint8Array): ReadonlyArray<KeyPart> => {
  const bytes = asBuffer(key)
  const parts: Array<KeyPart> = []
  let at = 0
  while (at < bytes.length) {
    if (bytes[at]! >= 0x7f) {
      const high = bytes.readUInt32BE(at) - signBit
      parts.push(high * wordValues + bytes.readUInt32BE(at + 4))
      at += numberBytes
    } else {
      const start = at + lengthBytes
      const end = start + bytes.readUInt16BE(at)
      if (end > bytes.length) throw new RangeError("the key ends within a part")
      parts.push(bytes.toString("utf8", start, end))
      at = end
    }
  }
  return parts
}

/** The range of all keys that begin with `prefix`; with an empty prefix, of all composite keys. */
export const rangeOf = (prefix: Uint8Array): Pick<Range, "from" | "until"> => ({
  from: prefix,
  until: successor(prefix),
})

/** The first key after all that begin with `prefix`. */
export const successor = (prefix: Uint8Array): Uint8Array => {
  let length = prefix.length
  while (length > 0 && prefix[length - 1] === 0xff) length--
  // No composite key starts with 0xff.
  if (length === 0) return Uint8Array.of(0xff)
  const next = Uint8Array.from(prefix.subarray(0, length))
  next[length - 1] = next[length - 1]! + 1
  return next
}
