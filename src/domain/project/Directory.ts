/**
 * The directory: the projects that exist and the API keys that open them. One actor for the whole data directory.
 * It keeps no key's text, only the keyed hash (HMAC-SHA-256 under `hashSecret`): keys are long random strings,
 * so a fast hash is enough.
 */
import { type AccountsState, noAccounts } from "../accounts/Account.ts"

export const environmentNames = ["sandbox", "production"] as const
export type EnvironmentName = (typeof environmentNames)[number]
export const scopes = ["full", "ingest", "read"] as const
export type Scope = (typeof scopes)[number]
export const tiers = ["free", "pro", "enterprise"] as const
export type Tier = (typeof tiers)[number]

/** Requests per minute of a tier; `null` is no limit. An enterprise key sets its own. */
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

/** Times are epoch milliseconds. `hint` is the start of the key's text, for lists. */
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
  /** End of validity; absent for none. */
  readonly expiresAt?: number
  readonly revokedAt: number | null
}

export interface DirectoryState extends AccountsState {
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
  ...noAccounts,
}

/** The stored name of an environment: `prj_…:sandbox`. */
export const environmentId = (projectId: string, environment: EnvironmentName): string =>
  `${projectId}:${environment}`

export const projectNamed = (state: DirectoryState, name: string): Project | undefined => {
  for (const project of state.projects.values()) if (project.name === name) return project
  return undefined
}
