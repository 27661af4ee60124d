import { describe, expect, it } from "@effect/vitest"
import { RecordTexts } from "../../src/engine/RecordTexts.ts"
import { limits } from "../../src/Limits.ts"

const textAt = (
  { at, text }: { readonly at: number; readonly text: { readonly bytes: Buffer } },
  length: number,
) => text.bytes.toString("utf8", at, at + length)

describe("The texts of pending records", () => {
  it("stay as they were stored until the snapshot has their records", () => {
    const texts = new RecordTexts()
    const stored = Array.from({ length: 300 }, (_, index) => {
      const text = `${index}`.repeat(20_000)
      return { text, place: texts.store(Buffer.from(text), index + 1) }
    })
    texts.release(100)
    for (let more = 0; more < 100; more++) texts.store(Buffer.alloc(50_000, "x"), 301 + more)
    for (const { place, text } of stored.slice(100)) expect(textAt(place, text.length)).toBe(text)
  })

  it("use their memory again", () => {
    const texts = new RecordTexts()
    const seen = new Set<Buffer>()
    for (let sequence = 1; sequence <= 50; sequence++) {
      seen.add(texts.store(Buffer.alloc(limits.recordSlabBytes, 1), sequence).text.bytes)
      texts.release(sequence)
    }
    expect(seen.size).toBe(1)
  })

  it("may be longer than a slab", () => {
    const texts = new RecordTexts()
    const long = Buffer.alloc(limits.recordSlabBytes + 1, "y")
    expect(textAt(texts.store(long, 1), long.length)).toBe(long.toString())
    expect(textAt(texts.store(Buffer.from("z"), 2), 1)).toBe("z")
  })
})
