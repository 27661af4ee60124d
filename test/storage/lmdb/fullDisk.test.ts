/** LMDB on a disk with a few free pages, from none to more than an opening needs. */
import { copyFile, mkdir, rm, stat, truncate, writeFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { DiskError } from "../../../src/storage/disk/Disk.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { dataFile, openReadOnly } from "../../../src/storage/lmdb/environment.ts"
import { openLmdbStore } from "../../../src/storage/lmdb/LmdbStore.ts"
import { runScan } from "../../../src/storage/lmdb/ScanProcesses.ts"
import type { Broken } from "../../../src/storage/Storage.ts"
import { entries, withStore, written } from "../environments.ts"
import { mounted } from "../fileSystem.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const pageBytes = 4_096
/** The last is more than a new database needs. */
const freePages = [...Array(30).keys(), 255, 300]
const put = entries(3, 100, "a")
const lockOf = (folder: string) => path.join(folder, "lock.mdb")
const sizeOf = (file: string) => Effect.promise(async () => (await stat(file)).size)
const opened = (folder: string) =>
  Effect.scoped(Effect.asVoid(openLmdbStore({ folder, freeSpaceBytesMin: 0 })))
const codeOf = ({ cause }: Broken): unknown => (cause instanceof DiskError ? cause.code : cause)

/** Leaves so many pages free. */
const fill = Effect.fnUntraced(function* (folder: string, pages: number) {
  const free = yield* nodeDisk.freeBytes(folder)
  yield* Effect.promise(() =>
    writeFile(path.join(folder, "ballast"), Buffer.alloc(free - pages * pageBytes)),
  )
})

const empty = (folder: string) => Effect.promise(() => rm(path.join(folder, "ballast")))

/**
 * Runs `attempt` with each number of free pages, in a folder of its own, and then `check` with
 * space.
 */
const withEach = Effect.fnUntraced(function* <A, E>(
  disk: string,
  begin: (folder: string) => Promise<void>,
  attempt: (folder: string) => Effect.Effect<A, E>,
  check: (folder: string) => Effect.Effect<void, unknown>,
) {
  const results: Array<Result.Result<A, E>> = []
  for (const pages of freePages) {
    const folder = path.join(disk, `with-${pages}`)
    yield* Effect.promise(() => mkdir(folder))
    yield* Effect.promise(() => begin(folder))
    yield* fill(disk, pages)
    results.push(yield* Effect.result(attempt(folder)))
    yield* empty(disk)
    yield* check(folder)
    yield* Effect.promise(() => rm(folder, { recursive: true }))
  }
  return results
})

describe("LMDB on a full disk", () => {
  it.live("refuses to create a database, and creates it when there is space", (test) =>
    Effect.gen(function* () {
      const disk = yield* mounted(4)
      if (disk === undefined) return test.skip("no file system can be mounted here")
      const results = yield* withEach(
        disk,
        async () => {},
        (folder) => Effect.andThen(Effect.result(opened(folder)), opened(folder)),
        (folder) => withStore(folder, (store) => store.writeEntries(put)),
      )
      const codes = results.map((each) => (Result.isFailure(each) ? codeOf(each.failure) : "begun"))
      expect(new Set(codes)).toEqual(new Set(["ENOSPC", "begun"]))
      expect(codes[0]).toBe("ENOSPC")
      expect(codes.at(-1)).toBe("begun")
    }),
  )

  it.live("finds no damage in a database without its lock", (test) =>
    Effect.gen(function* () {
      const disk = yield* mounted(4)
      if (disk === undefined) return test.skip("no file system can be mounted here")
      const from = yield* written(put)
      const outcomes = yield* withEach(
        disk,
        (folder) => copyFile(dataFile(from), dataFile(folder)),
        (folder) => runScan({ folder, whole: true }),
        opened,
      )
      for (const outcome of outcomes) {
        expect(Result.getOrThrow(outcome)).not.toHaveProperty("fault")
      }
      expect(Result.getOrThrow(outcomes[0]!)).toHaveProperty("failed")
      expect(Result.getOrThrow(outcomes.at(-1)!)).toHaveProperty("entries", put.length)
    }),
  )
})

describe("The lock of a database", () => {
  const lockBytes = 65_536

  it.live("has its space before LMDB opens the database, also for reading", () =>
    Effect.gen(function* () {
      const folder = yield* written(put)
      expect(yield* sizeOf(lockOf(folder))).toBe(lockBytes)
      yield* Effect.promise(() => rm(lockOf(folder)))
      yield* Effect.promise(() => openReadOnly(folder).close())
      expect(yield* sizeOf(lockOf(folder))).toBe(lockBytes)
    }),
  )

  it.live("is written again if a full disk has cut it, and not changed if LMDB has used it", () =>
    Effect.gen(function* () {
      const folder = yield* written(put)
      for (const [left, then] of [
        [4_096, lockBytes],
        [8_192, 8_192],
      ] as const) {
        yield* Effect.promise(() => truncate(lockOf(folder), left))
        yield* Effect.promise(() => openReadOnly(folder).close())
        expect(yield* sizeOf(lockOf(folder))).toBeGreaterThanOrEqual(then)
      }
    }),
  )
})

describe("A database with one of its two meta pages", () => {
  it.live("is new if it was never opened, and damaged if it was", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const cut = yield* written(put)
      yield* Effect.promise(() => truncate(dataFile(cut), 4_096))
      yield* Effect.promise(() => copyFile(dataFile(cut), dataFile(folder)))
      yield* withStore(folder, (store) => store.writeEntries(put))
      const { message } = yield* Effect.flip(opened(cut))
      expect(message).toContain("is damaged")
    }),
  )
})
