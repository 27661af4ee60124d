/** A server's copy of a partition whose first records PostgreSQL has deleted: the newest archive fills it. */
import { readdir, truncate } from "node:fs/promises"
import path from "node:path"
import { afterAll, beforeAll, expect, it } from "@effect/vitest"
import { Context, Effect, Result } from "effect"
import { exitCodes } from "../../../src/cli/output/ExitCode.ts"
import { RestoredTo } from "../../../src/cli/process/DataDirectory.ts"
import { openEngine } from "../../../src/cli/process/OpenEngine.ts"
import { archivesIn, ofPartition, readConfig } from "../../../src/config/Config.ts"
import { askedFor } from "../../../src/engine/archive/bucket/Shipments.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { Engine, type UserMessage } from "../../../src/engine/Engine.ts"
import { bucketIn } from "../../engine/archive/bucketFixture.ts"
import { event, sandbox } from "../../engine/fixture.ts"
import { Postgres } from "../../storage/postgres/Postgres.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"

let postgres: Postgres
beforeAll(async () => {
  postgres = await Postgres.make()
})
afterAll(() => postgres.remove())

it.live(
  "A copy without its first records is filled from the newest intact archive of folder or bucket",
  () =>
    Effect.gen(function* () {
      const url = yield* Effect.promise(() => postgres.schema("refill"))
      const query = (text: string) => Effect.promise(() => postgres.query(text, "refill"))
      const base = yield* temporaryFolder
      const archived = path.join(base, "archived")
      const s3 = yield* bucketIn("laurel/")
      const { accessKeyId, endpoint, secretAccessKey } = s3.place
      const configOf = (name: string, more: Record<string, string> = {}) => {
        const LAUREL_DATA_DIR = path.join(base, name)
        const settings = { LAUREL_DATA_DIR, LAUREL_CLUSTER: url, LAUREL_DASHBOARD: "off", ...more }
        return ofPartition(Result.getOrThrow(readConfig(settings).config), 2)
      }
      const inFolder = { LAUREL_ARCHIVE_DIR: archived }
      const inBucket = {
        LAUREL_ARCHIVE_BUCKET: "s3://archives/laurel",
        AWS_ENDPOINT_URL: endpoint,
        AWS_ACCESS_KEY_ID: accessKeyId,
        AWS_SECRET_ACCESS_KEY: secretAccessKey,
      }
      /** Sends an event of each of these users, and reads what all of them have. */
      const within = (config: ReturnType<typeof configOf>, users: ReadonlyArray<string> = []) =>
        Effect.scoped(
          Effect.gen(function* () {
            const { services } = yield* openEngine(config)
            expect(Context.get(services, RestoredTo)).toBeUndefined()
            const engine = Context.get(services, Engine)
            const messages = users.map((user): UserMessage => event(user, "TAP"))
            if (users.length > 0) yield* engine.askUsers(sandbox, messages)
            const found: Array<string> = []
            for (const user of ["u1", "u2", "u3"]) {
              const read = yield* Effect.result(engine.readUser(sandbox, user))
              if (Result.isSuccess(read)) found.push(user)
            }
            return found
          }),
        )
      const first = configOf("first", inFolder)
      const host = yield* makeWorkerHost({ background: false })
      const archives = archivesIn(first)
      const archive = (at: number) =>
        host.run("archive", {
          ...{ directory: first.dataDirectory, archives, at, throttled: false },
          reason: "request",
        })
      yield* within(first, ["u1"])
      const older = yield* archive(1e12)
      yield* within(first, ["u2"])
      const newer = yield* archive(2e12)
      expect(yield* within(first, ["u3"])).toEqual(["u1", "u2", "u3"])
      const ship = { archives, retention: { hourly: 9, daily: 9 }, collect: false }
      yield* host.run("ship", ship, {
        asked: askedFor({ ...s3.place, prefix: "laurel/partitions/2/" }),
      })
      // As a prune.
      yield* query(`DELETE FROM laurel_journal WHERE first + count - 1 <= ${older.sequence}`)

      const nothing = configOf("nothing")
      const failure = yield* Effect.flip(within(nothing))
      expect(failure).toMatchObject({ exitCode: exitCodes.noData })
      expect(JSON.stringify(failure)).toContain(
        `No archive in ${archivesIn(nothing)} has record ${older.sequence} and is of PostgreSQL's journal.`,
      )

      const second = configOf("second", inFolder)
      expect(yield* within(second)).toEqual(["u1", "u2", "u3"])
      const names = (yield* Effect.promise(() => readdir(second.dataDirectory))).sort()
      expect(names).toEqual(["journal", "lineage.json", "live", "lock"])

      // The newest one is damaged here, not there.
      const database = path.join(archives, newer.id, "live", "data.mdb")
      yield* Effect.promise(() => truncate(database, 5_000))
      expect(yield* within(configOf("third", inFolder))).toEqual(["u1", "u2", "u3"])
      yield* query(`DELETE FROM laurel_journal WHERE first <= ${older.sequence + 1}`)
      const damaged = yield* Effect.flip(within(configOf("fourth", inFolder)))
      expect(JSON.stringify(damaged)).toContain(`Archive ${newer.id} in ${archives} could not be`)
      const fifth = configOf("fifth", inBucket)
      expect(yield* within(fifth)).toEqual(["u1", "u2", "u3"])
      expect(yield* Effect.promise(() => readdir(archivesIn(fifth)))).toEqual([])
    }),
)
