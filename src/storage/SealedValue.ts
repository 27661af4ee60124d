/**
 * The form of every stored value, since LMDB has no checksums: one byte, body, CRC-32
 * (little-endian) of byte and body. A flipped bit on the disk gives an error, never a wrong
 * balance. The byte is the format of the data (`format.ts`). Does not load Effect, so that a scan
 * process starts fast.
 *
 * Cost of a write: one allocation, one copy of the body and one native CRC. The checksum comes
 * last, so every intact value has the same CRC and a check allocates nothing.
 */

import { crc32 } from "node:zlib"
import type { EntryBlock } from "./EntryBlock.ts"
import { dataFormat, otherFormat } from "./format.ts"
import { asBuffer, keyParts } from "./Keys.ts"

const checksumBytes = 4
/** The CRC-32 of any bytes that end with their own CRC-32. */
const residue = 0x2144df1c

/** Where the body begins in a stored value. */
export const valueBodyAt = 1

/** The stored form of a body; strings as UTF-8. */
export const encodeValue = (body: Uint8Array | string): Uint8Array => {
  const value = valueFor(typeof body === "string" ? Buffer.byteLength(body) : body.length)
  if (typeof body === "string") value.write(body, valueBodyAt, "utf8")
  else value.set(body, valueBodyAt)
  return sealValue(value)
}

/**
 * Memory for the stored form of a body of `bodyBytes`. The caller writes the body at `valueBodyAt`,
 * then calls `sealValue`.
 */
export const valueFor = (bodyBytes: number): Buffer =>
  Buffer.allocUnsafe(valueBodyAt + bodyBytes + checksumBytes)

/** Completes `value`, which holds the body, in place. */
export const sealValue = (value: Buffer): Uint8Array => {
  const end = value.length - checksumBytes
  value[0] = dataFormat
  value.writeUInt32LE(crc32(value.subarray(0, end)), end)
  return value
}

/** The checksum of the stored value that ends at `end` of `bytes`, as a signed 32-bit integer. */
export const checksumOf = (bytes: Uint8Array, end: number = bytes.length): number =>
  bytes[end - 4]! | (bytes[end - 3]! << 8) | (bytes[end - 2]! << 16) | (bytes[end - 1]! << 24)

/** Whether a stored value has this format and a right checksum. */
export const isWhole = (value: Buffer): boolean =>
  value[0] === dataFormat && value.length >= valueBodyAt + checksumBytes && hasChecksum(value)

/** Whether the checksum of a stored value of any format is right. */
export const hasChecksum = (value: Buffer): boolean => crc32(value) === residue

/**
 * The index of the first damaged value of a block; -1 if all are intact. One CRC over all values is
 * as reliable as one per value: damage changes the CRC, and intact values after the damage cannot
 * change it back.
 */
export const firstDamaged = (block: EntryBlock): number => {
  const areWhole = crc32(block.separated) === 0
  for (let n = 0; n < block.count; n++) {
    if (areWhole) {
      const start = block.valueStart(n)
      const isLong = block.valueEnd(n) - start >= valueBodyAt + checksumBytes
      if (isLong && block.values[start] === dataFormat) continue
    } else if (isWhole(block.value(n))) continue
    return n
  }
  return -1
}

/** Where the body ends in a stored value that ends at `valueEnd`. */
export const wholeBodyEnd = (valueEnd: number): number => valueEnd - checksumBytes

/** The body of a stored value for which `isWhole` is true, as a view. */
export const wholeBody = (value: Buffer): Buffer =>
  value.subarray(valueBodyAt, wholeBodyEnd(value.length))

/** The body of a stored value, as a view, or its fault as a predicate ("is damaged"). */
export const openValue = (value: Uint8Array): Uint8Array | string => {
  const bytes = asBuffer(value)
  if (bytes.length < valueBodyAt + checksumBytes || crc32(bytes) !== residue) return "is damaged"
  const form = bytes[0]!
  return form === dataFormat ? wholeBody(bytes) : otherFormat(form)
}

/** The content of a body that is JSON. */
export const jsonOf = <A>(body: Uint8Array): A => JSON.parse(asBuffer(body).toString("utf8"))

/** A fault of a value as a sentence, without the full stop. */
export const valueFault = (table: string, key: Uint8Array, words: string): string =>
  `The value ${keyName(key)} of table ${table} ${words}`

/** A key as text, for reports. */
export const keyName = (key: Uint8Array): string => {
  try {
    return JSON.stringify(keyParts(key))
  } catch {
    return Buffer.from(key).toString("hex")
  }
}
