/**
 * The part of a cluster's directory that one partition serves. It knows the keys of its own projects alone: whoever asks with
 * another one's key has come to the wrong engine, which has none of that project's data.
 */
import { Context, type Effect } from "effect"
import { type DirectoryState, partitionOf } from "../domain/project/Directory.ts"

export interface Partitioned {
  /** Of this engine. */
  readonly number: number
  /** Ends with the next change of the directory, which another runner made. */
  readonly changed: Effect.Effect<void>
  /** The directory, where another runner changes it. */
  readonly latest?: () => DirectoryState
}

/** `undefined` without several partitions. */
export const OwnPartition = Context.Reference<Partitioned | undefined>("accounts/OwnPartition", {
  defaultValue: () => undefined,
})

/** The directory with the keys of a partition's projects alone; the same object where there is one partition. */
export const keysOf = (own: Partitioned | undefined, directory: DirectoryState): DirectoryState => {
  if (own === undefined) return directory
  const { keys, projects } = directory
  const isOwn = (projectId: string): boolean =>
    partitionOf(projects.get(projectId) ?? {}) === own.number
  return { ...directory, keys: new Map([...keys].filter(([, key]) => isOwn(key.projectId))) }
}
