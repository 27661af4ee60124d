import { crc32 } from "node:zlib"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { batchRecords } from "../../../src/storage/Frames.ts"
import { dataFormat, otherFormat } from "../../../src/storage/format.ts"
import { type ScanOptions, scanJournal } from "../../../src/storage/journal/JournalScan.ts"
import {
  batchHeaderBytes,
  segmentHeaderBytes,
  segmentName,
} from "../../../src/storage/journal/SegmentFormat.ts"
import { SegmentWriter } from "../../../src/storage/journal/SegmentWriter.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"
import { appendBatches, folder, journalOn } from "../journalOn.ts"
import { expectRecords, text } from "../records.ts"

/** A disk with a journal of small segments, left by a kill or closed in order. */
const written = (counts: ReadonlyArray<number>, ending: "killed" | "closed", segmentBytes = 300) =>
  Effect.gen(function* () {
    const disk = new SimulatedDisk()
    const killed = yield* Effect.scoped(
      Effect.gen(function* () {
        yield* appendBatches(yield* journalOn(disk, segmentBytes), counts)
        return disk.afterKill()
      }),
    )
    return ending === "killed" ? killed : disk
  })

const scan = (disk: SimulatedDisk, bounds: Pick<ScanOptions, "from" | "until"> = {}) =>
  Effect.gen(function* () {
    const records: Array<string | undefined> = []
    const end = yield* scanJournal({ disk, folder, ...bounds }, (batches) =>
      Effect.sync(() => {
        for (const batch of batches) {
          for (const { body } of batchRecords(batch, 0)!) records.push(text(body))
        }
      }),
    )
    return { end, records }
  })

const counts = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]
const total = 44

describe("A scan of a journal", () => {
  for (const ending of ["killed", "closed"] as const) {
    it.effect(`reads all batches of a journal that was ${ending}, and changes nothing`, () =>
      Effect.gen(function* () {
        const disk = yield* written(counts, ending)
        const before = disk.files(folder)
        const { end, records } = yield* scan(disk)
        expect(end).toMatchObject({ firstSequence: 1, lastSequence: total, fault: undefined })
        expect(records).toEqual(Array.from({ length: total }, (_, index) => `record ${index + 1}`))
        expect(disk.files(folder)).toEqual(before)
      }),
    )
  }

  it.effect(
    "begins with the segment of the first requested record, and ends with the batch of the last",
    () =>
      Effect.gen(function* () {
        const disk = yield* written(counts, "closed")
        for (let from = 1; from <= total; from++) {
          for (const until of [from, Math.min(total, from + 7), total]) {
            const { end, records } = yield* scan(disk, { from, until })
            expect(records).toContain(`record ${from}`)
            expect(records.at(-1)).toBe(`record ${end.lastSequence}`)
            expect(end.lastSequence).toBeGreaterThanOrEqual(until)
            expect(end.lastSequence).toBeLessThan(until + Math.max(...counts))
            expect(end.fault).toBeUndefined()
          }
        }
        const { records } = yield* scan(disk, { from: 40 })
        expect(records.length).toBeLessThan(total)
      }),
  )

  it.effect("finds nothing in an empty or missing folder", () =>
    Effect.gen(function* () {
      const { end } = yield* scan(new SimulatedDisk())
      expect(end).toMatchObject({ firstSequence: undefined, lastSequence: 0, fault: undefined })
    }),
  )

  for (const seed of seeds(15)) {
    it.effect(`finds the damage that a start finds (seed ${seed})`, () =>
      Effect.gen(function* () {
        const random = new Random(seed)
        const segmentBytes = random.pick([300, 4_096])
        const ending = random.pick(["killed", "closed"] as const)
        const files = (yield* written(counts, ending, segmentBytes)).files(folder)
        const segments = [...files.keys()].filter((name) => /^\d+\.segment$/.test(name)).sort()
        const name = random.pick(segments)
        const bytes = files.get(name)!
        const kind = random.pick(["flip", "cut", "zero", "remove", "none"])
        const at = random.integer(0, bytes.length - 1)
        if (kind === "flip") bytes[at]! ^= 1 << random.integer(0, 7)
        else if (kind === "cut") files.set(name, bytes.subarray(0, at))
        else if (kind === "zero") bytes.fill(0, at, Math.min(bytes.length, at + 64))
        else if (kind === "remove") files.delete(name)
        const { end } = yield* scan(SimulatedDisk.holding(folder, files))
        const disk = SimulatedDisk.holding(folder, files)
        const opened = yield* Effect.exit(
          Effect.scoped(Effect.map(journalOn(disk, segmentBytes), ({ position }) => position)),
        )
        if (Exit.isFailure(opened)) expect(end.fault?.kind).toBe("damaged")
        else {
          expect(end.fault?.kind ?? "interrupted").toBe("interrupted")
          expect({ lastSequence: end.lastSequence, checksum: end.checksum }).toEqual(opened.value)
        }
      }),
    )
  }

  it.effect("distinguishes a segment of an older or newer format from damage", () =>
    Effect.gen(function* () {
      for (const format of [dataFormat - 1, dataFormat + 1]) {
        const files = (yield* written([1], "killed")).files(folder)
        const header = files.get(segmentName(1))!.subarray(0, segmentHeaderBytes)
        header.writeUInt32LE(format, 8)
        header.writeUInt32LE(crc32(header.subarray(0, 24)), 24)
        const { end } = yield* scan(SimulatedDisk.holding(folder, files))
        expect(end.fault).toMatchObject({ kind: "other", words: otherFormat(format) })
      }
    }),
  )
})

describe("A copy by the writer of segments", () => {
  /** Copies what a scan from `from` on reads to a folder of its own. */
  const copy = (disk: SimulatedDisk, from: number, segmentBytes?: number) =>
    Effect.gen(function* () {
      yield* disk.makeFolder("/copy")
      let writer: SegmentWriter | undefined
      const end = yield* scanJournal({ disk, folder, from }, (batches) =>
        Effect.gen(function* () {
          for (const batch of batches) {
            writer ??= new SegmentWriter({
              disk,
              folder: "/copy",
              after: { lastSequence: batch.firstSequence - 1, checksum: batch.previous },
              ...(segmentBytes !== undefined && { segmentBytes }),
            })
            yield* writer.write(batch)
          }
        }),
      )
      return { end, position: yield* writer!.end }
    })

  it.effect(
    "has the same batches, and can be opened and appended to like a cleanly closed journal",
    () =>
      Effect.gen(function* () {
        const disk = yield* written(counts, "killed")
        for (const [from, segmentBytes] of [
          [1, undefined],
          [30, undefined],
          [30, 500],
        ] as const) {
          const { end, position } = yield* copy(disk, from, segmentBytes)
          expect(position).toEqual({ lastSequence: total, checksum: end.checksum })
          const files = new Map([...disk.files("/copy")].map(([name, bytes]) => [name, bytes]))
          const copied = SimulatedDisk.holding(folder, files)
          yield* Effect.scoped(
            Effect.gen(function* () {
              const journal = yield* journalOn(copied)
              expect(journal.position).toEqual(position)
              yield* appendBatches(journal, [2])
              yield* expectRecords(journal, end.firstSequence!, total + 2)
            }),
          )
          for (const name of files.keys()) yield* disk.remove(`/copy/${name}`)
        }
      }),
  )

  it.effect("is durable after its end, and the loss of its last byte is found", () =>
    Effect.gen(function* () {
      const disk = yield* written([2, 2], "closed")
      yield* copy(disk, 1)
      const files = disk.afterPowerCut(1).files("/copy")
      expect(files).toEqual(disk.files("/copy"))
      const bytes = files.get(segmentName(1))!
      expect(bytes.length).toBeGreaterThan(segmentHeaderBytes + 2 * batchHeaderBytes)
      files.set(segmentName(1), bytes.subarray(0, -1))
      const { end } = yield* scan(SimulatedDisk.holding(folder, files))
      expect(end.fault?.kind).toBe("damaged")
    }),
  )
})
