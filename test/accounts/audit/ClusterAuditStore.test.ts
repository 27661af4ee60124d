/** The audit log of a cluster, in a real PostgreSQL. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { afterAll, beforeAll } from "vitest"
import type { AuditLog, AuditPage, NewAuditEntry } from "../../../src/accounts/audit/AuditLog.ts"
import { openAuditStore } from "../../../src/accounts/audit/AuditStore.ts"
import { ClusterAuditStore } from "../../../src/accounts/audit/ClusterAuditStore.ts"
import { limits } from "../../../src/Limits.ts"
import { PgConnection, PgFailure, type Run } from "../../../src/storage/postgres/PgConnection.ts"
import { migrate } from "../../../src/storage/postgres/schema.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"
import { Postgres } from "../../storage/postgres/Postgres.ts"

const begin = Date.parse("2026-11-23T10:00:00Z")
const hour = 3_600_000

let postgres: Postgres
let connection: PgConnection
beforeAll(async () => {
  postgres = await Postgres.make()
  connection = new PgConnection({ url: postgres.urlOf("public") })
  await Effect.runPromise(migrate(connection))
})
afterAll(async () => {
  await Effect.runPromise(connection.close)
  await postgres.remove()
})

const entry = (subject: string, more: Partial<NewAuditEntry> = {}): NewAuditEntry => ({
  action: "key.revoke",
  by: "operator",
  subject,
  detail: "",
  projectId: "prj_1",
  environment: "sandbox",
  address: "192.0.2.1",
  requestId: "req_1",
  ...more,
})

/** An empty log, with a clock that the test sets. */
const emptyLog = (
  clock = { now: begin },
  run: Run = connection.run,
  entriesMax: number = limits.auditEntriesMax,
) =>
  Effect.as(
    connection.run({ text: "TRUNCATE laurel_audit" }),
    new ClusterAuditStore({ sessions: { run }, now: () => clock.now, entriesMax }),
  )

const subjects = ({ entries }: AuditPage) => entries.map(({ subject }) => subject)

const all = Effect.fnUntraced(function* (log: AuditLog) {
  const found: Array<string> = []
  let before: number | undefined
  do {
    const page: AuditPage = yield* log.read({ before })
    found.push(...subjects(page))
    before = page.next
  } while (before !== undefined)
  return found
})

/** Entries of one moment, by one statement. */
const fill = (count: number, at: string) =>
  connection.run({
    text: `INSERT INTO laurel_audit (id, at, body)
    SELECT 'x' || i, ${at}, convert_to('{"at":' || ${at} || ',"by":"server","action":"log.replace","subject":"s' || i || '"}', 'UTF8')
    FROM generate_series(1, ${count}) AS i`,
    moreAnswerMs: 60_000,
  })

const outage = new PgFailure({ code: "08006", words: "away", isOutage: true, isRefusal: false })

describe("An entry of a cluster", () => {
  it.effect("is read by every server, complete and in the order of time", () =>
    Effect.gen(function* () {
      const clock = { now: begin }
      const here = yield* emptyLog(clock)
      const there = new ClusterAuditStore({ sessions: connection, now: () => begin + hour })
      yield* here.write(entry("first", { by: { id: "acc_1", email: "ada@example.com" } }))
      yield* there.write(entry("third", { detail: "x".repeat(limits.auditTextCharactersMax + 1) }))
      // A clock that is set back takes no entry of this server before the last one.
      clock.now = begin - hour
      yield* here.write(entry("second", { action: "key.create", environment: null }))
      const { entries } = yield* there.read({})
      expect(entries.map(({ at, subject }) => [subject, at])).toEqual([
        ["third", begin + hour],
        ["second", begin],
        ["first", begin],
      ])
      expect(entries[0]!.detail).toHaveLength(limits.auditTextCharactersMax)
      const first = entry("first", { by: { id: "acc_1", email: "ada@example.com" } })
      expect(entries[2]).toMatchObject(first)
      const found = (query: Parameters<AuditLog["read"]>[0]) =>
        Effect.map(here.read(query), subjects)
      expect(yield* found({ by: "ada" })).toEqual(["first"])
      expect(yield* found({ action: "key.create" })).toEqual(["second"])
      expect(yield* found({ environment: "production" })).toEqual(["second"])
      expect(yield* found({ from: begin + 1 })).toEqual(["third"])
      expect(yield* found({ until: begin + hour })).toEqual(["second", "first"])
    }),
  )

  it.live("is written once, even if the answer to the write was lost", () =>
    Effect.gen(function* () {
      let lost = 1
      const log = yield* emptyLog(undefined, (statement) =>
        Effect.flatMap(connection.run(statement), (rows) =>
          lost-- > 0 ? Effect.fail(outage) : Effect.succeed(rows),
        ),
      )
      yield* log.write(entry("once"))
      expect(lost).toBe(-1)
      expect(yield* all(log)).toEqual(["once"])
    }),
  )

  it.effect("waits a bounded time for PostgreSQL, and no action begins without PostgreSQL", () =>
    Effect.gen(function* () {
      const log = yield* emptyLog(undefined, () => Effect.fail(outage))
      expect((yield* Effect.flip(log.admit())).detail).toContain("nothing was changed")
      expect((yield* Effect.flip(log.read({}))).code).toBe("storage_unavailable")
      const writing = yield* Effect.forkChild(Effect.flip(log.write(entry("lost"))))
      yield* TestClock.adjust(limits.auditWriteMs - 1)
      expect(writing.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(limits.clusterRetryMs)
      expect((yield* Fiber.join(writing)).detail).toContain("This was done")
    }),
  )

  it.effect("counts towards the limit of its account in an hour", () =>
    Effect.gen(function* () {
      const log = yield* emptyLog(undefined, () => Effect.succeed([]))
      const by = { id: "acc_1", email: "ada@example.com" }
      for (let count = 0; count < limits.auditAccountActionsPerHourMax; count++) {
        yield* log.admit("acc_1")
        yield* log.write(entry("key", { by }))
      }
      expect((yield* Effect.flip(log.admit("acc_1"))).code).toBe("rate_limited")
      yield* log.admit("acc_2")
    }),
  )
})

describe("The log of a cluster", () => {
  it.effect("has pages without gaps, also between entries of the same time", () =>
    Effect.gen(function* () {
      const log = yield* emptyLog()
      const count = 2 * limits.auditPageMax + 1
      yield* fill(count, String(begin))
      const newestFirst = Array.from({ length: count }, (_, index) => `s${count - index}`)
      expect(yield* all(log)).toEqual(newestFirst)
      expect((yield* log.read({})).entries).toHaveLength(limits.auditPageMax)
    }),
  )

  it.effect(`is searched ${limits.auditSearchedMax} entries at a time`, () =>
    Effect.gen(function* () {
      const log = yield* emptyLog()
      yield* fill(limits.auditSearchedMax + 1, `${begin} + i`)
      const page = yield* log.read({ by: "operator" })
      expect(page).toMatchObject({ entries: [], searchedBackTo: begin + 1 })
      const rest = yield* log.read({ before: page.next })
      expect(subjects(rest)).toEqual(["s1"])
    }),
  )

  it.effect("keeps entries for 400 days, and a bounded number of them", () =>
    Effect.gen(function* () {
      const clock = { now: begin + limits.auditKeptMs }
      const entriesMax = 10
      const log = yield* emptyLog(clock, connection.run, entriesMax)
      yield* fill(entriesMax + 3, `${begin} + least(i, 4)`)
      const oldest = Effect.map(log.read({ until: begin + 4 }), subjects)
      // The first one has expired.
      clock.now++
      expect(yield* oldest).toEqual(["s3", "s2"])
      const pruning = yield* Effect.forkChild(log.prune)
      const count = Effect.map(
        connection.run({ text: "SELECT count(*)::int AS count FROM laurel_audit" }),
        ([row]) => row?.count,
      )
      while ((yield* count) === entriesMax + 3) yield* Effect.yieldNow
      expect(yield* count).toBe(entriesMax)
      expect(yield* oldest).toEqual([])
      yield* Fiber.interrupt(pruning)
    }),
  )

  it.effect("is copied into a data directory in its order", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const log = yield* emptyLog()
      const count = 4 * limits.auditPageMax + 1
      yield* fill(count, `${begin} + (i * 7) % ${count}`)
      const expected = yield* all(log)
      // The second time in place of what the first has left.
      expect(yield* log.copyTo(disk, "/data")).toBe(count)
      expect(yield* log.copyTo(disk, "/data")).toBe(count)
      const options = { disk, directory: "/data", now: () => begin, freeSpaceBytesMin: 0 }
      expect(yield* all(yield* openAuditStore(options))).toEqual(expected)
    }),
  )

  it.effect("takes over the log of a data directory once", () =>
    Effect.gen(function* () {
      const disk = new SimulatedDisk()
      const log = yield* emptyLog()
      yield* log.take(disk, "/data")
      const names = Array.from({ length: limits.auditPageMax + 1 }, (_, index) => `old ${index}`)
      const filesOf = (from: SimulatedDisk) =>
        openAuditStore({ disk: from, directory: "/data", now: () => begin, freeSpaceBytesMin: 0 })
      yield* Effect.scoped(
        Effect.flatMap(filesOf(disk), (files) =>
          Effect.forEach(names, (name) => files.write(entry(name))),
        ),
      )
      const crashed = disk.afterKill()
      yield* log.write(entry("new"))
      yield* log.take(disk, "/data")
      expect((yield* Effect.flip(disk.list("/data/audit"))).code).toBe("ENOENT")
      expect((yield* all(log)).toSorted()).toEqual(["new", ...names].toSorted())
      yield* log.take(crashed, "/data")
      expect(yield* all(log)).toHaveLength(names.length + 1)
      const [oldest] = (yield* log.read({ by: "operator" })).entries
      expect(oldest).toMatchObject({ at: begin, requestId: "req_1" })
    }),
  )
})
