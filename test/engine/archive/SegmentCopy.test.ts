import { readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  copySegments,
  isDueAt,
  type SegmentCopyOptions,
} from "../../../src/engine/archive/make/SegmentCopy.ts"
import { limits } from "../../../src/Limits.ts"
import type { Manifest } from "../../../src/storage/archive/ArchiveManifest.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { batchOf, batchRecords } from "../../../src/storage/Frames.ts"
import { openJournal } from "../../../src/storage/journal/Journal.ts"
import { scanJournal, segmentsIn } from "../../../src/storage/journal/JournalScan.ts"
import { type JournalPosition, segmentName } from "../../../src/storage/journal/SegmentFormat.ts"
import { SegmentWriter } from "../../../src/storage/journal/SegmentWriter.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"

const hourMs = 3_600_000

/** A journal of `count` records, about four in a segment, in folders of its own; `grow` appends more to it. */
const place = Effect.fnUntraced(function* (count: number) {
  const directory = yield* temporaryFolder
  const from = path.join(directory, "journal")
  yield* nodeDisk.makeFolder(from)
  let after: JournalPosition = { lastSequence: 0, checksum: 0 }
  const grow = Effect.fnUntraced(function* (records: number) {
    const writer = new SegmentWriter({ disk: nodeDisk, folder: from, after, segmentBytes: 700 })
    for (let n = 0; n < records; n++) {
      const { lastSequence } = writer.position
      const body = Buffer.from(`record ${lastSequence + 1} `.padEnd(100, "x"))
      yield* writer.write(batchOf(lastSequence + 1, [body]))
    }
    after = yield* writer.end
    return after
  })
  yield* grow(count)
  let made = 0
  /** Seals the full segments, and erases records of them. */
  const seal = (erased: ReadonlyArray<number> = []) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { sealer } = yield* openJournal({
          ...{ disk: nodeDisk, folder: from, segmentBytes: 700, freeSpaceBytesMin: 0 },
        })
        yield* Effect.repeat(sealer.sealNext, { while: (isMore) => isMore })
        if (erased.length > 0) yield* sealer.erase(erased)
      }),
    )
  return {
    seal,
    from,
    grow,
    position: () => after,
    copy: Effect.fnUntraced(function* (options: Partial<SegmentCopyOptions> = {}) {
      const draft = path.join(directory, `archive-${++made}`)
      const copied = yield* copySegments({
        ...{ directory, folder: "journal", draft, at: 0, base: undefined, position: after },
        ...{ rested: () => Effect.void },
        ...options,
      })
      const manifest = { files: copied.files } as unknown as Manifest
      return { ...copied, base: { folder: draft, manifest }, journal: path.join(draft, "journal") }
    }),
  }
})

const inodeOf = (folder: string, first: number) =>
  Effect.promise(async () => (await stat(path.join(folder, segmentName(first)))).ino)

const recordsIn = Effect.fnUntraced(function* (folder: string) {
  const end = yield* scanJournal({ disk: nodeDisk, folder }, () => Effect.void)
  expect(end.fault).toBeUndefined()
  return [end.firstSequence, end.lastSequence]
})

const flip = (file: string) =>
  Effect.promise(async () => {
    const bytes = await readFile(file)
    bytes[bytes.length >> 1]! ^= 1
    const { mtime } = await stat(file)
    await writeFile(file, bytes)
    await utimes(file, mtime, mtime)
  })

describe("The segments of an archive", () => {
  it.live("are links to the journal's, but for the last one", () =>
    Effect.gen(function* () {
      const { copy, from, position } = yield* place(20)
      const firsts = yield* segmentsIn(nodeDisk, from)
      expect(firsts.length).toBeGreaterThan(3)
      const { copied, files, journal, linked } = yield* copy()
      expect({ copied, linked }).toEqual({ copied: 0, linked: firsts.length - 1 })
      expect(files).toHaveLength(linked)
      expect(yield* segmentsIn(nodeDisk, journal)).toEqual(firsts)
      for (const [n, first] of firsts.entries()) {
        const isShared = (yield* inodeOf(journal, first)) === (yield* inodeOf(from, first))
        expect(isShared).toBe(n < firsts.length - 1)
      }
      expect(yield* recordsIn(journal)).toEqual([1, position().lastSequence])
    }),
  )

  it.live("end with the stated record, wherever it is", () =>
    Effect.gen(function* () {
      const { copy, from } = yield* place(20)
      const ends: Array<JournalPosition> = []
      yield* scanJournal({ disk: nodeDisk, folder: from }, (batches) =>
        Effect.sync(() => {
          for (const { checksum, firstSequence } of batches) {
            ends.push({ checksum, lastSequence: firstSequence })
          }
        }),
      )
      for (const position of ends) {
        const { journal } = yield* copy({ position })
        expect(yield* recordsIn(journal)).toEqual([1, position.lastSequence])
        const last = (yield* segmentsIn(nodeDisk, journal)).at(-1)!
        expect(yield* inodeOf(journal, last)).not.toBe(yield* inodeOf(from, last))
      }
      const other = { ...ends[7]!, checksum: 1 }
      const failed = yield* Effect.flip(copy({ position: other }))
      expect(String(failed)).toContain("should end with record 8, but ends with another record 8")
    }),
  )

  it.live("are those of the archive before, unread", () =>
    Effect.gen(function* () {
      const { copy, from, grow } = yield* place(20)
      const { base } = yield* copy()
      const position = yield* grow(10)
      let read = 0
      const rested = (bytes: number) =>
        Effect.sync(() => {
          read += bytes
        })
      // The base alone has them still.
      const { files, journal } = yield* copy({ base, position, rested })
      const shared = base.manifest.files.length
      expect(files.slice(0, shared)).toEqual(base.manifest.files)
      const fresh = files.slice(shared).reduce((sum, { bytes }) => sum + bytes, 0)
      expect(fresh).toBeGreaterThan(0)
      expect(read).toBe(fresh)
      const first = (yield* segmentsIn(nodeDisk, from))[0]!
      const own = yield* inodeOf(path.join(base.folder, "journal"), first)
      expect(yield* inodeOf(journal, first)).toBe(own)
      expect(yield* recordsIn(journal)).toEqual([1, 30])
    }),
  )

  it.live("are taken sealed once they are, and anew where records were erased", () =>
    Effect.gen(function* () {
      const { copy, from, position, seal } = yield* place(20)
      const plain = yield* copy()
      yield* seal()
      const { base, files, journal } = yield* copy({ base: plain.base })
      expect(files.every(({ path }) => path.endsWith(".sealed"))).toBe(true)
      expect(yield* recordsIn(journal)).toEqual([1, position().lastSequence])
      const names = yield* Effect.promise(() => readdir(journal))
      expect(names.filter((name) => name.endsWith(".segment"))).toHaveLength(1)
      yield* seal([6])
      const erased = yield* copy({ base })
      const changed = erased.files.filter((file, n) => file.sha256 !== files[n]!.sha256)
      expect(changed).toHaveLength(1)
      const bodies: Array<number> = []
      yield* scanJournal({ disk: nodeDisk, folder: erased.journal }, (batches) =>
        Effect.sync(() => {
          for (const batch of batches) {
            for (const { body } of batchRecords(batch, 1)!) bodies.push(body.length)
          }
        }),
      )
      expect(bodies.indexOf(0)).toBe(5)
      expect(bodies.filter((bytes) => bytes === 0)).toHaveLength(1)
      // The older archive has the record until it is removed.
      const older = yield* Effect.promise(() => readdir(path.join(plain.base.folder, "journal")))
      expect(older.filter((name) => name.endsWith(".sealed"))).toEqual([])
      expect(yield* recordsIn(journal)).toEqual([1, 20])
      expect(yield* segmentsIn(nodeDisk, from)).toEqual(yield* segmentsIn(nodeDisk, journal))
    }),
  )

  it.live("are all links where the last one is sealed", () =>
    Effect.gen(function* () {
      const { copy, from, position, seal } = yield* place(20)
      yield* seal()
      const last = (yield* segmentsIn(nodeDisk, from)).at(-1)!
      const end = { lastSequence: last - 1, checksum: 0 }
      yield* scanJournal({ disk: nodeDisk, folder: from, until: last - 1 }, (batches) =>
        Effect.sync(() => {
          end.checksum = batches.at(-1)?.checksum ?? end.checksum
        }),
      )
      const { files, journal, linked } = yield* copy({ position: end })
      expect(linked).toBe(files.length)
      expect(yield* recordsIn(journal)).toEqual([1, last - 1])
      expect(position().lastSequence).toBeGreaterThan(end.lastSequence)
      // Its batches are copied where the archive ends within it.
      const within = { ...end, lastSequence: last - 2 }
      yield* scanJournal({ disk: nodeDisk, folder: from, until: last - 2 }, (batches) =>
        Effect.sync(() => {
          within.checksum = batches.at(-1)!.checksum
        }),
      )
      const shorter = yield* copy({ position: within })
      expect(yield* recordsIn(shorter.journal)).toEqual([1, last - 2])
    }),
  )

  it.live("are read again within a week, and taken from the journal where one was damaged", () =>
    Effect.gen(function* () {
      const { copy, from } = yield* place(20)
      const { base } = yield* copy()
      const file = base.manifest.files[1]!
      // A file of its own, as on another file system.
      const where = path.join(base.folder, file.path)
      const bytes = yield* Effect.promise(() => readFile(where))
      yield* Effect.promise(async () => {
        await rm(where)
        await writeFile(where, bytes)
      })
      yield* flip(where)
      const hours = Array.from({ length: limits.archiveRereadHours }, (_, hour) => hour * hourMs)
      const due = hours.filter((at) => isDueAt(file, at))
      expect(due).toHaveLength(1)
      const name = path.basename(file.path)
      const unaware = yield* copy({ base, at: due[0]! + hourMs })
      const copied = (folder: string) => Effect.promise(() => readFile(path.join(folder, name)))
      expect(yield* copied(unaware.journal)).not.toEqual(bytes)
      const aware = yield* copy({ base, at: due[0]! })
      expect(yield* copied(aware.journal)).toEqual(bytes)
      expect(yield* copied(from)).toEqual(bytes)
    }),
  )

  it.live("are not made of a damaged journal", () =>
    Effect.gen(function* () {
      const { copy, from } = yield* place(20)
      const { base } = yield* copy()
      const [, second] = yield* segmentsIn(nodeDisk, from)
      const damaged = path.join(from, segmentName(second!))
      yield* flip(damaged)
      yield* Effect.promise(() => utimes(damaged, 1, 1))
      const failed = yield* Effect.flip(copy({ base }))
      expect(String(failed)).toContain("The journal is damaged at byte")
    }),
  )

  it.live("are copied again where the server removes one meanwhile", () =>
    Effect.gen(function* () {
      const { copy, from } = yield* place(20)
      const [first, second] = yield* segmentsIn(nodeDisk, from)
      let left = 1
      const rested = () =>
        Effect.promise(async () => {
          if (left-- > 0) await rm(path.join(from, segmentName(second!)))
          if (left === 0) await rename(path.join(from, segmentName(first!)), `${from}-removed`)
        })
      const { journal } = yield* copy({ rested })
      const [begin, end] = yield* recordsIn(journal)
      expect(begin).toBeGreaterThan(second!)
      expect(end).toBe(20)
      const names = yield* Effect.promise(() => readdir(journal))
      expect(names.filter((name) => name === segmentName(first!))).toEqual([])
    }),
  )
})
