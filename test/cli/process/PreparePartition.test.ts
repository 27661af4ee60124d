/** A partition on a server of a cluster, as its opening fails. */
import { symlink } from "node:fs/promises"
import path from "node:path"
import { afterAll, beforeAll, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { exitCodes } from "../../../src/cli/output/ExitCode.ts"
import {
  type PartitionOfServer,
  preparePartition,
} from "../../../src/cli/process/PreparePartition.ts"
import { makeSharedParts } from "../../../src/cli/process/SharedParts.ts"
import { readConfig } from "../../../src/config/Config.ts"
import { ofPartition } from "../../../src/config/PartitionConfig.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { Postgres } from "../../storage/postgres/Postgres.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"

let postgres: Postgres
beforeAll(async () => {
  postgres = await Postgres.make()
})
afterAll(() => postgres.remove())

it.live("is not claimed by a server whose disk is full", () =>
  Effect.gen(function* () {
    const url = yield* Effect.promise(() => postgres.schema("full"))
    const settings = { LAUREL_DATA_DIR: yield* temporaryFolder, LAUREL_CLUSTER: url }
    const config = Result.getOrThrow(readConfig({ ...settings, LAUREL_DASHBOARD: "off" }).config)
    const number = 2
    // Of the server, only what comes before the claim.
    const server = { config, url, metrics: new Metrics(), readiness: {} }
    const prepared = yield* preparePartition({
      ...{ number, server, hasLock: () => Effect.succeed(true) },
      shared: yield* makeSharedParts(config, url),
      directory: { of: () => ({ own: number, join: Effect.succeed }) },
    } as unknown as PartitionOfServer)
    // Every write to this device fails with ENOSPC.
    const { dataDirectory } = ofPartition(config, number)
    const draft = path.join(dataDirectory, "archives.json.draft")
    yield* Effect.promise(() => symlink("/dev/full", draft))
    const failure = yield* Effect.flip(prepared.serve)
    expect(failure).toMatchObject({ exitCode: exitCodes.cannotWrite })
    const rows = yield* Effect.promise(() =>
      postgres.query("SELECT id, epoch, owner FROM laurel_partition", "full"),
    )
    expect(rows).toEqual([{ id: number, epoch: "0", owner: "" }])
  }),
)
