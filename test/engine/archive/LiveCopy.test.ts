import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import path from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import { copyLive, copyRestMs } from "../../../src/engine/archive/LiveCopy.ts"
import { limits } from "../../../src/Limits.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { rangeOf } from "../../../src/storage/Keys.ts"
import type { LmdbReader } from "../../../src/storage/lmdb/LmdbReader.ts"
import { bodyText, entries, withReader, withStore, written } from "../../storage/environments.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"

const textsOf = (reader: LmdbReader, table: "users" | "history"): ReadonlyArray<string> =>
  [...reader.entries({ table, ...rangeOf(new Uint8Array()) })].map(([, value]) => bodyText(value)!)

const atOnce = { progress: () => {}, rest: () => Effect.void }

const copied = Effect.fnUntraced(function* (folder: string) {
  const copy = yield* temporaryFolder
  const description = yield* copyLive(folder, copy, "live/data.mdb", atOnce)
  return { copy, description }
})

/** Starts `writeSlices.ts` on `folder`; each call of `next` ends with a slice that was written wholly after it. */
const writing = (folder: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const program = fileURLToPath(new URL("../../storage/writeSlices.ts", import.meta.url))
      const child = spawn(process.execPath, [program, folder], {
        stdio: ["ignore", "pipe", "inherit"],
      })
      const lines = createInterface({ input: child.stdout })
      const line = () => once(lines, "line")
      return { child, next: Effect.promise(() => line().then(line)) }
    }),
    ({ child }) =>
      Effect.promise(async () => {
        const ended = once(child, "exit")
        child.kill("SIGKILL")
        await ended
      }),
  )

describe("A copy of a snapshot", () => {
  it.live("has all of it, and is what its description says", () =>
    Effect.gen(function* () {
      const folder = yield* written(entries(500, 4_000, "x"), entries(500, 4_000, "y"))
      const { copy, description } = yield* copied(folder)
      const bytes = yield* Effect.promise(() => readFile(path.join(copy, "data.mdb")))
      expect(description).toEqual({
        path: "live/data.mdb",
        bytes: bytes.length,
        sha256: createHash("sha256").update(bytes).digest("hex"),
      })
      yield* withReader(copy, (reader) =>
        expect(textsOf(reader, "history")).toEqual(Array(500).fill("y".repeat(4_000))),
      )
    }),
  )

  it.live("is of one moment, though everything is written anew after each of its pages", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const { next } = yield* writing(folder)
      yield* next
      // A state that is written between the pin and the first page is not that of the copy either.
      const { open } = nodeDisk
      const opened = vi
        .spyOn(nodeDisk, "open")
        .mockImplementation((file, mode) =>
          mode === "create" ? Effect.andThen(next, open(file, mode)) : open(file, mode),
        )
      yield* Effect.addFinalizer(() => Effect.sync(() => opened.mockRestore()))
      for (let round = 0; round < 2; round++) {
        const copy = yield* temporaryFolder
        yield* copyLive(folder, copy, "live/data.mdb", {
          ...atOnce,
          pieceBytes: 1,
          rest: () => next,
        })
        yield* withReader(copy, (reader) => {
          const texts = [...textsOf(reader, "users"), ...textsOf(reader, "history")]
          expect(texts.length).toBe(100)
          expect(new Set(texts).size).toBe(1)
        })
      }
    }),
  )

  it.live("bears a first transaction that frees many pages", () =>
    Effect.gen(function* () {
      const { copy } = yield* copied(yield* written(entries(2_000, 4_000, "x")))
      for (const fill of ["y", "z"]) {
        yield* withStore(copy, (store) => store.writeEntries(entries(2_000, 4_000, fill)))
      }
      yield* withReader(copy, (reader) =>
        expect(textsOf(reader, "history")).toEqual(Array(2_000).fill("z".repeat(4_000))),
      )
    }),
  )

  it.live("of an empty one is one too", () =>
    Effect.gen(function* () {
      const { copy } = yield* copied(yield* written())
      yield* withReader(copy, (reader) => expect(reader.count("users")).toBe(0))
    }),
  )

  it.live("fails where there is none", () =>
    Effect.gen(function* () {
      const failed = yield* Effect.flip(copied(yield* temporaryFolder))
      expect(failed._tag).toBe("Broken")
    }),
  )
})

describe("A throttled copy", () => {
  const { archiveCopyBytesPerSecond: perSecond, archiveCopyMs } = limits

  it("is as fast as its rate, however fast the disk is", () => {
    expect(copyRestMs(perSecond, 2 * perSecond, 100)).toBe(900)
    expect(copyRestMs(perSecond, 2 * perSecond, 5_000)).toBe(0)
  })

  it("of a large snapshot does not pin its pages for longer than its bound", () => {
    const total = 4 * perSecond * (archiveCopyMs / 1_000)
    expect(copyRestMs(total, total, 0)).toBeCloseTo(archiveCopyMs)
    expect(copyRestMs(total / 2, total, 0)).toBeCloseTo(archiveCopyMs / 2)
  })
})
