/**
 * Accounts as HTTP sees them: the caller of a key, and the rate limit. Both answer at once, from memory: they are
 * on the path of every request.
 */
import { Context } from "effect"
import type { CallerScope, EnvironmentName, KeyKind, Tier } from "../domain/project/Directory.ts"
import type { AddressRanges } from "./AddressRanges.ts"
import type { KeyUse } from "./KeyUses.ts"

/** The addresses from which a key may be used; `undefined`: all. */
export interface KeyRestrictions {
  readonly origins: ReadonlySet<string> | undefined
  readonly addresses: AddressRanges | undefined
}

/** The project and environment of a key. `environment` is the id for the engine (`prj_…:sandbox`). Of a user token, `keyId` is the key that made it; of a page, an account. */
export interface Caller {
  /** `account`: a page of the dashboard. */
  readonly kind: KeyKind | "user" | "account"
  readonly keyId: string
  /** The account behind a request of the dashboard; absent for an API key. */
  readonly accountId?: string
  /** The user of a user token, the only one that its requests may name. */
  readonly userId?: string
  /** When a user token was made, and when it expires; epoch milliseconds. */
  readonly issuedAt?: number
  readonly expiresAt?: number
  readonly projectId: string
  readonly environmentName: EnvironmentName
  readonly environment: string
  readonly scope: CallerScope
  readonly tier: Tier
  /** Absent for a key that may be used from anywhere. */
  readonly restrictions?: KeyRestrictions | undefined
  /** Where `consume` and `look` note the time of the request. */
  readonly use?: KeyUse
}

/** Whether the request comes from where nobody keeps a secret, such as a web page or an app. */
export const isClient = ({ kind }: Caller): boolean => kind === "publishable" || kind === "user"

/** `limit` is requests per minute; `null` is no limit, and then the other numbers say nothing. */
export interface RateLimitState {
  readonly limited: boolean
  readonly limit: number | null
  readonly remaining: number
  /** Seconds until the window ends, at least 1. */
  readonly resetSeconds: number
  /** `user`: of the tokens of one user. */
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
    /** The caller behind the text of a key or user token; `undefined` for each that is not in force. */
    readonly authenticate: (keyText: string) => Caller | undefined
    /** Whether the key, and the token, of a caller that was authenticated before is still in force. */
    readonly isInForce: (caller: Caller) => boolean
    /** A token of a user, made by a secret key; `undefined` for another caller, or a key no longer in force. */
    readonly makeToken: (caller: Caller, userId: string, seconds: number) => MadeToken | undefined
    /** Changes whenever any key does, so that callers may be remembered until then. */
    readonly version: number
    /**
     * Takes `amount` requests, at least 1, from the caller's project and environment; takes nothing if `limited`.
     */
    readonly consume: (caller: Caller, amount: number) => RateLimitState
    /** Whether `consume` would be limited; takes nothing. */
    readonly look: (caller: Caller, amount: number) => RateLimitState
  }
>()("accounts/Accounts") {}
