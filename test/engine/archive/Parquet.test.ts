import { readdir, readFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { exportParquet } from "../../../src/engine/archive/exports/ParquetJob.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { limits } from "../../../src/Limits.ts"
import { askDuckDb } from "../../duckdb.ts"
import { limited } from "../../limited.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { event, sandbox } from "../fixture.ts"
import { alone, found, running } from "./fixture.ts"

const users = 9

/** A directory with a snapshot, and records of all users and an erasure after it. */
const written = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const { close, engine } = yield* running({ directory, host })
  yield* found(engine)
  for (let n = 0; n < users; n++) yield* engine.askUser(sandbox, event(`u${n}`, "TAP"))
  // Its erasure is a stored job: the journal still has the records.
  yield* engine.askUser(sandbox, { userId: "u8", command: { kind: "erasure" } })
  yield* close()
  const again = yield* running({ directory, host })
  for (let n = 0; n < users - 2; n++) {
    for (let times = 0; times <= n; times++) {
      yield* again.engine.askUser(sandbox, event(`u${n}`, "TAP"))
    }
  }
  yield* again.engine.askUser(sandbox, { userId: "u6", command: { kind: "erasure" } })
  yield* again.engine.askUser(sandbox, event("u6", "TAP"))
  const expected = []
  for (let n = 0; n < users; n++) {
    const user = yield* again.engine.readUser(sandbox, `u${n}`)
    if (user !== undefined) expected.push({ user_id: user.id, xp: user.xp })
  }
  yield* again.close("kill")
  return { directory, expected }
})

const exported = Effect.fnUntraced(function* (folder: string) {
  const to = path.join(yield* temporaryFolder, "tables")
  const input = { folder, to, laurel: "1", at: Date.now(), scope: null }
  const result = yield* Effect.scoped(exportParquet(input, alone))
  return { to, result }
})

const compare = Effect.fnUntraced(function* (
  to: string,
  expected: ReadonlyArray<Record<string, unknown>>,
) {
  const ask = (sql: string) => Effect.promise(() => askDuckDb(to, sql))
  const people = yield* ask("select user_id, xp from '$/users/*.parquet' order by user_id")
  expect(people).toEqual(expected)
  const earned = yield* ask(
    `select user_id, sum(amount) as xp from '$/facts/*.parquet' where kind = 'xp.earned'
     group by user_id order by user_id`,
  )
  expect(earned).toEqual(expected)
  const numbered = yield* ask(
    "select count(*) as rows, count(distinct (sequence, number)) as different from '$/facts/*.parquet'",
  )
  expect(numbered[0]!.rows).toBe(numbered[0]!.different)
})

describe("An export of tables", () => {
  it.live("has users as of the last record, without those who are erased, in bounded steps", () =>
    Effect.gen(function* () {
      const { directory, expected } = yield* written
      expect(expected.map(({ user_id }) => user_id)).toEqual([
        ...["u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7"],
      ])
      const whole = yield* exported(directory)
      expect(whole.result).toMatchObject({ users: 8, balances: 16, parts: 3 })
      yield* compare(whole.to, expected)
      yield* limited({ parquetUsersMax: 4, parquetGroupRowsMax: 3, parquetPartBytes: 1 })
      const small = yield* exported(directory)
      expect(small.result).toMatchObject({ ...whole.result, parts: expect.any(Number) })
      expect(small.result.parts).toBeGreaterThan(3)
      const files = yield* Effect.promise(() => readdir(path.join(small.to, "users")))
      expect(files.sort()[0]).toBe("part-00001.parquet")
      yield* compare(small.to, expected)
      yield* limited({ parquetGroupRowsMax: 20_000, parquetGroupBytes: 2_500 })
      const byBytes = yield* exported(directory)
      expect(byBytes.result.parts).toBeGreaterThan(3)
      expect(byBytes.result.parts).toBeLessThan(small.result.parts)
      yield* compare(byBytes.to, expected)
    }),
  )

  it.live("without rows has the columns of each table", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const host = yield* makeWorkerHost({ background: false })
      const { close, engine } = yield* running({ directory, host })
      yield* found(engine)
      yield* close()
      const { result, to } = yield* exported(directory)
      expect(result).toMatchObject({ facts: 0, users: 0, balances: 0, parts: 3 })
      const ask = (sql: string) => Effect.promise(() => askDuckDb(to, sql))
      expect(yield* ask("select user_id, xp from '$/users/*.parquet'")).toEqual([])
      expect(yield* ask("select kind, decided_at, amount from '$/facts/*.parquet'")).toEqual([])
    }),
  )

  it.live("is bounded by the size of an object of a bucket, and says when it is whole", () =>
    Effect.gen(function* () {
      expect(limits.parquetPartBytes).toBeLessThan(limits.bucketObjectBytesMax)
      const { directory } = yield* written
      const { result, to } = yield* exported(directory)
      const text = yield* Effect.promise(() => readFile(path.join(to, "export.json"), "utf8"))
      expect(JSON.parse(text)).toMatchObject({
        sequence: result.sequence,
        tables: { facts: { files: 1, rows: result.facts } },
      })
      const names = yield* Effect.promise(() => readdir(path.dirname(to)))
      expect(names).toEqual(["tables"])
    }),
  )
})
