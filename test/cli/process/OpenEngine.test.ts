/** What an opening does with the partitions in a directory. */
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Result } from "effect"
import { exitCodes } from "../../../src/cli/output/ExitCode.ts"
import { openEngine } from "../../../src/cli/process/OpenEngine.ts"
import { ofPartition, readConfig } from "../../../src/config/Config.ts"
import { Engine } from "../../../src/engine/Engine.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { readLineage, writeLineage } from "../../../src/storage/durable/LineageFile.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"

const configIn = (LAUREL_DATA_DIR: string) =>
  Result.getOrThrow(readConfig({ LAUREL_DATA_DIR, LAUREL_DASHBOARD: "off" }).config)

const opened = (config: ReturnType<typeof configIn>) =>
  Effect.map(openEngine(config), ({ services }) => Context.get(services, Engine))

describe("An opened data directory", () => {
  it.live(
    "without a cluster leaves the cluster if it has all projects, and is refused unchanged otherwise",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryFolder
        const config = configIn(directory)
        const create = (name: string) =>
          ({
            kind: "createProject",
            by: "operator",
            project: { id: name, name },
            partitions: 2,
          }) as const
        const startsWith = (name: string) =>
          Effect.scoped(
            Effect.flatMap(opened(config), ({ askDirectory }) => askDirectory(create(name))),
          )
        yield* startsWith("one")
        yield* writeLineage(nodeDisk, directory, "cluster")
        yield* startsWith("two")
        // The last record has left the cluster.
        expect(yield* readLineage(nodeDisk, directory)).toBeUndefined()
        yield* writeLineage(nodeDisk, directory, "cluster")
        const failure = yield* Effect.flip(startsWith("three"))
        expect(failure).toMatchObject({ _tag: "CommandFailed", exitCode: exitCodes.refused })
        expect(JSON.stringify(failure)).toContain("two are in other partitions")
        expect(JSON.stringify(failure)).toContain("laurel cluster gather")
        expect(yield* readLineage(nodeDisk, directory)).toBe("cluster")
      }),
  )

  it.live(
    "of partition 3 records its number, and is refused outside a cluster and as another partition",
    () =>
      Effect.gen(function* () {
        const third = ofPartition(configIn(yield* temporaryFolder), 3)
        for (let start = 0; start < 2; start++) {
          const { partition } = yield* Effect.scoped(
            Effect.flatMap(opened(third), ({ readDirectory }) => readDirectory),
          )
          expect(partition).toBe(3)
        }
        const alone = configIn(third.dataDirectory)
        for (const config of [alone, { ...third, partition: { number: 4, whole: alone } }]) {
          const failure = yield* Effect.flip(Effect.scoped(opened(config)))
          expect(failure).toMatchObject({ _tag: "CommandFailed", exitCode: exitCodes.refused })
          expect(JSON.stringify(failure)).toContain("partition 3")
        }
      }),
  )
})
