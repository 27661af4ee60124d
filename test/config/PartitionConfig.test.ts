import { Result } from "effect"
import { describe, expect, it } from "vitest"
import {
  archivesIn,
  clusterDirectory,
  type Environment,
  heartbeatMsOf,
  ofPartition,
  partitionNumber,
  readConfig,
} from "../../src/config/Config.ts"
import { limits } from "../../src/Limits.ts"

const configOf = (environment: Environment) => Result.getOrThrow(readConfig(environment).config)

describe("The configuration of a partition", () => {
  it("has a data directory in that of the cluster, and its archives there", () => {
    const config = configOf({ LAUREL_DATA_DIR: "/data" })
    expect([partitionNumber(config), clusterDirectory(config)]).toEqual([1, "/data"])
    const third = ofPartition(config, 3)
    expect(third.dataDirectory).toBe("/data/partitions/3")
    expect(archivesIn(third)).toBe("/data/partitions/3/archive")
    expect([partitionNumber(third), clusterDirectory(third)]).toEqual([3, "/data"])
    expect(third.archiveBucket).toBeUndefined()
    // From that of another partition it is the same.
    expect(ofPartition(ofPartition(config, 7), 3)).toEqual(third)
  })

  it("has heartbeats apart from those of the others, none rarer than without a cluster", () => {
    const config = configOf({ LAUREL_DATA_DIR: "/data" })
    const all = Array.from({ length: limits.clusterPartitions }, (_, index) =>
      heartbeatMsOf(ofPartition(config, index + 1)),
    )
    expect(heartbeatMsOf(config)).toBe(limits.journalHeartbeatMs)
    expect(Math.max(...all)).toBe(limits.journalHeartbeatMs)
    for (const [index, ms] of all.slice(1).entries()) {
      // The thread that writes of the one before has ended.
      const pauseMs = limits.writeThreadIdleMs + 2 * limits.snapshotIntervalMs
      expect(all[index]! - ms).toBeGreaterThan(pauseMs)
    }
  })

  it("has archives of its own, except that the first has those from before the cluster", () => {
    const config = configOf({
      LAUREL_DATA_DIR: "/data",
      LAUREL_ARCHIVE_DIR: "/archives",
      LAUREL_ARCHIVE_BUCKET: "s3://bucket/laurel",
      AWS_ACCESS_KEY_ID: "id",
      AWS_SECRET_ACCESS_KEY: "secret",
    })
    const first = ofPartition(config, 1)
    expect(first.dataDirectory).toBe("/data/partitions/1")
    expect(archivesIn(first)).toBe("/archives")
    expect(first.archiveBucket).toEqual({ bucket: "bucket", prefix: "laurel/" })
    const other = ofPartition(config, 16)
    expect(archivesIn(other)).toBe("/archives/partitions/16")
    expect(other.archiveBucket).toEqual({ bucket: "bucket", prefix: "laurel/partitions/16/" })
  })
})
