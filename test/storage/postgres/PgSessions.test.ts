/** The sessions that the partitions of a process share, against a real PostgreSQL. */
import { describe, expect, it, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { limits } from "../../../src/Limits.ts"
import { PartitionRows } from "../../../src/storage/postgres/PartitionRows.ts"
import {
  type Run,
  type Sessions,
  type Statement,
  undefinedTable,
} from "../../../src/storage/postgres/PgConnection.ts"
import { PgJournal } from "../../../src/storage/postgres/PgJournal.ts"
import { openSessions, PgPool } from "../../../src/storage/postgres/PgPool.ts"
import { allChanges, PgTables } from "../../../src/storage/postgres/PgTables.ts"
import { migrate } from "../../../src/storage/postgres/schema.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { numbered } from "../records.ts"
import { type Postgres, postgres } from "./Postgres.ts"

class Server extends Context.Service<Server, Postgres>()("test/Postgres") {}

let schemas = 0

const poolOf = (sessions: number, answerMs: number = limits.postgresAnswerMs) =>
  Effect.gen(function* () {
    const server = yield* Server
    const url = server.urlOf(`sessions_${++schemas}`)
    return yield* Effect.acquireRelease(
      Effect.sync(() => new PgPool({ url, answerMs, sessions })),
      (pool) => pool.close,
    )
  })

const processOf = (run: Run) =>
  Effect.map(run({ text: "SELECT pg_backend_pid() AS pid" }), ([row]) => Number(row!.pid))

/** Shorter than usual, and still enough for an answer on most machines. */
const shortAnswerMs = 500

/**
 * The owner of an empty partition 1, whose statements have a short time; and what the server has of
 * it.
 */
const ownerOn = Effect.fnUntraced(function* (server: Postgres) {
  const schema = `owner_${++schemas}`
  const url = yield* Effect.promise(() => server.schema(schema))
  yield* Effect.scoped(
    Effect.gen(function* () {
      const patient = yield* openSessions({ url })
      yield* migrate(patient.others)
      yield* new PgJournal({ sessions: patient, partition: 1 }).create("lineage", () => Effect.void)
    }),
  )
  const sessions = yield* openSessions({ url, answerMs: shortAnswerMs })
  const journal = new PgJournal({ sessions, partition: 1 })
  yield* Effect.retry(journal.claim("owner"), { while: ({ isOutage }) => isOutage })
  const run = (text: string) => Effect.promise(() => server.query(text))
  return {
    journal,
    sessions,
    server,
    query: { schema, run, sessions: Effect.promise(() => server.sessions()) },
  }
})

/** Takes a session until `released`. */
const hold = Effect.fnUntraced(function* (pool: Sessions) {
  const taken = yield* Deferred.make<number>()
  const released = yield* Deferred.make<void>()
  const take = pool.transaction((run) =>
    Effect.gen(function* () {
      yield* Deferred.succeed(taken, yield* processOf(run))
      yield* Deferred.await(released)
    }),
  )
  // On a busy machine PostgreSQL may answer late.
  const holder = yield* Effect.forkChild(Effect.retry(take, { while: ({ isOutage }) => isOutage }))
  const pid = yield* Deferred.await(taken)
  const release = Effect.andThen(Deferred.succeed(released, undefined), Fiber.join(holder))
  return { pid, release }
})

layer(Layer.effect(Server, postgres), { excludeTestServices: true })(
  "The sessions of a process",
  (it) => {
    it.effect("do not increase with partitions, and have one text for each statement name", () =>
      Effect.gen(function* () {
        const server = yield* Server
        const url = yield* Effect.promise(() => server.schema(`shared_${++schemas}`))
        const sessions = yield* openSessions({ url })
        yield* migrate(sessions.others)
        const numbers = Array.from({ length: 16 }, (_, index) => index + 1)
        const use = (partition: number) =>
          Effect.gen(function* () {
            const journal = new PgJournal({ sessions, partition })
            const tables = new PgTables(sessions.others, partition)
            yield* journal.create("lineage", () => Effect.void)
            yield* journal.claim("owner")
            yield* journal.append(numbered(1, partition))
            yield* tables.claim(journal.epoch, () => Effect.void)
            for (let write = 1; write <= 2 * limits.tablePruneChanges; write++) {
              yield* tables.write([], false)
            }
            yield* journal.append(numbered(partition + 1, 1))
            yield* journal.prune(1)
            yield* tables.changedAfter(allChanges)
            expect(yield* journal.isOwner).toBe(true)
            return yield* journal.read
          })
        const states = yield* Effect.forEach(numbers, use, { concurrency: "unbounded" })
        expect(states.map((state) => state?.lastSequence)).toEqual(numbers.map((one) => one + 1))
        const [connected] = yield* Effect.promise(() =>
          server.query(
            "SELECT count(*)::int AS sessions FROM pg_stat_activity WHERE application_name = 'laurel'",
          ),
        )
        const { postgresAppendSessions, postgresOtherSessions } = limits
        expect(connected!.sessions).toBeLessThanOrEqual(
          postgresAppendSessions + 1 + postgresOtherSessions,
        )
      }),
    )

    it.effect("are reserved for appends, and one for reads of the owner", () =>
      Effect.gen(function* () {
        const server = yield* Server
        const url = yield* Effect.promise(() => server.schema(`reserved_${++schemas}`))
        const sessions = yield* openSessions({ url })
        yield* migrate(sessions.others)
        const journal = new PgJournal({ sessions, partition: 1 })
        yield* journal.create("lineage", () => Effect.void)
        const held = yield* Effect.forEach(
          Array.from({ length: limits.postgresOtherSessions }),
          () => hold(sessions.others),
        )
        yield* journal.claim("owner")
        yield* journal.append(numbered(1, 1))
        expect(yield* journal.isOwner).toBe(true)
        yield* Effect.forEach(held, ({ release }) => release)
      }),
    )

    it.effect("are borrowed in order by calls that wait", () =>
      Effect.gen(function* () {
        const pool = yield* poolOf(2)
        const held = [yield* hold(pool), yield* hold(pool)] as const
        const calls = yield* Effect.forkChild(
          Effect.forEach([1, 2, 3], () => processOf(pool.run), { concurrency: "unbounded" }),
          { startImmediately: true },
        )
        yield* held[1].release
        // The other session is still taken.
        expect(yield* Fiber.join(calls)).toEqual([held[1].pid, held[1].pid, held[1].pid])
        yield* held[0].release
      }),
    )

    it.effect(
      "cause an outage for a call if none is free in time, and the call takes none later",
      () =>
        Effect.gen(function* () {
          const pool = yield* poolOf(1, 500)
          const held = yield* hold(pool)
          const failure = yield* Effect.flip(pool.run({ text: "SELECT 1" }))
          expect(failure).toMatchObject({ code: "timeout", isOutage: true })
          expect(failure.words).toContain("no session of PostgreSQL was free")
          yield* held.release
          yield* Effect.retry(processOf(pool.run), { while: ({ isOutage }) => isOutage })
        }),
    )

    it.effect("are not taken by an interrupted call that waits", () =>
      Effect.gen(function* () {
        const pool = yield* poolOf(1)
        const held = yield* hold(pool)
        const waiting = yield* Effect.forkChild(pool.run({ text: "SELECT 1" }), {
          startImmediately: true,
        })
        yield* Fiber.interrupt(waiting)
        yield* held.release
        expect(yield* processOf(pool.run)).toBe(held.pid)
      }),
    )

    it.effect(
      "of an interrupted call go to the next call, which does not wait for the answer",
      () =>
        Effect.gen(function* () {
          const server = yield* Server
          const pool = yield* poolOf(1)
          const first = yield* processOf(pool.run)
          const slow = yield* Effect.forkChild(
            pool.run({ text: "SELECT pg_sleep(3600)", moreAnswerMs: 3_600_000 }),
            { startImmediately: true },
          )
          const sleeping = `SELECT FROM pg_stat_activity WHERE pid = ${first} AND query LIKE '%pg_sleep%'`
          while ((yield* Effect.promise(() => server.query(sleeping))).length === 0);
          yield* Fiber.interrupt(slow)
          const next = yield* processOf(pool.run)
          expect(next).not.toBe(first)
          expect(yield* processOf(pool.run)).toBe(next)
        }),
    )

    it.effect(
      "answer all reads of partitions' rows of one turn by one statement, and a later read sees earlier writes",
      () =>
        Effect.gen(function* () {
          const server = yield* Server
          const name = `rows_${++schemas}`
          const url = yield* Effect.promise(() => server.schema(name))
          const { others } = yield* openSessions({ url })
          yield* migrate(others)
          yield* others.run({
            text: `INSERT INTO laurel_partition
        SELECT number, 'lineage', number, 'owner', 0, 0 FROM generate_series(1, 3) AS number`,
          })
          const sent: Array<Statement> = []
          const answered = yield* Deferred.make<void>()
          const began = yield* Deferred.make<void>()
          const rows = new PartitionRows({
            run: (statement) => {
              sent.push(statement)
              const answer = others.run(statement)
              if (sent.length > 1) return answer
              return answer.pipe(
                Effect.tap(() => Deferred.succeed(began, undefined)),
                Effect.tap(() => Deferred.await(answered)),
              )
            },
          })
          const epochs = (...partitions: ReadonlyArray<number>) =>
            Effect.forkChild(
              Effect.forEach(
                partitions,
                (partition) => Effect.map(rows.epoch(partition), (row) => row && Number(row.epoch)),
                { concurrency: "unbounded" },
              ),
              { startImmediately: true },
            )
          const early = yield* epochs(1, 2, 4, 2)
          yield* Deferred.await(began)
          yield* others.run({ text: "UPDATE laurel_partition SET epoch = epoch + 10" })
          const late = yield* epochs(2, 3)
          yield* Deferred.succeed(answered, undefined)
          expect(yield* Fiber.join(early)).toEqual([1, 2, undefined, 2])
          expect(yield* Fiber.join(late)).toEqual([12, 13])
          expect(sent.map(({ values }) => values)).toEqual([[[1, 2, 4]], [[2, 3]]])
        }),
    )

    it.effect(
      "fail only the reads of partitions' rows during an outage, and later reads succeed",
      () =>
        Effect.gen(function* () {
          const server = yield* Server
          const url = yield* Effect.promise(() => server.schema(`failing_${++schemas}`))
          const { others, rows } = yield* openSessions({ url })
          const both = [rows.epoch(1), rows.epoch(2)]
          const failures = yield* Effect.forEach(both, Effect.flip, { concurrency: "unbounded" })
          expect(failures.map(({ code }) => code)).toEqual([undefinedTable, undefinedTable])
          yield* migrate(others)
          expect(yield* rows.epoch(1)).toBe(undefined)
        }),
    )

    it.effect(
      "treat a transaction in which the process was suspended as an outage, and it succeeds again",
      () =>
        Effect.gen(function* () {
          const pool = yield* poolOf(1)
          let stands = true
          const transaction = pool.transaction((run) =>
            Effect.gen(function* () {
              yield* run({ text: "SET LOCAL idle_in_transaction_session_timeout = 50" })
              // As SIGSTOP does: nothing of the session is read until PostgreSQL has ended it.
              if (stands) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
              stands = false
              return yield* run({ text: "SELECT 1 AS one" })
            }),
          )
          const failure = yield* Effect.flip(transaction)
          expect(failure).toMatchObject({ isOutage: true })
          expect(yield* transaction).toEqual([{ one: 1 }])
        }),
    )

    it.effect(
      "do not increase while a lock is held for long: each wait ends, and its session stays",
      () =>
        Effect.gen(function* () {
          const { journal, query, server } = yield* ownerOn(yield* Server)
          const pool = new PgPool({ url: server.urlOf(query.schema), sessions: 1 })
          const lock = { text: "SELECT FROM laurel_partition FOR UPDATE" }
          const held = yield* hold({
            ...pool,
            transaction: (use) => pool.transaction((run) => Effect.andThen(run(lock), use(run))),
          })
          const before = yield* query.sessions
          for (let attempt = 0; attempt < 5; attempt++) {
            const error = yield* Effect.flip(journal.append(numbered(1, 1)))
            expect(error).toMatchObject({
              _tag: "Unavailable",
              reason: "database_away",
              detail: expect.stringContaining("lock"),
            })
          }
          expect(yield* query.sessions).toEqual(before)
          yield* held.release
          yield* pool.close
          yield* journal.append(numbered(1, 1))
        }),
    )
  },
)

describe("The loss of a synchronous standby", () => {
  it.live("leaves one session for each connection, also if a write is repeated often", () =>
    Effect.gen(function* () {
      const server = yield* postgres
      const { journal, query, sessions } = yield* ownerOn(server)
      yield* query.run(`CREATE TABLE ${query.schema}.note (n int)`)
      const setStandbys = (names: string) =>
        Effect.gen(function* () {
          yield* query.run(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
          yield* query.run("SELECT pg_reload_conf()")
          const isSet = Effect.map(
            query.run("SHOW synchronous_standby_names"),
            ([row]) => row!.synchronous_standby_names === names,
          )
          while (!(yield* isSet)) yield* yieldToEventLoop
        })
      yield* setStandbys("lost")
      const writes = [
        journal.append(numbered(1, 1)),
        sessions.others.run({ text: "INSERT INTO note VALUES (1)" }),
      ].map((write) => Effect.flip(Effect.asVoid(write as Effect.Effect<unknown, unknown>)))
      for (let attempt = 0; attempt < 8; attempt++) {
        yield* Effect.all(writes, { concurrency: "unbounded" })
      }
      const { postgresAppendSessions, postgresOtherSessions } = limits
      expect((yield* query.sessions).length).toBeLessThanOrEqual(
        postgresAppendSessions + postgresOtherSessions + 1,
      )
      yield* setStandbys("")
      const isOutage = ({ _tag }: { readonly _tag: string }) => _tag === "Unavailable"
      yield* Effect.retry(journal.append(numbered(1, 1)), { while: isOutage })
      const kept = yield* query.run(`SELECT first FROM ${query.schema}.laurel_journal`)
      expect(kept).toEqual([{ first: "1" }])
    }),
  )
})
