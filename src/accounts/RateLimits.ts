/**
 * Rate limits: fixed windows of a minute, each beginning with the first request that it counts.
 *
 * A window belongs to an environment and a policy (tier and requests per minute, of servers or of clients), not to a
 * key: a second key of the same policy brings no second allowance, and clients cannot use up what servers may. Keys of
 * different policies in one environment have a window each, so an enterprise key does not starve a free key beside it.
 *
 * A user token counts twice: in a window of its user, so that one user leaves the others their share, and in that of
 * clients with its key's policy.
 *
 * A request takes all that it asks for or nothing. Windows live in memory only, two per environment and
 * policy in use, so there are never more than twice the keys, and `usersCountedMax` of users. A restart begins new ones.
 */
import {
  type ApiKey,
  type DirectoryState,
  environmentId,
  type Tier,
} from "../domain/project/Directory.ts"
import { limits } from "../Limits.ts"
import type { Caller, RateLimitState } from "./Accounts.ts"

class Window {
  readonly tier: RateLimitState["tier"]
  readonly limit: number
  #startedAt = Number.NEGATIVE_INFINITY
  #used = 0

  constructor(tier: RateLimitState["tier"], limit: number) {
    this.tier = tier
    this.limit = limit
  }

  consume(amount: number, now: number): RateLimitState {
    if (!this.#isLimited(amount, now)) {
      if (this.#used === 0) this.#startedAt = now
      this.#used += amount
      return this.#state(false, now)
    }
    return this.#state(true, now)
  }

  look(amount: number, now: number): RateLimitState {
    return this.#state(this.#isLimited(amount, now), now)
  }

  #isLimited(amount: number, now: number): boolean {
    const age = now - this.#startedAt
    // A clock that was set back ends the window too, or it could last for hours.
    if (age >= limits.rateLimitWindowMs || age < 0) this.#used = 0
    return this.#used + amount > this.limit
  }

  #state(limited: boolean, now: number): RateLimitState {
    const endsAt = (this.#used === 0 ? now : this.#startedAt) + limits.rateLimitWindowMs
    return {
      limited,
      limit: this.limit,
      remaining: this.limit - this.#used,
      resetSeconds: Math.max(1, Math.ceil((endsAt - now) / 1_000)),
      tier: this.tier,
    }
  }
}

const unlimited = (tier: Tier): RateLimitState => ({
  limited: false,
  limit: null,
  remaining: limits.requestsPerMinuteMax,
  resetSeconds: 1,
  tier,
})

const policyOf = (key: ApiKey, of: "clients" | "servers"): string =>
  `${environmentId(key.projectId, key.environment)} ${key.tier} ${key.requestsPerMinute} ${of}`

export class RateLimits {
  #windows = new Map<string, Window>()
  /** The windows of each key, for itself and for the tokens that it made; none of a key without a limit. */
  #windowsByKey = new Map<string, { readonly own: Window; readonly tokens: Window }>()
  readonly #windowsOfUsers = new Map<string, Window>()

  /** Takes over the keys of a changed directory; windows still in use continue. */
  load(directory: DirectoryState): void {
    const windows = new Map<string, Window>()
    const byKey = new Map<string, { readonly own: Window; readonly tokens: Window }>()
    for (const key of directory.keys.values()) {
      const { kind, requestsPerMinute, tier } = key
      if (requestsPerMinute === null) continue
      const windowOf = (of: "clients" | "servers"): Window => {
        const policy = policyOf(key, of)
        const window =
          windows.get(policy) ?? this.#windows.get(policy) ?? new Window(tier, requestsPerMinute)
        windows.set(policy, window)
        return window
      }
      const tokens = windowOf("clients")
      byKey.set(key.id, { own: kind === "publishable" ? tokens : windowOf("servers"), tokens })
    }
    this.#windows = windows
    this.#windowsByKey = byKey
  }

  /** The number of windows of policies: of servers and clients. */
  get size(): number {
    return this.#windows.size
  }

  /** See `Accounts.consume`. `now` is epoch milliseconds. */
  consume(caller: Caller, amount: number, now: number): RateLimitState {
    const windows = this.#windowsByKey.get(caller.keyId)
    if (caller.userId === undefined) {
      return windows?.own.consume(amount, now) ?? unlimited(caller.tier)
    }
    const own = this.#windowOfUser(caller.environment, caller.userId)
    const looked = own.look(amount, now)
    if (looked.limited) return looked
    const shared = windows?.tokens.consume(amount, now)
    return shared?.limited ? shared : own.consume(amount, now)
  }

  /** See `Accounts.look`. */
  look(caller: Caller, amount: number, now: number): RateLimitState {
    const windows = this.#windowsByKey.get(caller.keyId)
    if (caller.userId === undefined) {
      return windows?.own.look(amount, now) ?? unlimited(caller.tier)
    }
    const shared = windows?.tokens.look(amount, now)
    return shared?.limited
      ? shared
      : this.#windowOfUser(caller.environment, caller.userId).look(amount, now)
  }

  #windowOfUser(environment: string, userId: string): Window {
    const name = `${environment}\n${userId}`
    const windows = this.#windowsOfUsers
    let window = windows.get(name)
    if (window === undefined) {
      if (windows.size >= limits.usersCountedMax) windows.delete(windows.keys().next().value!)
      window = new Window("user", limits.userRequestsPerMinute)
      windows.set(name, window)
    }
    return window
  }
}
