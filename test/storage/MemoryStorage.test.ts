import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { compositeKey } from "../../src/storage/Keys.ts"
import { checksumOf, encodeValue } from "../../src/storage/SealedValue.ts"
import { Unavailable } from "../../src/storage/Storage.ts"
import { storageContract } from "./contract.ts"
import * as MemoryStorage from "./MemoryStorage.ts"
import { expectRecords, numbered } from "./records.ts"

storageContract(
  "MemoryStorage",
  Effect.sync(() => {
    const state = new MemoryStorage.MemoryState()
    return { open: Effect.sync(() => MemoryStorage.make({ state })) }
  }),
)

describe("onAppend", () => {
  it.effect("delays a batch: nobody sees it before `onAppend` succeeds", () =>
    Effect.gen(function* () {
      const flushed = yield* Deferred.make<void>()
      const store = MemoryStorage.make({ onAppend: () => Deferred.await(flushed) })
      const append = yield* Effect.forkChild(store.append(numbered(1, 2)), {
        startImmediately: true,
      })
      yield* expectRecords(store, 1, 0)
      yield* Deferred.succeed(flushed, undefined)
      yield* Fiber.join(append)
      yield* expectRecords(store, 1, 2)
    }),
  )

  it.effect("that fails discards the batch, and the append may be repeated", () =>
    Effect.gen(function* () {
      let full = true
      const store = MemoryStorage.make({
        onAppend: () =>
          full
            ? Effect.fail(new Unavailable({ operation: "append", reason: "disk_full" }))
            : Effect.void,
      })
      expect((yield* Effect.flip(store.append(numbered(1, 1))))._tag).toBe("Unavailable")
      yield* expectRecords(store, 1, 0)
      full = false
      yield* store.append(numbered(1, 1))
      yield* expectRecords(store, 1, 1)
    }),
  )
})

describe("an entry that names the value it replaces", () => {
  it.effect("is refused if another value or no value is stored", () =>
    Effect.gen(function* () {
      const store = MemoryStorage.make()
      const entry = (text: string, replaces: number | null) => ({
        table: "userIds" as const,
        key: compositeKey("u"),
        value: encodeValue(text),
        replaces,
      })
      const first = checksumOf(encodeValue("first"))
      yield* Effect.flip(store.writeEntries([entry("first", first)]))
      yield* store.writeEntries([entry("first", null)])
      yield* Effect.flip(store.writeEntries([entry("second", null)]))
      yield* Effect.flip(store.writeEntries([entry("second", first + 1)]))
      yield* store.writeEntries([entry("second", first)])
    }),
  )
})
