/** A partition that a data directory replaces. */
import { appendFile, cp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises"
import path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Result } from "effect"
import { limits } from "../../../src/Limits.ts"
import * as DurableStorage from "../../../src/storage/durable/DurableStorage.ts"
import { compositeKey } from "../../../src/storage/Keys.ts"
import { follow } from "../../../src/storage/postgres/ClusterStorage.ts"
import { replacePartition } from "../../../src/storage/postgres/ReplacePartition.ts"
import { encodeValue } from "../../../src/storage/SealedValue.ts"
import { appendAll, expectRecords, numbered } from "../records.ts"
import { temporaryFolder } from "../temporaryFolder.ts"
import { open } from "./owned.ts"
import { Postgres } from "./Postgres.ts"

let server: Postgres
beforeAll(async () => {
  server = await Postgres.make()
})
afterAll(() => server.remove())

const opened = (url: string, directory: string) =>
  open({ url, directory, partition: 1, owner: "test" })
const replaced = (url: string, directory: string) =>
  Effect.scoped(replacePartition({ url, partition: 1, directory }))

const rowsOf = (schema: string) =>
  Effect.promise(() =>
    server.query(
      `SELECT p.lineage, p.epoch, p.last, (SELECT count(*) FROM laurel_journal) AS batches,
      (SELECT count(*) FROM laurel_entries) AS entries, ARRAY(SELECT id FROM laurel_directory) AS directories
      FROM laurel_partition p`,
      schema,
    ),
  )

const delivery = (name: string) => ({
  table: "deliveries" as const,
  key: compositeKey(name),
  value: encodeValue(name),
})

describe("A data directory that replaces a partition", () => {
  it.live("fences the owner, replaces all its data, and is followed by other copies", () =>
    Effect.gen(function* () {
      const url = yield* Effect.promise(() => server.schema("replaced"))
      const base = yield* temporaryFolder
      const [one, two, back] = ["one", "two", "back"].map((name) => path.join(base, name)) as [
        string,
        string,
        string,
      ]
      yield* Effect.scoped(
        Effect.flatMap(opened(url, one), ({ storage }) =>
          Effect.andThen(appendAll(storage, [2]), storage.writeEntries([delivery("first")])),
        ),
      )
      // As a restore leaves it: earlier data, with the lineage that it has in the folder, and the
      // mark.
      yield* Effect.promise(() => cp(one, back, { recursive: true }))
      yield* Effect.promise(() => writeFile(path.join(back, "restored"), ""))
      yield* Effect.promise(() => cp(one, two, { recursive: true }))
      const standing = yield* opened(url, one)
      yield* appendAll(standing.storage, [1, 1])
      yield* standing.storage.writeEntries([delivery("later")])
      const query = (text: string) => Effect.promise(() => server.query(text, "replaced"))
      yield* query("INSERT INTO laurel_directory VALUES (1, 2, 4, '')")
      const refusal = yield* Effect.flip(Effect.scoped(opened(url, back)))
      expect(refusal.message).toContain("run `laurel cluster install`")
      const [before] = yield* rowsOf("replaced")

      expect(yield* replaced(url, back)).toMatchObject({ lastSequence: 2 })
      const [after] = yield* rowsOf("replaced")
      expect(after).toMatchObject({ last: "2", batches: "1", entries: "1", directories: [0] })
      expect(after!.lineage).not.toBe(before!.lineage)
      expect(Number(after!.epoch)).toBe(Number(before!.epoch) + 1)
      const late = yield* Effect.flip(standing.storage.append(numbered(5, 1)))
      expect(late._tag).toBe("Fenced")
      expect(
        Exit.isFailure(yield* Effect.exit(standing.storage.writeEntries([delivery("x")]))),
      ).toBe(true)

      // The other copy goes first, and has records of its own before the restored one is opened.
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { storage } = yield* opened(url, two)
          yield* expectRecords(storage, 1, 2)
          expect(yield* storage.readEntry("deliveries", compositeKey("first"))).toBeDefined()
          expect(yield* storage.readEntry("deliveries", compositeKey("later"))).toBeUndefined()
          yield* storage.append(numbered(3, 1))
        }),
      )
      expect(yield* Effect.promise(() => readdir(two))).toContain("discarded-1")
      yield* Effect.scoped(
        Effect.flatMap(opened(url, back), ({ storage }) => expectRecords(storage, 1, 3)),
      )
    }).pipe(Effect.scoped),
  )

  for (const moment of ["in a look", "before the claim", "in the look of a claim"] as const) {
    it.live(`that comes ${moment} is not claimed by a copy of the replaced partition`, () =>
      Effect.gen(function* () {
        const url = yield* Effect.promise(() => server.schema(moment.replaceAll(" ", "_")))
        const base = yield* temporaryFolder
        const [one, back] = [path.join(base, "one"), path.join(base, "back")]
        // More than a page of batches; those of the restored journal are others.
        const pages = Array(limits.postgresReadRows + 1).fill(1)
        yield* Effect.scoped(
          Effect.flatMap(opened(url, one), ({ storage }) => appendAll(storage, [2])),
        )
        yield* Effect.promise(() => cp(one, back, { recursive: true }))
        yield* Effect.scoped(
          Effect.flatMap(DurableStorage.open({ directory: back }), ({ storage }) =>
            appendAll(storage, pages, " otherwise"),
          ),
        )
        yield* Effect.scoped(
          Effect.flatMap(opened(url, one), ({ storage }) => appendAll(storage, pages)),
        )
        let isReplaced = false
        const replace = Effect.suspend(() => {
          if (isReplaced) return Effect.void
          isReplaced = true
          return Effect.asVoid(Effect.orDie(replaced(url, back)))
        })
        const isBefore = moment === "before the claim"
        const { claim, look } = yield* follow({
          ...{ url, directory: path.join(base, "two"), partition: 1, owner: "two" },
          beforeClaim: () => (isBefore ? replace : Effect.void),
        })
        const fold = () => (isBefore ? Effect.void : replace)
        const call = moment === "in a look" ? look(fold) : claim(fold)
        const patient = Effect.retry(call, { while: ({ _tag }) => _tag === "Unavailable" })
        expect((yield* Effect.flip(patient))._tag).toBe("Outdated")
        expect(yield* rowsOf(moment.replaceAll(" ", "_"))).toMatchObject([{ epoch: "3" }])
      }).pipe(Effect.scoped),
    )
  }

  it.live("replaces the partition once, also if its end was not noted the first time", () =>
    Effect.gen(function* () {
      const url = yield* Effect.promise(() => server.schema("twice"))
      const base = yield* temporaryFolder
      const [one, back] = [path.join(base, "one"), path.join(base, "back")]
      yield* Effect.scoped(
        Effect.flatMap(opened(url, one), ({ storage }) => appendAll(storage, [2])),
      )
      yield* Effect.promise(() => cp(one, back, { recursive: true }))
      const mark = path.join(back, "restored")
      yield* Effect.promise(() => writeFile(mark, ""))
      const before = path.join(base, "before")
      yield* Effect.promise(() => cp(back, before, { recursive: true }))
      yield* replaced(url, back)
      const lineage = yield* Effect.promise(() => readFile(mark, "utf8"))
      // As a crash leaves it after the transaction.
      yield* Effect.promise(() => writeFile(path.join(before, "restored"), `installing ${lineage}`))
      const write = Effect.flatMap(opened(url, one), ({ storage }) => appendAll(storage, [1]))
      yield* Effect.scoped(write)
      const refusal = yield* Effect.flip(Effect.scoped(opened(url, before)))
      expect(refusal.message).toContain("would undo the restore")
      yield* replaced(url, before)
      expect(yield* rowsOf("twice")).toMatchObject([{ lineage, last: "3" }])
      // The same directory with other data from then on.
      yield* Effect.promise(() => writeFile(path.join(before, "restored"), ""))
      yield* replaced(url, before)
      expect(yield* rowsOf("twice")).toMatchObject([{ last: "2" }])
    }),
  )

  it.live("is one of two directories as a whole if both replace the partition concurrently", () =>
    Effect.gen(function* () {
      const url = yield* Effect.promise(() => server.schema("at_once"))
      const base = yield* temporaryFolder
      const folders = ["one", "two"].map((name) => path.join(base, name))
      for (const [index, directory] of folders.entries()) {
        yield* Effect.scoped(
          Effect.flatMap(DurableStorage.open({ directory }), ({ storage }) =>
            Effect.andThen(
              appendAll(storage, Array(index + 1).fill(1)),
              storage.writeEntries([delivery(path.basename(directory))]),
            ),
          ),
        )
      }
      yield* Effect.scoped(Effect.asVoid(opened(url, path.join(base, "first"))))
      const ends = yield* Effect.forEach(
        folders,
        (directory) => Effect.result(replaced(url, directory)),
        { concurrency: 2 },
      )
      expect(ends.some(Result.isSuccess)).toBe(true)
      for (const end of ends) {
        if (Result.isFailure(end)) expect(end.failure).toMatchObject({ code: "23505" })
      }
      const [row] = yield* rowsOf("at_once")
      expect(row).toMatchObject({ entries: "1", last: row!.batches })
      const { storage } = yield* opened(url, path.join(base, "third"))
      yield* expectRecords(storage, 1, Number(row!.last))
      const name = row!.last === "1" ? "one" : "two"
      expect(yield* storage.readEntry("deliveries", compositeKey(name))).toBeDefined()
    }).pipe(Effect.scoped),
  )

  it.live("brings its webhook deliveries if it is opened first", () =>
    Effect.gen(function* () {
      const url = yield* Effect.promise(() => server.schema("deliveries"))
      const [one, other] = [yield* temporaryFolder, yield* temporaryFolder]
      yield* Effect.scoped(
        Effect.flatMap(opened(url, one), ({ storage }) =>
          Effect.andThen(appendAll(storage, [3]), storage.writeEntries([delivery("gone")])),
        ),
      )
      // It never was a copy.
      yield* Effect.scoped(
        Effect.flatMap(DurableStorage.open({ directory: other }), ({ storage }) =>
          Effect.andThen(appendAll(storage, [1]), storage.writeEntries([delivery("kept")])),
        ),
      )
      yield* replaced(url, other)
      yield* Effect.scoped(Effect.asVoid(opened(url, other)))
      const third = yield* temporaryFolder
      const { storage } = yield* opened(url, third)
      yield* expectRecords(storage, 1, 1)
      expect(yield* storage.readEntry("deliveries", compositeKey("kept"))).toBeDefined()
      expect(yield* storage.readEntry("deliveries", compositeKey("gone"))).toBeUndefined()
    }).pipe(Effect.scoped),
  )

  it.live("waits while PostgreSQL removes the replaced journal", () =>
    Effect.gen(function* () {
      const url = yield* Effect.promise(() => server.schema("slow"))
      const directory = yield* temporaryFolder
      const use = Effect.flatMap(opened(url, directory), ({ storage }) => appendAll(storage, [1]))
      yield* Effect.scoped(use)
      const query = (text: string) => Effect.promise(() => server.query(text, "slow"))
      const seconds = limits.postgresAnswerMs / 1_000 + 0.5
      yield* query(`CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_sleep(${seconds}); RETURN NULL; END'`)
      yield* query("CREATE TRIGGER slow BEFORE DELETE ON laurel_journal EXECUTE FUNCTION wait()")
      expect(yield* replaced(url, directory)).toMatchObject({ lastSequence: 1 })
    }),
  )

  it.live("changes nothing if it is damaged or PostgreSQL fails during the transaction", () =>
    Effect.gen(function* () {
      const url = yield* Effect.promise(() => server.schema("failed"))
      const [one, other] = [yield* temporaryFolder, yield* temporaryFolder]
      for (const [directory, counts] of [
        [one, [2]],
        [other, [1, 1, 1]],
      ] as const) {
        yield* Effect.scoped(
          Effect.flatMap(DurableStorage.open({ directory }), ({ storage }) =>
            appendAll(storage, counts),
          ),
        )
      }
      yield* Effect.scoped(Effect.asVoid(opened(url, one)))
      const before = yield* rowsOf("failed")
      const query = (text: string) => Effect.promise(() => server.query(text, "failed"))
      yield* query("ALTER TABLE laurel_journal ADD CONSTRAINT broken CHECK (first < 3)")
      expect(yield* Effect.flip(replaced(url, other))).toMatchObject({ _tag: "PgFailure" })
      yield* query("ALTER TABLE laurel_journal DROP CONSTRAINT broken")
      expect(yield* rowsOf("failed")).toEqual(before)

      const segment = path.join(other, "journal", "00000000000000000001.segment")
      yield* Effect.promise(() => truncate(segment, 40))
      yield* Effect.promise(() => appendFile(segment, Buffer.alloc(400, 1)))
      expect(yield* Effect.flip(replaced(url, other))).toMatchObject({ _tag: "Broken" })
      expect(yield* rowsOf("failed")).toEqual(before)
      yield* Effect.promise(() => rm(other, { recursive: true }))
      const { storage } = yield* opened(url, one)
      yield* expectRecords(storage, 1, 2)
    }).pipe(Effect.scoped),
  )
})
