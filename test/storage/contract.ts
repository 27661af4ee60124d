/** What every storage promises, as sentences that each implementation is held to. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, type Scope, Stream } from "effect"
import { batchOf } from "../../src/storage/Frames.ts"
import { compositeKey, keyBytesMax, rangeOf } from "../../src/storage/Keys.ts"
import type { Broken, Range, Storage, Table } from "../../src/storage/Storage.ts"

type Store = Storage["Service"]

/** A place that storages are opened over, one after another. */
export interface Place {
  readonly open: Effect.Effect<Store, Broken, Scope.Scope>
}

export const text = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : Buffer.from(bytes).toString("utf8")

/** A batch of `count` records whose bodies tell their sequence. */
export const numbered = (firstSequence: number, count: number, padding = "") =>
  batchOf(
    firstSequence,
    Array.from({ length: count }, (_, index) =>
      Buffer.from(`record ${firstSequence + index}${padding}`),
    ),
  )

export const appendAll = (store: Store, counts: ReadonlyArray<number>, padding = "") =>
  Effect.gen(function* () {
    let next = store.lastSequence + 1
    for (const count of counts) {
      yield* store.append(numbered(next, count, padding))
      next += count
    }
    return next - 1
  })

export const recordsFrom = (store: Pick<Store, "readRecords">, sequence: number) =>
  Effect.map(Stream.runCollect(store.readRecords(sequence)), (chunks) => chunks.flat())

/** Reads from `sequence` on and checks that every record is its own, none missing, none twice. */
export const expectRecords = (
  store: Pick<Store, "readRecords">,
  sequence: number,
  last: number,
  padding = "",
) =>
  Effect.map(recordsFrom(store, sequence), (records) => {
    expect(records.map((record) => record.sequence)).toEqual(
      Array.from({ length: Math.max(0, last - sequence + 1) }, (_, index) => sequence + index),
    )
    for (const record of records) {
      expect(text(record.body)).toBe(`record ${record.sequence}${padding}`)
    }
  })

const put = (table: Table, key: Uint8Array, value: string) => ({
  table,
  key,
  value: Buffer.from(value),
})

const entriesOf = (store: Store, range: Range) =>
  Effect.map(Stream.runCollect(store.readEntries(range)), (chunks) =>
    chunks.flat().map(([key, value]) => [Buffer.from(key).toString("hex"), text(value)]),
  )

export const storageContract = (
  name: string,
  makePlace: Effect.Effect<Place, never, Scope.Scope>,
): void => {
  const withStore = (use: (store: Store) => Effect.Effect<void, unknown, Scope.Scope>) => () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      yield* use(yield* place.open)
    })

  describe(`${name}: records`, () => {
    it.effect(
      "an empty storage holds nothing",
      withStore((store) =>
        Effect.gen(function* () {
          expect(store.lastSequence).toBe(0)
          yield* expectRecords(store, 1, 0)
        }),
      ),
    )

    it.effect(
      "appended records are read back in order, from any sequence on",
      withStore((store) =>
        Effect.gen(function* () {
          const last = yield* appendAll(store, [1, 3, 1, 10, 2])
          for (let from = 1; from <= last + 1; from++) yield* expectRecords(store, from, last)
        }),
      ),
    )

    it.effect(
      "a body may be empty and may hold any byte",
      withStore((store) =>
        Effect.gen(function* () {
          const bodies = [new Uint8Array(0), Uint8Array.from({ length: 256 }, (_, byte) => byte)]
          yield* store.append(batchOf(1, bodies))
          const records = yield* recordsFrom(store, 1)
          expect(records.map((record) => [...record.body])).toEqual(bodies.map((body) => [...body]))
        }),
      ),
    )

    it.effect(
      "a batch that leaves a gap or repeats a record is refused, and harms nothing",
      withStore((store) =>
        Effect.gen(function* () {
          yield* appendAll(store, [2])
          for (const first of [1, 2, 4]) {
            const error = yield* Effect.flip(store.append(numbered(first, 1)))
            expect(error._tag).toBe("Broken")
          }
          yield* store.append(numbered(3, 1))
          yield* expectRecords(store, 1, 3)
        }),
      ),
    )

    it.effect(
      "the memory of a batch belongs to the caller again once the append has ended",
      withStore((store) =>
        Effect.gen(function* () {
          const batch = numbered(1, 2)
          yield* store.append(batch)
          batch.frames.fill(0)
          yield* expectRecords(store, 1, 2)
        }),
      ),
    )

    it.effect(
      "a reader sees what was durable when it began, while appends go on",
      withStore((store) =>
        Effect.gen(function* () {
          const padding = "x".repeat(50_000)
          yield* appendAll(
            store,
            Array.from({ length: 60 }, () => 1),
            padding,
          )
          let next = 61
          const seen: Array<number> = []
          yield* Stream.runForEach(store.readRecords(1), (chunk) => {
            seen.push(...chunk.map((record) => record.sequence))
            return store.append(numbered(next++, 1, padding))
          })
          expect(seen).toEqual(Array.from({ length: 60 }, (_, index) => index + 1))
          yield* expectRecords(store, 61, next - 1, padding)
        }),
      ),
    )

    it.effect(
      "an append goes through although its caller was interrupted",
      withStore((store) =>
        Effect.gen(function* () {
          const caller = yield* Effect.forkChild(store.append(numbered(1, 1)), {
            startImmediately: true,
          })
          yield* Fiber.interrupt(caller)
          yield* store.append(numbered(2, 1))
          yield* expectRecords(store, 1, 2)
        }),
      ),
    )

    it.effect("what was appended is there after a restart, and numbering goes on", () =>
      Effect.gen(function* () {
        const place = yield* makePlace
        for (let round = 0; round < 3; round++) {
          yield* Effect.scoped(
            Effect.gen(function* () {
              const store = yield* place.open
              expect(store.lastSequence).toBe(round * 4)
              expect(yield* appendAll(store, [1, 3])).toBe(round * 4 + 4)
              yield* expectRecords(store, 1, round * 4 + 4)
            }),
          )
        }
      }),
    )

    it.effect(
      "pruning keeps every record from the given one on",
      withStore((store) =>
        Effect.gen(function* () {
          const last = yield* appendAll(
            store,
            Array.from({ length: 50 }, () => 2),
          )
          for (const sequence of [0, 1, 30, last, last + 10]) {
            yield* store.prune(sequence)
            yield* expectRecords(store, Math.min(Math.max(sequence, 1), last), last)
          }
          yield* store.append(numbered(last + 1, 1))
          yield* expectRecords(store, last + 1, last + 1)
        }),
      ),
    )
  })

  describe(`${name}: entries`, () => {
    const key = compositeKey

    it.effect(
      "a value is read by its key, in its table only",
      withStore((store) =>
        Effect.gen(function* () {
          yield* store.writeEntries([put("users", key("a"), "ada"), put("meta", key("b"), "bob")])
          expect(text(yield* store.readEntry("users", key("a")))).toBe("ada")
          expect(text(yield* store.readEntry("meta", key("b")))).toBe("bob")
          expect(yield* store.readEntry("users", key("b"))).toBeUndefined()
          expect(yield* store.readEntry("expiry", key("a"))).toBeUndefined()
        }),
      ),
    )

    it.effect(
      "of several entries with one key the last one counts",
      withStore((store) =>
        Effect.gen(function* () {
          yield* store.writeEntries([
            put("users", key("a"), "1"),
            put("users", key("a"), "2"),
            put("users", key("b"), "1"),
            { table: "users", key: key("b"), value: null },
          ])
          expect(text(yield* store.readEntry("users", key("a")))).toBe("2")
          expect(yield* store.readEntry("users", key("b"))).toBeUndefined()
          yield* store.writeEntries([{ table: "users", key: key("a"), value: null }])
          yield* store.writeEntries([{ table: "users", key: key("never"), value: null }])
          expect(yield* store.readEntry("users", key("a"))).toBeUndefined()
        }),
      ),
    )

    it.effect(
      "what was read is the reader's to keep",
      withStore((store) =>
        Effect.gen(function* () {
          const long = "x".repeat(20_000)
          yield* store.writeEntries([put("users", key("a"), "old"), put("users", key("l"), long)])
          const value = yield* store.readEntry("users", key("a"))
          const large = yield* store.readEntry("users", key("l"))
          const [entry] = (yield* Stream.runCollect(
            store.readEntries({ table: "users", ...rangeOf(key("a")) }),
          )).flat()
          yield* store.writeEntries([put("users", key("a"), "new"), put("users", key("l"), "")])
          yield* store.readEntry("users", key("a"))
          expect(text(value)).toBe("old")
          expect(text(large)).toBe(long)
          expect(text(entry?.[1])).toBe("old")
          value!.fill(0)
          expect(text(yield* store.readEntry("users", key("a")))).toBe("new")
        }),
      ),
    )

    it.effect(
      "values may be empty, and large",
      withStore((store) =>
        Effect.gen(function* () {
          const large = "x".repeat(3_000_000)
          yield* store.writeEntries([put("users", key("e"), ""), put("users", key("l"), large)])
          expect((yield* store.readEntry("users", key("e")))?.length).toBe(0)
          expect(text(yield* store.readEntry("users", key("l")))).toBe(large)
        }),
      ),
    )

    it.effect(
      "a range is read in byte order, both ways, with its bounds and its limit",
      withStore((store) =>
        Effect.gen(function* () {
          const count = 2_500
          const at = (n: number) => key("env", n)
          const hex = (n: number) => Buffer.from(at(n)).toString("hex")
          yield* store.writeEntries([
            ...Array.from({ length: count }, (_, n) => put("history", at(n), `${n}`)).reverse(),
            put("history", key("en"), "before"),
            put("history", key("env2", 1), "after"),
          ])
          const all = Array.from({ length: count }, (_, n) => [hex(n), `${n}`])
          const whole = { table: "history", ...rangeOf(key("env")) } as const
          expect(yield* entriesOf(store, whole)).toEqual(all)
          expect(yield* entriesOf(store, { ...whole, reverse: true })).toEqual(all.toReversed())
          const part = { table: "history", from: at(10), until: at(20) } as const
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
          const everything = { table: "history", ...rangeOf(new Uint8Array(0)) } as const
          expect((yield* entriesOf(store, everything)).length).toBe(count + 2)
        }),
      ),
    )

    it.effect(
      "a key of the largest size works",
      withStore((store) =>
        Effect.gen(function* () {
          const long = key("x".repeat(keyBytesMax - 2))
          yield* store.writeEntries([put("users", long, "long"), put("users", key("y"), "short")])
          expect(text(yield* store.readEntry("users", long))).toBe("long")
          const range = { table: "users", ...rangeOf(new Uint8Array(0)) } as const
          expect((yield* entriesOf(store, range)).map(([, value]) => value)).toEqual([
            "short",
            "long",
          ])
        }),
      ),
    )

    it.effect(
      "one key too long, or empty, and none of the entries is written",
      withStore((store) =>
        Effect.gen(function* () {
          for (const size of [0, keyBytesMax + 1]) {
            const entries = [
              put("users", key("a"), "a"),
              put("users", new Uint8Array(size), "wrong"),
            ]
            const error = yield* Effect.flip(store.writeEntries(entries))
            expect(error._tag).toBe("Broken")
            expect(yield* store.readEntry("users", key("a"))).toBeUndefined()
            expect(yield* store.readEntry("users", new Uint8Array(size))).toBeUndefined()
          }
          yield* store.writeEntries([put("users", key("a"), "a")])
          expect(text(yield* store.readEntry("users", key("a")))).toBe("a")
        }),
      ),
    )

    it.effect("entries are there after a restart", () =>
      Effect.gen(function* () {
        const place = yield* makePlace
        yield* Effect.scoped(
          Effect.flatMap(place.open, (store) =>
            store.writeEntries([put("users", key("a"), "ada"), put("expiry", key(1), "")]),
          ),
        )
        const store = yield* place.open
        expect(text(yield* store.readEntry("users", key("a")))).toBe("ada")
        expect((yield* store.readEntry("expiry", key(1)))?.length).toBe(0)
      }),
    )
  })
}
