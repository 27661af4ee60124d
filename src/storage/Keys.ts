/**
 * Composite binary keys: self-delimiting parts in sequence. Two different lists of parts never
 * collide, and the key of a list is a prefix of exactly the keys of lists that begin with it.
 *
 * - A string is a 1, its UTF-8 and a 0. Strings must be well formed: a lone surrogate would collide
 *   with U+FFFD, so the API refuses it. U+0000 and U+0001, which no id has, are written as 1 1 and
 *   1 2.
 * - A number is a 2 and a safe integer in 8 bytes, big-endian two's complement with the sign bit
 *   flipped.
 *
 * Order: numbers by value; strings by code points; a string before a number.
 */
export type KeyPart = string | number

/** Keys from `from` (inclusive) to `until` (exclusive) in byte order. */
export interface KeyRange {
  readonly from: Uint8Array
  readonly until: Uint8Array
}

/** The limit of LMDB with pages of 4 KiB. */
export const keyBytesMax = 1_978

const stringTag = 1
const numberTag = 2
/** Size of a number in a key. */
const numberBytes = 9
const wordValues = 0x1_0000_0000
const signBit = 0x8000_0000

/**
 * The key of `parts`. Throws a RangeError for an unsafe integer or a key above `keyBytesMax` bytes.
 */
export const compositeKey = (...parts: ReadonlyArray<KeyPart>): Uint8Array => {
  let size = 0
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!
    size = typeof part === "number" ? writeNumber(part, size) : writeString(part, size)
  }
  if (size > keyBytesMax) throw new RangeError(`a key of ${size} bytes is above ${keyBytesMax}`)
  const key = Buffer.allocUnsafe(size)
  scratch.copy(key, 0, 0, size)
  return key
}

/** Scratch memory for building a key; used within one call. */
let scratch = Buffer.allocUnsafeSlow(2 * keyBytesMax)

const reserve = (size: number): void => {
  if (size <= scratch.length) return
  const larger = Buffer.allocUnsafeSlow(2 * size)
  scratch.copy(larger)
  scratch = larger
}

const writeNumber = (value: number, at: number): number => {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a safe integer`)
  reserve(at + numberBytes)
  const high = Math.floor(value / wordValues)
  scratch[at] = numberTag
  writeWord(high + signBit, at + 1)
  writeWord(value - high * wordValues, at + 5)
  return at + numberBytes
}

/**
 * Writes a number from 0 to 2^32 - 1. The checks of Buffer's methods would cost more than the rest
 * of a key.
 */
const writeWord = (value: number, at: number): void => {
  scratch[at] = value >>> 24
  scratch[at + 1] = value >>> 16
  scratch[at + 2] = value >>> 8
  scratch[at + 3] = value
}

const writeString = (value: string, at: number): number => {
  // An escaped character takes two bytes, any other UTF-16 unit at most three.
  reserve(at + 2 + 3 * value.length)
  scratch[at] = stringTag
  const start = at + 1
  let end = start
  for (let index = 0; index < value.length; index++) {
    const unit = value.charCodeAt(index)
    if (unit <= 1 || unit > 0x7f) {
      end = start + scratch.write(escaped(value), start, "utf8")
      break
    }
    scratch[end++] = unit
  }
  scratch[end] = 0
  return end + 1
}

const escaped = (text: string): string =>
  text.includes("\0") || text.includes("\u0001")
    ? text.replaceAll("\u0001", "\u0001\u0002").replaceAll("\0", "\u0001\u0001")
    : text

const unescaped = (text: string): string =>
  text.includes("\u0001")
    ? text.replaceAll("\u0001\u0001", "\0").replaceAll("\u0001\u0002", "\u0001")
    : text

/** `bytes` as a Buffer over the same memory. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** A view over the memory of these bytes. */
export const dataViewOf = ({ buffer, byteLength, byteOffset }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength)

/**
 * Where the UTF-8 of the last part of a key begins, if that part is a string without U+0000 and
 * U+0001 and follows the parts of `prefix`.
 */
export const lastTextStart = (prefix: Uint8Array): number => prefix.length + 1

/** Where the UTF-8 of such a last part ends, in a key that ends at `keyEnd`. */
export const lastTextEnd = (keyEnd: number): number => keyEnd - 1

/** Whether the key in `bytes` from `start` to `end` begins with `prefix`. */
export const hasPrefix = (
  prefix: Uint8Array,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean => {
  if (end - start < prefix.length) return false
  for (let index = 0; index < prefix.length; index++) {
    if (bytes[start + index] !== prefix[index]) return false
  }
  return true
}

/** The parts of a key that `compositeKey` built. Throws a RangeError for other bytes. */
export const keyParts = (key: Uint8Array): ReadonlyArray<KeyPart> => {
  const bytes = asBuffer(key)
  const parts: Array<KeyPart> = []
  let at = 0
  while (at < bytes.length) {
    if (bytes[at] === numberTag) {
      const high = bytes.readUInt32BE(at + 1) - signBit
      parts.push(high * wordValues + bytes.readUInt32BE(at + 5))
      at += numberBytes
    } else {
      const end = bytes.indexOf(0, at + 1)
      if (bytes[at] !== stringTag || end < 0) throw new RangeError("these bytes are not a key")
      parts.push(unescaped(bytes.toString("utf8", at + 1, end)))
      at = end + 1
    }
  }
  return parts
}

/** The range of all keys that begin with `prefix`; all composite keys if `prefix` is empty. */
export const rangeOf = (prefix: Uint8Array): KeyRange => ({
  from: prefix,
  until: successor(prefix),
})

/** The range of all composite keys. */
export const everyKey: KeyRange = { from: new Uint8Array(), until: Uint8Array.of(0xff) }

/** The first key after all keys that begin with `prefix`. */
export const successor = (prefix: Uint8Array): Uint8Array => {
  let length = prefix.length
  while (length > 0 && prefix[length - 1] === 0xff) length--
  // No composite key starts with 0xff.
  if (length === 0) return Uint8Array.of(0xff)
  const next = Uint8Array.from(prefix.subarray(0, length))
  next[length - 1] = next[length - 1]! + 1
  return next
}
