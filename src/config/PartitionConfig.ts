/**
 * The configuration of a partition: its data directory is a folder in that of the cluster. The archives of the first partition
 * are where they are without a cluster; those of another have a folder of their own there, and a prefix in the bucket.
 */
import path from "node:path"
import { firstPartition } from "../domain/project/Directory.ts"
import { limits } from "../Limits.ts"
import type { Config } from "./Config.ts"

export const partitionsName = "partitions"

const partitionIn = (folder: string, number: number): string =>
  path.join(folder, partitionsName, String(number))

/** `config` is that of the process, or of any partition. */
export const ofPartition = (config: Config, number: number): Config => {
  const whole = config.partition?.whole ?? config
  const { archiveBucket, archiveDirectory, dataDirectory } = whole
  const own = {
    ...whole,
    dataDirectory: partitionIn(dataDirectory, number),
    partition: { number, whole },
  }
  if (number === firstPartition) return own
  return {
    ...own,
    archiveDirectory: archiveDirectory === "" ? "" : partitionIn(archiveDirectory, number),
    archiveBucket: archiveBucket && {
      ...archiveBucket,
      prefix: `${archiveBucket.prefix}${partitionsName}/${number}/`,
    },
  }
}

/** The partition of a configuration; the first one without a cluster. */
export const partitionNumber = ({ partition }: Config): number =>
  partition?.number ?? firstPartition

/** Interval of the heartbeats while nothing is written: a server opens its partitions together, and each has another one. */
export const heartbeatMsOf = (config: Config): number =>
  limits.journalHeartbeatMs - (partitionNumber(config) - 1) * limits.partitionHeartbeatStepMs

/** The directory of a server of the cluster, which has a data directory for each partition. */
export const clusterDirectory = ({ dataDirectory, partition }: Config): string =>
  path.resolve(partition?.whole.dataDirectory ?? dataDirectory)
