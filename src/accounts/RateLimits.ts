/**
 * Rate limits: fixed windows of a minute. A window begins with the first request that it counts.
 *
 * The limit is the project's. Each environment of a project has two windows of that limit, however
 * many keys it has: one for servers (secret keys) and one for clients (publishable keys and user
 * tokens), so that clients cannot use up the requests of servers. A request with a user token also
 * counts in a window of its user, so that one user cannot use up the requests of the others.
 *
 * A request takes all units that it asks for, or none. A changed limit begins new windows. Windows
 * are in memory only, so a restart begins new ones: four for each project with a limit, and at most
 * `usersCountedMax` for users.
 */
import {
  type DirectoryState,
  environmentId,
  environmentNames,
  limitOf,
  type Tier,
} from "../domain/project/Directory.ts"
import { limits } from "../Limits.ts"
import { type Caller, isClient, type RateLimitState } from "./Accounts.ts"

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
    // A clock that was set back also ends the window, which could last for hours otherwise.
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

/** The windows of one environment. */
interface Windows {
  readonly servers: Window
  readonly clients: Window
}

export class RateLimits {
  /** By environment; none of an environment without a limit. */
  #windows = new Map<string, Windows>()
  readonly #windowsOfUsers = new Map<string, Window>()

  /** Takes over the limits of a changed directory; windows whose limit is the same continue. */
  load({ projects }: DirectoryState): void {
    const windows = new Map<string, Windows>()
    for (const project of projects.values()) {
      const { requestsPerMinute, tier } = limitOf(project)
      if (requestsPerMinute === null) continue
      for (const name of environmentNames) {
        const environment = environmentId(project.id, name)
        const before = this.#windows.get(environment)
        const isSame = before?.servers.limit === requestsPerMinute && before.servers.tier === tier
        windows.set(
          environment,
          isSame
            ? before
            : {
                servers: new Window(tier, requestsPerMinute),
                clients: new Window(tier, requestsPerMinute),
              },
        )
      }
    }
    this.#windows = windows
  }

  /** The number of environments with a limit. */
  get size(): number {
    return this.#windows.size
  }

  /** See `Accounts.consume`. `now` is epoch milliseconds. */
  consume(caller: Caller, amount: number, now: number): RateLimitState {
    const shared = this.#windowOf(caller)
    if (caller.userId === undefined) {
      return shared?.consume(amount, now) ?? unlimited(caller.tier)
    }
    const own = this.#windowOfUser(caller.environment, caller.userId)
    const looked = own.look(amount, now)
    if (looked.limited) return looked
    const taken = shared?.consume(amount, now)
    return taken?.limited ? taken : own.consume(amount, now)
  }

  /** See `Accounts.look`. */
  look(caller: Caller, amount: number, now: number): RateLimitState {
    const shared = this.#windowOf(caller)
    if (caller.userId === undefined) return shared?.look(amount, now) ?? unlimited(caller.tier)
    const looked = shared?.look(amount, now)
    return looked?.limited
      ? looked
      : this.#windowOfUser(caller.environment, caller.userId).look(amount, now)
  }

  #windowOf(caller: Caller): Window | undefined {
    const windows = this.#windows.get(caller.environment)
    return isClient(caller) ? windows?.clients : windows?.servers
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
