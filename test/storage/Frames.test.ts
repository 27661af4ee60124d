/** The invariant of a batch, which every journal checks before it writes a batch and after it reads one. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { batchFault, checkedRecords } from "../../src/storage/Frames.ts"
import { SegmentWriter } from "../../src/storage/journal/SegmentWriter.ts"
import { Mirror } from "../../src/storage/postgres/Mirror.ts"
import type { JournalBatch } from "../../src/storage/Storage.ts"
import { SimulatedDisk } from "../simulation/SimulatedDisk.ts"
import { folder, journalOn } from "./journalOn.ts"
import { numbered } from "./records.ts"

const good = numbered(1, 3)

/** By fault: batches that must never reach a journal whose last record is 0. */
const bad: Readonly<Record<string, JournalBatch>> = {
  "that leaves a gap": numbered(2, 1),
  "that repeats a record": numbered(0, 1),
  "without a record": { ...numbered(1, 0), count: 0 },
  "with fewer records than it counts": { ...good, count: 4 },
  "with more records than it counts": { ...good, count: 2 },
  "whose last record is cut": { ...good, frames: good.frames.subarray(0, -1) },
  "with bytes after its last record": {
    ...good,
    frames: Buffer.concat([good.frames, good.frames]),
  },
}

describe("A journal", () => {
  it("takes a batch that follows its last record and holds as many records as it counts", () => {
    expect(batchFault(good, 0)).toBeUndefined()
    expect(batchFault(numbered(8, 1), 7)).toBeUndefined()
  })

  for (const [name, batch] of Object.entries(bad)) {
    it.effect(`refuses a batch ${name}, and writes nothing`, () =>
      Effect.gen(function* () {
        expect(batchFault(batch, 0)).toBeDefined()
        const disk = new SimulatedDisk()
        const journal = yield* journalOn(disk)
        const error = yield* Effect.flip(journal.append(batch))
        expect(error._tag).toBe("Broken")
        expect(journal.lastSequence).toBe(0)
        yield* journal.append(good)
        expect(journal.lastSequence).toBe(3)
      }).pipe(Effect.scoped),
    )

    it.effect(`that is copied dies at a batch ${name}`, () =>
      Effect.gen(function* () {
        const disk = new SimulatedDisk()
        yield* disk.makeFolder(folder)
        const after = { lastSequence: 0, checksum: 0 }
        const writer = new SegmentWriter({ disk, folder, after })
        const exit = yield* Effect.exit(writer.write(batch))
        expect(exit._tag).toBe("Failure")
        expect(writer.position).toEqual(after)
      }),
    )

    it(`that is mirrored throws at a batch ${name}`, () => {
      const files = { append: () => Effect.void, readRecords: () => expect.fail("no read") }
      const mirror = new Mirror(files, 0)
      expect(() => mirror.add(batch)).toThrow()
      mirror.add(good)
    })
  }

  it("throws where a batch that was checked has other records later", () => {
    expect(checkedRecords(good, 2)).toHaveLength(2)
    expect(() => checkedRecords({ ...good, count: 4 }, 1)).toThrow("do not hold 4 records")
  })
})
