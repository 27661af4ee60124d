/** How the facts of a record change the directory. Pure, synchronous, total. */
import { limits } from "../../Limits.ts"
import { applyAccountFacts, isAccountFact } from "../accounts/Account.ts"
import {
  type ApiKey,
  type DirectoryState,
  isKeyInForce,
  keyEndsAt,
  type Project,
} from "../project/Directory.ts"
import type { FactOf, JournalRecord } from "./Record.ts"

export const applyDirectory = (state: DirectoryState, record: JournalRecord): DirectoryState => {
  let { hashSecret, projects, keys, partition } = state
  for (const fact of record.facts) {
    switch (fact.kind) {
      case "directory.created":
        hashSecret = fact.hashSecret
        break
      case "partition.begun":
        partition = fact.partition
        break
      case "project.created":
        projects = new Map(projects).set(fact.project.id, fact.project)
        break
      case "project.renamed":
      case "project.archived":
      case "project.unarchived":
      case "project.limited": {
        const project = projects.get(fact.projectId)
        if (project !== undefined) {
          projects = new Map(projects).set(project.id, changedProject(project, fact, record.at))
        }
        break
      }
      case "projects.gathered":
        projects = new Map(Array.from(projects, ([id, project]) => [id, gathered(project)]))
        break
      case "key.created":
        keys = changed(keys, record.at, fact.key)
        break
      case "key.rotated": {
        const old = keys.get(fact.keyId)
        const ending = old && { ...old, expiresAt: fact.expiresAt, replacedBy: fact.key.id }
        keys = changed(keys, record.at, ...(ending === undefined ? [] : [ending]), fact.key)
        break
      }
      case "key.revoked": {
        const key = keys.get(fact.keyId)
        if (key !== undefined) keys = changed(keys, record.at, { ...key, revokedAt: record.at })
        break
      }
      case "keys.used": {
        const used = fact.used.flatMap(([keyId, lastUsedAt]) => {
          const key = keys.get(keyId)
          return key === undefined ? [] : [{ ...key, lastUsedAt }]
        })
        keys = changed(keys, record.at, ...used)
        break
      }
    }
  }
  const people = applyAccountFacts(state, record.facts.filter(isAccountFact), record.at)
  const { sequence } = record
  return {
    sequence,
    hashSecret,
    projects,
    keys,
    ...(partition !== undefined && { partition }),
    ...people,
  }
}

type Keys = DirectoryState["keys"]

/**
 * `keys` with `some` replaced or added. Of more than `endedKeysMax` ended keys, those that ended
 * first are dropped.
 */
const changed = (keys: Keys, at: number, ...some: ReadonlyArray<ApiKey>): Keys => {
  const next = new Map(keys)
  for (const key of some) next.set(key.id, key)
  const ended = [...next.values()].filter((key) => !isKeyInForce(key, at))
  const surplus = ended.length - limits.endedKeysMax
  if (surplus <= 0) return next
  ended.sort((one, other) => keyEndsAt(one) - keyEndsAt(other))
  for (const { id } of ended.slice(0, surplus)) next.delete(id)
  return next
}

const gathered = ({ partition: _, ...project }: Project): Project => project

const changedProject = (
  project: Project,
  fact: FactOf<"project.renamed" | "project.archived" | "project.unarchived" | "project.limited">,
  at: number,
): Project => {
  switch (fact.kind) {
    case "project.renamed":
      return { ...project, name: fact.name }
    case "project.archived":
      return { ...project, archivedAt: at }
    case "project.unarchived": {
      const { archivedAt: _, ...used } = project
      return used
    }
    case "project.limited":
      return { ...project, limit: fact.limit }
  }
}
