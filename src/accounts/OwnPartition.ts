/**
 * The part of a cluster's directory that one partition serves. The engine of a partition knows only
 * the keys of the partition's own projects. A request with any other key has come to the wrong
 * engine, which has no data of that project.
 */
import { Context } from "effect"
import { type DirectoryState, partitionOf } from "../domain/project/Directory.ts"

/** The partition of this engine; `undefined` if the data has only one. */
export const OwnPartition = Context.Reference<number | undefined>("accounts/OwnPartition", {
  defaultValue: () => undefined,
})

/**
 * The directory with only the keys of the partition's projects; the same object if `own` is
 * `undefined`.
 */
export const keysOf = (own: number | undefined, directory: DirectoryState): DirectoryState => {
  if (own === undefined) return directory
  const { keys, projects } = directory
  const isOwn = (projectId: string): boolean => partitionOf(projects.get(projectId) ?? {}) === own
  return { ...directory, keys: new Map([...keys].filter(([, key]) => isOwn(key.projectId))) }
}
