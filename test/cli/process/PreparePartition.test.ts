/** A partition on a server of a cluster whose opening fails. */
import { readdir, symlink } from "node:fs/promises"
import path from "node:path"
import { afterAll, beforeAll, expect, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Result } from "effect"
import { exitCodes } from "../../../src/cli/output/ExitCode.ts"
import {
  makeSharedParts,
  openingFailure,
  type PartitionOfServer,
  preparePartition,
} from "../../../src/cli/process/ClusterServer.ts"
import { ofPartition, readConfig } from "../../../src/config/Config.ts"
import { snapshotKey } from "../../../src/engine/state/SnapshotMark.ts"
import { newReadiness } from "../../../src/http/server/Readiness.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import * as DurableStorage from "../../../src/storage/durable/DurableStorage.ts"
import type { HasLock } from "../../../src/storage/postgres/PgJournal.ts"
import { encodeValue } from "../../../src/storage/SealedValue.ts"
import { Postgres } from "../../storage/postgres/Postgres.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"

let postgres: Postgres
beforeAll(async () => {
  postgres = await Postgres.make()
})
afterAll(() => postgres.remove())

/** A partition in a schema of its own; of the server, it has only what comes before the claim. */
const preparing = Effect.fnUntraced(function* (
  schema: string,
  hasLock: HasLock = () => Effect.succeed(true),
) {
  const url = yield* Effect.promise(() => postgres.schema(schema))
  return yield* preparingIn(yield* temporaryFolder, schema, url, hasLock)
})

const preparingIn = Effect.fnUntraced(function* (
  LAUREL_DATA_DIR: string,
  schema: string,
  url: string,
  hasLock: HasLock = () => Effect.succeed(true),
) {
  const settings = { LAUREL_DATA_DIR, LAUREL_CLUSTER: url }
  const config = Result.getOrThrow(readConfig({ ...settings, LAUREL_DASHBOARD: "off" }).config)
  const number = 2
  const { serve } = yield* preparePartition({
    ...{ number, hasLock },
    server: { config, url, metrics: new Metrics(), readiness: newReadiness() },
    shared: yield* makeSharedParts(config, url),
    directory: { of: () => ({ own: number, join: Effect.succeed }) },
  } as unknown as PartitionOfServer)
  const rows = Effect.promise(() =>
    postgres.query("SELECT id, epoch, owner FROM laurel_partition", schema),
  )
  const expectUnclaimed = Effect.map(rows, (found) =>
    expect(found).toEqual([{ id: number, epoch: "0", owner: "" }]),
  )
  return { ...ofPartition(config, number), serve, expectUnclaimed }
})

it.live("A partition is not claimed by a server whose disk is full", () =>
  Effect.gen(function* () {
    const { dataDirectory, expectUnclaimed, serve } = yield* preparing("full")
    // Every write to this device fails with ENOSPC.
    const draft = path.join(dataDirectory, "archives.json.draft")
    yield* Effect.promise(() => symlink("/dev/full", draft))
    expect(yield* Effect.flip(serve)).toMatchObject({ exitCode: exitCodes.cannotWrite })
    yield* expectUnclaimed
  }),
)

it.live("A partition is not claimed by a server that has lost its lock", () =>
  Effect.gen(function* () {
    const asked = yield* Deferred.make<void>()
    const hasLock = () => Effect.as(Deferred.succeed(asked, undefined), false)
    const { expectUnclaimed, serve } = yield* preparing("lost", hasLock)
    yield* Effect.raceFirst(Deferred.await(asked), serve)
    yield* expectUnclaimed
  }),
)

it.live("A partition whose copy recovery finds damaged is filled again by the next opening", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const url = yield* Effect.promise(() => postgres.schema("damaged"))
    const prepare = Effect.scoped(
      Effect.map(preparingIn(folder, "damaged", url), ({ dataDirectory }) => dataDirectory),
    )
    const directory = yield* prepare
    // Each part is whole, but the journal has lost the records that the snapshot has.
    const value = encodeValue(JSON.stringify({ watermark: 99, at: 0, journal: [] }))
    yield* Effect.scoped(
      Effect.flatMap(DurableStorage.make({ directory }), ({ writeEntries }) =>
        writeEntries([{ table: "meta", key: snapshotKey, value }]),
      ),
    )
    const failure = yield* Effect.flip(prepare)
    expect(openingFailure(Cause.fail(failure), true)).toBe("unwritable")
    expect(String(failure)).toContain("damaged")
    expect(yield* prepare).toBe(directory)
    expect(yield* Effect.promise(() => readdir(directory))).toContain("discarded-1")
  }),
)
