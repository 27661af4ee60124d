import { describe, expect, it } from "@effect/vitest"
import type { Caller } from "../../src/accounts/Accounts.ts"
import { RateLimits } from "../../src/accounts/RateLimits.ts"
import {
  type ApiKey,
  type DirectoryState,
  emptyDirectory,
} from "../../src/domain/project/Directory.ts"
import { limits } from "../../src/Limits.ts"

const key = (id: string, more: Partial<ApiKey> = {}): ApiKey => ({
  id,
  projectId: "prj_1",
  environment: "sandbox",
  scope: "full",
  tier: "free",
  requestsPerMinute: 100,
  hash: id,
  hint: "",
  createdAt: 0,
  revokedAt: null,
  ...more,
})

const directoryOf = (...keys: ReadonlyArray<ApiKey>): DirectoryState => ({
  ...emptyDirectory,
  keys: new Map(keys.map((key) => [key.id, key])),
})

const caller = ({ environment, id, projectId, scope, tier }: ApiKey): Caller => ({
  kind: "secret",
  keyId: id,
  projectId,
  environmentName: environment,
  environment: `${projectId}:${environment}`,
  scope,
  tier,
})

const limitsOf = (...keys: ReadonlyArray<ApiKey>) => {
  const rateLimits = new RateLimits()
  rateLimits.load(directoryOf(...keys))
  return {
    rateLimits,
    consume: (key: ApiKey, amount: number, now: number) =>
      rateLimits.consume(caller(key), amount, now),
    look: (key: ApiKey, amount: number, now: number) => rateLimits.look(caller(key), amount, now),
  }
}

describe("Rate limits", () => {
  it("let a key ask as often as its limit says, and not once more", () => {
    const free = key("a")
    const { consume } = limitsOf(free)
    for (let asked = 1; asked <= 100; asked++) {
      expect(consume(free, 1, 0)).toEqual({
        limited: false,
        limit: 100,
        remaining: 100 - asked,
        resetSeconds: 60,
        tier: "free",
      })
    }
    expect(consume(free, 1, 59_999)).toMatchObject({
      limited: true,
      remaining: 0,
      resetSeconds: 1,
    })
  })

  it("begin a new minute with the first request after the last one's end", () => {
    const free = key("a")
    const { consume, look } = limitsOf(free)
    consume(free, 100, 5_000)
    expect(consume(free, 1, 64_999).limited).toBe(true)
    expect(consume(free, 1, 65_000)).toMatchObject({ limited: false, remaining: 99 })
    expect(look(free, 1, 100_000)).toMatchObject({ remaining: 99, resetSeconds: 25 })
    expect(look(free, 1, 125_000)).toMatchObject({ remaining: 100, resetSeconds: 60 })
    expect(consume(free, 1, 140_000)).toMatchObject({ remaining: 99, resetSeconds: 60 })
  })

  it("take a whole batch or nothing of it", () => {
    const free = key("a")
    const { consume } = limitsOf(free)
    expect(consume(free, 60, 0)).toMatchObject({ limited: false, remaining: 40 })
    expect(consume(free, 41, 0)).toMatchObject({ limited: true, remaining: 40 })
    expect(consume(free, 40, 0)).toMatchObject({ limited: false, remaining: 0 })
    expect(consume(free, 101, 60_000)).toMatchObject({ limited: true, remaining: 100 })
  })

  it("take nothing for an amount of 0, and limit it when nothing remains", () => {
    const free = key("a")
    const { consume, look } = limitsOf(free)
    expect(look(free, 1, 0)).toMatchObject({ limited: false, remaining: 100 })
    consume(free, 100, 0)
    expect(look(free, 1, 0).limited).toBe(true)
  })

  it("are shared by the keys of one policy in one environment", () => {
    const [first, second] = [key("a"), key("b", { scope: "read" })]
    const { consume, rateLimits } = limitsOf(first, second)
    consume(first, 99, 0)
    expect(consume(second, 1, 0).remaining).toBe(0)
    expect(consume(first, 1, 0).limited).toBe(true)
    expect(rateLimits.size).toBe(2)
  })

  it("are kept apart by environment, project and policy", () => {
    const free = key("a")
    const others = [
      key("b", { environment: "production" }),
      key("c", { projectId: "prj_2" }),
      key("d", { tier: "pro", requestsPerMinute: 1_000 }),
      key("e", { tier: "enterprise", requestsPerMinute: 100 }),
      key("f", { tier: "enterprise", requestsPerMinute: 7 }),
    ]
    const { consume } = limitsOf(free, ...others)
    consume(free, 100, 0)
    for (const other of others) {
      expect(consume(other, 1, 0).remaining).toBe(other.requestsPerMinute! - 1)
    }
  })

  it("of clients are apart from those of servers", () => {
    const [server, page] = [key("a"), key("b", { kind: "publishable", scope: "read" })]
    const { consume } = limitsOf(server, page)
    expect(consume(page, 100, 0).limited).toBe(false)
    expect(consume(page, 1, 0).limited).toBe(true)
    expect(consume(server, 100, 0).limited).toBe(false)
  })

  describe("of user tokens", () => {
    const most = limits.userRequestsPerMinute
    const unlimited = key("a", { tier: "enterprise", requestsPerMinute: null })
    const token = (of: ApiKey, userId: string): Caller => ({ ...caller(of), kind: "user", userId })

    it("are of one user each, whichever key made them", () => {
      const other = key("b", { tier: "pro", requestsPerMinute: 1_000 })
      const { rateLimits } = limitsOf(unlimited, other)
      for (let asked = 1; asked <= most; asked++) {
        const of = asked % 2 === 0 ? unlimited : other
        expect(rateLimits.consume(token(of, "ada"), 1, 0)).toEqual({
          limited: false,
          limit: most,
          remaining: most - asked,
          resetSeconds: 60,
          tier: "user",
        })
      }
      for (const of of [unlimited, other]) {
        expect(rateLimits.look(token(of, "ada"), 1, 0)).toMatchObject({
          limited: true,
          tier: "user",
        })
        expect(rateLimits.consume(token(of, "ada"), 1, 0).limited).toBe(true)
        expect(rateLimits.consume(token(of, "bob"), 1, 0).limited).toBe(false)
      }
      const elsewhere = key("c", {
        projectId: "prj_2",
        tier: "enterprise",
        requestsPerMinute: null,
      })
      expect(rateLimits.consume(token(elsewhere, "ada"), 1, 0).limited).toBe(false)
      expect(rateLimits.consume(token(unlimited, "ada"), 1, 60_000).limited).toBe(false)
    })

    it("share that of clients with publishable keys, and take nothing from servers", () => {
      const [server, page] = [key("a"), key("b", { kind: "publishable", scope: "read" })]
      const { consume, look, rateLimits } = limitsOf(server, page)
      for (let asked = 0; asked < 99; asked++) {
        expect(rateLimits.consume(token(server, `u${asked}`), 1, 0).limited).toBe(false)
      }
      expect(consume(page, 1, 0)).toMatchObject({ limited: false, remaining: 0 })
      const refused = rateLimits.consume(token(server, "one more"), 1, 0)
      expect(refused).toMatchObject({ limited: true, tier: "free", limit: 100 })
      expect(rateLimits.look(token(server, "one more"), 1, 0).limited).toBe(true)
      expect(look(server, 100, 0).limited).toBe(false)
      expect(rateLimits.consume(token(server, "one more"), most, 60_000).limited).toBe(true)
      expect(rateLimits.consume(token(server, "one more"), 100, 60_000).limited).toBe(false)
    })

    it("are counted of so many users; those seen first begin again", () => {
      const { rateLimits } = limitsOf(unlimited)
      const spend = (userId: string) =>
        rateLimits.consume(token(unlimited, userId), most, 0).limited
      expect([spend("first"), spend("first")]).toEqual([false, true])
      for (let user = 1; user < limits.usersCountedMax; user++) spend(`u${user}`)
      expect(spend("first")).toBe(true)
      expect([spend("one more"), spend("first")]).toEqual([false, false])
    })
  })

  it("do not hold a key without a limit", () => {
    const open = key("a", { tier: "enterprise", requestsPerMinute: null })
    const { consume, rateLimits } = limitsOf(open)
    for (let minute = 0; minute < 3; minute++) {
      expect(consume(open, 1_000_000, 0)).toMatchObject({ limited: false, limit: null })
    }
    expect(rateLimits.size).toBe(0)
  })

  it("go on when keys change, and are forgotten with the last key of their policy", () => {
    const [free, pro] = [key("a"), key("b", { tier: "pro", requestsPerMinute: 1_000 })]
    const { consume, rateLimits } = limitsOf(free, pro)
    consume(free, 100, 0)
    rateLimits.load(directoryOf(free))
    expect(consume(free, 1, 0).limited).toBe(true)
    expect(rateLimits.size).toBe(2)
  })

  it("end a window when the clock is set back, instead of waiting for hours", () => {
    const free = key("a")
    const { consume } = limitsOf(free)
    consume(free, 100, 7_200_000)
    expect(consume(free, 1, 0)).toMatchObject({ limited: false, remaining: 99, resetSeconds: 60 })
  })
})
