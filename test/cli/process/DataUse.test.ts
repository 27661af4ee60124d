import { writeFile } from "node:fs/promises"
import path from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { DataUseMetrics, readDataUse } from "../../../src/cli/process/DataUse.ts"
import { ofPartition, readConfig } from "../../../src/config/Config.ts"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"

it.live(
  "Archives of other partitions in the folder of partition 1 count for their own partitions",
  () =>
    Effect.gen(function* () {
      const archives = yield* temporaryFolder
      const settings = { LAUREL_ARCHIVE_DIR: archives, LAUREL_CLUSTER: "postgres://127.0.0.1:1/x" }
      const { config } = readConfig({ LAUREL_DATA_DIR: archives, ...settings })
      const third = ofPartition(Result.getOrThrow(config), 3)
      yield* nodeDisk.makeFolder(third.archiveDirectory)
      yield* Effect.promise(() => writeFile(path.join(third.archiveDirectory, "x"), "x"))
      const bytesOf = (number: number) =>
        Effect.map(readDataUse(ofPartition(third, number)), ({ bytes }) => bytes.archives)
      expect(yield* bytesOf(1)).toBe(0)
      expect(yield* bytesOf(3)).toBeGreaterThan(0)
    }),
)

it.live(
  "Metrics show the last sample of the disk, and none once the disk has not answered for long",
  () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      yield* nodeDisk.makeFolder(path.join(directory, "journal"))
      const archives = path.join(directory, "elsewhere/archives")
      const { config } = readConfig({ LAUREL_DATA_DIR: directory, LAUREL_ARCHIVE_DIR: archives })
      const metrics = new Metrics()
      let now = 0
      const observed = new DataUseMetrics(metrics, () => now)
      const free = () => metrics.value("laurel_disk_free_bytes", { disk: "archives" })
      expect(free()).toBeNaN()
      observed.sampled(yield* readDataUse(Result.getOrThrow(config)))
      expect(free()).toBeGreaterThan(0)
      expect(metrics.value("laurel_data_bytes", { part: "journal" })).toBe(0)
      expect(metrics.value("laurel_data_bytes", { part: "archives" })).toBe(0)
      expect(metrics.value("laurel_disk_size_bytes", { disk: "data" })).toBeGreaterThan(free())
      now = 4 * limits.diskSampleMs
      expect(free()).toBeGreaterThan(0)
      now++
      expect(free()).toBeNaN()
    }),
)
