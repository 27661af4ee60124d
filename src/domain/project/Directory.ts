/**
 * The directory: which projects exist and which API keys open them. One actor for the whole data directory.
 * A key's text is never kept, only its keyed hash (HMAC-SHA-256 under `hashSecret`): keys are long random
 * strings, so a fast hash is enough. Pure: the engine journals the facts and folds them with `apply`.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { type Fault, invalidRequest, type LaurelError, laurelError } from "../values/Errors.ts"
import type { Fact, JournalRecord } from "../record/Record.ts"

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

/** A project's name: lower-case letters, digits and dashes, as in a host name. */
export const projectNamePattern = /^[a-z0-9][a-z0-9-]{0,62}$/

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
  /** From when on it opens nothing; absent for never. */
  readonly expiresAt?: number
  readonly revokedAt: number | null
}

export interface DirectoryState {
  readonly sequence: number
  /** The secret under which keys are hashed, in hex; `null` until the first key is made. */
  readonly hashSecret: string | null
  readonly projects: ReadonlyMap<string, Project>
  readonly keys: ReadonlyMap<string, ApiKey>
}

export const emptyDirectory: DirectoryState = {
  sequence: 0,
  hashSecret: null,
  projects: new Map(),
  keys: new Map(),
}

export type DirectoryCommand =
  /** Keeps the secret for the hashes of all keys to come; once, for ever. */
  | { readonly kind: "createDirectory"; readonly hashSecret: string }
  /** Creates the key, and its project too where no project has this name. */
  | {
      readonly kind: "createKey"
      readonly projectId: string
      readonly projectName: string
      readonly key: Omit<ApiKey, "projectId" | "createdAt" | "revokedAt">
    }
  | { readonly kind: "revokeKey"; readonly keyId: string }
  /** Nothing has happened for a while: a record that says nothing lets the journal go on, and its old end go. */
  | { readonly kind: "heartbeat" }

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
    case "createDirectory":
      return state.hashSecret === null
        ? Result.succeed([{ kind: "directory.created", hashSecret: command.hashSecret }])
        : Result.fail(laurelError("conflict", "The directory has its secret already."))
    case "createKey": {
      const faults = keyFaults(command, now)
      if (faults.length > 0) return Result.fail(invalidRequest(faults))
      if (keysInForce(state) >= limits.keysMax) return quotaExceeded("keys", limits.keysMax)
      const facts: Array<Fact> = []
      let project = projectNamed(state, command.projectName)
      if (project === undefined) {
        if (state.projects.size >= limits.projectsMax) {
          return quotaExceeded("projects", limits.projectsMax)
        }
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
    case "heartbeat":
      return Result.succeed([])
  }
}

const keyFaults = (
  { key, projectName }: Extract<DirectoryCommand, { readonly kind: "createKey" }>,
  now: number,
): ReadonlyArray<Fault> => {
  const faults: Array<Fault> = []
  if (!projectNamePattern.test(projectName)) {
    const detail =
      "must be 1 to 63 lower-case letters, digits or dashes, and begin with a letter or digit"
    faults.push({ pointer: "/project", code: "invalid_format", detail })
  }
  const limit = key.requestsPerMinute
  if (key.tier !== "enterprise" && limit !== tierRequestsPerMinute[key.tier]) {
    const detail = `must be absent: only the enterprise tier chooses its own, ${key.tier} has ${tierRequestsPerMinute[key.tier]}`
    faults.push({ pointer: "/rateLimit", code: "invalid_value", detail })
  } else if (
    limit !== null &&
    !(Number.isInteger(limit) && limit >= 1 && limit <= limits.requestsPerMinuteMax)
  ) {
    const detail = `must be a whole number from 1 to ${limits.requestsPerMinuteMax}, or null for none`
    faults.push({ pointer: "/rateLimit", code: "out_of_range", detail })
  }
  if (key.expiresAt !== undefined && !(key.expiresAt > now)) {
    faults.push({ pointer: "/expiresAt", code: "out_of_range", detail: "must lie in the future" })
  }
  return faults
}

const quotaExceeded = (what: string, most: number) =>
  Result.fail(laurelError("quota_exceeded", `There may be at most ${most} ${what}.`))

const keysInForce = (state: DirectoryState): number => {
  let count = 0
  for (const key of state.keys.values()) if (key.revokedAt === null) count++
  return count
}

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
  return { sequence: record.sequence, hashSecret, projects, keys }
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
