/**
 * The form of every stored value, since LMDB has no checksums: one byte, body, CRC-32
 * (little-endian) of byte and body. A flipped bit on the disk gives an error, never a wrong
 * balance. The byte is the format of the data (`format.ts`); its highest bit says that the body is
 * packed (`pack`). Does not load Effect, so that a scan process starts fast.
 *
 * Cost of a write: one allocation, one copy of the body and one native CRC. The checksum comes
 * last, so every intact value has the same CRC and a check allocates nothing.
 */

import { crc32 } from "node:zlib"
import { limits } from "../Limits.ts"
import type { EntryBlock } from "./EntryBlock.ts"
import { dataFormat, otherFormat } from "./format.ts"
import { asBuffer, keyParts } from "./Keys.ts"

/*
 * Packing: a body refers to a static dictionary and to its own earlier bytes instead of repeating
 * them. The texts of records are short and similar. zlib and zstd would make them smaller, but a
 * call of either takes several times as long, mostly for its setup.
 *
 *     offset 0  the bytes of the body, uint16, little-endian
 *            2  steps, as in LZ4's block format: a byte whose upper four bits are the number of literals and lower four
 *               that of copied bytes less `copyMin`, 15 if bytes follow that add to it, the last of them below 255;
 *               the literals; how far back the copy begins, uint16; the rest of the second number. The last step ends
 *               after its literals.
 *
 * - The dictionary is part of the format, since stored values refer to it: a new dictionary needs a
 *   new format version.
 * - `packedBodyBytesMax` bounds the bytes that `unpacked` reads, writes and allocates, for any
 *   input.
 *
 * Cost: one lookup in a table of 2^11 places for each byte that is not copied.
 */

const copyMin = 4
const headBytes = 2
const nibbleMax = 15
const tableBits = 11

const dictionary = Buffer.from(
  [
    `{"kind":"reward.granted","xp":`,
    `{"kind":"points.spent","amount":1,"total":{"kind":"spend","id":"`,
    `{"kind":"revocation","of":"event","sequence":`,
    `{"kind":"event.revoked","xp":0,"points":0,"level":1,"shortfall":{"xp":0,"points":0}}`,
    `{"kind":"xp.revoked","amount":{"kind":"points.revoked","amount":`,
    `{"kind":"profile","change":{`,
    `{"kind":"user.updated","profile":{"displayName":"","timezone":null,"attributes":{"":""},"hidden":false}}`,
    `{"kind":"reward","id":"","type":"points","amount":1,"reason":"`,
    `{"kind":"badge.counted","badgeId":"bdg_01","current":1},`,
    `{"kind":"badge.earned","badgeId":"bdg_01","name":"","source":"criteria","target":`,
    `{"kind":"quest.started","questId":"qst_01","title":"","period":2},`,
    `{"kind":"quest.progressed","questId":"qst_01","title":"","period":2,"step":"","current":1,"target":2,"progress":0.5},`,
    `{"kind":"quest.completed","questId":"qst_01","title":"","period":2,"times":1},`,
    `{"kind":"xp.earned","amount":5,"total":25,"source":{"questId":"qst_01"}},`,
    `{"kind":"level.changed","from":1,"to":2},`,
    `{"kind":"streak.extended","key":"daily","current":1,"streak":{"runs":[{"first":20,"last":20,"frozen":[],"skipped":[]}],"best":1`,
    `{"kind":"rule.used","ruleId":"rul_01","period":1,"occurredAt":17,"times":1},`,
    `{"kind":"points.earned","amount":1,"total":1,"source":{"ruleId":"rul_01"}},`,
    `}],"kept":{"key":"","fingerprint":""}}\n`,
    `{"sequence":1,"at":179,"subject":{"actor":"user","environment":"prj_01:production","userId":"user_"},`,
    `"environment":"prj_01:sandbox","userId":"user_"},`,
    `"cause":{"kind":"event","id":"01-7-","action":"","metadata":{"":"","occurredAt":17}},"facts":[`,
    `{"kind":"user.created"},{"kind":"xp.earned","amount":10,"total":10,"source":{"ruleId":"rul_01"}},`,
    `{"kind":"windows.credited","amount":10,"daily":20,"weekly":29,"monthly":6},`,
    `{"kind":"event.tracked","xp":10,"points":0,"level":1}]}\n{"sequence":`,
  ].join(""),
)

/** The dictionary, followed by the body. */
const window = Buffer.allocUnsafeSlow(dictionary.length + limits.packedBodyBytesMax)
dictionary.copy(window)
const start = dictionary.length

const hashAt = (at: number): number =>
  Math.imul(
    window[at]! | (window[at + 1]! << 8) | (window[at + 2]! << 16) | (window[at + 3]! << 24),
    0x9e3779b1,
  ) >>>
  (32 - tableBits)

/** By hash of four bytes: one more than their last position in the window; 0 if they have none. */
const places = new Uint16Array(1 << tableBits)
const placesOfDictionary = new Uint16Array(1 << tableBits)
for (let at = 0; at + copyMin <= start; at++) placesOfDictionary[hashAt(at)] = at + 1

/**
 * Packs `body` into `target` at `offset`. Returns the end of the packed bytes, or -1 if they would
 * not be shorter than the body.
 */
export const pack = (body: Uint8Array, target: Uint8Array, offset: number): number => {
  if (body.length > limits.packedBodyBytesMax) return -1
  window.set(body, start)
  places.set(placesOfDictionary)
  const end = start + body.length
  // Beside its literals, a step takes at most 8 bytes and one byte for each 255.
  const fullAt = offset + body.length - 16
  target[offset] = body.length & 0xff
  target[offset + 1] = body.length >>> 8
  let out = offset + headBytes
  let literals = start
  for (let at = start; at + copyMin <= end; ) {
    const hash = hashAt(at)
    const from = places[hash]! - 1
    places[hash] = at + 1
    if (from < 0 || !areAlike(from, at)) {
      at++
      continue
    }
    let size = copyMin
    while (at + size < end && window[from + size] === window[at + size]) size++
    const count = at - literals
    if (out + count + Math.ceil((count + size) / 255) > fullAt) return -1
    out = writeHead(target, out, count, size - copyMin)
    out = writeLiterals(target, out, literals, at)
    const back = at - from
    target[out++] = back & 0xff
    target[out++] = back >>> 8
    if (size - copyMin >= nibbleMax) out = writeRest(target, out, size - copyMin - nibbleMax)
    at += size
    literals = at
  }
  const count = end - literals
  if (out + count + Math.ceil(count / 255) > fullAt) return -1
  out = writeHead(target, out, count, 0)
  return writeLiterals(target, out, literals, end)
}

const areAlike = (one: number, other: number): boolean =>
  window[one] === window[other] &&
  window[one + 1] === window[other + 1] &&
  window[one + 2] === window[other + 2] &&
  window[one + 3] === window[other + 3]

/** Writes both numbers of a step. The rest of the second number follows after the distance. */
const writeHead = (target: Uint8Array, out: number, count: number, more: number): number => {
  target[out] = (Math.min(count, nibbleMax) << 4) | Math.min(more, nibbleMax)
  return count < nibbleMax ? out + 1 : writeRest(target, out + 1, count - nibbleMax)
}

const writeRest = (target: Uint8Array, out: number, rest: number): number => {
  let at = out
  for (let left = rest; ; left -= 255) {
    target[at++] = Math.min(left, 255)
    if (left < 255) return at
  }
}

const writeLiterals = (target: Uint8Array, out: number, from: number, until: number): number => {
  let at = out
  // A view to copy from would cost more than the copy of so few bytes.
  for (let next = from; next < until; next++) target[at++] = window[next]!
  return at
}

/** The unpacked body; `undefined` for bytes that `pack` did not write. */
export const unpacked = (packed: Uint8Array): Buffer | undefined => {
  if (packed.length < headBytes) return undefined
  const size = packed[0]! | (packed[1]! << 8)
  if (size > limits.packedBodyBytesMax) return undefined
  const end = start + size
  let at = start
  let next = headBytes
  /** Reads the number that begins with `nibble`; infinite if the bytes end within it. */
  const numberFrom = (nibble: number): number => {
    let number = nibble
    if (nibble < nibbleMax) return number
    while (next < packed.length) {
      const more = packed[next++]!
      number += more
      if (more < 255) return number
    }
    return Number.POSITIVE_INFINITY
  }
  while (next < packed.length) {
    const head = packed[next++]!
    const count = numberFrom(head >>> 4)
    if (count > end - at || count > packed.length - next) return undefined
    for (let n = 0; n < count; n++) window[at++] = packed[next++]!
    if (next === packed.length) break
    const back = packed[next]! | ((packed[next + 1] ?? 0) << 8)
    next += 2
    const copied = copyMin + numberFrom(head & nibbleMax)
    if (back === 0 || back > at || copied > end - at) return undefined
    // Copies byte by byte, since source and target may overlap.
    for (let from = at - back, n = 0; n < copied; n++) window[at++] = window[from++]!
  }
  return at === end ? Buffer.from(window.subarray(start, end)) : undefined
}

const packedFlag = 0x80
const packedForm = dataFormat | packedFlag
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
export const sealValue = (value: Buffer): Uint8Array => sealAs(dataFormat, value)

const sealAs = (form: number, value: Buffer): Uint8Array => {
  const end = value.length - checksumBytes
  value[0] = form
  value.writeUInt32LE(crc32(value.subarray(0, end)), end)
  return value
}

/** The stored value with a packed body; `value` itself if packing does not make it shorter. */
export const packedValue = (value: Uint8Array): Uint8Array => {
  if (value[0] !== dataFormat) return value
  const packed = Buffer.allocUnsafe(value.length)
  const body = value.subarray(valueBodyAt, wholeBodyEnd(value.length))
  const end = pack(body, packed, valueBodyAt)
  return end < 0 ? value : sealAs(packedForm, packed.subarray(0, end + checksumBytes))
}

/** The checksum of the stored value that ends at `end` of `bytes`, as a signed 32-bit integer. */
export const checksumOf = (bytes: Uint8Array, end: number = bytes.length): number =>
  bytes[end - 4]! | (bytes[end - 3]! << 8) | (bytes[end - 2]! << 16) | (bytes[end - 1]! << 24)

/**
 * Whether a stored value is not packed and has a right checksum: then its body can be read in
 * place.
 */
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

/**
 * The body of a stored value (a view if it is not packed), or its fault as a predicate ("is
 * damaged").
 */
export const openValue = (value: Uint8Array): Uint8Array | string => {
  const bytes = asBuffer(value)
  if (bytes.length < valueBodyAt + checksumBytes || crc32(bytes) !== residue) return "is damaged"
  const form = bytes[0]!
  if ((form & ~packedFlag) !== dataFormat) return otherFormat(form & ~packedFlag)
  return form === packedForm
    ? (unpacked(wholeBody(bytes)) ?? "cannot be unpacked")
    : wholeBody(bytes)
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
