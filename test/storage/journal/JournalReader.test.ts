import { describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { JournalReader } from "../../../src/storage/journal/JournalReader.ts"
import {
  encodeBatch,
  encodeSegmentHeader,
  Segment,
  segmentHeaderBytes,
} from "../../../src/storage/journal/SegmentFormat.ts"
import type { JournalBatch } from "../../../src/storage/Storage.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"
import { folder } from "../journalOn.ts"
import { numbered } from "../records.ts"

/**
 * Reads a segment of these batches, each with its checksum, whose last record is `lastSequence`.
 */
const readBatches = Effect.fnUntraced(function* (
  batches: ReadonlyArray<JournalBatch>,
  lastSequence: number,
) {
  const disk = new SimulatedDisk()
  yield* disk.makeFolder(folder)
  const segment = new Segment(folder, 1)
  let previous = 0
  const pieces: Array<Uint8Array> = [encodeSegmentHeader({ firstSequence: 1, previous })]
  const positions: Array<number> = []
  for (const batch of batches) {
    const encoded = encodeBatch(batch, previous)
    positions.push(segment.end)
    segment.add(batch.firstSequence, encoded.size)
    pieces.push(...encoded.pieces)
    previous = encoded.checksum
  }
  const file = yield* disk.open(segment.path, "create")
  yield* file.write(0, pieces)
  const reader = new JournalReader({
    disk,
    extentOf: () => ({ segment, end: segment.end, lastSequence }),
    firstSequence: () => 1,
    lastSequence: () => lastSequence,
  })
  return { positions, read: Stream.runCollect(reader.records(1)), end: segment.end }
})

describe("A reader of the journal", () => {
  it.effect("reads whole batches that follow one another", () =>
    Effect.gen(function* () {
      const { read } = yield* readBatches([numbered(1, 2), numbered(3, 1)], 3)
      const sequences = (yield* read).flat().map(({ sequence }) => sequence)
      expect(sequences).toEqual([1, 2, 3])
    }),
  )

  it.effect("fails at a batch with a right checksum whose frames do not add up", () =>
    Effect.gen(function* () {
      const odd = { ...numbered(3, 1), count: 2 }
      const { positions, read } = yield* readBatches([numbered(1, 2), odd], 4)
      const { message } = yield* Effect.flip(read)
      expect(message).toContain(`damaged at byte ${positions[1]} of`)
    }),
  )

  it.effect("fails at a whole batch that leaves a gap", () =>
    Effect.gen(function* () {
      const { positions, read } = yield* readBatches([numbered(1, 2), numbered(4, 1)], 4)
      const { message } = yield* Effect.flip(read)
      expect(message).toContain(`damaged at byte ${positions[1]} of`)
    }),
  )

  it.effect("fails if the batches end before the last appended record", () =>
    Effect.gen(function* () {
      const { end, read } = yield* readBatches([numbered(1, 2)], 3)
      const { message } = yield* Effect.flip(read)
      expect(end).toBeGreaterThan(segmentHeaderBytes)
      expect(message).toContain(`damaged at byte ${end} of`)
    }),
  )
})
