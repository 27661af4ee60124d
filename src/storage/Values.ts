/**
 * What every value of the snapshot is wrapped in, since LMDB itself has no checksums: one byte of format
 * version, body, CRC-32 (little-endian) of version and body. A bit that flipped on the disk is an error and
 * never a wrong balance.
 *
 * Cost: one allocation, one copy of the body and one native CRC per value written. With the checksum at the
 * end, the CRC of a whole value is always the same number, so checking one allocates nothing.
 */
import { crc32 } from "node:zlib"
import { Effect } from "effect"
import { asBuffer, keyParts } from "./Keys.ts"
import { Broken, type Table } from "./Storage.ts"

const formatVersion = 1
const checksumBytes = 4
/** The CRC-32 of anything that its own CRC-32 follows. */
const residue = 0x2144df1c

/** Where the body begins in a stored value. */
export const valueBodyAt = 1

/** Where a value was found, for the report of a damaged one. */
export interface Place {
  readonly table: Table
  readonly key: Uint8Array
}

/** The stored form of a body; strings as UTF-8. */
export const encodeValue = (body: Uint8Array | string): Uint8Array => {
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length
  const end = valueBodyAt + length
  const value = Buffer.allocUnsafe(end + checksumBytes)
  value[0] = formatVersion
  if (typeof body === "string") value.write(body, valueBodyAt, "utf8")
  else value.set(body, valueBodyAt)
  value.writeUInt32LE(crc32(value.subarray(0, end)), end)
  return value
}

/** Whether a stored value has this format and its checksum is right: its body may be read in place. */
export const isWhole = (value: Buffer): boolean =>
  value[0] === formatVersion &&
  value.length >= valueBodyAt + checksumBytes &&
  crc32(value) === residue

/** The body of a stored value, as a view of it. */
export const decodeValue = (value: Uint8Array, place: Place): Effect.Effect<Uint8Array, Broken> => {
  const bytes = asBuffer(value)
  const version = bytes[0] ?? 0
  if (version > formatVersion && bytes.length >= valueBodyAt + checksumBytes) {
    return broken(place, `has format ${version}: it was written by a newer Laurel`)
  }
  return isWhole(bytes)
    ? Effect.succeed(bytes.subarray(valueBodyAt, bytes.length - checksumBytes))
    : broken(place, "is damaged")
}

const broken = (place: Place, words: string) =>
  Effect.fail(
    new Broken({
      operation: "read",
      cause: new Error(`The value ${nameOf(place.key)} of table ${place.table} ${words}`),
    }),
  )

const nameOf = (key: Uint8Array): string => {
  try {
    return JSON.stringify(keyParts(key))
  } catch {
    return Buffer.from(key).toString("hex")
  }
}
