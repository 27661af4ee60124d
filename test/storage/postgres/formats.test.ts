/**
 * Servers of two versions on the same tables: what the newer one changes in them, and data of
 * another format.
 */
import { Effect, Stream } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { version } from "../../../src/Build.ts"
import { RecentRequests, RunnerRow } from "../../../src/cluster/RunnerRow.ts"
import { readClusterStatus } from "../../../src/cluster/status.ts"
import { limits } from "../../../src/Limits.ts"
import { dataFormat, otherFormat } from "../../../src/storage/format.ts"
import { follow } from "../../../src/storage/postgres/ClusterStorage.ts"
import { checkFormat } from "../../../src/storage/postgres/formats.ts"
import { PartitionRows } from "../../../src/storage/postgres/PartitionRows.ts"
import {
  type InPostgres,
  PgConnection,
  type Statement,
} from "../../../src/storage/postgres/PgConnection.ts"
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

  // Appends of the owner would wait behind it for as long as that lasts.
  it("treats a table that is locked for long as an outage", async () => {
    await inSchema(async (url) => {
      await query("CREATE TABLE laurel_schema (version int NOT NULL)")
      const newer = new PgConnection({ url })
      const failure = await Effect.runPromise(
        connection.transaction((inside) =>
          Effect.andThen(
            inside({ text: "LOCK TABLE laurel_schema IN SHARE MODE" }),
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

describe.each([-1, 1])("A cluster whose format differs by %i", (by) => {
  it("is refused at a start, a status and a read of a partition, and nothing is changed", async () => {
    await inSchema(async () => {
      await Effect.runPromise(migrate(connection))
      await query(`INSERT INTO laurel_partition (id, lineage, epoch, owner, last, checksum, format)
        VALUES (1, 'lineage', 1, 'owner', 0, 0, ${dataFormat}), (2, 'lineage', 1, 'owner', 0, 0, ${dataFormat + by})`)
      const journalOf = (partition: number) =>
        new PgJournal({ sessions: only(connection), partition })
      const words = `The cluster ${otherFormat(dataFormat + by)}. Nothing was changed.`
      for (const read of [
        checkFormat(connection),
        readClusterStatus(connection),
        journalOf(2).read,
      ]) {
        const failure = await Effect.runPromise(Effect.flip(read as InPostgres<unknown>))
        expect(failure).toMatchObject({ isOutage: false, isRefusal: true, words })
      }
      expect(await Effect.runPromise(journalOf(1).read)).toMatchObject({ lineage: "lineage" })
      await query(`UPDATE laurel_partition SET format = ${dataFormat}`)
      await Effect.runPromise(checkFormat(connection))
    })
  })
})

it("A cluster from before formats had a number is refused", async () => {
  await inSchema(async () => {
    await query("CREATE TABLE laurel_partition (id int PRIMARY KEY)")
    await Effect.runPromise(checkFormat(connection))
    await query("INSERT INTO laurel_partition VALUES (1)")
    const failure = await Effect.runPromise(Effect.flip(checkFormat(connection)))
    expect(failure.words).toContain("The cluster has format 1")
  })
})

/** Repeats what a busy machine answers late, as the product does. */
const patient = <A, E extends { readonly _tag: string }, R>(call: Effect.Effect<A, E, R>) =>
  Effect.retry(call, { while: ({ _tag }) => _tag === "Unavailable" })

describe("A copy that follows", () => {
  it("takes over no record of another format, and is not opened again", async () => {
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
        expect(refused.message).toContain(otherFormat(dataFormat + 1))
        const fence = yield* Effect.promise(() => query("SELECT owner FROM laurel_partition"))
        expect(fence).toEqual([{ owner: "one" }])
      }).pipe(Effect.scoped, Effect.runPromise),
    )
  })
})

const runner = (address: string, silentMs: number) =>
  query(`INSERT INTO laurel_runner (address, version, answered, forwarded, lock_expiration_ms, seen_at)
    VALUES ('${address}', '9.9.9', 0, 0, 3000, now() - ${silentMs} * interval '1 millisecond')`)

describe("The row of a runner", () => {
  it("has its version and requests, and rows of runners that are long gone are removed", async () => {
    await inSchema(async () => {
      await Effect.runPromise(migrate(connection))
      await runner("gone", limits.runnerForgottenMs + 1_000)
      await runner("kept", limits.runnerForgottenMs - 60_000)
      const row = new RunnerRow({ address: "own", lockExpirationMs: 10_000 })
      row.requests = () => ({ answered: 7, forwarded: 3 })
      await row.write(run)
      const read = "SELECT address, version, answered, forwarded FROM laurel_runner ORDER BY 1"
      const other = { version: "9.9.9", answered: "0", forwarded: "0" }
      const own = { version, answered: "7", forwarded: "3" }
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
    expect(names).toEqual(["runner"])
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
