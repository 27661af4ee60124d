/** What an opening does with the partitions in a directory. */
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Result } from "effect"
import { exitCodes } from "../../../src/cli/output/ExitCode.ts"
import { openEngine } from "../../../src/cli/process/OpenEngine.ts"
import { readConfig } from "../../../src/config/Config.ts"
import { ofPartition } from "../../../src/config/PartitionConfig.ts"
import { partitionOf } from "../../../src/domain/project/Directory.ts"
import { Engine } from "../../../src/engine/Engine.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"

const configIn = (LAUREL_DATA_DIR: string) =>
  Result.getOrThrow(readConfig({ LAUREL_DATA_DIR, LAUREL_DASHBOARD: "off" }).config)

const opened = (config: ReturnType<typeof configIn>) =>
  Effect.map(openEngine(config), ({ services }) => Context.get(services, Engine))

describe("An opened data directory", () => {
  it.live("without a cluster has all projects itself, whatever partitions they had", () =>
    Effect.gen(function* () {
      const config = configIn(yield* temporaryFolder)
      const create = (name: string) =>
        ({
          kind: "createProject",
          by: "operator",
          project: { id: name, name },
          partitions: 2,
        }) as const
      yield* Effect.scoped(
        Effect.gen(function* () {
          const engine = yield* opened(config)
          for (const name of ["one", "two"]) yield* engine.askDirectory(create(name))
          const { projects } = yield* engine.readDirectory
          expect([...projects.values()].map(partitionOf)).toEqual([1, 2])
        }),
      )
      const sequences = []
      for (let start = 0; start < 2; start++) {
        const { projects, sequence } = yield* Effect.scoped(
          Effect.flatMap(opened(config), ({ readDirectory }) => readDirectory),
        )
        expect([...projects.values()].map(partitionOf)).toEqual([1, 1])
        sequences.push(sequence)
      }
      // Once.
      expect(sequences[1]).toBe(sequences[0])
    }),
  )

  it.live("of another partition than the first says so, and is no server's alone", () =>
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
