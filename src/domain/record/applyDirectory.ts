/** How the facts of a record change the directory. */
import { limits } from "../../Limits.ts"
import { applyAccountFacts, isAccountFact } from "../accounts/AccountFact.ts"
import type { ApiKey, DirectoryState } from "../project/Directory.ts"
import type { JournalRecord } from "./Record.ts"
import { withLatest } from "./withLatest.ts"

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
        if (key === undefined) break
        keys = withLatest(keys, { ...key, revokedAt: record.at }, isRevoked, limits.revokedKeysMax)
        break
      }
    }
  }
  const people = applyAccountFacts(state, record.facts.filter(isAccountFact), record.at)
  return { sequence: record.sequence, hashSecret, projects, keys, ...people }
}

const isRevoked = ({ revokedAt }: ApiKey): boolean => revokedAt !== null
