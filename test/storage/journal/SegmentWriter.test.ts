import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { limits } from "../../../src/Limits.ts"
import type { Disk } from "../../../src/storage/disk/Disk.ts"
import { scanJournal } from "../../../src/storage/journal/JournalScan.ts"
import type { JournalPosition } from "../../../src/storage/journal/SegmentFormat.ts"
import { SegmentWriter } from "../../../src/storage/journal/SegmentWriter.ts"
import type { JournalBatch } from "../../../src/storage/Storage.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"
import { appendBatches, folder, journalOn } from "../journalOn.ts"

/** The batches of a journal, in order: their offsets and bytes. */
const contentOf = (disk: SimulatedDisk) =>
  Effect.gen(function* () {
    const batches: Array<JournalBatch> = []
    const end = yield* scanJournal({ disk, folder }, (some) =>
      Effect.sync(() => {
        for (const batch of some) batches.push({ ...batch, frames: Buffer.from(batch.frames) })
      }),
    )
    const texts = batches.map(
      ({ firstSequence, frames }) => `${firstSequence} ${Buffer.from(frames).toString("latin1")}`,
    )
    return { batches, end, texts }
  })

describe("A copy of a journal", () => {
  it.effect("has the same batches when it has many writes and segments", () =>
    Effect.gen(function* () {
      const source = new SimulatedDisk()
      const padding = "p".repeat(100_000)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const journal = yield* journalOn(source, 10 * limits.journalReadBytes)
          yield* appendBatches(journal, Array(60).fill(1), padding)
        }),
      )
      const { batches, end, texts } = yield* contentOf(source)
      const after: JournalPosition = { lastSequence: 0, checksum: 0 }
      for (const segmentBytes of [1, 2.5 * limits.journalReadBytes, limits.segmentBytes]) {
        const disk = new SimulatedDisk()
        yield* disk.makeFolder(folder)
        let open = 0
        const counted: Disk = {
          ...disk,
          open: (name, mode) =>
            Effect.map(disk.open(name, mode), (file) => {
              open++
              const close = Effect.ensuring(
                file.close,
                Effect.sync(() => open--),
              )
              return { ...file, close }
            }),
        }
        const writer = new SegmentWriter({ disk: counted, folder, after, segmentBytes })
        for (const batch of batches) yield* writer.write(batch)
        const position = yield* writer.end
        expect(position).toEqual({ lastSequence: 60, checksum: end.checksum })
        expect(open).toBe(0)
        const copy = yield* contentOf(disk)
        expect(copy.end).toMatchObject({ ...position, fault: undefined })
        expect(copy.texts).toEqual(texts)
      }
    }),
  )
})
