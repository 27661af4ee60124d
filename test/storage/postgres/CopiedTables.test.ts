/**
 * The tables of webhooks in PostgreSQL and their copies, under changes of owner and the faults of a
 * network.
 */
import { expect, layer } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Stream } from "effect"
import { limits } from "../../../src/Limits.ts"
import { compositeKey, rangeOf } from "../../../src/storage/Keys.ts"
import { CopiedTables, forgetMark } from "../../../src/storage/postgres/CopiedTables.ts"
import { PgConnection } from "../../../src/storage/postgres/PgConnection.ts"
import {
  changedText,
  inIndexOrder,
  PgTables,
  pruneText,
} from "../../../src/storage/postgres/PgTables.ts"
import { migrate } from "../../../src/storage/postgres/schema.ts"
import {
  Broken,
  Damaged,
  type Entry,
  Fenced,
  type StorageError,
  Unavailable,
  webhookTables,
} from "../../../src/storage/Storage.ts"
import { encodeValue } from "../../../src/storage/Values.ts"
import * as MemoryStorage from "../MemoryStorage.ts"
import { type Postgres, postgres } from "./Postgres.ts"
import { TcpProxy } from "./TcpProxy.ts"

class Server extends Context.Service<Server, Postgres>()("test/Postgres") {}

let schemas = 0
/** Longer than usual: here nobody repeats what a busy machine answers late. */
const answerMs = 120_000

const put = (number: number, text: string, table: Entry["table"] = "deliveries"): Entry => ({
  table,
  key: compositeKey(number),
  value: encodeValue(text),
})
const remove = (number: number): Entry => ({ ...put(number, ""), value: null })

/** A directory: its tables, and how it reaches PostgreSQL in each of its lives. */
class Directory {
  readonly state = new MemoryStorage.MemoryState()
  readonly files = MemoryStorage.make({ state: this.state })
  readonly #url: string
  /** What the next write to the files fails with. */
  failure: StorageError | undefined

  constructor(url: string) {
    this.#url = url
  }

  /** A process over it, which follows, and owns with an epoch. */
  readonly open = (epoch?: number, url = this.#url) =>
    Effect.gen({ self: this }, function* () {
      const connection = yield* Effect.acquireRelease(
        Effect.sync(() => new PgConnection({ url, answerMs, session: inIndexOrder })),
        (one) => one.close,
      )
      const files = {
        ...this.files,
        writeEntries: (entries: Iterable<Entry>) =>
          Effect.suspend(() => {
            const { failure } = this
            this.failure = undefined
            return failure === undefined ? this.files.writeEntries(entries) : Effect.fail(failure)
          }),
      }
      const copied = new CopiedTables(files, new PgTables(connection, 1))
      yield* copied.follow
      if (epoch === undefined) return copied
      yield* copied.claim(epoch)
      yield* copied.follow
      return copied
    })

  /** All entries but the mark. */
  get entries(): ReadonlyArray<string> {
    return Effect.runSync(
      Effect.map(
        Effect.forEach(webhookTables, (table) =>
          Stream.runCollect(this.files.readEntries({ table, ...rangeOf(new Uint8Array()) })).pipe(
            Effect.map((chunks) =>
              chunks.flat().map(([key, value]) => {
                const text = Buffer.from(value).toString("hex")
                return `${table} ${Buffer.from(key).toString("hex")} ${text}`
              }),
            ),
          ),
        ),
        (found) => found.flat().filter((entry) => !entry.includes(mark)),
      ),
    )
  }
}

const mark = Buffer.from(compositeKey("copy")).toString("hex")

const prepared = Effect.gen(function* () {
  const server = yield* Server
  const name = `tables_${++schemas}`
  const url = yield* Effect.promise(() => server.schema(name))
  const connection = new PgConnection({ url, answerMs })
  yield* migrate(connection)
  yield* connection.close
  const query = (text: string) => Effect.promise(() => server.query(text, name))
  return { query, url, server, name, directory: () => new Directory(url) }
})

/** What a new directory finds in PostgreSQL. */
const found = (url: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const fresh = new Directory(url)
      yield* fresh.open()
      return fresh.entries
    }),
  )

const proxyBefore = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(() => TcpProxy.before(port)),
    (proxy) => Effect.promise(() => proxy.close()),
  )

const isFenced = (error: StorageError): boolean =>
  error._tag === "Broken" && error.cause instanceof Fenced

/** Numbers from 0 to below `below`, the same in each run. */
const numbers = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

layer(Layer.effect(Server, postgres), { excludeTestServices: true })("CopiedTables", (it) => {
  it.effect("each new owner has all writes of earlier owners, whatever its copy had", () =>
    Effect.gen(function* () {
      const { directory, query, url } = yield* prepared
      const next = numbers(7)
      const directories = [directory(), directory(), directory()]
      // The first one's tables become those of the cluster.
      yield* directories[0]!.files.writeEntries([put(1, "one"), put(2, "two", "due")])
      for (let epoch = 1; epoch <= 12; epoch++) {
        const at = next(3)
        if (next(5) === 0) directories[at] = directory()
        const one = directories[epoch === 1 ? 0 : at]!
        yield* Effect.scoped(
          Effect.gen(function* () {
            const before = yield* found(url)
            const copied = yield* one.open(epoch)
            if (epoch > 1) expect(one.entries).toEqual(before)
            for (let written = next(5); written > 0; written--) {
              const entries = Array.from({ length: next(4) + 1 }, () => {
                const number = next(12)
                return next(3) === 0 ? remove(number) : put(number, `${epoch} ${written}`)
              })
              yield* copied.write(entries)
              expect(yield* found(url)).toEqual(one.entries)
            }
          }),
        )
      }
      const claims = yield* query("SELECT count(*) AS count FROM laurel_claims")
      expect(claims).toEqual([{ count: "12" }])
    }),
  )

  it.effect("writes the last of several entries of a key, in any bytes", () =>
    Effect.gen(function* () {
      const { directory, url } = yield* prepared
      const one = directory()
      const copied = yield* one.open(1)
      const all = Uint8Array.from({ length: 256 }, (_, byte) => byte)
      const odd = { table: "attempts", key: all, value: all } as const
      yield* copied.write([put(1, "a"), remove(1), put(1, 'b"\\{}'), odd, remove(2)])
      const hex = Buffer.from(all).toString("hex")
      const key = Buffer.from(compositeKey(1)).toString("hex")
      expect(one.entries).toEqual([
        `deliveries ${key} ${Buffer.from(encodeValue('b"\\{}')).toString("hex")}`,
        `attempts ${hex} ${hex}`,
      ])
      expect(yield* found(url)).toEqual(one.entries)
      yield* copied.write([])
    }),
  )

  it.effect("an earlier owner changes nothing, also if it claims late", () =>
    Effect.gen(function* () {
      const { directory, url } = yield* prepared
      const [one, two] = [directory(), directory()]
      const former = yield* one.open(3)
      yield* former.write([put(1, "former")])
      yield* two.open(4)
      expect(two.entries).toEqual(one.entries)
      const before = one.entries
      expect(yield* Effect.flip(former.write([put(1, "late"), put(2, "late")]))).toSatisfy(isFenced)
      expect(yield* found(url)).toEqual(before)
      // Its copy has nothing that PostgreSQL has not.
      expect(one.entries).toEqual(before)
      const late = yield* Effect.flip(directory().open(3))
      expect(late).toSatisfy(isFenced)
    }),
  )

  it.effect(
    "all writes that were acknowledged before a concurrent claim exist, and none after it",
    () =>
      Effect.gen(function* () {
        const { directory, url } = yield* prepared
        let epoch = 1
        let holder = directory()
        let owner = yield* holder.open(epoch)
        for (let round = 0; round < 4; round++) {
          let acknowledged = 0
          const writing = yield* Effect.forkChild(
            Effect.exit(
              Effect.gen(function* () {
                while (true) {
                  yield* owner.write([put(round, `${acknowledged + 1}`)])
                  acknowledged++
                }
              }),
            ),
          )
          while (acknowledged < 3) yield* Effect.promise(() => new Promise(setImmediate))
          const next = directory()
          const taken = yield* next.open(++epoch)
          const exit = yield* Fiber.join(writing)
          expect(yield* Effect.flip(exit)).toSatisfy(isFenced)
          expect(next.entries).toEqual(holder.entries)
          expect(yield* found(url)).toEqual(next.entries)
          holder = next
          owner = taken
        }
      }),
  )

  for (const at of ["request", "answer"] as const) {
    it.effect(`a write that was cut before the ${at} is repeated, or part of the next write`, () =>
      Effect.gen(function* () {
        const { directory, name, server, url } = yield* prepared
        const proxy = yield* proxyBefore(server.port)
        const one = directory()
        const copied = yield* one.open(1, server.urlOf(name, proxy.port))
        for (let number = 1; number <= 4; number++) {
          const entries = [put(number, `first ${number}`), put(0, `first ${number}`)]
          const before = one.entries
          proxy.cutNext(at, hexOf(entries[0]!))
          expect((yield* Effect.flip(copied.write(entries)))._tag).toBe("Unavailable")
          // Nobody sees it before it is certain.
          expect(one.entries).toEqual(before)
          // Repeated, or given up, and another one comes.
          yield* copied.write(number % 2 === 0 ? entries : [put(0, `second ${number}`)])
          expect(yield* found(url)).toEqual(one.entries)
          expect(one.entries).toHaveLength(number + 1)
        }
        expect(proxy.cuts).toBe(4)
      }),
    )
  }

  it.effect("a follower without changes writes nothing", () =>
    Effect.gen(function* () {
      const { directory, url } = yield* prepared
      const owner = yield* directory().open(1)
      yield* owner.write([put(1, "one")])
      const follower = directory()
      const copied = yield* follower.open()
      follower.failure = new Unavailable({ operation: "write", reason: "disk_full" })
      yield* copied.follow
      yield* owner.write([put(2, "two")])
      expect(yield* Effect.flip(copied.follow)).toMatchObject({ operation: "write" })
      yield* copied.follow
      expect(follower.entries).toEqual(yield* found(url))
    }),
  )

  it.effect(
    "a write that the copy missed is in the copy after the next write, and after a start",
    () =>
      Effect.gen(function* () {
        const { directory, url } = yield* prepared
        const one = directory()
        const copied = yield* one.open(1)
        one.failure = new Unavailable({ operation: "write", reason: "disk_full" })
        yield* Effect.flip(copied.write([put(1, "missed")]))
        yield* copied.write([put(2, "next")])
        expect(one.entries).toHaveLength(2)
        one.failure = new Broken({ operation: "write", cause: new Error("killed") })
        yield* Effect.flip(copied.write([put(3, "missed")]))
        expect(one.entries).toHaveLength(2)
        yield* one.open(2)
        expect(one.entries).toHaveLength(3)
        expect(yield* found(url)).toEqual(one.entries)
      }),
  )

  it.effect("pages of many entries and of large entries give the same copy", () =>
    Effect.gen(function* () {
      const { directory, url } = yield* prepared
      const one = directory()
      const many = Array.from({ length: 2 * limits.postgresEntryRows + 7 }, (_, n) => put(n, "x"))
      yield* one.files.writeEntries(many)
      const copied = yield* one.open(1)
      const large = "y".repeat(limits.postgresEntryBytes / 2 + 1)
      yield* copied.write([1, 3, 5, 7, 9].map((number) => put(number, large)))
      expect((yield* found(url)).length).toBe(many.length)
      expect(yield* found(url)).toEqual(one.entries)
    }),
  )

  it.effect("a copy that left the cluster, or whose changes are deleted, is filled again", () =>
    Effect.gen(function* () {
      const { directory, query, url } = yield* prepared
      const [one, two] = [directory(), directory()]
      yield* Effect.scoped(Effect.flatMap(one.open(1), (copied) => copied.write([put(1, "a")])))
      // Out, with outcomes of its own.
      yield* one.files.writeEntries([put(1, "b"), put(2, "b")])
      yield* forgetMark(one.files)
      yield* one.open(2)
      expect(one.entries).toEqual(yield* found(url))
      expect(one.entries).toHaveLength(1)
      // The removal of an entry is forgotten while a copy is away.
      yield* Effect.scoped(Effect.flatMap(two.open(3), (copied) => copied.write([put(5, "c")])))
      const owner = yield* one.open(4)
      yield* owner.write([remove(5)])
      yield* query(
        "UPDATE laurel_tables SET kept = changes; DELETE FROM laurel_entries WHERE value IS NULL",
      )
      yield* two.open()
      expect(two.entries).toEqual(one.entries)
      expect(two.entries).toHaveLength(1)
    }),
  )

  it.effect(
    "rows of removed entries are kept for some changes, and then deleted by the owner only",
    () =>
      Effect.gen(function* () {
        const { directory, query, url } = yield* prepared
        const copied = yield* directory().open(1)
        yield* copied.write([put(1, "a"), put(2, "a")])
        yield* copied.write([remove(1)])
        const removed = query(
          "SELECT count(*)::int AS count FROM laurel_entries WHERE value IS NULL",
        )
        // As if there had been many changes: the next one is the first that prunes.
        const until = (changes: number) =>
          Effect.gen(function* () {
            yield* query(`UPDATE laurel_tables SET changes = ${changes - 1}`)
            const later = new Directory(url)
            const owner = yield* later.open(
              Number((yield* query("SELECT epoch + 1 AS next FROM laurel_tables"))[0]!.next),
            )
            yield* owner.write([put(2, `${changes}`)])
          })
        const { tableChangesKept, tablePruneChanges } = limits
        yield* until(tableChangesKept)
        expect(yield* removed).toEqual([{ count: 1 }])
        yield* until(tableChangesKept + tablePruneChanges)
        expect(yield* removed).toEqual([{ count: 0 }])
        const [head] = yield* query("SELECT kept FROM laurel_tables")
        expect(Number(head!.kept)).toBe(tablePruneChanges)
      }),
  )

  it.effect(
    "a PostgreSQL that lost changes ends the owner, and no copy continues from lost changes",
    () =>
      Effect.gen(function* () {
        const { directory, query, url } = yield* prepared
        const [one, two] = [directory(), directory()]
        const names = ["laurel_tables", "laurel_claims", "laurel_entries"]
        const owner = yield* one.open(1)
        yield* owner.write([put(1, "kept")])
        for (const name of names) yield* query(`CREATE TABLE old_${name} AS SELECT * FROM ${name}`)
        yield* owner.write([put(1, "lost"), put(2, "lost")])
        yield* owner.write([put(3, "lost")])
        for (const name of names) {
          yield* query(`DELETE FROM ${name}; INSERT INTO ${name} SELECT * FROM old_${name}`)
        }
        const error = yield* Effect.flip(owner.write([put(4, "later")]))
        expect(error).toMatchObject({ _tag: "Broken", cause: expect.any(Damaged) })
        // Another owner gives the same numbers again, and more.
        const other = yield* two.open(2)
        for (const text of ["a", "b", "c", "d"]) yield* other.write([put(5, text)])
        yield* one.open()
        expect(one.entries).toEqual(two.entries)
        expect(one.entries).toEqual(yield* found(url))
      }),
  )

  it.effect(
    "the cost of pages and of deletions depends only on the returned rows, also without statistics",
    () =>
      Effect.gen(function* () {
        const { directory, url } = yield* prepared
        const copied = yield* directory().open(1)
        const entries = Array.from({ length: 6_000 }, (_, number) => put(number, "x".repeat(500)))
        yield* copied.write(entries)
        yield* copied.write(Array.from({ length: 100 }, (_, number) => remove(number)))
        const connection = new PgConnection({ url, answerMs, session: inIndexOrder })
        const planOf = (text: string, values: ReadonlyArray<unknown>) =>
          Effect.map(
            connection.run({ text: `EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) ${text}`, values }),
            (lines) => lines.map((line) => line["QUERY PLAN"]).join("\n"),
          )
        const { postgresEntryBytes, postgresEntryRows } = limits
        const from = [1, 0, "", new Uint8Array()]
        const page = yield* planOf(changedText, [...from, postgresEntryRows, postgresEntryBytes])
        expect(page).toContain("using laurel_entries_change")
        expect(page).not.toContain("Sort")
        const pruned = yield* planOf(pruneText, [1, 1, 2, 60])
        expect(pruned).toMatch(/Tid Scan on laurel_entries .*rows=60\.00/)
        expect(pruned).toContain("using laurel_entries_removed")
        const stale = yield* planOf(pruneText, [1, 2, 2, 60])
        expect(stale).toMatch(/Tid Scan on laurel_entries .*rows=0\.00/)
        yield* connection.close
      }),
  )

  it.effect("a statement with more time gets it, and another is cut", () =>
    Effect.gen(function* () {
      const { url } = yield* prepared
      const connection = new PgConnection({ url, answerMs: 50 })
      const slow = { text: "SELECT pg_sleep(0.2)" }
      yield* connection.run({ ...slow, moreAnswerMs: 60_000 })
      expect((yield* Effect.flip(connection.run(slow))).code).toBe("timeout")
      yield* connection.close
    }),
  )

  it.effect("tables of a partition are created once from the first owner's tables", () =>
    Effect.gen(function* () {
      const { directory, url } = yield* prepared
      const [one, two] = [directory(), directory()]
      yield* one.files.writeEntries([put(1, "one")])
      yield* two.files.writeEntries([put(2, "two")])
      // The later claim can come first.
      const exits = yield* Effect.all([Effect.exit(one.open(5)), Effect.exit(two.open(6))], {
        concurrency: 2,
      })
      expect(Exit.isSuccess(exits[1]!)).toBe(true)
      expect(two.entries).toEqual(yield* found(url))
      expect(two.entries).toHaveLength(1)
    }),
  )
})

const hexOf = ({ key }: Entry): string => Buffer.from(key).toString("hex")
