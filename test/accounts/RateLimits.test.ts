import { describe, expect, it } from "@effect/vitest"
import type { Caller } from "../../src/accounts/Accounts.ts"
import { RateLimits } from "../../src/accounts/RateLimits.ts"
import {
  type DirectoryState,
  type EnvironmentName,
  emptyDirectory,
  type ProjectLimit,
} from "../../src/domain/project/Directory.ts"
import { limits } from "../../src/Limits.ts"

interface Key {
  readonly projectId: string
  readonly environment: EnvironmentName
  readonly kind: Caller["kind"]
}

const key = (more: Partial<Key> = {}): Key => ({
  projectId: "prj_1",
  environment: "sandbox",
  kind: "secret",
  ...more,
})

const free: ProjectLimit = { tier: "free", requestsPerMinute: 100 }
const pro: ProjectLimit = { tier: "pro", requestsPerMinute: 1_000 }
const unlimited: ProjectLimit = { tier: "enterprise", requestsPerMinute: null }

/** Projects `prj_1`, `prj_2` and so on with these limits; a project without a limit of its own has none. */
const directoryOf = (...given: ReadonlyArray<ProjectLimit | undefined>): DirectoryState => ({
  ...emptyDirectory,
  projects: new Map(
    given.map((limit, index) => {
      const id = `prj_${index + 1}`
      return [id, { id, name: id, createdAt: 0, ...(limit !== undefined && { limit }) }]
    }),
  ),
})

let keys = 0
/** A caller with a key of its own. */
const caller = ({ environment, kind, projectId }: Key): Caller => ({
  kind,
  keyId: `key_${keys++}`,
  projectId,
  environmentName: environment,
  environment: `${projectId}:${environment}`,
  scope: kind === "publishable" ? kind : "full",
  tier: "enterprise",
})

const limitsOf = (...given: ReadonlyArray<ProjectLimit | undefined>) => {
  const rateLimits = new RateLimits()
  rateLimits.load(directoryOf(...given))
  return {
    rateLimits,
    consume: (key: Key, amount: number, now: number) =>
      rateLimits.consume(caller(key), amount, now),
    look: (key: Key, amount: number, now: number) => rateLimits.look(caller(key), amount, now),
  }
}

describe("Rate limits", () => {
  it("let a project ask as often as its limit says, and not once more", () => {
    const { consume } = limitsOf(free)
    for (let asked = 1; asked <= 100; asked++) {
      expect(consume(key(), 1, 0)).toEqual({
        limited: false,
        limit: 100,
        remaining: 100 - asked,
        resetSeconds: 60,
        tier: "free",
      })
    }
    expect(consume(key(), 1, 59_999)).toMatchObject({
      limited: true,
      remaining: 0,
      resetSeconds: 1,
    })
  })

  it("begin a new window with the first request after the end of the last window", () => {
    const { consume, look } = limitsOf(free)
    consume(key(), 100, 5_000)
    expect(consume(key(), 1, 64_999).limited).toBe(true)
    expect(consume(key(), 1, 65_000)).toMatchObject({ limited: false, remaining: 99 })
    expect(look(key(), 1, 100_000)).toMatchObject({ remaining: 99, resetSeconds: 25 })
    expect(look(key(), 1, 125_000)).toMatchObject({ remaining: 100, resetSeconds: 60 })
    expect(consume(key(), 1, 140_000)).toMatchObject({ remaining: 99, resetSeconds: 60 })
  })

  it("take a whole batch or none of it", () => {
    const { consume } = limitsOf(free)
    expect(consume(key(), 60, 0)).toMatchObject({ limited: false, remaining: 40 })
    expect(consume(key(), 41, 0)).toMatchObject({ limited: true, remaining: 40 })
    expect(consume(key(), 40, 0)).toMatchObject({ limited: false, remaining: 0 })
    expect(consume(key(), 101, 60_000)).toMatchObject({ limited: true, remaining: 100 })
  })

  it("take nothing for a look, which is limited when nothing remains", () => {
    const { consume, look } = limitsOf(free)
    expect(look(key(), 1, 0)).toMatchObject({ limited: false, remaining: 100 })
    consume(key(), 100, 0)
    expect(look(key(), 1, 0).limited).toBe(true)
  })

  it("are shared by all secret keys of an environment", () => {
    const { consume, rateLimits } = limitsOf(free)
    for (let asked = 1; asked <= 100; asked++) {
      expect(consume(key(), 1, 0)).toMatchObject({ limited: false, remaining: 100 - asked })
    }
    expect(consume(key(), 1, 0).limited).toBe(true)
    expect(rateLimits.size).toBe(2)
  })

  it("are kept apart by environment and project", () => {
    const { consume } = limitsOf(free, free, pro)
    consume(key(), 100, 0)
    expect(consume(key({ environment: "production" }), 1, 0).remaining).toBe(99)
    expect(consume(key({ projectId: "prj_2" }), 1, 0).remaining).toBe(99)
    expect(consume(key({ projectId: "prj_3" }), 1, 0)).toMatchObject({
      limit: 1_000,
      remaining: 999,
      tier: "pro",
    })
  })

  it("count requests of clients apart from requests of servers", () => {
    const { consume } = limitsOf(free)
    const page = key({ kind: "publishable" })
    expect(consume(page, 100, 0).limited).toBe(false)
    expect(consume(page, 1, 0).limited).toBe(true)
    expect(consume(key(), 100, 0).limited).toBe(false)
    expect(consume(key(), 1, 0).limited).toBe(true)
  })

  describe("of user tokens", () => {
    const most = limits.userRequestsPerMinute
    const token = (userId: string, of = key()): Caller => ({ ...caller(of), kind: "user", userId })

    it("count for one user each, whichever key made the token", () => {
      const { rateLimits } = limitsOf(unlimited, unlimited)
      for (let asked = 1; asked <= most; asked++) {
        expect(rateLimits.consume(token("ada"), 1, 0)).toEqual({
          limited: false,
          limit: most,
          remaining: most - asked,
          resetSeconds: 60,
          tier: "user",
        })
      }
      expect(rateLimits.look(token("ada"), 1, 0)).toMatchObject({ limited: true, tier: "user" })
      expect(rateLimits.consume(token("ada"), 1, 0).limited).toBe(true)
      expect(rateLimits.consume(token("bob"), 1, 0).limited).toBe(false)
      const elsewhere = key({ projectId: "prj_2" })
      expect(rateLimits.consume(token("ada", elsewhere), 1, 0).limited).toBe(false)
      expect(rateLimits.consume(token("ada"), 1, 60_000).limited).toBe(false)
    })

    it("share the window of clients with publishable keys, and take nothing from servers", () => {
      const [server, page] = [key(), key({ kind: "publishable" })]
      const { consume, look, rateLimits } = limitsOf(free)
      for (let asked = 0; asked < 99; asked++) {
        expect(rateLimits.consume(token(`u${asked}`), 1, 0).limited).toBe(false)
      }
      expect(consume(page, 1, 0)).toMatchObject({ limited: false, remaining: 0 })
      const refused = rateLimits.consume(token("one more"), 1, 0)
      expect(refused).toMatchObject({ limited: true, tier: "free", limit: 100 })
      expect(rateLimits.look(token("one more"), 1, 0).limited).toBe(true)
      expect(look(server, 100, 0).limited).toBe(false)
      expect(rateLimits.consume(token("one more"), most, 60_000).limited).toBe(true)
      expect(rateLimits.consume(token("one more"), 100, 60_000).limited).toBe(false)
    })

    it("count a bounded number of users; the users counted first begin again", () => {
      const { rateLimits } = limitsOf(unlimited)
      const spend = (userId: string) => rateLimits.consume(token(userId), most, 0).limited
      expect([spend("first"), spend("first")]).toEqual([false, true])
      for (let user = 1; user < limits.usersCountedMax; user++) spend(`u${user}`)
      expect(spend("first")).toBe(true)
      expect([spend("one more"), spend("first")]).toEqual([false, false])
    })
  })

  it("do not hold a project without a limit", () => {
    const { consume, rateLimits } = limitsOf(undefined, unlimited)
    for (const projectId of ["prj_1", "prj_2"]) {
      expect(consume(key({ projectId }), 1_000_000, 0)).toEqual({
        limited: false,
        limit: null,
        remaining: limits.requestsPerMinuteMax,
        resetSeconds: 1,
        tier: "enterprise",
      })
    }
    expect(rateLimits.size).toBe(0)
  })

  it("continue when another project changes, begin again when the limit changes, and end with the limit", () => {
    const { consume, rateLimits } = limitsOf(free)
    consume(key(), 100, 0)
    rateLimits.load(directoryOf({ ...free }, pro))
    expect(consume(key(), 1, 0).limited).toBe(true)
    expect(rateLimits.size).toBe(4)
    rateLimits.load(directoryOf({ tier: "enterprise", requestsPerMinute: 100 }))
    expect(consume(key(), 100, 0)).toMatchObject({ limited: false, tier: "enterprise" })
    expect(consume(key(), 1, 0).limited).toBe(true)
    rateLimits.load(directoryOf(unlimited))
    expect(consume(key(), 1_000, 0).limited).toBe(false)
    expect(rateLimits.size).toBe(0)
  })

  it("begin a new window when the clock is set back", () => {
    const { consume } = limitsOf(free)
    consume(key(), 100, 7_200_000)
    expect(consume(key(), 1, 0)).toMatchObject({ limited: false, remaining: 99, resetSeconds: 60 })
  })
})
