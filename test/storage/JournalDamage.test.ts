import { crc32 } from "node:zlib"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { dataFormat } from "../../src/storage/format.ts"
import {
  batchHeaderBytes,
  segmentHeaderBytes,
  segmentName,
} from "../../src/storage/journal/SegmentFormat.ts"
import { SimulatedDisk } from "../simulation/SimulatedDisk.ts"
import { appendBatches, folder, journalOn } from "./journalOn.ts"
import { expectRecords, numbered } from "./records.ts"

type Files = Map<string, Buffer>

/** The files of a journal of these batches after its process was killed, or closed it. */
const filesOf = (counts: ReadonlyArray<number>, ending: "killed" | "closed", padding = "") =>
  Effect.gen(function* () {
    const disk = new SimulatedDisk()
    const killed = yield* Effect.scoped(
      Effect.gen(function* () {
        const journal = yield* journalOn(disk)
        yield* appendBatches(journal, counts, padding)
        return disk.files(folder)
      }),
    )
    return ending === "killed" ? killed : disk.files(folder)
  })

const edited = (files: Files, edit: (files: Files) => void): SimulatedDisk => {
  const copy: Files = new Map([...files].map(([name, bytes]) => [name, Buffer.from(bytes)]))
  edit(copy)
  return SimulatedDisk.holding(folder, copy)
}

const only = segmentName(1)
const flip = (files: Files, name: string, at: number, bit = 0) => {
  files.get(name)![at]! ^= 1 << bit
}

/** Where each batch begins, when there are `count` of one record each with one digit. */
const sizeOfOne = batchHeaderBytes + numbered(1, 1).frames.length
const startOf = (batch: number) => segmentHeaderBytes + (batch - 1) * sizeOfOne

/**
 * Opens the disk and appends, and opens it again: the records up to `last` and the new ones are
 * there.
 */
const expectRecovered = (disk: SimulatedDisk, last: number, padding = "") =>
  Effect.gen(function* () {
    yield* Effect.scoped(
      Effect.gen(function* () {
        const journal = yield* journalOn(disk)
        expect(journal.lastSequence).toBe(last)
        yield* expectRecords(journal, 1, last, padding)
        yield* appendBatches(journal, [2, 1], padding)
        yield* expectRecords(journal, 1, last + 3, padding)
      }),
    )
    const again = yield* journalOn(disk)
    yield* expectRecords(again, 1, last + 3, padding)
  })

const expectRefused = (disk: SimulatedDisk, words: string | RegExp) =>
  Effect.gen(function* () {
    const before = disk.files(folder)
    const error = yield* Effect.flip(Effect.scoped(journalOn(disk)))
    expect(error._tag).toBe("Broken")
    expect(String(error.cause)).toMatch(words)
    expect(disk.files(folder)).toEqual(before)
  })

const keptAside = (disk: SimulatedDisk) =>
  [...disk.files(folder)].filter(([name]) => name.startsWith("cut-")).map(([, bytes]) => bytes)

describe("a last batch that was not written whole", () => {
  it.effect("is truncated wherever it stops, and its bytes are kept in a separate file", () =>
    Effect.gen(function* () {
      const files = yield* filesOf([1, 1, 1], "killed")
      for (let end = startOf(3); end < startOf(4); end++) {
        const whole = files.get(only)!
        for (const rest of ["zeros", "nothing"]) {
          const disk = edited(files, (copy) => {
            if (rest === "zeros") copy.get(only)!.fill(0, end)
            else copy.set(only, whole.subarray(0, end))
          })
          yield* expectRecovered(disk, 2)
          let kept = end
          while (kept > startOf(3) && whole[kept - 1] === 0) kept--
          const expected = kept > startOf(3) ? [whole.subarray(startOf(3), kept)] : []
          expect(keptAside(disk)).toEqual(expected)
        }
      }
    }),
  )

  it.effect("is truncated whichever of its bits are wrong", () =>
    Effect.gen(function* () {
      const files = yield* filesOf([1, 1, 1], "killed")
      for (let at = startOf(3); at < startOf(4); at++) {
        for (let bit = 0; bit < 8; bit++) {
          const disk = edited(files, (copy) => flip(copy, only, at, bit))
          const journal = yield* Effect.scoped(journalOn(disk))
          expect(journal.lastSequence).toBe(2)
          expect(keptAside(disk).length).toBe(1)
        }
      }
    }),
  )

  it.effect("is removed with its segment if it is the first batch there", () =>
    Effect.gen(function* () {
      const padding = "x".repeat(1_000)
      const files = yield* filesOf([1, 1, 1, 1], "killed", padding)
      const second = segmentName(4)
      const { length } = files.get(second)!
      for (const keep of [0, 1, 31, 32, 33, 100, 1_000]) {
        const disk = edited(files, (copy) => copy.get(second)!.fill(0, keep, length))
        yield* expectRecovered(disk, 3, padding)
      }
    }),
  )

  it.effect("may be the only batch of the journal", () =>
    Effect.gen(function* () {
      const files = yield* filesOf([1], "killed")
      for (let at = segmentHeaderBytes; at < startOf(2); at++) {
        yield* expectRecovered(
          edited(files, (copy) => flip(copy, only, at)),
          0,
        )
      }
    }),
  )
})

describe("damage", () => {
  it.effect("before the last batch fails the start, changes nothing and names the remedy", () =>
    Effect.gen(function* () {
      for (const ending of ["killed", "closed"] as const) {
        const files = yield* filesOf([1, 1, 1], ending)
        for (let at = 0; at < startOf(3); at++) {
          const after = at < startOf(2) ? 0 : 1
          const disk = edited(files, (copy) => flip(copy, only, at, at % 8))
          yield* expectRefused(
            disk,
            new RegExp(`damaged.*after record ${after}.*archive.*truncate`),
          )
        }
      }
    }),
  )

  it.effect("of the last batch after a clean shutdown fails the start", () =>
    Effect.gen(function* () {
      const files = yield* filesOf([1, 1, 1], "closed")
      for (let at = startOf(3); at < startOf(4); at++) {
        yield* expectRefused(
          edited(files, (copy) => flip(copy, only, at)),
          "closed cleanly",
        )
      }
      const zeroed = edited(files, (copy) => copy.get(only)!.fill(0, startOf(3)))
      yield* expectRefused(zeroed, "closed cleanly after record 3, but ends with record 2")
    }),
  )

  it.effect("that no checksum of a single batch shows is found by the chain", () =>
    Effect.gen(function* () {
      const files = yield* filesOf([1, 1, 1, 1], "killed")
      const swapped = edited(files, (copy) => {
        const bytes = copy.get(only)!
        const second = Buffer.from(bytes.subarray(startOf(2), startOf(3)))
        bytes.copyWithin(startOf(2), startOf(3), startOf(4))
        second.copy(bytes, startOf(3))
      })
      yield* expectRefused(swapped, "the batch from record 3 on does not follow")
      const lost = edited(files, (copy) => {
        copy.get(only)!.copyWithin(startOf(2), startOf(3))
      })
      yield* expectRefused(lost, "the batch from record 3 on does not follow")
      const other = yield* filesOf([1, 1, 1, 1], "killed", "?")
      const foreign = edited(files, (copy) => {
        const theirs = other.get(only)!
        theirs.copy(copy.get(only)!, startOf(4), startOf(4) + 3, startOf(5) + 4)
      })
      yield* expectRefused(foreign, "the batch from record 4 on does not follow")
    }),
  )

  it.effect("of a zeroed batch in the middle is not taken for the end", () =>
    Effect.gen(function* () {
      const files = yield* filesOf([1, 1, 1], "killed")
      const disk = edited(files, (copy) => copy.get(only)!.fill(0, startOf(2), startOf(3)))
      yield* expectRefused(disk, /after record 1: valid batches follow/)
    }),
  )

  it.effect("of whole segments is found: missing, exchanged, empty or truncated", () =>
    Effect.gen(function* () {
      const padding = "x".repeat(1_000)
      const files = yield* filesOf(Array(12).fill(1), "killed", padding)
      const names = [...files.keys()].filter((name) => /^\d/.test(name)).sort()
      expect(names.length).toBe(4)
      const [, second, third, fourth] = names as [string, string, string, string]
      const missing = edited(files, (copy) => copy.delete(second))
      yield* expectRefused(missing, "records 4 to 6 are missing")
      const exchanged = edited(files, (copy) => {
        copy.set(second, files.get(third)!)
        copy.set(third, files.get(second)!)
      })
      yield* expectRefused(exchanged, "its first record is 7")
      yield* expectRefused(
        edited(files, (copy) => copy.set(second, Buffer.alloc(0))),
        "damaged",
      )
      const short = edited(files, (copy) => copy.set(second, files.get(second)!.subarray(0, 2_200)))
      yield* expectRefused(short, "damaged at byte 2120")
      const ended = edited(files, (copy) => copy.delete(fourth))
      yield* expectRecovered(ended, 9, padding)
      const closed = yield* filesOf(Array(12).fill(1), "closed", padding)
      const lost = edited(closed, (copy) => copy.delete(fourth))
      yield* expectRefused(lost, "closed cleanly after record 12, but ends with record 9")
    }),
  )

  it.effect("is not reported for a file of an older or newer format", () =>
    Effect.gen(function* () {
      const files = yield* filesOf([1], "closed")
      for (const format of [dataFormat - 1, dataFormat + 1]) {
        const other = edited(files, (copy) => {
          const bytes = copy.get(only)!
          bytes.writeUInt32LE(format, 8)
          bytes.writeUInt32LE(crc32(bytes.subarray(0, 24)), 24)
        })
        yield* expectRefused(other, `has format ${format}, and this version of Laurel`)
      }
    }),
  )
})

describe("the mark of a clean shutdown", () => {
  it.effect("exists until the first append, which removes it before it writes the batch", () =>
    Effect.gen(function* () {
      const disk = SimulatedDisk.holding(folder, yield* filesOf([1, 1], "closed"))
      const journal = yield* journalOn(disk)
      expect([...disk.files(folder).keys()]).toContain("clean")
      const before = disk.log.length
      yield* appendBatches(journal, [1])
      const operations = disk.log.slice(before).filter((line) => !line.includes("next"))
      expect(operations.slice(0, 3)).toEqual([
        "remove clean",
        "sync folder journal",
        `write ${only}`,
      ])
    }),
  )

  it.effect("is left by a run that appended nothing, and is worthless when unreadable", () =>
    Effect.gen(function* () {
      const files = yield* filesOf([1, 1], "closed")
      const disk = SimulatedDisk.holding(folder, files)
      yield* Effect.scoped(journalOn(disk))
      expect(disk.files(folder)).toEqual(files)
      const unreadable = edited(files, (copy) => copy.set("clean", Buffer.from("{")))
      yield* expectRecovered(unreadable, 2)
    }),
  )
})
