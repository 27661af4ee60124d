import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { FlushedMark, readFlushed } from "../../../src/storage/journal/FlushedMark.ts"
import { recoverJournal } from "../../../src/storage/journal/JournalRecovery.ts"
import { scanJournal } from "../../../src/storage/journal/JournalScan.ts"
import {
  batchHeaderBytes,
  segmentHeaderBytes,
  segmentName,
} from "../../../src/storage/journal/SegmentFormat.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"
import { appendBatches, folder, journalOn } from "../journalOn.ts"
import { numbered } from "../records.ts"

const sizeOfOne = batchHeaderBytes + numbered(1, 1).frames.length
const startOf = (batch: number) => segmentHeaderBytes + (batch - 1) * sizeOfOne
const only = segmentName(1)

/** The journal after a crash, of three batches of a record each, with the mark at `marked`. */
const crashed = (marked: number) =>
  Effect.gen(function* () {
    const disk = new SimulatedDisk()
    const journal = yield* journalOn(disk)
    for (let sequence = 1; sequence <= 3; sequence++) {
      yield* appendBatches(journal, [1])
      if (sequence === marked) yield* journal.markFlushed
    }
    return disk.files(folder)
  })

const spoilt = Effect.fnUntraced(function* (
  marked: number,
  spoil: (bytes: Buffer, at: number) => void,
) {
  const files = yield* crashed(marked)
  spoil(files.get(only)!, startOf(3))
  return SimulatedDisk.holding(folder, files)
})

/** How the third batch may be spoilt. */
const ways: Record<string, (bytes: Buffer, at: number) => void> = {
  "has a bit that is wrong": (bytes, at) => {
    bytes[at + batchHeaderBytes]! ^= 1
  },
  "has no header": (bytes, at) => void bytes.fill(0, at, at + 8),
  "is gone": (bytes, at) => void bytes.fill(0, at),
}

const scanned = (disk: SimulatedDisk) =>
  Effect.map(
    scanJournal({ disk, folder }, () => Effect.void),
    ({ fault }) => fault,
  )

describe("A journal whose last batch", () => {
  for (const [name, spoil] of Object.entries(ways)) {
    it.effect(`${name} is damaged if the batch was certainly acknowledged`, () =>
      Effect.gen(function* () {
        const disk = yield* spoilt(3, spoil)
        const before = disk.files(folder)
        const error = yield* Effect.flip(recoverJournal(disk, folder))
        expect(error.message).toContain(
          "records up to 3 were flushed and acknowledged, and the whole batches end with 2",
        )
        expect(disk.files(folder)).toEqual(before)
        expect(yield* scanned(disk)).toMatchObject({ kind: "damaged" })
      }),
    )

    it.effect(`${name} is truncated if its acknowledgement is not known`, () =>
      Effect.gen(function* () {
        const disk = yield* spoilt(2, spoil)
        expect((yield* scanned(disk))?.kind).toBe(name === "is gone" ? undefined : "interrupted")
        const { cut, lastSequence } = yield* recoverJournal(disk, folder)
        expect(lastSequence).toBe(2)
        if (name === "is gone") expect(cut).toBeUndefined()
        else expect(cut).toMatchObject({ afterSequence: 2, flushedSequence: 2 })
      }),
    )
  }
})

describe("The mark of the flushed end", () => {
  it.effect("is 0 in a folder without the file, or if both of its slots are damaged", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      yield* disk.makeFolder(folder)
      expect(yield* readFlushed(disk, folder)).toBe(0)
      yield* new FlushedMark(disk, folder).write(7)
      expect(yield* readFlushed(disk, folder)).toBe(7)
      const bytes = disk.files(folder).get("flushed")!
      for (let at = 0; at < 20; at++) {
        const damaged = Buffer.from(bytes)
        damaged[at]! ^= 1
        const files = new Map([["flushed", damaged]])
        expect(yield* readFlushed(SimulatedDisk.holding(folder, files), folder)).toBe(0)
      }
    }),
  )

  it.effect("is the last mark or the one before it after a power cut at any time", () =>
    Effect.gen(function* () {
      const marks = [1, 2, 3, 2 ** 40, 2 ** 40 + 1]
      for (let call = 1; call <= 30; call++) {
        const disk = new SimulatedDisk()
        yield* disk.makeFolder(folder)
        disk.cutPowerAt(call)
        let done = 0
        let begun = 0
        const mark = new FlushedMark(disk, folder)
        for (const sequence of marks) {
          begun = sequence
          if (Exit.isFailure(yield* Effect.exit(mark.write(sequence)))) break
          done = sequence
        }
        for (let seed = 0; seed < 10; seed++) {
          const found = yield* readFlushed(disk.afterPowerCut(seed), folder)
          expect(done).toBeLessThanOrEqual(found)
          expect(found).toBeLessThanOrEqual(begun)
        }
      }
    }),
  )
})
