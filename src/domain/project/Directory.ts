/**
 * The directory: the projects that exist and the API keys that open them. One actor for the whole data directory.
 * It keeps no key's text, only the keyed hash (HMAC-SHA-256 under `hashSecret`): keys are long random strings,
 * so a fast hash is enough.
 */

import { limits } from "../../Limits.ts"
import { type AccountsState, noAccounts } from "../accounts/Account.ts"
import type { Fault } from "../values/Errors.ts"

export const environmentNames = ["sandbox", "production"] as const
export type EnvironmentName = (typeof environmentNames)[number]
export const scopes = ["full", "ingest", "read"] as const
export type Scope = (typeof scopes)[number]
/** A secret key is for servers. A publishable key may be read by anybody: web pages and apps contain it. */
export const keyKinds = ["secret", "publishable"] as const
export type KeyKind = (typeof keyKinds)[number]
/** The scope of a key; a publishable key and a user token have one of their own. */
export type CallerScope = Scope | "publishable" | "user"
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
export const projectNameCharactersMax = 63

export interface Project {
  readonly id: string
  /** Part of the addresses of its pages; unique. */
  readonly name: string
  readonly createdAt: number
  /** Since when its keys are refused; absent while the project is in use. */
  readonly archivedAt?: number
  /** The partition of the cluster that has its data; absent: the first. */
  readonly partition?: number
}

/** An embedded data directory becomes this one, which has the directory of accounts, keys and projects. */
export const firstPartition = 1

export const partitionOf = ({ partition = firstPartition }: Pick<Project, "partition">): number =>
  partition

/** Times are epoch milliseconds. `hint` is the start of the key's text, for lists. Keys made before names have no optional member. */
export interface ApiKey {
  readonly id: string
  readonly projectId: string
  readonly name?: string
  /** Absent: `secret`. The scope of a publishable key is `read`, and it opens less than that. */
  readonly kind?: KeyKind
  readonly environment: EnvironmentName
  readonly scope: Scope
  readonly tier: Tier
  /** Requests per minute, `null` for no limit. */
  readonly requestsPerMinute: number | null
  /** HMAC-SHA-256 of the key's text, in hex. */
  readonly hash: string
  readonly hint: string
  readonly createdAt: number
  /** Id of the account that created it, or `operator` for the command line. */
  readonly createdBy?: string
  /** Time of its last request, at most `keyUseFlushMs` late. */
  readonly lastUsedAt?: number
  /** End of validity; absent for none. */
  readonly expiresAt?: number
  readonly revokedAt: number | null
  /** Id of the key that a rotation created in its place. */
  readonly replacedBy?: string
  /** A request with an `Origin` must have one of these; absent: any. */
  readonly allowedOrigins?: ReadonlyArray<string>
  /** A request must come from one of these ranges; absent: from anywhere. */
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

/** When a key ends or ended, `Infinity` for never. */
export const keyEndsAt = ({ expiresAt, revokedAt }: ApiKey): number =>
  Math.min(revokedAt ?? Number.POSITIVE_INFINITY, expiresAt ?? Number.POSITIVE_INFINITY)

/** Whether requests with the key are accepted at `now`. */
export const isKeyInForce = (key: ApiKey, now: number): boolean =>
  key.revokedAt === null && (key.expiresAt === undefined || key.expiresAt > now)

export interface DirectoryState extends AccountsState {
  readonly sequence: number
  /** The secret under which keys are hashed, in hex; `null` until the first key is made. */
  readonly hashSecret: string | null
  readonly projects: ReadonlyMap<string, Project>
  readonly keys: ReadonlyMap<string, ApiKey>
  /**
   * The partition of the cluster whose data directory this is, which has no projects and keys of its own: those are the first
   * partition's. Absent: this is the first, or there is no cluster.
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

/** The project that a first start makes. */
export const firstProjectName = "demo"

export const projectNamed = (state: DirectoryState, name: string): Project | undefined => {
  for (const project of state.projects.values()) if (project.name === name) return project
  return undefined
}

/* Where an API key may be used from: origins of web pages, and ranges of addresses. */

const byte = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
const ipv4 = new RegExp(`^${byte}(?:\\.${byte}){3}$`)
const mappedHex = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/

/**
 * An IP address in its one form: IPv4 as four numbers, also where it was mapped into IPv6; IPv6 in lower case and compressed.
 * `undefined` for any other text.
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

/** A range in CIDR notation, also of a lone address; `undefined` where `text` is neither. */
export const normalCidr = (text: string): string | undefined => {
  const [, network = "", bits] = /^([^/]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? []
  const address = normalAddress(network)
  // An IPv4 range that is written as IPv6 would count its bits from another place.
  if (address === undefined || address.includes(":") !== network.includes(":")) return undefined
  const width = address.includes(":") ? 128 : 32
  return Number(bits ?? width) <= width ? `${address}/${bits ?? width}` : undefined
}

/** Without wildcards, which URLs may have. */
const originForm = /^https?:\/\/[a-z0-9.:[\]_-]+$/

/** Whether `text` is the origin of a web page exactly as browsers send it. */
const isOrigin = (text: string): boolean => {
  if (text.length > limits.originCharactersMax || !originForm.test(text)) return false
  const url = URL.parse(text)
  return url !== null && url.origin === text
}

interface Restrictions {
  readonly allowedOrigins?: ReadonlyArray<string> | undefined
  readonly allowedCidrs?: ReadonlyArray<string> | undefined
}

/** All that is wrong with them; pointers are those of the request. */
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

/** Restrictions as they are stored: each once, and absent where there is none. */
export const normalRestrictions = ({ allowedCidrs = [], allowedOrigins = [] }: Restrictions) => {
  const cidrs = new Set(allowedCidrs.map((cidr) => normalCidr(cidr)!))
  return {
    ...(allowedOrigins.length > 0 && { allowedOrigins: [...new Set(allowedOrigins)] }),
    ...(cidrs.size > 0 && { allowedCidrs: [...cidrs] }),
  }
}
