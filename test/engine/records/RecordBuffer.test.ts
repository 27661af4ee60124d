import { describe, expect, it } from "@effect/vitest"
import { RecordBuffer } from "../../../src/engine/records/RecordBuffer.ts"
import { limits } from "../../../src/Limits.ts"
import { batchRecords, frameHeadBytes } from "../../../src/storage/Frames.ts"

/** Adds the texts, either as appended or as read from the journal. */
const ways: ReadonlyArray<readonly [string, (texts: RecordBuffer, text: string) => void]> = [
  ["appended", (texts, text) => void texts.append(text, texts.lastSequence % 5)],
  ["read back", (texts, text) => texts.keep(Buffer.from(text), texts.lastSequence % 5)],
]

describe("The texts of pending records", () => {
  for (const [way, add] of ways) {
    it(`${way} stay the same until the snapshot has their records`, () => {
      const watermark = 7
      const texts = new RecordBuffer(watermark)
      const said = (sequence: number) => `ü🏆${sequence}`.repeat(sequence % 2 === 0 ? 1 : 1_000)
      const last = 2_000
      for (let sequence = watermark + 1; sequence <= last; sequence++) add(texts, said(sequence))
      texts.release(1_000)
      const end = last + 1_000
      for (let sequence = last + 1; sequence <= end; sequence++) add(texts, said(sequence))
      for (let sequence = 1_001; sequence <= end; sequence++) {
        const text = Buffer.from(said(sequence))
        expect(texts.textOf(sequence).equals(text), `${sequence}`).toBe(true)
        expect(texts.bytesOf(sequence)).toBe(text.length)
        expect(texts.previousOf(sequence)).toBe((sequence - 1) % 5)
      }
      expect(texts.nextSequence).toBe(end + 1)
    })

    it(`keep every byte if one just fits behind another, and if it does not (${way})`, () => {
      const filler = "f".repeat(limits.recordSlabBytes - 100)
      for (let length = 60; length <= 120; length++) {
        const texts = new RecordBuffer(0)
        const text = `${"t".repeat(length - 1)}.`
        add(texts, filler)
        add(texts, text)
        expect(texts.textOf(2).toString(), `${length}`).toBe(text)
      }
    })

    it(`reuse memory, and may be longer than a slab (${way})`, () => {
      const texts = new RecordBuffer(0)
      const memory = new Set<ArrayBufferLike>()
      const long = "y".repeat(limits.recordSlabBytes)
      for (let sequence = 1; sequence <= 50; sequence++) {
        add(texts, sequence === 25 ? long : "x")
        const text = texts.textOf(sequence)
        expect(text.equals(Buffer.from(sequence === 25 ? long : "x"))).toBe(true)
        memory.add(text.buffer)
        texts.release(sequence)
      }
      expect(memory.size).toBe(2)
    })
  }

  it("are the frames of a batch, wherever the batch before ended", () => {
    const texts = new RecordBuffer(0)
    const third = "z".repeat(Math.floor(limits.recordSlabBytes / 3))
    const slabs = new Set<ArrayBufferLike>()
    let first = 1
    const batch: Array<string> = []
    const check = () => {
      const frames = texts.framesFrom(first)
      slabs.add(frames.buffer)
      const records = batchRecords({ firstSequence: first, count: batch.length, frames }, first)
      expect(
        records?.map(({ body, previous }) => [Buffer.from(body).toString(), previous]),
        `${first}`,
      ).toEqual(batch.map((text, index) => [text, first + index - 1]))
      first += batch.length
      batch.length = 0
    }
    for (const text of ["a", third, "b", third, "c", third, "ü".repeat(9), third, third]) {
      if (batch.length > 0 && !texts.hasRoom(text)) check()
      const previous = texts.lastSequence
      expect(texts.append(text, previous)).toBe(frameHeadBytes + Buffer.byteLength(text))
      batch.push(text)
    }
    check()
    expect(first).toBe(10)
    expect(slabs.size).toBe(3)
  })
})
