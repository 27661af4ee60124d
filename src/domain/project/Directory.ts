/**
 * The directory: the projects and their API keys. One actor has the directory of the whole data
 * directory. It stores no text of a key, only the keyed hash (HMAC-SHA-256 with `hashSecret`): keys
 * are long random strings, so a fast hash is enough.
 */

import { limits } from "../../Limits.ts"
import { type AccountsState, noAccounts } from "../accounts/Account.ts"
import type { Fault } from "../values/Errors.ts"

export const environmentNames = ["sandbox", "production"] as const
export type EnvironmentName = (typeof environmentNames)[number]
export const scopes = ["full", "ingest", "read"] as const
export type Scope = (typeof scopes)[number]
/** A secret key is for servers. A publishable key is public: web pages and apps contain it. */
export const keyKinds = ["secret", "publishable"] as const
export type KeyKind = (typeof keyKinds)[number]
/** The scope of a caller. A publishable key and a user token have scopes of their own. */
export type CallerScope = Scope | "publishable" | "user"
export const tiers = ["free", "pro", "enterprise"] as const
export type Tier = (typeof tiers)[number]

/** What a user token may do only if its maker says so: `purchases` buys items for the user. */
export const tokenScopes = ["purchases"] as const
export type TokenScope = (typeof tokenScopes)[number]

/** Requests per minute of the tiers with a fixed limit. A project of the tier `enterprise` has its own limit or none. */
export const tierRequestsPerMinute: Readonly<Record<Exclude<Tier, "enterprise">, number>> = {
  free: 100,
  pro: 1_000,
}

/** How many requests a project may send, in each of its environments. */
export interface ProjectLimit {
  readonly tier: Tier
  /** `null` for no limit. */
  readonly requestsPerMinute: number | null
}

/** The limit of a project for which nobody has set one: only owners and the operator create projects. */
const noLimit: ProjectLimit = { tier: "enterprise", requestsPerMinute: null }

export const limitOf = ({ limit = noLimit }: Pick<Project, "limit">): ProjectLimit => limit

/** A project's name: lower-case letters, digits and dashes, as in a host name. */
export const projectNamePattern = /^[a-z0-9][a-z0-9-]{0,62}$/
export const projectNameCharactersMax = 63

export interface Project {
  readonly id: string
  /** Part of the URLs of the pages of the project. Unique. */
  readonly name: string
  readonly createdAt: number
  /**
   * The time since which the keys of the project are refused; absent while the project is in use.
   */
  readonly archivedAt?: number
  /** The partition of the cluster that has the data of the project; absent: the first partition. */
  readonly partition?: number
  /** Absent until an owner or the operator sets it; see `limitOf`. */
  readonly limit?: ProjectLimit
}

/**
 * The partition that has the directory. The data directory of a server without a cluster becomes
 * this partition.
 */
export const firstPartition = 1

export const partitionOf = ({ partition = firstPartition }: Pick<Project, "partition">): number =>
  partition

/** An API key. Times are epoch milliseconds. */
export interface ApiKey {
  readonly id: string
  readonly projectId: string
  readonly name: string
  /**
   * Absent: `secret`. A publishable key has the scope `read`, and may do less than this scope
   * allows.
   */
  readonly kind?: KeyKind
  readonly environment: EnvironmentName
  readonly scope: Scope
  /** HMAC-SHA-256 of the key's text, in hex. */
  readonly hash: string
  /** The start of the key's text, for lists. */
  readonly hint: string
  readonly createdAt: number
  /** The id of the account that created the key; `operator`: the command line. */
  readonly createdBy: string
  /** The time of the last request with the key, at most `keyUseFlushMs` late. */
  readonly lastUsedAt?: number
  /** The time at which the key expires; absent: never. */
  readonly expiresAt?: number
  readonly revokedAt: number | null
  /** The id of the key that replaced this key in a rotation. */
  readonly replacedBy?: string
  /** The values of `Origin` that a request with an `Origin` may have; absent: all. */
  readonly allowedOrigins?: ReadonlyArray<string>
  /** The address ranges that requests may come from; absent: all. */
  readonly allowedCidrs?: ReadonlyArray<string>
}

/** The scope of a key. */
export const scopeOf = ({ kind, scope }: Pick<ApiKey, "kind" | "scope">): CallerScope =>
  kind === "publishable" ? kind : scope

/** How long the old key of a rotation stays in force. */
export const rotationOverlaps = ["0", "1h", "24h", "7d"] as const
export type RotationOverlap = (typeof rotationOverlaps)[number]
export const rotationOverlapMs: Readonly<Record<RotationOverlap, number>> = {
  "0": 0,
  "1h": 3_600_000,
  "24h": 86_400_000,
  "7d": 7 * 86_400_000,
}

/** The time at which a key expires or was revoked; `Infinity`: never. */
export const keyEndsAt = ({ expiresAt, revokedAt }: ApiKey): number =>
  Math.min(revokedAt ?? Number.POSITIVE_INFINITY, expiresAt ?? Number.POSITIVE_INFINITY)

/** Whether requests with the key are accepted at `now`. */
export const isKeyInForce = (key: ApiKey, now: number): boolean =>
  key.revokedAt === null && (key.expiresAt === undefined || key.expiresAt > now)

export interface DirectoryState extends AccountsState {
  readonly sequence: number
  /** The secret with which keys are hashed, in hex; `null` until the first key is created. */
  readonly hashSecret: string | null
  readonly projects: ReadonlyMap<string, Project>
  readonly keys: ReadonlyMap<string, ApiKey>
  /**
   * The partition of the cluster that the data directory belongs to. Its directory is empty, since
   * the first partition has the projects and keys. Absent: the first partition, or no cluster.
   */
  readonly partition?: number
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

/** Whether the project of a key is archived. */
export const isArchived = ({ projects }: DirectoryState, { projectId }: ApiKey): boolean =>
  projects.get(projectId)?.archivedAt !== undefined

/** The name of the project that the first start creates. */
export const firstProjectName = "demo"

export const projectNamed = (state: DirectoryState, name: string): Project | undefined => {
  for (const project of state.projects.values()) if (project.name === name) return project
  return undefined
}

/*
 * The restrictions of an API key: the origins of web pages and the address ranges that may use the
 * key.
 */

const byte = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
const ipv4 = new RegExp(`^${byte}(?:\\.${byte}){3}$`)
const mappedHex = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/

/**
 * The normal form of an IP address: IPv4 as four numbers, also if it was mapped into IPv6; IPv6 in
 * lower case and compressed. `undefined` for any other text.
 */
export const normalAddress = (text: string): string | undefined => {
  if (ipv4.test(text)) return text
  if (!text.includes(":") || !/^[0-9a-f:.]{2,45}$/i.test(text)) return undefined
  const address = URL.parse(`http://[${text}]`)?.hostname.slice(1, -1)
  if (address === undefined) return undefined
  const [, high, low] = mappedHex.exec(address) ?? []
  if (high === undefined || low === undefined) return address
  return [high, low]
    .map((hex) => Number.parseInt(hex, 16))
    .flatMap((pair) => [pair >> 8, pair & 255])
    .join(".")
}

/** A range or a single address in CIDR notation; `undefined` for any other text. */
export const normalCidr = (text: string): string | undefined => {
  const [, network = "", bits] = /^([^/]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? []
  const address = normalAddress(network)
  // An IPv4 range in the form of IPv6 would count its bits from another place.
  if (address === undefined || address.includes(":") !== network.includes(":")) return undefined
  const width = address.includes(":") ? 128 : 32
  return Number(bits ?? width) <= width ? `${address}/${bits ?? width}` : undefined
}

/** Excludes wildcards, which a URL may contain. */
const originForm = /^https?:\/\/[a-z0-9.:[\]_-]+$/

/** Whether `text` is an origin exactly as browsers send it. */
const isOrigin = (text: string): boolean => {
  if (text.length > limits.originCharactersMax || !originForm.test(text)) return false
  const url = URL.parse(text)
  return url !== null && url.origin === text
}

interface Restrictions {
  readonly allowedOrigins?: ReadonlyArray<string> | undefined
  readonly allowedCidrs?: ReadonlyArray<string> | undefined
}

/** The faults of the restrictions in a request. */
export const restrictionFaults = ({ allowedCidrs, allowedOrigins }: Restrictions) => [
  ...listFaults(
    "/allowedOrigins",
    allowedOrigins ?? [],
    limits.keyOriginsMax,
    isOrigin,
    "must be an origin as browsers send it, such as https://app.example:8443: lower case, no path, no default port",
  ),
  ...listFaults(
    "/allowedCidrs",
    allowedCidrs ?? [],
    limits.keyCidrsMax,
    (text) => normalCidr(text) !== undefined,
    "must be an address or a range, such as 203.0.113.7, 10.0.0.0/8 or 2001:db8::/32",
  ),
]

const listFaults = (
  pointer: string,
  items: ReadonlyArray<string>,
  itemsMax: number,
  isGood: (item: string) => boolean,
  detail: string,
): ReadonlyArray<Fault> => {
  const faults: Array<Fault> = []
  if (items.length > itemsMax) {
    faults.push({ pointer, code: "too_long", detail: `must have at most ${itemsMax} items` })
  }
  for (const [index, item] of items.slice(0, itemsMax).entries()) {
    if (isGood(item)) continue
    faults.push({ pointer: `${pointer}/${index}`, code: "invalid_format", detail })
  }
  return faults
}

/** Restrictions as they are stored: without duplicates, and absent if empty. */
export const normalRestrictions = ({ allowedCidrs = [], allowedOrigins = [] }: Restrictions) => {
  const cidrs = new Set(allowedCidrs.map((cidr) => normalCidr(cidr)!))
  return {
    ...(allowedOrigins.length > 0 && { allowedOrigins: [...new Set(allowedOrigins)] }),
    ...(cidrs.size > 0 && { allowedCidrs: [...cidrs] }),
  }
}
