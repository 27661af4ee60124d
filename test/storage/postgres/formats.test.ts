/**
 * Servers of two versions on the same tables: what the newer one changes in them, and which format
 * is in force.
 */
import { Effect, Result, Stream } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { version } from "../../../src/Build.ts"
import { RecentRequests, RunnerRow } from "../../../src/cluster/RunnerRow.ts"
import { readClusterStatus } from "../../../src/cluster/status.ts"
import { limits } from "../../../src/Limits.ts"
import { follow } from "../../../src/storage/postgres/ClusterStorage.ts"
import {
  checkFormat,
  newestFormat,
  raiseFormat,
  spreadFormat,
} from "../../../src/storage/postgres/formats.ts"
import { PartitionRows } from "../../../src/storage/postgres/PartitionRows.ts"
import { PgConnection, type Statement } from "../../../src/storage/postgres/PgConnection.ts"
import { PgJournal } from "../../../src/storage/postgres/PgJournal.ts"
import type { PgSessions } from "../../../src/storage/postgres/PgPool.ts"
import { migrate, migrations, schemaVersion } from "../../../src/storage/postgres/schema.ts"
import { numbered } from "../records.ts"
import { temporaryFolder } from "../temporaryFolder.ts"
import { open } from "./owned.ts"
import { Postgres } from "./Postgres.ts"

let postgres: Postgres
let connection: PgConnection
let schemas = 0

beforeAll(async () => {
  postgres = await Postgres.make()
})
afterAll(() => postgres?.remove())

/** A session in an empty schema of its own. */
const inSchema = async <A>(use: (url: string) => Promise<A>): Promise<A> => {
  const url = await postgres.schema(`formats_${++schemas}`)
  connection = new PgConnection({ url })
  try {
    return await use(url)
  } finally {
    await Effect.runPromise(connection.close)
  }
}

/** One session for all. */
const only = (session: PgConnection): PgSessions => ({
  appends: session,
  rows: new PartitionRows(session),
  others: session,
})

const run = (statement: Statement) => Effect.runPromise(connection.run(statement))
const query = (text: string) => run({ text })

interface TableColumn {
  readonly name: string
  readonly type: string
  readonly nullable: string
  readonly filled: unknown
}

const columnsOf = async (): Promise<ReadonlyArray<TableColumn>> =>
  (await query(`SELECT table_name || '.' || column_name AS name, data_type AS type,
    is_nullable AS nullable, column_default AS filled FROM information_schema.columns
    WHERE table_schema = current_schema() ORDER BY 1`)) as unknown as ReadonlyArray<TableColumn>

/**
 * What can refuse a row, or needs one to be new: primary keys, unique indexes and constraints,
 * checks, triggers.
 */
const rulesOf = async (tables: ReadonlySet<string>): Promise<ReadonlyArray<string>> => {
  const rows = await query(`SELECT relname AS "table", 'unique ' || indexrelid::regclass AS rule
    FROM pg_index JOIN pg_class c ON c.oid = indrelid WHERE indisunique AND relnamespace = current_schema()::regnamespace
    UNION ALL SELECT relname, conname FROM pg_constraint JOIN pg_class c ON c.oid = conrelid
    WHERE relnamespace = current_schema()::regnamespace AND contype <> 'n'
    UNION ALL SELECT relname, tgname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
    WHERE relnamespace = current_schema()::regnamespace ORDER BY 1, 2`)
  return rows
    .filter(({ table }) => tables.has(String(table)))
    .map(({ rule, table }) => `${table}: ${rule}`)
}

const tableOf = ({ name }: TableColumn): string => name.split(".")[0]!

describe("A migration", () => {
  it("only adds, so that servers of earlier versions continue", async () => {
    await inSchema(async () => {
      expect(migrations).toHaveLength(schemaVersion)
      for (const statements of migrations) {
        const before = await columnsOf()
        const tables = new Set(before.map(tableOf))
        const rules = await rulesOf(tables)
        for (const text of statements) await query(text)
        const after = await columnsOf()
        expect(after).toEqual(expect.arrayContaining([...before]))
        expect(await rulesOf(tables)).toEqual(rules)
        const names = new Set(before.map(({ name }) => name))
        const required = after.filter(
          (column) =>
            tables.has(tableOf(column)) &&
            !names.has(column.name) &&
            column.nullable === "NO" &&
            column.filled === null,
        )
        expect(required).toEqual([])
      }
    })
  })

  it("does not disturb a session of an earlier version and its prepared statements", async () => {
    await inSchema(async (url) => {
      const earlier = schemaVersion - 1
      for (const text of migrations.slice(0, earlier).flat()) await query(text)
      await query("CREATE TABLE laurel_schema (version int NOT NULL)")
      await query(`INSERT INTO laurel_schema VALUES (${earlier})`)
      await query("INSERT INTO laurel_partition VALUES (1, 'lineage', 1, 'owner', 0, 0)")
      // The columns of the first version.
      const append = (last: number) =>
        run({
          name: "append",
          text: `WITH head AS (UPDATE laurel_partition SET last = $1::bigint WHERE last = $1::bigint - 1 RETURNING id)
            INSERT INTO laurel_journal (partition, first, count, epoch, previous, checksum, frames)
            SELECT id, $1, 1, 1, 0, 0, '' FROM head RETURNING count`,
          values: [last],
        })
      expect(await append(1)).toHaveLength(1)
      const newer = new PgConnection({ url })
      await Effect.runPromise(Effect.ensuring(migrate(newer), newer.close))
      expect(await append(2)).toHaveLength(1)
      expect(await query("SELECT last, format FROM laurel_partition")).toEqual([
        { last: "2", format: 1 },
      ])
    })
  })

  // Appends of the owner would wait behind it for as long as that lasts.
  it("treats a table that is locked for long as an outage", async () => {
    await inSchema(async (url) => {
      for (const text of migrations.slice(0, 5).flat()) await query(text)
      await query("CREATE TABLE laurel_schema (version int NOT NULL)")
      await query("INSERT INTO laurel_schema VALUES (5)")
      const newer = new PgConnection({ url })
      const failure = await Effect.runPromise(
        connection.transaction((inside) =>
          Effect.andThen(
            inside({ text: "LOCK TABLE laurel_partition IN ROW EXCLUSIVE MODE" }),
            Effect.flip(migrate(newer)),
          ),
        ),
      )
      expect(failure).toMatchObject({ isOutage: true, isRefusal: false })
      await Effect.runPromise(Effect.ensuring(migrate(newer), newer.close))
      expect(await query("SELECT version FROM laurel_schema")).toEqual([{ version: schemaVersion }])
    })
  })
})

/** A partition that is written in this format. */
const partitionIn = async (format: number): Promise<void> => {
  await Effect.runPromise(migrate(connection))
  await query(`INSERT INTO laurel_partition (id, lineage, epoch, owner, last, checksum, format)
    VALUES (1, 'lineage', 1, 'owner', 0, 0, ${format})`)
}

const runner = (address: string, format: number, silentMs = 0) =>
  query(`INSERT INTO laurel_runner (address, version, format, answered, forwarded, seen_at)
    VALUES ('${address}', '9.9.9', ${format}, 0, 0, now() - ${silentMs} * interval '1 millisecond')`)

const raised = async (): Promise<unknown> => {
  await run(raiseFormat(limits.formatWaitMs))
  const [row] = await query("SELECT format FROM laurel_partition")
  return row?.format
}

describe("The format in force", () => {
  it("is raised once all runners know a newer one, and is never lowered", async () => {
    await inSchema(async () => {
      await partitionIn(1)
      expect(await raised()).toBe(1)
      await runner("old", 1)
      await runner("new", 3)
      expect(await raised()).toBe(1)
      await query("UPDATE laurel_runner SET format = 2 WHERE address = 'old'")
      expect(await raised()).toBe(2)
      await query("UPDATE laurel_runner SET format = 1 WHERE address = 'old'")
      expect(await raised()).toBe(2)
    })
  })

  it.each([
    [-60_000, 1],
    [1_000, 2],
  ])(
    "waits for a runner that is away: %i ms beyond the limit it is %i",
    async (beyondMs, format) => {
      await inSchema(async () => {
        await partitionIn(1)
        await runner("away", 1, limits.formatWaitMs + beyondMs)
        await runner("new", 2)
        expect(await raised()).toBe(format)
      })
    },
  )

  it.each([0, 1])(
    "that is %i above the newest known format fails a start and a read only if it is above",
    async (by) => {
      await inSchema(async () => {
        await partitionIn(newestFormat + by)
        const journal = new PgJournal({ sessions: only(connection), partition: 1 })
        for (const check of [checkFormat(connection), journal.read]) {
          const result = await Effect.runPromise(Effect.result(check))
          expect(Result.isFailure(result)).toBe(by > 0)
          if (!Result.isFailure(result)) continue
          expect(result.failure).toMatchObject({ isOutage: false, isRefusal: true })
          expect(result.failure.words).toContain(`writes format ${newestFormat + 1}`)
          expect(result.failure.words).toContain("with the version of the others")
        }
      })
    },
  )
})

describe("Projects", () => {
  const journalOf = (partition: number) => new PgJournal({ sessions: only(connection), partition })
  const make = (journal: PgJournal) =>
    Effect.runPromise(journal.create("lineage", () => Effect.void))

  it("are spread over partitions when all runners know the format for it", async () => {
    await inSchema(async () => {
      await partitionIn(spreadFormat - 1)
      const first = journalOf(1)
      await Effect.runPromise(first.claim("new"))
      expect(first.spreadsProjects).toBe(false)
      await runner("old", spreadFormat - 1)
      await runner("new", spreadFormat)
      await raised()
      expect(await Effect.runPromise(first.isOwner)).toBe(true)
      expect(first.spreadsProjects).toBe(false)
      await query(`UPDATE laurel_runner SET format = ${spreadFormat}`)
      await raised()
      expect(await Effect.runPromise(first.isOwner)).toBe(true)
      expect(first.spreadsProjects).toBe(true)
    })
  })

  it("are spread at once in a new cluster; a partition made later has the format in force", async () => {
    await inSchema(async () => {
      await Effect.runPromise(migrate(connection))
      await make(journalOf(1))
      const first = journalOf(1)
      await Effect.runPromise(first.claim("new"))
      expect(first.spreadsProjects).toBe(true)
      await query("UPDATE laurel_partition SET format = 1")
      await make(journalOf(2))
      const formats = await query("SELECT id, format FROM laurel_partition ORDER BY id")
      expect(formats).toEqual([
        { id: 1, format: 1 },
        { id: 2, format: 1 },
      ])
    })
  })
})

/** Repeats what a busy machine answers late, as the product does. */
const patient = <A, E extends { readonly _tag: string }, R>(call: Effect.Effect<A, E, R>) =>
  Effect.retry(call, { while: ({ _tag }) => _tag === "Unavailable" })

describe("A copy that follows", () => {
  it("takes over no record in a newer format than it knows, and is not opened again", async () => {
    await inSchema((url) =>
      Effect.gen(function* () {
        const [one, two] = [yield* temporaryFolder, yield* temporaryFolder]
        const owner = yield* open({ url, directory: one, partition: 1, owner: "one" })
        const copy = { url, directory: two, partition: 1, owner: "two" }
        const failure = yield* Effect.scoped(
          Effect.gen(function* () {
            const follower = yield* follow(copy)
            const folded: Array<number> = []
            const look = patient(
              follower.look((records) =>
                Effect.sync(() => {
                  folded.push(...records.map(({ sequence }) => sequence))
                }),
              ),
            )
            yield* patient(owner.storage.append(numbered(1, 2)))
            yield* look
            expect(folded).toEqual([1, 2])
            yield* Effect.promise(() => query("UPDATE laurel_partition SET format = format + 1"))
            yield* patient(owner.storage.append(numbered(3, 1)))
            const failure = yield* Effect.flip(look)
            expect(folded).toEqual([1, 2])
            return failure
          }),
        )
        expect(failure._tag).toBe("Broken")
        const journal = new PgJournal({ sessions: only(connection), partition: 1 })
        // A look that was under way when the format was raised.
        const records = Stream.runDrain(journal.readBatches({ lastSequence: 0, checksum: 0 }))
        expect(yield* Effect.flip(records)).toMatchObject({ cause: { isRefusal: true } })
        const refused = yield* Effect.flip(Effect.scoped(follow(copy)))
        expect(refused._tag).toBe("Refused")
        expect(refused.message).toContain(`writes format ${newestFormat + 1}`)
        const fence = yield* Effect.promise(() => query("SELECT owner FROM laurel_partition"))
        expect(fence).toEqual([{ owner: "one" }])
      }).pipe(Effect.scoped, Effect.runPromise),
    )
  })
})

describe("The row of a runner", () => {
  it("has its version, format and requests, and rows of runners that are long gone are removed", async () => {
    await inSchema(async () => {
      await partitionIn(1)
      await runner("gone", 1, limits.runnerForgottenMs + 1_000)
      await runner("kept", 1, limits.runnerForgottenMs - 60_000)
      const row = new RunnerRow({ address: "own", lockExpirationMs: 10_000 })
      row.requests = () => ({ answered: 7, forwarded: 3 })
      await row.write(run)
      const read =
        "SELECT address, version, format, answered, forwarded FROM laurel_runner ORDER BY 1"
      const other = { version: "9.9.9", format: 1, answered: "0", forwarded: "0" }
      const own = { version, format: newestFormat, answered: "7", forwarded: "3" }
      const both = [
        { ...other, address: "kept" },
        { ...own, address: "own" },
      ]
      expect(await query(read)).toEqual(both)
      const broken = new RunnerRow({ address: "own", lockExpirationMs: 10_000 })
      broken.requests = () => ({ answered: Number.NaN, forwarded: 4 })
      await broken.write(run)
      const written = { ...own, answered: "0", forwarded: "4", address: "own" }
      expect(await query(read)).toEqual([both[0], written])
    })
  })

  it("is written again after a failure", async () => {
    const row = new RunnerRow({ address: "own", lockExpirationMs: 10_000 })
    await expect(row.write(() => Promise.reject(new Error("away")))).rejects.toThrow("away")
    const names: Array<string | undefined> = []
    await row.write(async ({ name }) => names.push(name))
    expect(names).toEqual(["runner", "raise format"])
  })

  it("is missing for a runner of an earlier version, also in tables of that version", async () => {
    await inSchema(async () => {
      for (const text of migrations.slice(0, 5).flat()) await query(text)
      await query("INSERT INTO laurel_partition VALUES (1, 'lineage', 1, 'owner', 0, 0)")
      await query("CREATE TABLE laurel_cluster_runners (address text, last_heartbeat timestamp)")
      await query("INSERT INTO laurel_cluster_runners VALUES ('old', now() AT TIME ZONE 'UTC')")
      const status = await Effect.runPromise(readClusterStatus(connection))
      const rest = {
        version: undefined,
        format: undefined,
        answered: undefined,
        forwarded: undefined,
      }
      expect(status).toMatchObject({
        runners: [{ address: "old", ...rest }],
        partitions: [{ partition: 1, format: 1 }],
        forwardedShare: undefined,
      })
    })
  })
})

describe("The requests of the last minute", () => {
  it("are counted since the last counts that are a minute old", () => {
    let now = 5_000
    const recent = new RecentRequests(() => now)
    const at = (seconds: number, answered: number, forwarded: number) => {
      now = 5_000 + 1_000 * seconds
      return recent.since({ answered, forwarded })
    }
    expect(at(1, 10, 0)).toEqual({ answered: 10, forwarded: 0 })
    expect(at(30, 40, 4)).toEqual({ answered: 40, forwarded: 4 })
    expect(at(60, 100, 4)).toEqual({ answered: 100, forwarded: 4 })
    expect(at(61, 100, 5)).toEqual({ answered: 90, forwarded: 5 })
    expect(at(100, 100, 5)).toEqual({ answered: 60, forwarded: 1 })
    // After a silence of PostgreSQL: since it began.
    expect(at(500, 150, 6)).toEqual({ answered: 50, forwarded: 1 })
  })
})
