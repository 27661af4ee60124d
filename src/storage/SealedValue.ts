/**
 * The form of every stored value, since LMDB has no checksums: one byte of format version, body, CRC-32 (little-endian) of
 * version and body. A bit that flips on the disk gives an error, never a wrong balance. Version 2 is version 1 with a packed
 * body (`PackedBody.ts`). Loads nothing of Effect, so that a scan process starts fast.
 *
 * Cost of a write: one allocation, one copy of the body and one native CRC. The checksum comes last, so the CRC of every
 * whole value is the same number and a check allocates nothing.
 */
import { crc32 } from "node:zlib"
import type { EntryBlock } from "./EntryBlock.ts"
import { asBuffer, keyParts } from "./Keys.ts"
import { pack, unpacked } from "./PackedBody.ts"

const formatVersion = 1
const packedVersion = 2
const checksumBytes = 4
/** The CRC-32 of any bytes followed by their own CRC-32. */
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

/** Memory for the stored form of a body of `bodyBytes`: the caller writes the body at `valueBodyAt`, then calls `sealValue`. */
export const valueFor = (bodyBytes: number): Buffer =>
  Buffer.allocUnsafe(valueBodyAt + bodyBytes + checksumBytes)

/** Completes `value`, which holds the body, in place. */
export const sealValue = (value: Buffer): Uint8Array => sealAs(formatVersion, value)

const sealAs = (version: number, value: Buffer): Uint8Array => {
  const end = value.length - checksumBytes
  value[0] = version
  value.writeUInt32LE(crc32(value.subarray(0, end)), end)
  return value
}

/** A stored value with its body packed; itself where that would not make it shorter. */
export const packedValue = (value: Uint8Array): Uint8Array => {
  if (value[0] !== formatVersion) return value
  const packed = Buffer.allocUnsafe(value.length)
  const body = value.subarray(valueBodyAt, wholeBodyEnd(value.length))
  const end = pack(body, packed, valueBodyAt)
  return end < 0 ? value : sealAs(packedVersion, packed.subarray(0, end + checksumBytes))
}

/** The checksum of the stored value that ends at `end` of `bytes`, as a signed 32-bit integer. */
export const checksumOf = (bytes: Uint8Array, end: number = bytes.length): number =>
  bytes[end - 4]! | (bytes[end - 3]! << 8) | (bytes[end - 2]! << 16) | (bytes[end - 1]! << 24)

/** Whether a stored value has this format and a right checksum: then its body can be read in place. */
export const isWhole = (value: Buffer): boolean =>
  value[0] === formatVersion && value.length >= valueBodyAt + checksumBytes && hasChecksum(value)

/** Whether the checksum of a stored value of any format is right. */
export const hasChecksum = (value: Buffer): boolean => crc32(value) === residue

/**
 * The first entry of a block whose value is damaged; -1 if none is. One CRC over all values is as reliable as one per
 * value: damage changes it, and whole values after the damage cannot change it back.
 */
export const firstDamaged = (block: EntryBlock): number => {
  const areWhole = crc32(block.separated) === 0
  for (let n = 0; n < block.count; n++) {
    if (areWhole) {
      const start = block.valueStart(n)
      const isLong = block.valueEnd(n) - start >= valueBodyAt + checksumBytes
      if (isLong && block.values[start] === formatVersion) continue
    } else if (isWhole(block.value(n))) continue
    return n
  }
  return -1
}

/** Where the body ends in a stored value that ends at `valueEnd`. */
export const wholeBodyEnd = (valueEnd: number): number => valueEnd - checksumBytes

/** The body of a stored value that `isWhole`, as a view of it. */
export const wholeBody = (value: Buffer): Buffer =>
  value.subarray(valueBodyAt, wholeBodyEnd(value.length))

/** By format version, how to convert a body to the current form; `undefined`: that cannot be done. */
const readers: { readonly [format: number]: (body: Buffer) => Buffer | undefined } = {
  [formatVersion]: (body) => body,
  [packedVersion]: unpacked,
}

/** The body of a stored value, as a view where it is not packed, or the fault as a predicate ("is damaged"). */
export const openValue = (value: Uint8Array): Uint8Array | string => {
  const bytes = asBuffer(value)
  const version = bytes[0] ?? 0
  if (bytes.length < valueBodyAt + checksumBytes) return "is damaged"
  if (version > packedVersion) return `has format ${version}: it was written by a newer Laurel`
  if (crc32(bytes) !== residue) return "is damaged"
  const read = readers[version]
  return read === undefined
    ? `has format ${version}, which no Laurel has written`
    : (read(wholeBody(bytes)) ?? "cannot be unpacked")
}

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
