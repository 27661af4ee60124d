/**
 * Accounts as HTTP sees them: who the caller is, and the rate limit. All members answer
 * synchronously from memory, because every request passes them.
 */
import { Context } from "effect"
import type {
  CallerScope,
  EnvironmentName,
  KeyKind,
  Tier,
  TokenScope,
} from "../domain/project/Directory.ts"
import type { AddressRanges } from "./AddressRanges.ts"
import type { KeyUse } from "./KeyUses.ts"

/** The origins of web pages and the addresses that may use a key; `undefined`: all. */
export interface KeyRestrictions {
  readonly origins: ReadonlySet<string> | undefined
  readonly addresses: AddressRanges | undefined
}

/**
 * Who sends a request, and to which project and environment. `environment` is the engine's id of
 * the environment (`prj_…:sandbox`). For a user token `keyId` is the key that made the token; for a
 * page of the dashboard it is the account.
 */
export interface Caller {
  /** `account`: a page of the dashboard. */
  readonly kind: KeyKind | "user" | "account"
  readonly keyId: string
  /** The account that uses the dashboard; absent for an API key. */
  readonly accountId?: string
  /** The user of a user token. Its requests may name no other user. */
  readonly userId?: string
  /** When a user token was made, and when it expires; epoch milliseconds. */
  readonly issuedAt?: number
  readonly expiresAt?: number
  /** What a user token may do only if its maker says so. */
  readonly tokenScopes?: ReadonlyArray<TokenScope>
  readonly projectId: string
  readonly environmentName: EnvironmentName
  readonly environment: string
  readonly scope: CallerScope
  /** The tier of the project. */
  readonly tier: Tier
  /** Absent: requests may come from anywhere. */
  readonly restrictions?: KeyRestrictions | undefined
  /** `consume` and `look` write the time of the request here. */
  readonly use?: KeyUse
}

/** Whether the caller is a web page or an app, where everybody can read the key. */
export const isClient = ({ kind }: Caller): boolean => kind === "publishable" || kind === "user"

/**
 * `limit` is requests per minute; `null` is no limit, and `remaining` and `resetSeconds` then have
 * no meaning.
 */
export interface RateLimitState {
  readonly limited: boolean
  readonly limit: number | null
  readonly remaining: number
  /** Seconds until the window ends, at least 1. */
  readonly resetSeconds: number
  /** `user`: the limit of one user's tokens. */
  readonly tier: Tier | "user"
}

/** `expiresAt` is epoch milliseconds. */
export interface MadeToken {
  readonly token: string
  readonly expiresAt: number
}

export class Accounts extends Context.Service<
  Accounts,
  {
    /**
     * The caller with this key or user token; `undefined` if the key or token is unknown or no
     * longer in force.
     */
    readonly authenticate: (keyText: string) => Caller | undefined
    /**
     * Whether the key of an earlier authenticated caller, and its token if it has one, are still in
     * force.
     */
    readonly isInForce: (caller: Caller) => boolean
    /**
     * The tier of a project; `undefined` if the project does not exist, is archived, or belongs to
     * another partition.
     */
    readonly tierOf: (projectId: string) => Tier | undefined
    /** Makes a token of a user; `undefined` unless the caller has a secret key in force. */
    readonly makeToken: (
      caller: Caller,
      userId: string,
      seconds: number,
      scopes?: ReadonlyArray<TokenScope>,
    ) => MadeToken | undefined
    /**
     * Changes whenever any key changes or expires. A result of `authenticate` may be cached as long
     * as it is the same.
     */
    readonly version: number
    /**
     * Takes `amount` requests, at least 1, from the caller's rate limit; takes nothing if the
     * result is `limited`.
     */
    readonly consume: (caller: Caller, amount: number) => RateLimitState
    /** Whether `consume` would be limited; takes nothing. */
    readonly look: (caller: Caller, amount: number) => RateLimitState
  }
>()("accounts/Accounts") {}
