/**
 * Rate limits: fixed windows of a minute, each beginning with the first request that it counts.
 *
 * A window belongs to an environment and a policy (tier and requests per minute, of servers or of clients), not to a
 * key: a second key of the same policy brings no second allowance, and clients cannot use up what servers may. Keys of different policies in one environment have a window
 * each, so an enterprise key does not starve a free key beside it.
 *
 * A request takes all that it asks for or nothing. Windows live in memory only, one per environment and
 * policy in use, so there are never more than keys. A restart begins new ones.
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
  readonly tier: Tier
  readonly limit: number
  #startedAt = Number.NEGATIVE_INFINITY
  #used = 0

  constructor(tier: Tier, limit: number) {
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

const policyOf = ({ environment, kind, projectId, requestsPerMinute, tier }: ApiKey): string =>
  `${environmentId(projectId, environment)} ${tier} ${requestsPerMinute} ${kind === "publishable" ? "clients" : "servers"}`

export class RateLimits {
  #windows = new Map<string, Window>()
  /** The window of each key; `undefined` for a key without a limit. */
  #windowsByKey = new Map<string, Window | undefined>()

  /** Takes over the keys of a changed directory; windows still in use continue. */
  load(directory: DirectoryState): void {
    const windows = new Map<string, Window>()
    const byKey = new Map<string, Window | undefined>()
    for (const key of directory.keys.values()) {
      if (key.requestsPerMinute === null) {
        byKey.set(key.id, undefined)
        continue
      }
      const policy = policyOf(key)
      const window =
        windows.get(policy) ??
        this.#windows.get(policy) ??
        new Window(key.tier, key.requestsPerMinute)
      windows.set(policy, window)
      byKey.set(key.id, window)
    }
    this.#windows = windows
    this.#windowsByKey = byKey
  }

  /** The number of windows held. */
  get size(): number {
    return this.#windows.size
  }

  /** See `Accounts.consume`. `now` is epoch milliseconds. */
  consume(caller: Caller, amount: number, now: number): RateLimitState {
    return this.#windowsByKey.get(caller.keyId)?.consume(amount, now) ?? unlimited(caller.tier)
  }

  /** See `Accounts.look`. */
  look(caller: Caller, amount: number, now: number): RateLimitState {
    return this.#windowsByKey.get(caller.keyId)?.look(amount, now) ?? unlimited(caller.tier)
  }
}
