import fs, { existsSync } from "node:fs"
import { stat, symlink, writeFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const isFolder = (where: string) => Effect.promise(async () => (await stat(where)).isDirectory())

const failureToMake = (where: string) => Effect.flip(nodeDisk.makeFolder(where))

describe("making a folder", () => {
  it.live("makes its parents too, and does nothing if it exists", () =>
    Effect.gen(function* () {
      const folder = path.join(yield* temporaryFolder, "a", "b", "c")
      yield* nodeDisk.makeFolder(folder)
      expect(yield* isFolder(folder)).toBe(true)
      yield* nodeDisk.makeFolder(folder)
      yield* nodeDisk.makeFolder(path.join(folder, "..", "d", ""))
      expect(yield* isFolder(path.join(folder, "..", "d"))).toBe(true)
    }),
  )

  it.live("follows a link to a folder", () =>
    Effect.gen(function* () {
      const [target, place] = [yield* temporaryFolder, yield* temporaryFolder]
      const link = path.join(place, "link")
      yield* Effect.promise(() => symlink(target, link))
      yield* nodeDisk.makeFolder(link)
      yield* nodeDisk.makeFolder(path.join(link, "a"))
      expect(yield* isFolder(path.join(target, "a"))).toBe(true)
    }),
  )

  it.live("fails if a file has the name of the folder or of a parent", () =>
    Effect.gen(function* () {
      const place = yield* temporaryFolder
      const [file, link] = [path.join(place, "file"), path.join(place, "link")]
      yield* Effect.promise(() => writeFile(file, ""))
      yield* Effect.promise(() => symlink(path.join(place, "nowhere"), link))
      expect(yield* failureToMake(file)).toMatchObject({ path: file, code: "ENOTDIR" })
      const below = path.join(file, "a")
      expect(yield* failureToMake(below)).toMatchObject({ path: below, code: "ENOTDIR" })
      expect(yield* failureToMake(link)).toMatchObject({ path: link, code: "ENOTDIR" })
      expect(yield* failureToMake(path.join(link, "a"))).toMatchObject({ path: link })
    }),
  )

  // Node's own recursive mkdir never ends there.
  it.live.skipIf(!existsSync("/proc/self"))("fails where the system lets nobody make one", () =>
    Effect.gen(function* () {
      const failure = yield* failureToMake("/proc/nope/a/b")
      expect(failure).toMatchObject({ path: "/proc/nope", code: "ENOENT" })
    }),
  )
})

describe("a file", () => {
  /**
   * Lets each call of the system read or write at most `bytes`; answers how many calls there were.
   */
  const limitCalls = Effect.fnUntraced(function* (bytes: number) {
    const { read, writev } = fs
    const reads = vi
      .spyOn(fs, "read")
      .mockImplementation(((
        descriptor: number,
        into: Uint8Array,
        offset: number,
        length: number,
        position: number,
        callback: () => void,
      ) => read(descriptor, into, offset, Math.min(length, bytes), position, callback)) as never)
    const writes = vi.spyOn(fs, "writev").mockImplementation(((
      descriptor: number,
      pieces: ReadonlyArray<Uint8Array>,
      position: number,
      callback: () => void,
    ) => {
      const short = Buffer.concat(pieces).subarray(0, bytes)
      writev(descriptor, [short], position, callback)
    }) as never)
    yield* Effect.addFinalizer(() => Effect.sync(() => vi.restoreAllMocks()))
    return { reads, writes }
  })

  it.live("is written and read completely if each system call handles only a few bytes", () =>
    Effect.gen(function* () {
      const where = path.join(yield* temporaryFolder, "file")
      const { reads, writes } = yield* limitCalls(3)
      const file = yield* nodeDisk.open(where, "create")
      const pieces = ["01", "", "2345", "6789"].map((text) => Buffer.from(text))
      yield* file.write(2, pieces)
      expect(writes).toHaveBeenCalledTimes(4)
      const into = Buffer.alloc(10)
      expect(yield* file.read(2, into)).toBe(10)
      expect(into.toString()).toBe("0123456789")
      // A read that has all it wants asks for no more; one at the end asks until nothing comes.
      expect(reads).toHaveBeenCalledTimes(4)
      expect(yield* file.read(8, into)).toBe(4)
      expect(reads).toHaveBeenCalledTimes(7)
      expect(yield* file.read(12, into)).toBe(0)
      expect(reads).toHaveBeenCalledTimes(8)
      yield* file.close
    }),
  )

  it.live("opened as durable syncs each write: on Linux in the same call", () =>
    Effect.gen(function* () {
      const where = path.join(yield* temporaryFolder, "file")
      const opens = vi.spyOn(fs, "open")
      const syncs = vi.spyOn(fs, "fdatasync")
      yield* Effect.addFinalizer(() => Effect.sync(() => vi.restoreAllMocks()))
      const isLinux = process.platform === "linux"
      for (const [durable, mode] of [
        [false, "create"],
        [true, "create"],
        [true, "write"],
      ] as const) {
        opens.mockClear()
        syncs.mockClear()
        const file = yield* nodeDisk.open(where, mode, { durable })
        yield* file.write(0, [Buffer.from("01")])
        const flags = Number(opens.mock.calls[0]![1])
        expect((flags & fs.constants.O_DSYNC) !== 0).toBe(durable && isLinux)
        expect(syncs).toHaveBeenCalledTimes(durable && !isLinux ? 1 : 0)
        yield* file.close
      }
    }),
  )
})
