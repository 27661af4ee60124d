/** Environments of LMDB for tests, written and read without an engine. */
import { Effect } from "effect"
import { compositeKey } from "../../src/storage/Keys.ts"
import { LmdbReader } from "../../src/storage/lmdb/LmdbReader.ts"
import { openLmdbStore } from "../../src/storage/lmdb/LmdbStore.ts"
import { encodeValue, openValue } from "../../src/storage/SealedValue.ts"
import type { Entry } from "../../src/storage/Storage.ts"
import { temporaryFolder } from "./temporaryFolder.ts"

/** Entries of one table, in the order of their keys, each with `size` bytes. */
export const entries = (count: number, size: number, fill: string): ReadonlyArray<Entry> =>
  Array.from({ length: count }, (_, n) => ({
    table: "boards",
    key: compositeKey("e", n),
    value: encodeValue(Buffer.alloc(size, fill)),
  }))

/** The text in a value. */
export const bodyText = (value: Uint8Array | undefined): string | undefined => {
  const body = value && openValue(value)
  return body === undefined ? undefined : Buffer.from(body).toString()
}

/** Opens `folder` for as long as `use` takes. */
export const withStore = <A, E>(
  folder: string,
  use: (store: Effect.Success<ReturnType<typeof openLmdbStore>>) => Effect.Effect<A, E>,
) => Effect.scoped(Effect.flatMap(openLmdbStore({ folder, freeSpaceBytesMin: 0 }), use))

/** A folder with an environment to which these slices were written. */
export const written = Effect.fnUntraced(function* (
  ...slices: ReadonlyArray<ReadonlyArray<Entry>>
) {
  const folder = yield* temporaryFolder
  yield* withStore(folder, (store) => Effect.forEach(slices, store.writeEntries))
  return folder
})

export const withReader = <A>(folder: string, use: (reader: LmdbReader) => A) =>
  Effect.acquireUseRelease(
    Effect.sync(() => new LmdbReader(folder)),
    (reader) => Effect.sync(() => use(reader)),
    (reader) => Effect.promise(() => reader.close()),
  )
