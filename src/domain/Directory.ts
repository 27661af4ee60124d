/**
 * The directory: which projects exist and which API keys open them. One actor for the whole data directory.
 * A key's text is never kept, only its keyed hash (HMAC-SHA-256 under `hashSecret`): keys are long random
 * strings, so a fast hash is enough. Pure: the engine journals the facts and folds them with `apply`.
 */
import { Result } from "effect"
import { type LaurelError, laurelError } from "./Errors.ts"
import type { Fact, JournalRecord } from "./Record.ts"

export const environmentNames = ["sandbox", "production"] as const
export type EnvironmentName = (typeof environmentNames)[number]
export const scopes = ["full", "ingest", "read"] as const
export type Scope = (typeof scopes)[number]
export const tiers = ["free", "pro", "enterprise"] as const
export type Tier = (typeof tiers)[number]

/** Requests per minute of a tier; `null` is no limit. An enterprise key names its own. */
export const tierRequestsPerMinute: Record<Tier, number | null> = {
  free: 100,
  pro: 1_000,
  enterprise: null,
}

export interface Project {
  readonly id: string
  readonly name: string
  readonly createdAt: number
}

/** Times are epoch milliseconds. `hint` is the start of the key's text, to tell keys apart in lists. */
export interface ApiKey {
  readonly id: string
  readonly projectId: string
  readonly environment: EnvironmentName
  readonly scope: Scope
  readonly tier: Tier
  /** Requests per minute, `null` for no limit. */
  readonly requestsPerMinute: number | null
  /** HMAC-SHA-256 of the key's text, in hex. */
  readonly hash: string
  readonly hint: string
  readonly createdAt: number
  readonly revokedAt: number | null
}

export interface DirectoryState {
  readonly sequence: number
  readonly projects: ReadonlyMap<string, Project>
  readonly keys: ReadonlyMap<string, ApiKey>
}

export const emptyDirectory: DirectoryState = { sequence: 0, projects: new Map(), keys: new Map() }

export type DirectoryCommand =
  /** Creates the key, and its project too where no project has this name. */
  | {
      readonly kind: "createKey"
      readonly projectId: string
      readonly projectName: string
      readonly key: Omit<ApiKey, "projectId" | "createdAt" | "revokedAt">
    }
  | { readonly kind: "revokeKey"; readonly keyId: string }

/** The name of an environment wherever one is stored: `prj_…:sandbox`. */
export const environmentId = (projectId: string, environment: EnvironmentName): string =>
  `${projectId}:${environment}`

export const projectNamed = (state: DirectoryState, name: string): Project | undefined => {
  for (const project of state.projects.values()) if (project.name === name) return project
  return undefined
}

export const decideDirectory = (
  state: DirectoryState,
  command: DirectoryCommand,
  now: number,
): Result.Result<ReadonlyArray<Fact>, LaurelError> => {
  switch (command.kind) {
    case "createKey": {
      const facts: Array<Fact> = []
      let project = projectNamed(state, command.projectName)
      if (project === undefined) {
        project = { id: command.projectId, name: command.projectName, createdAt: now }
        facts.push({ kind: "project.created", project })
      }
      const key = { ...command.key, projectId: project.id, createdAt: now, revokedAt: null }
      facts.push({ kind: "key.created", key })
      return Result.succeed(facts)
    }
    case "revokeKey": {
      const key = state.keys.get(command.keyId)
      if (key === undefined || key.revokedAt !== null) {
        return Result.fail(laurelError("key_not_found", "No key in force has this id."))
      }
      return Result.succeed([{ kind: "key.revoked", keyId: command.keyId }])
    }
  }
}

export const applyDirectory = (state: DirectoryState, record: JournalRecord): DirectoryState => {
  let { projects, keys } = state
  for (const fact of record.facts) {
    if (fact.kind === "project.created") {
      projects = new Map(projects).set(fact.project.id, fact.project)
    } else if (fact.kind === "key.created") {
      keys = new Map(keys).set(fact.key.id, fact.key)
    } else if (fact.kind === "key.revoked") {
      const key = keys.get(fact.keyId)
      if (key !== undefined) keys = new Map(keys).set(key.id, { ...key, revokedAt: record.at })
    }
  }
  return { sequence: record.sequence, projects, keys }
}
