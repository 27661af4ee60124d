/** How the facts of a record change the directory. */
import { limits } from "../../Limits.ts"
import { applyAccountFacts, isAccountFact } from "../accounts/AccountFact.ts"
import type { ApiKey, DirectoryState } from "../project/Directory.ts"
import type { JournalRecord } from "./Record.ts"

export const applyDirectory = (state: DirectoryState, record: JournalRecord): DirectoryState => {
  let { hashSecret, projects, keys } = state
  for (const fact of record.facts) {
    switch (fact.kind) {
      case "directory.created":
        hashSecret = fact.hashSecret
        break
      case "project.created":
        projects = new Map(projects).set(fact.project.id, fact.project)
        break
      case "key.created":
        keys = new Map(keys).set(fact.key.id, fact.key)
        break
      case "key.revoked": {
        const key = keys.get(fact.keyId)
        if (key !== undefined) keys = withRevoked(keys, { ...key, revokedAt: record.at })
        break
      }
    }
  }
  const people = applyAccountFacts(state, record.facts.filter(isAccountFact), record.at)
  return { sequence: record.sequence, hashSecret, projects, keys, ...people }
}

/** Moves a revoked key to the end, so that revoked keys stand in the order of their end, and forgets the first of too many. */
const withRevoked = (
  keys: ReadonlyMap<string, ApiKey>,
  revoked: ApiKey,
): ReadonlyMap<string, ApiKey> => {
  const after = new Map(keys)
  after.delete(revoked.id)
  after.set(revoked.id, revoked)
  const ended = [...after.values()].filter((key) => key.revokedAt !== null)
  for (const { id } of ended.slice(0, Math.max(0, ended.length - limits.revokedKeysMax))) {
    after.delete(id)
  }
  return after
}
