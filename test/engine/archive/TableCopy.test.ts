import { spawn } from "node:child_process"
import { once } from "node:events"
import path from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { copyRestMs, copyTables } from "../../../src/engine/archive/make/TableCopy.ts"
import { limits } from "../../../src/Limits.ts"
import { rangeOf } from "../../../src/storage/Keys.ts"
import { openTable, openWritable } from "../../../src/storage/lmdb/environment.ts"
import { type LmdbReader, openReader } from "../../../src/storage/lmdb/LmdbReader.ts"
import { limited } from "../../limited.ts"
import { bodyText, entries, withReader, withStore, written } from "../../storage/environments.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"

const textsOf = (reader: LmdbReader, table: "userIds" | "boards"): ReadonlyArray<string> =>
  [...reader.entries({ table, ...rangeOf(new Uint8Array()) })].map(([, value]) => bodyText(value)!)

const atOnce = { progress: () => {}, rest: () => Effect.void }

/** A copy of the database in `folder`: the folder that has it. */
const copied = Effect.fnUntraced(function* (folder: string, options = {}) {
  const draft = yield* temporaryFolder
  yield* Effect.scoped(
    Effect.gen(function* () {
      const reader = yield* openReader(folder)
      yield* copyTables(reader, 0, { ...atOnce, draft, ...options })
    }),
  )
  return path.join(draft, "live")
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
  it.live("has all of it", () =>
    Effect.gen(function* () {
      const folder = yield* written(entries(500, 4_000, "x"), entries(500, 4_000, "y"))
      yield* withReader(yield* copied(folder), (reader) => {
        expect(textsOf(reader, "boards")).toEqual(Array(500).fill("y".repeat(4_000)))
        expect(reader.sums()).toMatchObject({ boards: { count: 500 } })
      })
    }),
  )

  it.live("is of one moment, though everything is written anew after each of its pieces", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const { next } = yield* writing(folder)
      yield* next
      yield* limited({ archiveFlushBytes: 1 })
      for (let round = 0; round < 2; round++) {
        const copy = yield* copied(folder, { rest: () => next })
        yield* withReader(copy, (reader) => {
          const texts = [...textsOf(reader, "userIds"), ...textsOf(reader, "boards")]
          expect(texts.length).toBe(100)
          expect(new Set(texts).size).toBe(1)
        })
      }
    }),
  )

  it.live("fails where an entry is lost", () =>
    Effect.gen(function* () {
      const folder = yield* written(entries(500, 40, "x"))
      yield* Effect.promise(async () => {
        // As if by a page that never came to the disk: without the sums.
        const root = openWritable(folder)
        const table = openTable(root, "boards")!
        await table.remove([...table.getKeys({ limit: 1 })][0]!)
        await root.close()
      })
      const failed = yield* Effect.flip(copied(folder))
      expect(String(failed)).toMatch(/table boards has \d+ entries where \d+ were written/)
    }),
  )

  it.live("bears a first transaction that frees many pages", () =>
    Effect.gen(function* () {
      const copy = yield* copied(yield* written(entries(2_000, 4_000, "x")))
      for (const fill of ["y", "z"]) {
        yield* withStore(copy, (store) => store.writeEntries(entries(2_000, 4_000, fill)))
      }
      yield* withReader(copy, (reader) =>
        expect(textsOf(reader, "boards")).toEqual(Array(2_000).fill("z".repeat(4_000))),
      )
    }),
  )

  it.live("of an empty one is one too", () =>
    Effect.gen(function* () {
      const copy = yield* copied(yield* written())
      yield* withReader(copy, (reader) => expect(reader.count("userIds")).toBe(0))
    }),
  )

  it.live("fails where there is none", () =>
    Effect.gen(function* () {
      const failed = yield* Effect.exit(copied(yield* temporaryFolder))
      expect(failed._tag).toBe("Failure")
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
