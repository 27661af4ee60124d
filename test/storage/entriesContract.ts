/** The contract of every storage for its entries. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Scope, Stream } from "effect"
import { compositeKey, keyBytesMax, rangeOf } from "../../src/storage/Keys.ts"
import { encodeValue } from "../../src/storage/SealedValue.ts"
import type { BlockRange, Range, Storage, Table } from "../../src/storage/Storage.ts"
import { over, type Place } from "./place.ts"
import { text } from "./records.ts"

type Store = Storage["Service"]

const put = (table: Table, key: Uint8Array, value: string) => ({
  table,
  key,
  value: Buffer.from(value),
})

const entriesOf = (store: Store, range: Range) =>
  Effect.map(Stream.runCollect(store.readEntries(range)), (chunks) =>
    chunks.flat().map(([key, value]) => [Buffer.from(key).toString("hex"), text(value)]),
  )

const blocksOf = (store: Store, range: BlockRange) =>
  Stream.runFold(
    store.readBlocks(range),
    (): Array<[string, string]> => [],
    (all, block) => {
      for (let n = 0; n < block.count; n++) {
        all.push([block.key(n).toString("hex"), block.value(n).toString()])
      }
      return all
    },
  )

export const entriesContract = (
  name: string,
  makePlace: Effect.Effect<Place, never, Scope.Scope>,
): void => {
  const withStore = over(makePlace)

  describe(`${name}: entries`, () => {
    const key = compositeKey

    it.effect(
      "a value is found by its key, only in its table",
      withStore((store) =>
        Effect.gen(function* () {
          yield* store.writeEntries([put("userIds", key("a"), "ada"), put("meta", key("b"), "bob")])
          expect(text(yield* store.readEntry("userIds", key("a")))).toBe("ada")
          expect(text(yield* store.readEntry("meta", key("b")))).toBe("bob")
          expect(yield* store.readEntry("userIds", key("b"))).toBeUndefined()
          expect(yield* store.readEntry("expiry", key("a"))).toBeUndefined()
        }),
      ),
    )

    it.effect(
      "of several entries with the same key, the last one counts",
      withStore((store) =>
        Effect.gen(function* () {
          yield* store.writeEntries([
            put("userIds", key("a"), "1"),
            put("userIds", key("a"), "2"),
            put("userIds", key("b"), "1"),
            { table: "userIds", key: key("b"), value: null },
          ])
          expect(text(yield* store.readEntry("userIds", key("a")))).toBe("2")
          expect(yield* store.readEntry("userIds", key("b"))).toBeUndefined()
          yield* store.writeEntries([{ table: "userIds", key: key("a"), value: null }])
          yield* store.writeEntries([{ table: "userIds", key: key("never"), value: null }])
          expect(yield* store.readEntry("userIds", key("a"))).toBeUndefined()
        }),
      ),
    )

    it.effect(
      "a reader may keep a value",
      withStore((store) =>
        Effect.gen(function* () {
          const long = "x".repeat(20_000)
          yield* store.writeEntries([
            put("userIds", key("a"), "old"),
            put("userIds", key("l"), long),
          ])
          const value = yield* store.readEntry("userIds", key("a"))
          const large = yield* store.readEntry("userIds", key("l"))
          const [entry] = (yield* Stream.runCollect(
            store.readEntries({ table: "userIds", ...rangeOf(key("a")) }),
          )).flat()
          yield* store.writeEntries([put("userIds", key("a"), "new"), put("userIds", key("l"), "")])
          yield* store.readEntry("userIds", key("a"))
          expect(text(value)).toBe("old")
          expect(text(large)).toBe(long)
          expect(text(entry?.[1])).toBe("old")
          value!.fill(0)
          expect(text(yield* store.readEntry("userIds", key("a")))).toBe("new")
        }),
      ),
    )

    it.effect(
      "values may be empty or large",
      withStore((store) =>
        Effect.gen(function* () {
          const large = "x".repeat(3_000_000)
          yield* store.writeEntries([put("userIds", key("e"), ""), put("userIds", key("l"), large)])
          expect((yield* store.readEntry("userIds", key("e")))?.length).toBe(0)
          expect(text(yield* store.readEntry("userIds", key("l")))).toBe(large)
        }),
      ),
    )

    it.effect(
      "a range is read in byte order, forwards and backwards, within its bounds and its limit",
      withStore((store) =>
        Effect.gen(function* () {
          const count = 2_500
          const at = (n: number) => key("env", n)
          const hex = (n: number) => Buffer.from(at(n)).toString("hex")
          yield* store.writeEntries([
            ...Array.from({ length: count }, (_, n) => put("boards", at(n), `${n}`)).reverse(),
            put("boards", key("en"), "before"),
            put("boards", key("env2", 1), "after"),
          ])
          const all = Array.from({ length: count }, (_, n) => [hex(n), `${n}`])
          const whole = { table: "boards", ...rangeOf(key("env")) } as const
          expect(yield* entriesOf(store, whole)).toEqual(all)
          expect(yield* entriesOf(store, { ...whole, reverse: true })).toEqual(all.toReversed())
          const part = { table: "boards", from: at(10), until: at(20) } as const
          expect(yield* entriesOf(store, part)).toEqual(all.slice(10, 20))
          expect(yield* entriesOf(store, { ...part, reverse: true })).toEqual(
            all.slice(10, 20).toReversed(),
          )
          for (const limit of [0, 1, 999, 1_000, 1_001, 2_000, count, count + 5]) {
            expect(yield* entriesOf(store, { ...whole, limit })).toEqual(all.slice(0, limit))
            expect(yield* entriesOf(store, { ...whole, limit, reverse: true })).toEqual(
              all.toReversed().slice(0, limit),
            )
          }
          expect(yield* entriesOf(store, { ...part, from: at(20) })).toEqual([])
          const everything = { table: "boards", ...rangeOf(new Uint8Array(0)) } as const
          expect((yield* entriesOf(store, everything)).length).toBe(count + 2)
        }),
      ),
    )

    it.effect(
      "a read in blocks returns the same entries, also if one value fills a block",
      withStore((store) =>
        Effect.gen(function* () {
          const count = 2_500
          const large = ["x".repeat(3_000_000), "y".repeat(40_000), "z".repeat(900_000)]
          yield* store.writeEntries([
            ...Array.from({ length: count }, (_, n) =>
              put("boards", key("env", n), "v".repeat(n % 300)),
            ),
            ...large.map((value, n) => put("boards", key("env", 200 * n + 7), value)),
            put("boards", key("en"), "before"),
            put("boards", key("env2", 1), "after"),
          ])
          for (const range of [
            rangeOf(key("env")),
            rangeOf(new Uint8Array(0)),
            { from: key("env", 10), until: key("env", 1_700) },
            { from: key("env", 3), until: key("env", 3) },
          ]) {
            const entries = yield* entriesOf(store, { table: "boards", ...range })
            expect(yield* blocksOf(store, { table: "boards", ...range })).toEqual(entries)
          }
          expect(yield* blocksOf(store, { table: "userIds", ...rangeOf(key("env")) })).toEqual([])
        }),
      ),
    )

    it.effect(
      "two readers of blocks of one table do not disturb each other or a writer",
      withStore((store) =>
        Effect.gen(function* () {
          const range = { table: "userIds", ...rangeOf(key("env")) } as const
          const entries = Array.from({ length: 2_100 }, (_, n) =>
            put("userIds", key("env", n), "1"),
          )
          yield* store.writeEntries(entries)
          const rewritten = entries.map(({ key }) => put("userIds", key, "2"))
          const [one, other] = yield* Effect.all(
            [blocksOf(store, range), blocksOf(store, range), store.writeEntries(rewritten)],
            { concurrency: "unbounded" },
          )
          const keys = entries.map(({ key }) => Buffer.from(key).toString("hex"))
          expect(one.map(([key]) => key)).toEqual(keys)
          expect(other.map(([key]) => key)).toEqual(keys)
          expect(yield* blocksOf(store, range)).toEqual(keys.map((key) => [key, "2"]))
        }),
      ),
    )

    it.effect(
      "a key of the largest size works",
      withStore((store) =>
        Effect.gen(function* () {
          const long = key("x".repeat(keyBytesMax - 2))
          yield* store.writeEntries([
            put("userIds", long, "long"),
            put("userIds", key("a"), "short"),
          ])
          expect(text(yield* store.readEntry("userIds", long))).toBe("long")
          const range = { table: "userIds", ...rangeOf(new Uint8Array(0)) } as const
          expect((yield* entriesOf(store, range)).map(([, value]) => value)).toEqual([
            "short",
            "long",
          ])
        }),
      ),
    )

    it.effect(
      "a key that is too long or empty fails the write, and no entry is written",
      withStore((store) =>
        Effect.gen(function* () {
          for (const size of [0, keyBytesMax + 1]) {
            const entries = [
              put("userIds", key("a"), "a"),
              put("userIds", new Uint8Array(size), "wrong"),
            ]
            const error = yield* Effect.flip(store.writeEntries(entries))
            expect(error._tag).toBe("Broken")
            expect(yield* store.readEntry("userIds", key("a"))).toBeUndefined()
            expect(yield* store.readEntry("userIds", new Uint8Array(size))).toBeUndefined()
          }
          yield* store.writeEntries([put("userIds", key("a"), "a")])
          expect(text(yield* store.readEntry("userIds", key("a")))).toBe("a")
        }),
      ),
    )

    it.effect("entries exist after a restart", () =>
      Effect.gen(function* () {
        const place = yield* makePlace
        yield* Effect.scoped(
          Effect.flatMap(place.open, (store) =>
            store.writeEntries([
              { table: "userIds", key: key("a"), value: encodeValue("ada") },
              { table: "expiry", key: key(1), value: encodeValue("") },
            ]),
          ),
        )
        const store = yield* place.open
        expect(text(yield* store.readEntry("userIds", key("a")))).toBe(text(encodeValue("ada")))
        expect((yield* store.readEntry("expiry", key(1)))?.length).toBe(encodeValue("").length)
      }),
    )
  })
}
