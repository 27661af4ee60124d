/**
 * The journal in PostgreSQL under the faults of a network and of PostgreSQL, against a real one.
 */
import { expect, layer } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Stream } from "effect"
import { limits } from "../../../src/Limits.ts"
import { batchChecksum } from "../../../src/storage/journal/SegmentFormat.ts"
import type { ChainedBatch } from "../../../src/storage/postgres/PgBatches.ts"
import { type InPostgres, PgConnection } from "../../../src/storage/postgres/PgConnection.ts"
import { PgJournal } from "../../../src/storage/postgres/PgJournal.ts"
import { openSessions } from "../../../src/storage/postgres/PgPool.ts"
import { migrate, schemaVersion } from "../../../src/storage/postgres/schema.ts"
import type { JournalBatch } from "../../../src/storage/Storage.ts"
import { numbered } from "../records.ts"
import { type Postgres, postgres } from "./Postgres.ts"
import { TcpProxy } from "./TcpProxy.ts"

class Server extends Context.Service<Server, Postgres>()("test/Postgres") {}

const chained = (batch: JournalBatch, previous: number): ChainedBatch => {
  const checksum = batchChecksum(batch, previous)
  return { ...batch, previous, checksum }
}

const start = { lastSequence: 0, checksum: 0 }
let schemas = 0

/** A journal over the address, closed with the scope. */
const journalOn = (url: string, answerMs: number = limits.postgresAnswerMs) =>
  Effect.map(
    openSessions({ url, answerMs }),
    (sessions) => new PgJournal({ sessions, partition: 1 }),
  )

/** A schema with an empty partition 1. */
const prepared = Effect.gen(function* () {
  const server = yield* Server
  const name = `journal_${++schemas}`
  const url = yield* Effect.promise(() => server.schema(name))
  const connection = new PgConnection({ url })
  yield* migrate(connection)
  yield* connection.close
  const journal = yield* journalOn(url)
  yield* journal.create("lineage", () => Effect.void)
  const query = (text: string) => Effect.promise(() => server.query(text, name))
  return { journal, name, query, server, url }
})

const proxyBefore = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(() => TcpProxy.before(port)),
    (proxy) => Effect.promise(() => proxy.close()),
  )

/** Shorter than usual: where it must pass, and still enough for an answer on most machines. */
const shortAnswerMs = 500

/** Repeats an append as the group commit does, until it goes through. */
const persist = (journal: PgJournal, batch: JournalBatch) =>
  Effect.gen(function* () {
    let outages = 0
    while (true) {
      const exit = yield* Effect.exit(journal.append(batch))
      if (Exit.isSuccess(exit)) return outages
      const error = yield* Effect.flip(exit)
      if (error._tag !== "Unavailable") return yield* error
      outages++
      yield* Effect.sleep(20)
    }
  })

/** Claims; a busy machine may take longer than a short deadline. */
const claim = (journal: PgJournal) =>
  Effect.retry(journal.claim("owner"), { while: ({ isOutage }) => isOutage })

const batchesOf = (journal: PgJournal) =>
  Effect.map(Stream.runCollect(journal.readBatches(start)), (chunks) => chunks.flat())

const firsts = (journal: PgJournal) =>
  Effect.map(batchesOf(journal), (batches) => batches.map((batch) => batch.firstSequence))

layer(Layer.effect(Server, postgres), { excludeTestServices: true })("PgJournal", (it) => {
  it.effect("numbers the owners, and reads their appends as a chain", () =>
    Effect.gen(function* () {
      const { journal } = yield* prepared
      expect(yield* journal.claim("one")).toEqual(start)
      yield* journal.append(numbered(1, 3))
      yield* journal.append(numbered(4, 1))
      expect(yield* journal.claim("two")).toEqual(journal.position)
      expect(journal.epoch).toBe(2)
      const batches = yield* batchesOf(journal)
      expect(batches.map(({ count, firstSequence }) => [firstSequence, count])).toEqual([
        [1, 3],
        [4, 1],
      ])
      expect(Buffer.from(batches[0]!.frames)).toEqual(Buffer.from(numbered(1, 3).frames))
      expect(batches[1]!.previous).toBe(batchChecksum(numbered(1, 3), 0))
      expect(yield* journal.read).toMatchObject({ epoch: 2, owner: "two", lastSequence: 4 })
    }),
  )

  it.effect(
    "creates the tables once, also for concurrent starts, and uses tables of a newer version as they are",
    () =>
      Effect.gen(function* () {
        const server = yield* Server
        const url = yield* Effect.promise(() => server.schema("versions"))
        const connections = Array.from({ length: 6 }, () => new PgConnection({ url }))
        yield* Effect.forEach(connections, migrate, { concurrency: "unbounded", discard: true })
        const versions = yield* connections[0]!.run({ text: "SELECT version FROM laurel_schema" })
        expect(versions).toEqual([{ version: schemaVersion }])
        yield* connections[0]!.run({ text: "UPDATE laurel_schema SET version = version + 1" })
        yield* migrate(connections[1]!)
        const newer = yield* connections[0]!.run({ text: "SELECT version FROM laurel_schema" })
        expect(newer).toEqual([{ version: schemaVersion + 1 }])
        yield* Effect.forEach(connections, (connection) => connection.close, { discard: true })
      }),
  )

  it.effect("acknowledges no append of any earlier owner", () =>
    Effect.gen(function* () {
      const { journal, url } = yield* prepared
      yield* journal.claim("first")
      yield* journal.append(numbered(1, 1))
      const claimants = yield* Effect.forEach(Array.from({ length: 5 }), () => journalOn(url))
      yield* Effect.forEach(claimants, (one) => one.claim("x"), { concurrency: "unbounded" })
      const all = [journal, ...claimants]
      expect(new Set(all.map((one) => one.epoch)).size).toBe(6)
      const outcomes = yield* Effect.forEach(
        all,
        (one) => Effect.exit(one.append(numbered(2, 1))),
        {
          concurrency: "unbounded",
        },
      )
      const errors = yield* Effect.forEach(outcomes.filter(Exit.isFailure), Effect.flip)
      expect(errors.map(({ _tag }) => _tag)).toEqual(Array.from({ length: 5 }, () => "Fenced"))
      expect(all[outcomes.findIndex(Exit.isSuccess)]!.epoch).toBe(6)
      expect(yield* firsts(journal)).toEqual([1, 2])
      expect(yield* journal.isOwner).toBe(false)
    }),
  )

  it.effect("names an owner that resumes again, until another server claims it", () =>
    Effect.gen(function* () {
      const { journal, query, url } = yield* prepared
      yield* journal.claim("first")
      const { epoch } = journal
      const other = yield* journalOn(url)
      const ownerOf = Effect.map(other.read, (state) => state?.owner)
      yield* query("UPDATE laurel_partition SET owner = 'heir'")
      expect([yield* journal.isOwner, yield* ownerOf]).toEqual([true, "heir"])
      expect(yield* journal.resume).toBe(true)
      expect([yield* ownerOf, journal.epoch]).toEqual(["first", epoch])
      yield* other.claim("second")
      expect(yield* journal.resume).toBe(false)
      expect(yield* ownerOf).toBe("second")
    }),
  )

  it.effect(
    "has all records that were acknowledged before a concurrent claim, and none after it",
    () =>
      Effect.gen(function* () {
        const { journal, url } = yield* prepared
        yield* journal.claim("first")
        let acknowledged = 0
        const writer = yield* Effect.forkChild(
          Effect.gen(function* () {
            while (true) {
              yield* persist(journal, numbered(acknowledged + 1, 1))
              acknowledged++
            }
          }),
        )
        const second = yield* journalOn(url)
        while (acknowledged < 100) yield* Effect.sleep(1)
        const taken = (yield* second.claim("second"))!
        expect(yield* Effect.flip(Fiber.join(writer))).toMatchObject({ _tag: "Fenced" })
        expect(taken.lastSequence).toBeGreaterThanOrEqual(100)
        expect(acknowledged).toBe(taken.lastSequence)
        yield* second.append(numbered(taken.lastSequence + 1, 1))
        expect(yield* firsts(second)).toEqual(
          Array.from({ length: taken.lastSequence + 1 }, (_, index) => index + 1),
        )
      }),
  )

  for (const at of ["request", "answer"] as const) {
    it.effect(`has an append once that was repeated after a cut before the ${at}`, () =>
      Effect.gen(function* () {
        const { journal, name, server } = yield* prepared
        const proxy = yield* proxyBefore(server.port)
        const behind = yield* journalOn(server.urlOf(name, proxy.port))
        yield* behind.claim("behind")
        for (let first = 1; first <= 5; first++) {
          proxy.cutNext(at, `record ${first}`)
          expect(yield* persist(behind, numbered(first, 1))).toBe(1)
        }
        expect(proxy.cuts).toBe(5)
        expect(yield* firsts(journal)).toEqual([1, 2, 3, 4, 5])
      }),
    )
  }

  it.effect("acknowledges a repeated append that was committed before another claim", () =>
    Effect.gen(function* () {
      const { journal, name, server } = yield* prepared
      const proxy = yield* proxyBefore(server.port)
      const behind = yield* journalOn(server.urlOf(name, proxy.port))
      yield* behind.claim("behind")
      proxy.cutNext("answer", "record 1")
      expect((yield* Effect.flip(behind.append(numbered(1, 1))))._tag).toBe("Unavailable")
      expect((yield* journal.claim("other"))!.lastSequence).toBe(1)
      yield* behind.append(numbered(1, 1))
      expect((yield* Effect.flip(behind.append(numbered(2, 1))))._tag).toBe("Fenced")
    }),
  )

  it.effect("fences a repeated append that was not committed before another claim", () =>
    Effect.gen(function* () {
      const { journal, name, server } = yield* prepared
      const proxy = yield* proxyBefore(server.port)
      const behind = yield* journalOn(server.urlOf(name, proxy.port))
      yield* behind.claim("behind")
      proxy.cutNext("request", "record 1")
      expect((yield* Effect.flip(behind.append(numbered(1, 1))))._tag).toBe("Unavailable")
      yield* journal.claim("other")
      yield* journal.append(numbered(1, 2))
      expect((yield* Effect.flip(behind.append(numbered(1, 1))))._tag).toBe("Fenced")
    }),
  )

  it.effect("treats an unreachable or silent PostgreSQL as an outage, and continues after it", () =>
    Effect.gen(function* () {
      const { journal, name, server } = yield* prepared
      const proxy = yield* proxyBefore(server.port)
      const behind = yield* journalOn(server.urlOf(name, proxy.port), shortAnswerMs)
      yield* claim(behind)
      proxy.down()
      const refused = yield* Effect.flip(behind.append(numbered(1, 1)))
      expect(refused).toMatchObject({
        _tag: "Unavailable",
        message: expect.stringContaining("PostgreSQL"),
      })
      expect(yield* Effect.flip(behind.isOwner)).toMatchObject({ isOutage: true })
      proxy.up()
      yield* persist(behind, numbered(1, 1))
      proxy.silent = true
      const silent = yield* Effect.flip(behind.append(numbered(2, 1)))
      expect(silent.message).toContain(`did not answer within ${shortAnswerMs} ms`)
      proxy.silent = false
      yield* persist(behind, numbered(2, 1))
      expect(yield* firsts(journal)).toEqual([1, 2])
    }),
  )

  for (const [words, signal] of [
    ["is killed", "SIGKILL"],
    ["stops at once", "SIGQUIT"],
    ["restarts in order", "SIGINT"],
  ] as const) {
    it.effect(
      `PostgreSQL ${words} under appends: nothing acknowledged is lost, nothing twice`,
      () =>
        Effect.gen(function* () {
          const { journal, server } = yield* prepared
          yield* journal.claim("owner")
          let next = 1
          const writer = yield* Effect.forkChild(
            Effect.gen(function* () {
              while (true) yield* persist(journal, numbered(next++, 1))
            }),
          )
          const beyond = (sequence: number) =>
            Effect.gen(function* () {
              while (next <= sequence) yield* Effect.sleep(1)
            })
          yield* beyond(50)
          yield* Effect.promise(() => server.stop(signal))
          yield* Effect.promise(() => server.start())
          yield* beyond(next + 50)
          yield* Fiber.interrupt(writer)
          const there = yield* firsts(journal)
          expect(there.slice(0, next - 2)).toEqual(
            Array.from({ length: next - 2 }, (_, index) => index + 1),
          )
          expect(there.length).toBeLessThanOrEqual(next)
        }),
    )
  }

  it.effect("treats a suspended PostgreSQL as an outage, and has the repeated append once", () =>
    Effect.gen(function* () {
      const { journal: patient, server, url } = yield* prepared
      const journal = yield* journalOn(url, shortAnswerMs)
      yield* claim(journal)
      yield* persist(journal, numbered(1, 1))
      const thaw = yield* Effect.promise(() => server.freeze())
      const error = yield* Effect.flip(journal.append(numbered(2, 1))).pipe(
        Effect.ensuring(Effect.sync(thaw)),
      )
      expect(error._tag).toBe("Unavailable")
      yield* persist(journal, numbered(2, 1))
      yield* persist(journal, numbered(3, 1))
      expect(yield* firsts(patient)).toEqual([1, 2, 3])
    }),
  )

  it.effect("gives a larger batch more time; a slow small batch is cut and repeated", () =>
    Effect.gen(function* () {
      const { journal: patient, query, url } = yield* prepared
      // Later than the deadline of a small batch, and earlier than that of a large one.
      yield* query(`CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_sleep(1); RETURN new; END'`)
      const journal = yield* journalOn(url, shortAnswerMs)
      yield* claim(journal)
      yield* query(
        "CREATE TRIGGER slow BEFORE INSERT ON laurel_journal FOR EACH ROW EXECUTE FUNCTION wait()",
      )
      const kibibytes = 10_000 / limits.postgresKibibyteAnswerMs
      yield* journal.append(numbered(1, 1, "x".repeat(kibibytes * 1_024)))
      const error = yield* Effect.flip(journal.append(numbered(2, 1)))
      expect(error).toMatchObject({
        _tag: "Unavailable",
        reason: "database_away",
        detail: expect.stringContaining("answer"),
      })
      yield* query("DROP TRIGGER slow ON laurel_journal")
      yield* persist(journal, numbered(2, 1))
      expect(yield* firsts(patient)).toEqual([1, 2])
    }),
  )

  it.effect("reads many large batches in several pages", () =>
    Effect.gen(function* () {
      const { journal } = yield* prepared
      yield* journal.claim("owner")
      const half = "x".repeat(limits.postgresReadBytes / 2)
      for (const sequence of [1, 2, 3, 4, 5]) yield* journal.append(numbered(sequence, 1, half))
      const pages = yield* Stream.runCollect(journal.readBatches(start))
      expect(pages.map((page) => page.map((batch) => batch.firstSequence))).toEqual([
        [1, 2],
        [3, 4],
        [5],
      ])
    }),
  )

  it.effect("finds a changed, a lost and a swapped row in a read", () =>
    Effect.gen(function* () {
      const { journal, query } = yield* prepared
      yield* journal.claim("owner")
      for (let first = 1; first <= 5; first++) yield* journal.append(numbered(first, 1))
      const faults = [
        "UPDATE laurel_journal SET frames = set_byte(frames, 6, 90) WHERE first = 3",
        "UPDATE laurel_journal SET checksum = checksum + 1 WHERE first = 3",
        "UPDATE laurel_journal SET previous = previous + 1 WHERE first = 3",
        "UPDATE laurel_journal SET count = 2 WHERE first = 3",
        "DELETE FROM laurel_journal WHERE first = 3",
        "DELETE FROM laurel_journal WHERE first = 1",
      ]
      yield* query("CREATE TABLE kept AS SELECT * FROM laurel_journal")
      for (const fault of faults) {
        yield* query(fault)
        const error = yield* Effect.flip(batchesOf(journal))
        expect(error._tag).toBe("Broken")
        expect(error.message).toContain("The journal in PostgreSQL is damaged")
        yield* query("DELETE FROM laurel_journal")
        yield* query("INSERT INTO laurel_journal SELECT * FROM kept")
      }
      expect(yield* firsts(journal)).toEqual([1, 2, 3, 4, 5])
    }),
  )

  it.effect("ends the owner if PostgreSQL has lost acknowledged records", () =>
    Effect.gen(function* () {
      const { journal, query } = yield* prepared
      yield* journal.claim("owner")
      yield* journal.append(numbered(1, 1))
      yield* query("DELETE FROM laurel_journal")
      yield* query("UPDATE laurel_partition SET last = 0, checksum = 0")
      const error = yield* Effect.flip(journal.append(numbered(2, 1)))
      expect(error).toMatchObject({ _tag: "Broken", message: expect.stringContaining("standby") })
      yield* query("DELETE FROM laurel_partition")
      const gone = yield* Effect.flip(journal.append(numbered(2, 1)))
      expect(gone).toMatchObject({ _tag: "Broken", message: expect.stringContaining("no such") })
    }),
  )

  it.effect("keeps an upload completely or not at all, and once", () =>
    Effect.gen(function* () {
      const server = yield* Server
      const url = yield* Effect.promise(() => server.schema("upload"))
      const connection = new PgConnection({ url })
      yield* migrate(connection)
      yield* connection.close
      const journal = yield* journalOn(url)
      const base = { lastSequence: 10, checksum: 77 }
      const first = chained(numbered(11, 2), base.checksum)
      const second = chained(numbered(13, 1), first.checksum)
      const upload = (insert: (batches: ReadonlyArray<ChainedBatch>) => InPostgres<void>) =>
        Effect.andThen(insert([first]), insert([second]))
      const broken = yield* Effect.flip(
        journal.create("a", (insert) => Effect.andThen(upload(insert), Effect.fail("no more"))),
      )
      expect(broken).toBe("no more")
      expect(yield* journal.read).toBeUndefined()
      yield* journal.create("b", upload)
      expect(yield* journal.read).toMatchObject({
        lineage: "b",
        firstSequence: 11,
        lastSequence: 13,
      })
      const twice = yield* Effect.flip(journal.create("c", upload))
      expect(twice).toMatchObject({ code: "23505" })
      const read = yield* Stream.runCollect(journal.readBatches(base))
      expect(read.flat().map((batch) => batch.firstSequence)).toEqual([11, 13])
    }),
  )

  it.effect("prunes whole batches below a record, and only for the owner", () =>
    Effect.gen(function* () {
      const { journal, url } = yield* prepared
      yield* journal.claim("owner")
      for (let first = 1; first < 600; first += 2) yield* journal.append(numbered(first, 2))
      yield* journal.prune(4)
      expect((yield* journal.read)?.firstSequence).toBe(3)
      yield* journal.prune(401)
      expect((yield* journal.read)?.firstSequence).toBe(401)
      expect(yield* journal.checksumBefore(401)).toBeTypeOf("number")
      expect(yield* journal.checksumBefore(402)).toBeUndefined()
      const other = yield* journalOn(url)
      yield* other.claim("other")
      yield* journal.prune(500)
      expect((yield* journal.read)?.firstSequence).toBe(401)
    }),
  )

  it.effect("never uses asynchronous commits, and distinguishes a refusal from an outage", () =>
    Effect.gen(function* () {
      const { query, url } = yield* prepared
      yield* query("ALTER ROLE laurel SET synchronous_commit = off")
      const connection = new PgConnection({ url })
      const [row] = yield* connection.run({ text: "SHOW synchronous_commit" })
      expect(row).toEqual({ synchronous_commit: "on" })
      yield* connection.close
      yield* query("ALTER ROLE laurel RESET synchronous_commit")
      expect(yield* Effect.flip(connection.run({ text: "SELECT 1" }))).toMatchObject({
        isOutage: true,
      })
      const nowhere = new PgConnection({ url: url.replace("postgres?", "nowhere?") })
      expect(yield* Effect.flip(nowhere.run({ text: "SELECT 1" }))).toMatchObject({
        isRefusal: true,
        isOutage: true,
      })
    }),
  )
})
