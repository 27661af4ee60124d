import { readFile, stat, symlink, writeFile } from "node:fs/promises"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { limits } from "../../../src/Limits.ts"
import { compositeKey } from "../../../src/storage/Keys.ts"
import { checkDatabase } from "../../../src/storage/lmdb/LmdbCheck.ts"
import { headerBytes, leafPage } from "../../../src/storage/lmdb/LmdbLayout.ts"
import { dataFile } from "../../../src/storage/lmdb/LmdbPages.ts"
import { openLmdbStore } from "../../../src/storage/lmdb/LmdbStore.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const pageBytes = 4_096
const flagsAt = 18

/** A database of at least so many bytes that was closed in order, and in whose leaves a bit has flipped then. */
const damaged = Effect.fnUntraced(function* (bytes: number) {
  const folder = yield* temporaryFolder
  yield* Effect.scoped(
    Effect.gen(function* () {
      const store = yield* openLmdbStore({ folder, freeSpaceBytesMin: 0 })
      const values = [...Array.from({ length: 200 }, () => 10), bytes]
      yield* store.writeEntries(
        values.map((length, n) => ({
          table: "users",
          key: compositeKey(n),
          value: Buffer.alloc(length),
        })),
      )
    }),
  )
  yield* Effect.promise(async () => {
    const file = dataFile(folder)
    const all = await readFile(file)
    for (let at = 2 * pageBytes; at < all.length; at += pageBytes) {
      // Where the first node of the leaf is.
      if (all.readUInt16LE(at + flagsAt) === leafPage) all[at + headerBytes]! ^= 0x10
    }
    await writeFile(file, all)
    expect((await stat(file)).size > limits.databaseCheckedBytesMax).toBe(bytes > 1)
  })
  return folder
})

const opens = (folder: string, mistrusted: boolean) =>
  Effect.map(Effect.exit(checkDatabase(folder, mistrusted, undefined)), Exit.isSuccess)

describe("A database that was closed in order", () => {
  it.live("is checked as a whole where it is small", () =>
    Effect.gen(function* () {
      const small = yield* damaged(1)
      expect([yield* opens(small, false), yield* opens(small, true)]).toEqual([false, false])
      const large = yield* damaged(limits.databaseCheckedBytesMax)
      expect([yield* opens(large, false), yield* opens(large, true)]).toEqual([true, false])
    }),
  )
})

describe("A database that can not be read", () => {
  it.live("is told as one that can not be opened", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* Effect.promise(() => symlink(dataFile(folder), dataFile(folder)))
      const error = yield* Effect.flip(checkDatabase(folder, false, undefined))
      expect(error).toMatchObject({ _tag: "Broken", operation: "open" })
    }),
  )
})
