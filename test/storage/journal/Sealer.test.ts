/** Sealed segments of a journal on a simulated disk: reads, restarts, damage, erasure. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { withFile } from "../../../src/storage/disk/Disk.ts"
import { scanJournal } from "../../../src/storage/journal/JournalScan.ts"
import { openSealed, readBlock, readIndex } from "../../../src/storage/journal/SealedFile.ts"
import type { SegmentBatch } from "../../../src/storage/journal/SegmentFormat.ts"
import type { StoredRecord } from "../../../src/storage/Storage.ts"
import { limited } from "../../limited.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"
import { appendBatches, folder, journalOn } from "../journalOn.ts"
import { expectEach, expectNumbered, expectRecords, previousOf, recordsFrom } from "../records.ts"

type Journal = Effect.Success<ReturnType<typeof journalOn>>

/** Segments of several blocks, and records that fill a block in a few. */
const segmentBytes = 400_000
const padding = "x".repeat(20_000)
/** Batches that go over the ends of blocks, and a record that is longer than a block. */
const counts = [1, 2, 5, 1, 1, 7, 4, 1, 9, 3, 1, 1, 6, 8, 2, 1, 12, 1]

const sealAll = (journal: Journal) =>
  Effect.repeat(journal.sealer.sealNext, { while: (isMore) => isMore })

const namesOn = (disk: SimulatedDisk) =>
  [...disk.files(folder).keys()].filter((name) => /^\d/.test(name)).sort()

const sealedOn = (disk: SimulatedDisk) => namesOn(disk).filter((name) => name.endsWith(".sealed"))

/** A journal with several segments, all but the newest sealed; returns the last record. */
const sealed = Effect.fnUntraced(function* (disk: SimulatedDisk) {
  const journal = yield* journalOn(disk, segmentBytes)
  const last = yield* appendBatches(journal, counts, padding)
  yield* sealAll(journal)
  return { journal, last }
})

const batchesOn = Effect.fnUntraced(function* (disk: SimulatedDisk) {
  const batches: Array<Omit<SegmentBatch, "position" | "size">> = []
  const end = yield* scanJournal({ disk, folder }, (found) =>
    Effect.sync(() => {
      for (const { position: _, size: __, ...batch } of found) {
        batches.push({ ...batch, frames: Uint8Array.from(batch.frames) })
      }
    }),
  )
  return { batches, end }
})

const reopened = <A, E>(
  disk: SimulatedDisk,
  use: (journal: Journal) => Effect.Effect<A, E, Scope.Scope>,
) => Effect.scoped(Effect.flatMap(journalOn(disk, segmentBytes), use))

/** A disk with these files, changed. */
const edited = (disk: SimulatedDisk, edit: (files: Map<string, Buffer>) => void) => {
  const files = new Map([...disk.files(folder)].map(([name, bytes]) => [name, Buffer.from(bytes)]))
  edit(files)
  return SimulatedDisk.holding(folder, files)
}

describe("A full segment", () => {
  it.effect("is replaced by a sealed one with the same records, and the newest stays plain", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const { journal, last } = yield* sealed(disk)
      const names = namesOn(disk)
      expect(names.length).toBeGreaterThan(3)
      expect(names.slice(0, -1).every((name) => name.endsWith(".sealed"))).toBe(true)
      expect(names.at(-1)).toMatch(/\.segment$/)
      for (let from = 1; from <= last + 1; from++) {
        yield* expectRecords(journal, from, last, padding)
      }
      yield* expectEach(journal, 1, last, padding)
    }).pipe(Effect.scoped),
  )

  it.effect("has the same batches and checksums after it was sealed", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      yield* reopened(disk, (journal) => appendBatches(journal, counts, padding))
      const before = yield* batchesOn(disk)
      expect(before.batches.map(({ count }) => count)).toEqual(counts)
      yield* reopened(disk, sealAll)
      expect(sealedOn(disk).length).toBeGreaterThan(2)
      expect(yield* batchesOn(disk)).toEqual(before)
    }),
  )

  it.effect("stays sealed over a restart, which takes appends after it", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const { last } = yield* Effect.scoped(sealed(disk))
      yield* reopened(disk, (journal) =>
        Effect.gen(function* () {
          expect(journal.lastSequence).toBe(last)
          yield* expectRecords(journal, 1, last, padding)
          yield* appendBatches(journal, [3], padding)
          yield* expectEach(journal, 1, last + 3, padding)
        }),
      )
    }),
  )

  it.effect("is found by a start that has no plain segment at all", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      yield* Effect.scoped(sealed(disk))
      const left = edited(disk, (files) => {
        files.delete(namesOn(disk).at(-1)!)
        files.delete("clean")
        files.delete("flushed")
      })
      yield* reopened(left, (journal) =>
        Effect.gen(function* () {
          const last = journal.lastSequence
          expect(last).toBeGreaterThan(10)
          yield* appendBatches(journal, [2], padding)
          yield* expectRecords(journal, 1, last + 2, padding)
        }),
      )
    }),
  )

  it.effect("is pruned when it is sealed, and is not read after that", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const { journal, last } = yield* sealed(disk)
      const count = namesOn(disk).length
      yield* journal.prune(30)
      expect(namesOn(disk).length).toBeLessThan(count)
      const first = journal.firstSequence
      expect(first).toBeGreaterThan(1)
      yield* expectEach(journal, first, last, padding)
      expect(yield* journal.readRecord(first - 1)).toBeUndefined()
      expect((yield* Effect.flip(recordsFrom(journal, first - 1))).message).toContain("is gone")
    }).pipe(Effect.scoped),
  )

  it.effect("that is damaged is not sealed: it stays plain, and the next one is sealed", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const journal = yield* journalOn(disk, segmentBytes)
      yield* appendBatches(journal, counts, padding)
      const [first] = namesOn(disk)
      const file = yield* disk.open(`${folder}/${first}`, "write")
      yield* file.write(5_000, [Buffer.from("?")])
      const error = yield* Effect.flip(journal.sealer.sealNext)
      expect(error.message).toContain(`${first}: the batch there is damaged`)
      yield* sealAll(journal)
      expect(namesOn(disk)[0]).toBe(first)
      expect(sealedOn(disk).length).toBe(namesOn(disk).length - 2)
    }).pipe(Effect.scoped),
  )

  it.effect("is removed after a crash if the sealed one is whole, and kept if it is not", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      yield* reopened(disk, (journal) => appendBatches(journal, counts, padding))
      const plain = new Map(disk.files(folder))
      yield* reopened(disk, sealAll)
      const [first] = sealedOn(disk)
      const name = first!.replace(".sealed", ".segment")
      const both = edited(disk, (files) => files.set(name, Buffer.from(plain.get(name)!)))
      yield* reopened(both, (journal) => expectRecords(journal, 1, 66, padding))
      expect(namesOn(both)).toEqual(namesOn(disk))
      const torn = edited(both, (files) => {
        files.set(name, Buffer.from(plain.get(name)!))
        files.set(first!, Buffer.from(files.get(first!)!.fill(0, 300, 400)))
        files.set(`${first}.draft`, Buffer.from("half"))
      })
      yield* reopened(torn, (journal) => expectRecords(journal, 1, 66, padding))
      expect(namesOn(torn)).toContain(name)
      expect(namesOn(torn)).not.toContain(first)
      expect(namesOn(torn)).not.toContain(`${first}.draft`)
    }),
  )
})

describe("The draft of a sealed segment", () => {
  /** How often it is flushed. */
  const flushes = Effect.fnUntraced(function* (sealFlushBytes: number) {
    yield* limited({ sealFlushBytes })
    const disk = new SimulatedDisk()
    const journal = yield* journalOn(disk, segmentBytes)
    yield* appendBatches(journal, counts, padding)
    const before = disk.log.length
    yield* journal.sealer.sealNext
    const log = disk.log.slice(before)
    return log.filter((call) => call === `sync ${sealedOn(disk)[0]}.draft`).length
  }, Effect.scoped)

  it.effect("is flushed after each sealFlushBytes, not before, and at its end", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      yield* sealed(disk)
      const { blocks, indexAt } = (yield* openSealed(disk, folder, 1)).trailer
      expect(blocks).toBeGreaterThan(3)
      expect(yield* flushes(indexAt + 1)).toBe(1)
      expect(yield* flushes(indexAt)).toBe(2)
      expect(yield* flushes(1)).toBe(blocks + 1)
    }).pipe(Effect.scoped),
  )
})

describe("The cache of unpacked blocks", () => {
  it.effect("keeps at most historyCacheBytesMax, and drops what was read longest ago", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      yield* sealed(disk)
      const segment = yield* openSealed(disk, folder, 1)
      const { bytes, firsts } = yield* withFile(disk, segment.path, "read", (file) =>
        Effect.gen(function* () {
          const index = yield* readIndex(file, segment)
          const one = yield* readBlock(file, segment, index, 0)
          const other = yield* readBlock(file, segment, index, 1)
          return {
            bytes: index.bytes + one.frames.length + other.frames.length,
            firsts: [one.firstSequence, other.firstSequence, one.firstSequence],
          }
        }),
      )
      /** Reads the two blocks and the first one again: how many blocks each read unpacks. */
      const unpacked = Effect.fnUntraced(function* (historyCacheBytesMax: number) {
        yield* limited({ historyCacheBytesMax })
        const { journal } = yield* sealed(new SimulatedDisk())
        return yield* Effect.forEach(firsts, (first) => {
          const work = { blocks: 0 }
          return Effect.map(journal.readRecord(first, work), () => work.blocks)
        })
      }, Effect.scoped)
      expect(yield* unpacked(bytes)).toEqual([1, 1, 0])
      expect(yield* unpacked(bytes - 1)).toEqual([1, 1, 1])
    }).pipe(Effect.scoped),
  )
})

describe("Damage to a sealed segment", () => {
  /** Changes one byte of each kind of place, one at a time. */
  it.effect("of a block fails only the reads that need it, and the check of the segment", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      yield* Effect.scoped(sealed(disk))
      const [, second] = sealedOn(disk)
      const first = Number(second!.slice(0, 20))
      const hurt = edited(disk, (files) => files.get(second!)!.fill("?", 60, 70))
      yield* reopened(hurt, (journal) =>
        Effect.gen(function* () {
          const last = journal.lastSequence
          const error = yield* Effect.flip(journal.readRecord(first))
          expect(error.message).toContain(`${second}: the block of records ${first} to`)
          const through = Number(/to (\d+) is damaged/.exec(error.message)![1])
          yield* expectEach(journal, 1, first - 1, padding)
          yield* expectEach(journal, through + 1, last, padding)
          yield* expectRecords(journal, through + 1, last, padding)
          expect((yield* Effect.flip(recordsFrom(journal, 1)))._tag).toBe("Broken")
          yield* journal.sealer.verify(1)
          const found = yield* Effect.flip(journal.sealer.verify(first))
          expect(found.message).toContain("is damaged")
        }),
      )
    }),
  )

  it.effect("of its header, its trailer or its place in the journal fails the start", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      yield* Effect.scoped(sealed(disk))
      const [one, two, three] = sealedOn(disk) as [string, string, string]
      const refused = (words: string, edit: (files: Map<string, Buffer>) => void) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(reopened(edited(disk, edit), () => Effect.void))
          expect(String(error.cause)).toContain(words)
        })
      yield* refused("its header is damaged", (files) => files.get(two)!.fill("?", 12, 13))
      yield* refused("its trailer is damaged", (files) =>
        files.get(two)!.subarray(-6, -5).fill("?"),
      )
      yield* refused("are missing", (files) => files.delete(two))
      yield* refused("its first record is", (files) => files.set(two, files.get(three)!))
      yield* refused("is damaged", (files) => files.set(one, files.get(one)!.subarray(0, -3)))
    }),
  )

  it.effect("of its index fails the reads of its records alone", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      yield* Effect.scoped(sealed(disk))
      const [first] = sealedOn(disk)
      const hurt = edited(disk, (files) => files.get(first!)!.subarray(-44, -43).fill("?"))
      yield* reopened(hurt, (journal) =>
        Effect.gen(function* () {
          expect((yield* Effect.flip(journal.readRecord(1))).message).toContain("its index")
          yield* expectEach(journal, journal.lastSequence, journal.lastSequence, padding)
        }),
      )
    }),
  )
})

describe("An erasure", () => {
  const expectErased = (record: StoredRecord | undefined, sequence: number) =>
    expect(record && { ...record, body: record.body.length }).toEqual({
      sequence,
      previous: previousOf(sequence),
      body: 0,
    })

  const expectOnly = Effect.fnUntraced(function* (journal: Journal, erased: ReadonlyArray<number>) {
    const records = yield* recordsFrom(journal, 1)
    expect(records.length).toBe(journal.lastSequence)
    for (const record of records) {
      const { sequence } = record
      const alone = yield* journal.readRecord(sequence)
      for (const one of [record, alone]) {
        if (erased.includes(sequence)) expectErased(one, sequence)
        else expectNumbered(one, sequence, padding)
      }
    }
  })

  /** Erases these records of all sealed segments. */
  const eraseAll = Effect.fnUntraced(function* (journal: Journal, all: ReadonlyArray<number>) {
    let left = all
    while (left.length > 0) {
      const done = yield* journal.sealer.erase(left)
      if (done === undefined) break
      left = left.filter((sequence) => sequence > done.lastSequence)
    }
    return left
  })

  it.effect("leaves tombstones with their previous record, and nothing of the bodies", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const { journal } = yield* sealed(disk)
      const erased = [1, 2, 9, 10, 11, 20, 33]
      // The blocks are in the cache.
      yield* expectOnly(journal, [])
      expect(yield* eraseAll(journal, erased)).toEqual([])
      yield* expectOnly(journal, erased)
      // Again, with others in the same segments.
      const more = [3, 9, 12, 34]
      expect(yield* eraseAll(journal, more)).toEqual([])
      yield* expectOnly(journal, [...erased, ...more])
      for (const first of journal.sealer.sealed) yield* journal.sealer.verify(first)
    }).pipe(Effect.scoped),
  )

  it.effect("keeps the chain of checksums, over a restart too", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      yield* Effect.scoped(sealed(disk))
      const before = yield* batchesOn(disk)
      // One in the middle of a batch over two blocks, the first and the last of a segment.
      const erased = [1, 5, 12, 13]
      yield* reopened(disk, (journal) => eraseAll(journal, erased))
      const after = yield* batchesOn(disk)
      expect(after.end).toEqual(before.end)
      const chain = ({ batches }: typeof before) =>
        batches.map(({ checksum, count, firstSequence, previous }) => [
          firstSequence,
          count,
          previous,
          checksum,
        ])
      expect(chain(after)).toEqual(chain(before))
      yield* reopened(disk, (journal) => expectOnly(journal, erased))
    }),
  )

  it.effect("waits for a segment that is not sealed, and passes over a pruned one", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const { journal, last } = yield* sealed(disk)
      expect(yield* journal.sealer.erase([last])).toBeUndefined()
      expect(yield* journal.sealer.erase([last + 1])).toBeUndefined()
      yield* journal.prune(30)
      const { firstSequence } = journal
      const passed = yield* journal.sealer.erase([1, 2, last])
      expect(passed).toEqual({ lastSequence: firstSequence - 1, bytes: 0 })
    }).pipe(Effect.scoped),
  )

  it.effect("whose disk call fails changes nothing, or is done after the next try", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const { journal } = yield* sealed(disk)
      const names = namesOn(disk)
      let failures = 0
      for (let call = 1, isDone = false; !isDone; call++) {
        const erased = [call]
        disk.failCall(call, call % 2 === 0 ? "ENOSPC" : "EIO")
        const exit = yield* Effect.exit(journal.sealer.erase(erased))
        isDone = exit._tag === "Success"
        if (isDone) continue
        failures++
        expect(namesOn(disk)).toEqual(names)
        const record = yield* journal.readRecord(call)
        if (record?.body.length === 0) expectErased(record, call)
        else expectNumbered(record, call, padding)
        yield* journal.sealer.erase(erased)
        expectErased(yield* journal.readRecord(call), call)
      }
      expect(failures).toBeGreaterThan(10)
    }).pipe(Effect.scoped),
  )
})
