import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import type { Environment } from "../../../src/engine/actor/Environments.ts"
import { boardKey } from "../../../src/engine/boards/BoardKeys.ts"
import { type BoardRow, pageOf } from "../../../src/engine/boards/BoardSource.ts"
import { BoardWriter } from "../../../src/engine/boards/BoardWriter.ts"
import {
  bucketOf,
  openStoredBoard,
  pageEntry,
  readWindows,
  userHash,
  windowEntry,
} from "../../../src/engine/boards/StoredBoard.ts"
import { limits } from "../../../src/Limits.ts"
import { keyParts } from "../../../src/storage/Keys.ts"
import { type Entry, type Storage, Unavailable } from "../../../src/storage/Storage.ts"
import { boardWith } from "../../domain/definitions.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { anEnvironment } from "../fixture.ts"

const index = 1

const closeWindow = (environment: Environment, window: number, sequence = 1) => {
  const startsAt = 0
  environment.boards.followProject({
    sequence,
    at: 0,
    subject: { actor: "project", environment: environment.id },
    cause: { kind: "request" },
    facts: [
      {
        kind: "leaderboard.window_closed",
        window: "daily",
        index: window,
        startsAt,
        endsAt: 1,
        total: 1,
      },
    ],
  })
}

/**
 * An environment whose daily board has `ids` in this order, and what was written to the storage for
 * it.
 */
const stored = Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
  const environment = anEnvironment()
  const { daily } = environment.boards.windows
  const board = daily.openBoard(index)!
  for (const [position, id] of ids.entries()) board.setUser(id, ids.length - position, position)
  closeWindow(environment, index)
  const visit = vi.spyOn(board, "visit")
  const storage = MemoryStorage.make({ state: new MemoryStorage.MemoryState() })
  const slices: Array<ReadonlyArray<Entry>> = []
  let now = 0
  const writer = new BoardWriter({ storage, environments: [environment], now: () => now })
  const write = writer.write((entries) => {
    slices.push(entries)
    return storage.writeEntries(entries)
  })
  yield* write
  /** Writes again at this time. */
  const writeAt = (time: number) =>
    Effect.suspend(() => {
      now = time
      return write
    })
  return { environment, storage, slices, visits: visit.mock.calls, writeAt }
})

const readBack = Effect.fnUntraced(function* (
  environment: Environment,
  storage: Storage["Service"],
) {
  const place = { environment: environment.id, board: "ldb_xp", kind: "daily", index } as const
  const source = yield* openStoredBoard(
    storage,
    place,
    environment.boards.windows.daily.stored.get(index)!,
  )
  return { source, rows: yield* pageOf(source, 0, Number.MAX_SAFE_INTEGER) }
})

const idsOf = (count: number) =>
  Array.from({ length: count }, (_, number) => `user-${number.toString().padStart(5, "0")}`)

const around = (bound: number) => [bound - 1, bound, bound + 1]

const sectionOf = ({ key }: Entry) => keyParts(key)[0]

describe("A board that is stored", () => {
  const rowsInSlice = (() => {
    const rowBytes = 10 + 10
    return Math.floor((limits.boardPageBytesMax - 4) / rowBytes) * limits.boardSliceEntriesMax
  })()
  const sizes = [
    1,
    ...around(limits.boardTurnRowsMax),
    ...around(limits.boardBucketUsers),
    ...around(limits.boardTurnBucketsMax * limits.boardBucketUsers),
    ...around(rowsInSlice),
  ]

  it.effect.each([...new Set(sizes)])("reads back as it was, with %d users", (size) =>
    Effect.gen(function* () {
      const ids = idsOf(size)
      const { environment, slices, storage, visits } = yield* stored(ids)
      const { rows, source } = yield* readBack(environment, storage)
      expect(rows.map(({ userId }) => userId)).toEqual(ids)
      expect(yield* source.ranks(rows, true)).toEqual(ids.map((_, at) => at + 1))
      const found: Array<BoardRow | undefined> = []
      for (const id of ids) found.push(yield* source.find(id))
      expect(found).toEqual(rows)
      expect(yield* source.find("nobody")).toBeUndefined()
      expect(visits.length).toBe(Math.ceil(size / limits.boardTurnRowsMax))
      for (const [, limit] of visits) expect(limit).toBeLessThanOrEqual(limits.boardTurnRowsMax)
      const entries = slices.flat().length
      expect(slices.length).toBe(Math.ceil(entries / limits.boardSliceEntriesMax))
      for (const slice of slices) {
        expect(slice.length).toBeLessThanOrEqual(limits.boardSliceEntriesMax)
      }
      expect(slices.flat().map(sectionOf).lastIndexOf("w")).toBe(entries - 1)
    }),
  )

  it.effect("is written in pieces with a turn of the event loop between them", () =>
    Effect.gen(function* () {
      let turn = 0
      let watching = true
      const count = () => {
        turn++
        if (watching) setImmediate(count)
      }
      setImmediate(count)
      const size = 5 * limits.boardTurnBucketsMax * limits.boardBucketUsers
      yield* stored(idsOf(size))
      watching = false
      const pieces =
        size / limits.boardTurnRowsMax + size / limits.boardBucketUsers / limits.boardTurnBucketsMax
      expect(turn).toBeGreaterThanOrEqual(pieces)
    }),
  )

  it.effect("has a page that is full to the last byte, and the next row on the next page", () =>
    Effect.gen(function* () {
      for (const over of [-1, 0, 1]) {
        // Four rows whose heads and ids fill a page exactly.
        const bytes = limits.boardPageBytesMax - 4 - 4 * 10
        const lengths = [508, 508, 508, bytes - 3 * 508 + over]
        const ids = lengths.map((length, number) => {
          const wide = "🦊".repeat(Math.floor(length / 4) - 1)
          return `${wide}${number}`.padEnd(
            wide.length + length - 4 * Math.floor(length / 4) + 4,
            ".",
          )
        })
        expect(ids.map((id) => Buffer.byteLength(id))).toEqual(lengths)
        const { environment, slices, storage } = yield* stored(ids)
        const pages = slices.flat().filter((entry) => sectionOf(entry) === "r")
        // A value also has one byte of version and four bytes of checksum.
        expect(pages.map(({ value }) => value!.length - 5)).toEqual(
          over > 0
            ? [limits.boardPageBytesMax - 10 - lengths[3]! + over, 4 + 10 + lengths[3]!]
            : [limits.boardPageBytesMax + over],
        )
        const { rows } = yield* readBack(environment, storage)
        expect(rows.map(({ userId }) => userId)).toEqual(ids)
      }
    }),
  )

  it.effect("finds every user also if a bucket has a second part", () =>
    Effect.gen(function* () {
      const partPairs = Math.floor(limits.boardPageBytesMax / 8)
      for (const size of [partPairs, partPairs + 1]) {
        const buckets = Math.ceil(size / limits.boardBucketUsers)
        const ids: Array<string> = []
        for (let number = 0; ids.length < size; number++) {
          const id = Buffer.from(`user-${number}`)
          if (bucketOf(userHash(id, 0, id.length), buckets) === 0) ids.push(id.toString())
        }
        const { environment, slices, storage } = yield* stored(ids)
        const parts = slices.flat().filter((entry) => sectionOf(entry) === "u")
        expect(parts.length).toBe(size > partPairs ? 2 : 1)
        const { source } = yield* readBack(environment, storage)
        for (const [position, id] of ids.entries()) {
          expect((yield* source.find(id))?.position).toBe(position)
        }
      }
    }),
  )

  it.effect.each(around(limits.boardSliceEntriesMax))(
    "is deleted whole after its retention, with %d pages",
    (pages) =>
      Effect.gen(function* () {
        // Each page has room for one row, but not for a second.
        const ids = Array.from(
          { length: 3 * pages },
          (_, number) => `${"🦊".repeat(122)}${number.toString().padStart(5, "0")}`,
        )
        const { environment, slices, storage, writeAt } = yield* stored(ids)
        expect(slices.flat().filter((entry) => sectionOf(entry) === "r").length).toBe(pages)
        environment.boards.windows.daily.openBoard(index + 1)!.setUser("next", 1, 1)
        closeWindow(environment, index + 1, 2)
        const keys = slices.splice(0).flatMap((slice) => slice.map(({ key }) => key))
        yield* writeAt(1_000 * 86_400_000)
        for (const slice of slices) {
          expect(slice.length).toBeLessThanOrEqual(limits.boardSliceEntriesMax)
        }
        expect([...environment.boards.windows.daily.stored.keys()]).toEqual([index + 1])
        for (const key of keys) {
          expect(yield* storage.readEntry("boards", key)).toBeUndefined()
        }
      }),
  )

  it.effect("is deleted whole after its retention, also if the disk was full meanwhile", () =>
    Effect.gen(function* () {
      const { environment, slices, storage } = yield* stored(idsOf(2_000))
      environment.boards.windows.daily.openBoard(index + 1)!.setUser("next", 1, 1)
      closeWindow(environment, index + 1, 2)
      const keys = slices.flatMap((slice) => slice.map(({ key }) => key))
      const now = () => 1_000 * 86_400_000
      const writer = new BoardWriter({ storage, environments: [environment], now })
      const disk = { full: false, deletions: 0 }
      const write = writer.write((entries) => {
        if (disk.full) return new Unavailable({ operation: "write", reason: "disk_full" })
        const isDeletion = entries.some((entry) => sectionOf(entry) === "r" && entry.value === null)
        if (isDeletion) disk.full = ++disk.deletions === 1
        return storage.writeEntries(entries)
      })
      expect((yield* Effect.flip(write))._tag).toBe("Unavailable")
      expect([...environment.boards.windows.daily.stored.keys()]).toEqual([index + 1])
      disk.full = false
      yield* write
      for (const key of keys) expect(yield* storage.readEntry("boards", key)).toBeUndefined()
    }),
  )
})

describe("A row that a snapshot removes", () => {
  const removing = Effect.gen(function* () {
    const { environment, storage } = yield* stored(idsOf(3))
    const [first, hidden, last] = idsOf(3)
    environment.boards.hide(hidden!, 2)
    const writer = new BoardWriter({ storage, environments: [environment], now: () => 0 })
    const listed = (from: Storage["Service"]) =>
      Effect.map(readBack(environment, from), ({ rows, source }) => {
        expect(source.gaps.size).toBe(1)
        return rows.map(({ userId }) => userId)
      })
    return { listed, others: [first!, last!], storage, writer }
  })

  it.effect("is in no read between its write and the next step", () =>
    Effect.gen(function* () {
      const { listed, others, storage, writer } = yield* removing
      const reads: Array<ReadonlyArray<string>> = []
      yield* writer.write((entries) =>
        Effect.gen(function* () {
          yield* storage.writeEntries(entries)
          reads.push(yield* Effect.orDie(listed(storage)))
        }),
      )
      expect(reads).toEqual([others])
    }),
  )

  it.effect("is in no read that began before the removal", () =>
    Effect.gen(function* () {
      const { listed, others, storage, writer } = yield* removing
      let isRemoved = false
      const late: Storage["Service"] = {
        ...storage,
        readEntry: (...entry) =>
          Effect.gen(function* () {
            if (!isRemoved) yield* Effect.orDie(writer.write(storage.writeEntries))
            isRemoved = true
            return yield* Effect.suspend(() => storage.readEntry(...entry))
          }),
      }
      expect(yield* listed(late)).toEqual(others)
      expect(isRemoved).toBe(true)
    }),
  )
})

describe("A board that lists fewer users than it counts", () => {
  it.effect("is not stored, and the failure names both numbers", () =>
    Effect.gen(function* () {
      const environment = anEnvironment()
      const board = environment.boards.windows.daily.openBoard(index)!
      for (const id of idsOf(3)) board.setUser(id, 1, 1)
      closeWindow(environment, index)
      vi.spyOn(board, "visit").mockImplementation((_, __, visit) => visit(0, 1, 1))
      const state = new MemoryStorage.MemoryState()
      const storage = MemoryStorage.make({ state })
      const writer = new BoardWriter({ storage, environments: [environment], now: () => 0 })
      const error = yield* Effect.flip(writer.write(storage.writeEntries))
      expect(error).toMatchObject({ _tag: "Broken" })
      expect(error.message).toContain("A board of 3 members has 1 rows")
      expect(environment.boards.windows.daily.stored.size).toBe(0)
    }),
  )
})

describe("Windows that a start finds of boards that are not defined yet", () => {
  const of = { environment: "prj_1:sandbox", board: "ldb_1", kind: "daily", index } as const
  const found = Effect.gen(function* () {
    const environment = anEnvironment()
    const storage = MemoryStorage.make({ state: new MemoryStorage.MemoryState() })
    const window = { startsAt: 0, endsAt: 1, sequence: 1, size: 1, buckets: 1 }
    yield* storage.writeEntries([pageEntry(of, 0, new Uint8Array(20)), windowEntry(of, window)])
    for (const { place, window, ...gaps } of yield* readWindows(storage)) {
      environment.boards.found(place.board, { kind: place.kind, index, window, gaps })
    }
    const writer = new BoardWriter({ storage, environments: [environment], now: () => 0 })
    return { environment, storage, write: writer.write((entries) => storage.writeEntries(entries)) }
  })

  it.effect("are those of the board that the journal makes", () =>
    Effect.gen(function* () {
      const { environment, storage, write } = yield* found
      expect(environment.boards.of("ldb_1")).toBeUndefined()
      environment.boards.define(boardWith({ set: "published" }))
      const { daily } = environment.boards.of("ldb_1")!.windows
      expect([...daily.stored.keys()]).toEqual([index])
      expect(daily.openBoard(index)).toBeUndefined()
      yield* write
      expect(yield* storage.readEntry("boards", boardKey("w", of))).toBeDefined()
    }),
  )

  it.effect("are deleted by the next snapshot if the board was archived before a crash", () =>
    Effect.gen(function* () {
      const { environment, storage, write } = yield* found
      environment.boards.define(boardWith({ set: "archived" }))
      yield* write
      for (const key of [boardKey("w", of), boardKey("r", of, 0)]) {
        expect(yield* storage.readEntry("boards", key)).toBeUndefined()
      }
    }),
  )
})
