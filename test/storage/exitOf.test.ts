import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { exitOf } from "../../src/storage/exitOf.ts"
import { compositeKey } from "../../src/storage/Keys.ts"
import { openLmdbStore } from "../../src/storage/lmdb/LmdbStore.ts"
import * as MemoryStorage from "../../src/storage/MemoryStorage.ts"
import type { Storage } from "../../src/storage/Storage.ts"
import { text } from "./records.ts"
import { temporaryFolder } from "./temporaryFolder.ts"

type Entries = Pick<Storage["Service"], "readEntry" | "writeEntries">

const put = (value: string) => ({
  table: "users" as const,
  key: compositeKey("a"),
  value: Buffer.from(value),
})

const holds = Effect.fnUntraced(function* (store: Entries) {
  yield* store.writeEntries([put("before")])
  const read = store.readEntry("users", compositeKey("a"))
  const none = store.readEntry("users", compositeKey("b"))
  const long = store.readEntry("users", new Uint8Array(10_000))
  yield* store.writeEntries([put("after")])
  expect([read, none, long].map((each) => exitOf(each)?._tag)).toEqual(Array(3).fill("Success"))
  expect(text(yield* read)).toBe("before")
  expect([yield* none, yield* long]).toEqual([undefined, undefined])
  expect(exitOf(Effect.suspend(() => read))).toBeUndefined()
})

describe("A value is an exit, as it was at the call,", () => {
  it.effect("in memory", () => holds(MemoryStorage.make()))

  it.live("in LMDB", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* holds(yield* openLmdbStore({ folder, freeSpaceBytesMin: 0 }))
    }),
  )
})
