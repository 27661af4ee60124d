/** A program that writes slice after slice, each with the same keys, and prints the number of each when it is durable. */
import { Effect, Stream } from "effect"
import { compositeKey } from "../../src/storage/Keys.ts"
import { openLmdbStore } from "../../src/storage/lmdb/LmdbStore.ts"
import { encodeValue, wholeBody } from "../../src/storage/SealedValue.ts"

const slice = (number: number) =>
  (["userIds", "boards"] as const).flatMap((table) =>
    Array.from({ length: 50 }, (_, n) => ({
      table,
      key: compositeKey(n),
      value: encodeValue(`${number}`),
    })),
  )

await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const store = yield* openLmdbStore({ folder: process.argv[2]!, freeSpaceBytesMin: 0 })
      const before = yield* store.readEntry("userIds", compositeKey(0))
      const first =
        before === undefined
          ? 1
          : Number(Buffer.from(wholeBody(Buffer.from(before))).toString()) + 1
      yield* Stream.runForEach(
        Stream.iterate(first, (number) => number + 1),
        (number) =>
          Effect.andThen(
            store.writeEntries(slice(number)),
            Effect.sync(() => process.stdout.write(`${number}\n`)),
          ),
      )
    }),
  ),
)
