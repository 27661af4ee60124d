import { spawn } from "node:child_process"
import { once } from "node:events"
import { stat } from "node:fs/promises"
import path from "node:path"
import { createInterface } from "node:readline"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { limits } from "../../../src/Limits.ts"
import { compositeKey, rangeOf } from "../../../src/storage/Keys.ts"
import { openLmdbStore } from "../../../src/storage/lmdb/LmdbStore.ts"
import { encodeValue } from "../../../src/storage/SealedValue.ts"
import { bodyText } from "../environments.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const put = (n: number, value: string) => ({
  table: "userIds" as const,
  key: compositeKey(n),
  value: encodeValue(value),
})

describe("LmdbStore", () => {
  it.live("writes all entries of many concurrent callers", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* Effect.scoped(
        Effect.gen(function* () {
          const store = yield* openLmdbStore({ folder, freeSpaceBytesMin: 0 })
          yield* Effect.forEach(
            Array.from({ length: 50 }, (_, slice) => slice),
            (slice) =>
              store.writeEntries(
                Array.from({ length: 40 }, (_, index) => put(slice * 40 + index, `${slice}`)),
              ),
            { concurrency: "unbounded" },
          )
        }),
      )
      const store = yield* openLmdbStore({ folder, freeSpaceBytesMin: 0 })
      const chunks = yield* Stream.runCollect(
        store.readEntries({ table: "userIds", ...rangeOf(new Uint8Array(0)) }),
      )
      const values = chunks.flat().map(([, value]) => bodyText(value))
      expect(values).toEqual(Array.from({ length: 2_000 }, (_, n) => `${Math.floor(n / 40)}`))
    }),
  )

  it.live("outgrows its map under load while readers see all written entries", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const mapBytes = 1024 * 1024
      const valueBytes = 1_000
      const slices = 48
      const each = 250
      yield* Effect.scoped(
        Effect.gen(function* () {
          const store = yield* openLmdbStore({ folder, freeSpaceBytesMin: 0, mapBytes })
          let written = 0
          const writing = Effect.gen(function* () {
            for (let slice = 0; slice < slices; slice++) {
              const entries = Array.from({ length: each }, (_, index) =>
                put(slice * each + index, String(slice).padEnd(valueBytes)),
              )
              yield* store.writeEntries(entries)
              written += each
            }
          })
          const reading = Effect.gen(function* () {
            while (written < slices * each) {
              const before = written
              const range = { table: "userIds", ...rangeOf(new Uint8Array(0)) } as const
              const chunks = yield* Stream.runCollect(store.readEntries(range))
              expect(chunks.flat().length).toBeGreaterThanOrEqual(before)
            }
          })
          yield* Effect.all([writing, reading], { concurrency: 2 })
        }),
      )
      const { size } = yield* Effect.promise(() => stat(path.join(folder, "data.mdb")))
      expect(size).toBeGreaterThan(8 * mapBytes)
      const store = yield* openLmdbStore({ folder, freeSpaceBytesMin: 0, mapBytes })
      for (const n of [0, slices * each - 1]) {
        const value = yield* store.readEntry("userIds", compositeKey(n))
        expect(bodyText(value)?.trim()).toBe(String(Math.floor(n / each)))
      }
    }),
  )

  it.live("lets the event loop run between the chunks of a range", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const store = yield* openLmdbStore({ folder, freeSpaceBytesMin: 0 })
      const count = 5 * limits.readChunkEntriesMax
      yield* store.writeEntries(Array.from({ length: count }, (_, n) => put(n, "value")))
      let turns = 0
      let turning = true
      const turn = () => {
        turns++
        if (turning) setImmediate(turn)
      }
      setImmediate(turn)
      let chunks = 0
      const range = { table: "userIds", ...rangeOf(new Uint8Array(0)) } as const
      yield* Stream.runForEach(store.readEntries(range), (chunk) =>
        Effect.sync(() => {
          chunks++
          expect(chunk.length).toBeLessThanOrEqual(limits.readChunkEntriesMax)
          expect(turns).toBeGreaterThanOrEqual(chunks - 1)
        }),
      )
      turning = false
      expect(chunks).toBeGreaterThanOrEqual(5)
    }),
  )

  it.live("has all entries of a slice or none after a kill, and every acknowledged slice", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      for (let round = 1; round <= 3; round++) {
        const answered = yield* Effect.promise(async () => {
          const program = path.join(import.meta.dirname, "../writeSlices.ts")
          const child = spawn(process.execPath, [program, folder], {
            stdio: ["pipe", "pipe", "inherit"],
          })
          const gone = once(child, "exit")
          let last = 0
          let lines = 0
          try {
            for await (const line of createInterface(child.stdout)) {
              last = Number(line)
              if (++lines === 37 * round) child.kill("SIGKILL")
            }
          } finally {
            child.kill("SIGKILL")
          }
          await gone
          return last
        })
        expect(answered).toBeGreaterThan(0)
        yield* Effect.scoped(
          Effect.gen(function* () {
            const store = yield* openLmdbStore({ folder, freeSpaceBytesMin: 0 })
            const found = new Set<number>()
            for (const table of ["userIds", "boards"] as const) {
              for (let n = 0; n < 50; n++) {
                found.add(Number(bodyText(yield* store.readEntry(table, compositeKey(n)))))
              }
            }
            expect(found.size).toBe(1)
            const [slice] = found
            expect(slice).toBeGreaterThanOrEqual(answered)
          }),
        )
      }
    }),
  )

  it.live("refuses a write that would use the reserve, and writes nothing", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const store = yield* openLmdbStore({ folder, freeSpaceBytesMin: Number.MAX_SAFE_INTEGER })
      expect((yield* Effect.flip(store.writeEntries([put(1, "value")])))._tag).toBe("Unavailable")
      expect(yield* store.readEntry("userIds", compositeKey(1))).toBeUndefined()
    }),
  )

  it.live("refuses writes once it is closed", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const store = yield* Effect.scoped(openLmdbStore({ folder, freeSpaceBytesMin: 0 }))
      const refused = yield* Effect.flip(store.writeEntries([put(1, "value")]))
      expect(refused).toMatchObject({ _tag: "Broken", cause: new Error("the store is closed") })
    }),
  )

  it.effect("names a folder that cannot be opened", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        Effect.scoped(openLmdbStore({ folder: "/dev/null/live", freeSpaceBytesMin: 0 })),
      )
      expect(error).toMatchObject({ _tag: "Broken", operation: "open" })
    }),
  )
})
