/**
 * What every value of the snapshot is wrapped in, since LMDB itself has no checksums: one byte of format
 * version, CRC-32 (little-endian) of version and body, body. A bit that flipped on the disk is an error and
 * never a wrong balance.
 *
 * Cost: one allocation, one copy of the body and one native CRC per value written; reading is a CRC and a view.
 */
import { crc32 } from "node:zlib"
import { Effect } from "effect"
import { keyParts } from "./Keys.ts"
import { Broken, type Table } from "./Storage.ts"

const formatVersion = 1
const headerBytes = 5

/** Where a value was found, for the report of a damaged one. */
export interface Place {
  readonly table: Table
  readonly key: Uint8Array
}

const checksumOf = (value: Buffer): number => crc32(value.subarray(headerBytes), value[0])

/** The stored form of a body; strings as UTF-8. */
export const encodeValue = (body: Uint8Array | string): Uint8Array => {
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length
  const value = Buffer.allocUnsafe(headerBytes + length)
  value[0] = formatVersion
  if (typeof body === "string") value.write(body, headerBytes, "utf8")
  else value.set(body, headerBytes)
  value.writeUInt32LE(checksumOf(value), 1)
  return value
}

/** The body of a stored value, as a view of it. */
export const decodeValue = (value: Uint8Array, place: Place): Effect.Effect<Uint8Array, Broken> => {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  const version = bytes[0] ?? 0
  if (version > formatVersion && bytes.length >= headerBytes) {
    return broken(place, `has format ${version}: it was written by a newer Laurel`)
  }
  const whole =
    version === formatVersion &&
    bytes.length >= headerBytes &&
    bytes.readUInt32LE(1) === checksumOf(bytes)
  return whole ? Effect.succeed(bytes.subarray(headerBytes)) : broken(place, "is damaged")
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
