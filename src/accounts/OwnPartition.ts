/**
 * The part of a cluster's directory that one partition serves. It knows the keys of its own projects alone: a request
 * with another one's key has come to the wrong engine, which has none of that project's data.
 */
import { Context } from "effect"
import { type DirectoryState, partitionOf } from "../domain/project/Directory.ts"

/** The partition of this engine; `undefined` without several of them. */
export const OwnPartition = Context.Reference<number | undefined>("accounts/OwnPartition", {
  defaultValue: () => undefined,
})

/** The directory with the keys of a partition's projects alone; the same object where there is one partition. */
export const keysOf = (own: number | undefined, directory: DirectoryState): DirectoryState => {
  if (own === undefined) return directory
  const { keys, projects } = directory
  const isOwn = (projectId: string): boolean => partitionOf(projects.get(projectId) ?? {}) === own
  return { ...directory, keys: new Map([...keys].filter(([, key]) => isOwn(key.projectId))) }
}
