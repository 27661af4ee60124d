/** Records erased from the journal of a partition: the owner's files, PostgreSQL, and new copies. */
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import * as DurableStorage from "../../../src/storage/durable/DurableStorage.ts"
import type { Storage } from "../../../src/storage/Storage.ts"
import { appendAll, expectNumbered, numbered, previousOf, recordsFrom } from "../records.ts"
import { temporaryFolder } from "../temporaryFolder.ts"
import { open } from "./owned.ts"
import { Postgres } from "./Postgres.ts"

let server: Postgres
beforeAll(async () => {
  server = await Postgres.make()
})
afterAll(() => server.remove())

const schema = "erased"
const padding = "x".repeat(9_000)
const erased = [2, 3, 11]

const expectErased = (store: Pick<Storage["Service"], "readRecords">, last: number) =>
  Effect.map(recordsFrom(store, 1), (records) => {
    expect(records.length).toBe(last)
    for (const record of records) {
      const { body, previous, sequence } = record
      if (!erased.includes(sequence)) expectNumbered(record, sequence, padding)
      else expect([previous, body.length]).toEqual([previousOf(sequence), 0])
    }
  })

/** Erases as soon as the segments are sealed. */
const erase = (store: Storage["Service"]) =>
  Effect.gen(function* () {
    let left = erased
    while (left.length > 0) {
      const done = yield* store.eraseRecords(left)
      if (done === undefined) yield* Effect.sleep(10)
      else left = left.filter((sequence) => sequence > done.lastSequence)
    }
  })

describe("Erased records of a partition", () => {
  it.live(
    "leave the files and the rows, and new copies have the same tombstones and chain",
    () =>
      Effect.gen(function* () {
        const url = yield* Effect.promise(() => server.schema(schema))
        const query = (text: string) => Effect.promise(() => server.query(text, schema))
        const within = <A>(
          directory: string,
          use: (opened: DurableStorage.OpenedStorage) => Effect.Effect<A, unknown, Scope.Scope>,
        ) =>
          Effect.scoped(
            Effect.flatMap(
              open({ url, directory, partition: 1, owner: "test", segmentBytes: 100_000 }),
              use,
            ),
          )
        const directory = yield* temporaryFolder
        yield* within(directory, ({ storage }) => appendAll(storage, [1, 4, 5, 6, 7, 8], padding))
        const last = 31
        const before = yield* query("SELECT first, count, previous, checksum FROM laurel_journal")
        // A start seals what is full.
        const end = yield* within(directory, ({ position, storage }) =>
          Effect.gen(function* () {
            yield* erase(storage)
            yield* expectErased(storage, last)
            return position()
          }),
        )
        const rows = "SELECT first, count, previous, checksum FROM laurel_journal"
        expect(yield* query(`${rows} ORDER BY first`)).toEqual(
          before.toSorted((left, right) => Number(left.first) - Number(right.first)),
        )
        const changed = yield* query("SELECT first FROM laurel_journal WHERE contents IS NOT NULL")
        expect(changed.map(({ first }) => Number(first)).toSorted((a, b) => a - b)).toEqual([2, 11])
        for (const sequence of erased) {
          const hex = Buffer.from(`record ${sequence}x`).toString("hex")
          const [row] = yield* query(
            `SELECT count(*) AS found FROM laurel_journal WHERE encode(frames, 'hex') LIKE '%${hex}%'`,
          )
          expect(Number(row?.found)).toBe(0)
        }
        // A new copy: first plain, then sealed, then opened as a directory of its own.
        const copy = yield* temporaryFolder
        yield* within(copy, ({ position, storage }) =>
          Effect.gen(function* () {
            expect(position()).toEqual(end)
            yield* expectErased(storage, last)
            yield* storage.writeEntries([])
          }),
        )
        yield* within(copy, ({ storage }) =>
          Effect.gen(function* () {
            yield* erase(storage)
            yield* storage.append(numbered(last + 1, 1, padding))
            yield* expectErased(storage, last + 1)
            yield* storage.writeEntries([])
          }),
        )
        const alone = yield* DurableStorage.open({ directory: copy })
        yield* expectErased(alone.storage, last + 1)
        // A changed row is found.
        yield* query("UPDATE laurel_journal SET frames = set_byte(frames, 60, 1) WHERE first = 2")
        const third = yield* temporaryFolder
        const error = yield* Effect.flip(within(third, () => Effect.void))
        expect(String(error)).toContain("the batch from record 2 on is not as it was written")
      }),
    60_000,
  )
})
