/** The bounds of metadata, on both sides, and how much of it is looked at to find that it is beyond them. */
import { describe, expect, it } from "vitest"
import { metadataFault } from "../../../src/domain/values/Metadata.ts"
import { limits } from "../../../src/Limits.ts"
import { watched } from "../../http/hostile/visits.ts"

const bytesOf = (value: object): number => Buffer.byteLength(JSON.stringify(value))

/** Metadata of exactly `bytes` as JSON, made of `piece`. */
const ofBytes = (bytes: number, piece: string): object => {
  const text = { text: "" }
  const room = bytes - bytesOf(text)
  const pieceBytes = bytesOf({ text: piece }) - bytesOf(text)
  text.text = piece.repeat(Math.floor(room / pieceBytes)) + "x".repeat(room % pieceBytes)
  return text
}

const tooLarge = expect.objectContaining({ code: "too_large" })
const max = limits.metadataBytesMax

describe("metadata", () => {
  it.each([
    ["plain text", "x"],
    ["text of two bytes a character", "é"],
    ["text of four bytes a character", "😀"],
    ["text that JSON escapes", "\u0001"],
    ["quotation marks", '"'],
  ])("of %s may take as many bytes as the limit says, and no more", (_, piece) => {
    expect(bytesOf(ofBytes(max, piece))).toBe(max)
    expect(metadataFault(ofBytes(max, piece))).toBeUndefined()
    expect(metadataFault(ofBytes(max + 1, piece))).toEqual(tooLarge)
  })

  it("of numbers is measured as they are written", () => {
    const numbers = (count: number) => ({ n: Array.from({ length: count }, () => 1) })
    const most = (max - bytesOf({ n: [] }) + 1) / 2
    expect(metadataFault(numbers(Math.floor(most)))).toBeUndefined()
    expect(metadataFault(numbers(Math.floor(most) + 1))).toEqual(tooLarge)
    const long = { n: Array.from({ length: 900 }, () => -0.1234567890123456) }
    expect(bytesOf(long)).toBeGreaterThan(max)
    expect(metadataFault(long)).toEqual(tooLarge)
  })

  it.each([{}, [], "", 0])("of many %j is measured as they are written", (piece) => {
    const list = (count: number) => ({ list: Array.from({ length: count }, () => piece) })
    const each = bytesOf(list(2)) - bytesOf(list(1))
    const most = 1 + Math.floor((max - bytesOf(list(1))) / each)
    expect(bytesOf(list(most))).toBeGreaterThan(max - each)
    expect(metadataFault(list(most))).toBeUndefined()
    expect(metadataFault(list(most + 1))).toEqual(tooLarge)
  })

  it("may be as deep as the limit says, and no deeper", () => {
    const deep = (levels: number): object => (levels === 1 ? {} : { a: deep(levels - 1) })
    expect(metadataFault(deep(limits.metadataDepthMax))).toBeUndefined()
    expect(metadataFault(deep(limits.metadataDepthMax + 1))).toMatchObject({ code: "too_deep" })
  })

  it.each<[string, object]>([
    ["members", Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`k${i}`, 1]))],
    ["items", { list: Array.from({ length: 200_000 }, () => 1) }],
    ["empty objects", { list: Array.from({ length: 200_000 }, () => ({})) }],
    ["texts", { list: Array.from({ length: 200_000 }, () => "") }],
  ])("with 200,000 %s is looked at only up to its bound of bytes", (_, metadata) => {
    const { value, visits } = watched(metadata)
    expect(metadataFault(value as object)).toEqual(tooLarge)
    expect(visits()).toBeGreaterThan(max / 20)
    // Each takes two bytes at least, itself and a comma, and is looked at twice.
    expect(visits()).toBeLessThanOrEqual(max)
  })

  it.each(["1e400", "-1e400", '[{"b":1e309}]'])(
    "may not hold the number %s, which JSON reads as infinite",
    (json) => {
      expect(metadataFault(JSON.parse(`{"a":${json}}`))).toMatchObject({ code: "out_of_range" })
    },
  )

  it("may hold the largest and the smallest numbers", () => {
    const { MAX_VALUE, MIN_VALUE } = Number
    expect(metadataFault({ a: [MAX_VALUE, -MAX_VALUE, MIN_VALUE, -MIN_VALUE] })).toBeUndefined()
  })

  it("that is one long text is not written out to find its length", () => {
    let written = 0
    const metadata = { text: "x".repeat(max * 100), toJSON: () => written++ }
    Object.defineProperty(metadata, "toJSON", { enumerable: false })
    expect(metadataFault(metadata)).toEqual(tooLarge)
    expect(written).toBe(0)
  })
})
