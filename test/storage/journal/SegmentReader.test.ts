import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { limits } from "../../../src/Limits.ts"
import type { DiskFile } from "../../../src/storage/disk/Disk.ts"
import {
  batchHeaderBytes,
  Segment,
  segmentHeaderBytes,
} from "../../../src/storage/journal/SegmentFormat.ts"
import { SegmentReader } from "../../../src/storage/journal/SegmentReader.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"
import { folder, journalOn } from "../journalOn.ts"
import { numbered } from "../records.ts"

describe("A reader of a segment", () => {
  it.effect(
    "finds the batches after a batch that is longer than a piece, and reads each byte once",
    () =>
      Effect.gen(function* () {
        const disk = new SimulatedDisk()
        const journal = yield* journalOn(disk, 16 * limits.journalReadBytes)
        const lengths = [10, 2.5 * limits.journalReadBytes, 10, limits.journalReadBytes, 10]
        let end = segmentHeaderBytes
        for (const [index, length] of lengths.entries()) {
          const batch = numbered(index + 1, 1, "x".repeat(length))
          yield* journal.append(batch)
          end += batchHeaderBytes + batch.frames.length
        }
        const opened = yield* disk.open(new Segment(folder, 1).path, "read")
        let bytes = 0
        const file: DiskFile = {
          ...opened,
          read: (position, into) =>
            Effect.tap(opened.read(position, into), (count) =>
              Effect.sync(() => {
                bytes += count
              }),
            ),
        }
        for (const memory of [undefined, Buffer.alloc(0)]) {
          bytes = 0
          const reader = new SegmentReader(file, segmentHeaderBytes, end, memory)
          const found: Array<number> = []
          while (reader.position < end) {
            const batches = yield* reader.next
            expect(batches.length).toBeGreaterThan(0)
            found.push(...batches.map(({ firstSequence }) => firstSequence))
          }
          expect(found).toEqual([1, 2, 3, 4, 5])
          expect(bytes).toBe(end - segmentHeaderBytes)
        }
      }),
  )
})
