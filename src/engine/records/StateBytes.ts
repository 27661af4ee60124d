/**
 * The encoding of numbers, texts and names in the bytes of a state (`UserCodec.ts`).
 *
 * - A number is a varint of seven bits a byte, lowest first. The varint of an integer from 0 to
 *   2^52 − 1 is twice the integer. The varint 1 stands for any other finite number, as a float64
 *   after it.
 * - A text is its length in bytes and its UTF-8. A text with a lone surrogate, which UTF-8 cannot
 *   hold, is the negative length and its UTF-16.
 * - A name is its number in the name table (`Names.ts`), or 0 and a text.
 * - The reader refuses bytes that end early and forms that are longer than necessary.
 */
import type { DayRange } from "../../domain/user/StreakPeriods.ts"
import { inlineName, type Names } from "./Names.ts"

/* Writing, into memory that all calls share. */

let out = Buffer.allocUnsafeSlow(4 * 1024)
let at = 0

/** Begins new bytes. */
export const begin = (): void => {
  at = 0
}

/** The bytes that were written, as a view that is valid until the next `begin`. */
export const written = (): Buffer => out.subarray(0, at)

const integersEnd = 2 ** 52

const reserve = (bytes: number): void => {
  if (at + bytes <= out.length) return
  const larger = Buffer.allocUnsafeSlow(Math.max(at + bytes, 2 * out.length))
  out.copy(larger, 0, 0, at)
  out = larger
}

const numberBytesMax = 9

export const writeNumber = (value: number): void => {
  reserve(numberBytesMax)
  if (value >= 0 && value < 0x4000_0000 && (value | 0) === value && !Object.is(value, -0)) {
    let rest = value << 1
    for (; rest > 0x7f; rest >>>= 7) out[at++] = (rest & 0x7f) | 0x80
    out[at++] = rest
  } else if (Number.isInteger(value) && value > 0 && value < integersEnd) {
    let rest = 2 * value
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) out[at++] = (rest % 128) | 0x80
    out[at++] = rest
  } else {
    if (!Number.isFinite(value)) throw new RangeError(`${value} is no number of a state`)
    out[at++] = 1
    at = out.writeDoubleLE(value, at)
  }
}

export const writeByte = (value: number): void => {
  reserve(1)
  out[at++] = value
}

export const writeText = (text: string): void => {
  const size = Buffer.byteLength(text)
  if (size !== text.length && !text.isWellFormed()) {
    writeNumber(-2 * text.length)
    reserve(2 * text.length)
    at += out.write(text, at, "utf16le")
    return
  }
  writeNumber(size)
  reserve(size)
  at += out.write(text, at, "utf8")
}

export const writeName = (name: string, names: Names): void => {
  const number = names.numberOf(name)
  writeNumber(number)
  if (number === inlineName) writeText(name)
}

/** A number that may be absent: a byte says whether it is there. */
export const writeOptional = (value: number | undefined): void => {
  const isAbsent = value === undefined
  writeByte(isAbsent ? 0 : 1)
  if (!isAbsent) writeNumber(value)
}

/** Ranges of days, as distances, which take one byte each. */
export const writeDays = (days: ReadonlyArray<DayRange>): void => {
  writeNumber(days.length)
  let before = 0
  for (const [from, to] of days) {
    writeNumber(from - before)
    writeNumber(to - from)
    before = to
  }
}

/* Reading. */

/** Bytes that are no state; the message says why. */
export class BadState extends Error {}

export const bad = (why: string): BadState =>
  new BadState(`these bytes are no user's state: ${why}`)

export class Reader {
  bytes!: Buffer
  at = 0
  end = 0

  begin(bytes: Buffer, at: number, end: number): void {
    this.bytes = bytes
    this.at = at
    this.end = end
  }

  byte(): number {
    if (this.at >= this.end) throw bad("they end early")
    return this.bytes[this.at++]!
  }

  number(): number {
    const first = this.byte()
    if (first < 0x80) return (first & 1) === 0 ? first >>> 1 : this.#float(first)
    let value = first & 0x7f
    let scale = 128
    let byte: number
    do {
      byte = this.byte()
      value += (byte & 0x7f) * scale
      scale *= 128
      if (scale > integersEnd * 256) throw bad("a number is too long")
    } while (byte >= 0x80)
    if (byte === 0) throw bad("a number is longer than necessary")
    if (value % 2 !== 0 || value >= 2 * integersEnd) throw bad("a number is of no known kind")
    return value / 2
  }

  #float(kind: number): number {
    if (kind !== 1) throw bad("a number is of no known kind")
    if (this.at + 8 > this.end) throw bad("they end early")
    const value = this.bytes.readDoubleLE(this.at)
    this.at += 8
    if (!Number.isFinite(value)) throw bad("a number is none")
    const isShort = Number.isInteger(value) && value >= 0 && value < integersEnd
    if (isShort && !Object.is(value, -0)) throw bad("a number is longer than necessary")
    return value
  }

  /** A number of entries that follow, each of at least one byte. */
  count(): number {
    const count = this.number()
    if (!Number.isInteger(count) || count > this.end - this.at) throw bad("they end early")
    return count
  }

  text(): string {
    const size = this.number()
    const start = this.at
    this.#skip(size)
    if (size < 0) return this.#utf16(start)
    // Short texts are mostly ASCII. A call of `toString` would cost more than this loop.
    if (size <= 24) {
      let text = ""
      for (let n = start; n < this.at; n++) {
        const unit = this.bytes[n]!
        if (unit > 0x7f) return this.bytes.toString("utf8", start, this.at)
        text += String.fromCharCode(unit)
      }
      return text
    }
    return this.bytes.toString("utf8", start, this.at)
  }

  #skip(size: number): void {
    const bytes = Math.abs(size)
    const isSize = Number.isInteger(size) && bytes <= this.end - this.at
    if (!isSize || (size < 0 && bytes % 2 !== 0)) throw bad("they end early")
    this.at += bytes
  }

  #utf16(start: number): string {
    const text = this.bytes.toString("utf16le", start, this.at)
    if (text.isWellFormed()) throw bad("a text is longer than necessary")
    return text
  }

  name(names: Names): string {
    const number = this.number()
    if (number === inlineName) return this.text()
    const name = names.nameOf(number)
    if (name === undefined) throw bad(`there is no name ${number}`)
    return name
  }

  flags(known: number): number {
    const flags = this.byte()
    if ((flags & ~known) !== 0) throw bad("a flag is unknown")
    return flags
  }

  optional(): number | undefined {
    return this.flags(1) === 0 ? undefined : this.number()
  }

  days(): ReadonlyArray<DayRange> {
    const days: Array<DayRange> = []
    let before = 0
    for (let left = this.count(); left > 0; left--) {
      const from = before + this.number()
      before = from + this.number()
      days.push([from, before])
    }
    return days
  }
}
