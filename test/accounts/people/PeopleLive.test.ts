import { describe, expect, it } from "@effect/vitest"
import { Effect, Scope } from "effect"
import { TestClock } from "effect/testing"
import { type Guessing, GuessingWatch, type Visitor } from "../../../src/accounts/people/People.ts"
import { make } from "../../../src/accounts/people/PeopleLive.ts"
import { Engine } from "../../../src/engine/Engine.ts"
import { limits } from "../../../src/Limits.ts"
import { recordsOf, startInMemory } from "../../engine/fixture.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"

const visitor: Visitor = { agent: "Firefox", address: "192.0.2.1", device: undefined }
const password = "correct horse battery"
const viewer = { owner: false, projects: [{ projectId: "prj_1", role: "viewer" as const }] }

/** People over a real engine; `state` lets a second one begin where the first ended. */
const startPeople = Effect.fnUntraced(function* (state = new MemoryStorage.MemoryState()) {
  const fixture = yield* startInMemory({ state })
  const scope = yield* Scope.make()
  const people = yield* make.pipe(
    Effect.provideService(Engine, fixture.engine),
    Scope.provide(scope),
  )
  return { ...fixture, people, state }
})

/** The same, with its first owner. */
const startOwned = Effect.fnUntraced(function* () {
  const started = yield* startPeople()
  const { people } = started
  const token = (yield* people.setUp)!
  const owner = yield* people.accept({
    token,
    email: "ada@example.com",
    name: "Ada",
    proof: { password },
    visitor,
  })
  return { ...started, owner, token }
})

describe("The first owner", () => {
  it.effect("is whoever opens the link first, and the only one", () =>
    Effect.gen(function* () {
      const { owner, people, token } = yield* startOwned()
      expect(owner.account).toMatchObject({ email: "ada@example.com", access: { owner: true } })
      expect((yield* people.find(owner.session))?.account.id).toBe(owner.account.id)
      expect(yield* people.setUp).toBeUndefined()
      expect((yield* Effect.flip(people.invitation(token))).code).toBe("invitation_not_found")
      const again = people.accept({
        token,
        email: "eve@example.com",
        name: "Eve",
        proof: { password },
        visitor,
      })
      expect((yield* Effect.flip(again)).code).toBe("invitation_not_found")
    }),
  )

  it.effect("is only one of two who open the link at the same time", () =>
    Effect.gen(function* () {
      const { people } = yield* startPeople()
      const token = (yield* people.setUp)!
      const open = (name: string) =>
        Effect.exit(
          people.accept({ token, email: `${name}@x`, name, proof: { password }, visitor }),
        )
      const exits = yield* Effect.all([open("a"), open("b"), open("c")], { concurrency: 3 })
      expect(exits.map(({ _tag }) => _tag).sort()).toEqual(["Failure", "Failure", "Success"])
      expect(yield* people.accounts).toHaveLength(1)
    }),
  )

  it.effect("gets a new link at each start until a link was used", () =>
    Effect.gen(function* () {
      const first = yield* startPeople()
      const one = (yield* first.people.setUp)!
      yield* first.close()
      const { people } = yield* startPeople(first.state)
      const two = (yield* people.setUp)!
      expect(yield* Effect.flip(people.invitation(one))).toMatchObject({
        code: "invitation_not_found",
      })
      expect(yield* people.invitation(two)).toMatchObject({ purpose: "setup" })
    }),
  )
})

describe("Signing in", () => {
  it.effect("accepts the address in upper and lower case, and survives a restart", () =>
    Effect.gen(function* () {
      const { close, people, state } = yield* startOwned()
      const { account, session } = yield* people.signIn(" ADA@example.com", password, visitor)
      expect(account.name).toBe("Ada")
      yield* close()
      const again = yield* startPeople(state)
      expect((yield* again.people.find(session))?.account).toEqual(account)
      expect(yield* again.people.find(`${session}x`)).toBeUndefined()
      expect(yield* again.people.find("")).toBeUndefined()
    }),
  )

  it.effect("gives the same answer to an unknown address and to a wrong password", () =>
    Effect.gen(function* () {
      const { people } = yield* startOwned()
      const wrong = yield* Effect.flip(people.signIn("ada@example.com", "wrong", visitor))
      const unknown = yield* Effect.flip(people.signIn("eve@example.com", password, visitor))
      expect(wrong).toMatchObject({ code: "unauthorized" })
      expect(unknown).toEqual(wrong)
    }),
  )

  it.effect("pauses after five wrong passwords, but not for a browser that signed in before", () =>
    Effect.gen(function* () {
      const { owner, people } = yield* startOwned()
      const from = (address: string, device?: string): Visitor => ({ ...visitor, address, device })
      for (let count = 0; count < limits.signInFailuresFreePerAccount; count++) {
        const wrong = people.signIn("ada@example.com", "wrong", from(`192.0.2.${count}`))
        expect((yield* Effect.flip(wrong)).code).toBe("unauthorized")
      }
      const right = (visitor: Visitor) => people.signIn("ada@example.com", password, visitor)
      expect(yield* Effect.flip(right(from("198.51.100.1")))).toMatchObject({
        code: "rate_limited",
        retryAfterSeconds: 1,
      })
      expect((yield* Effect.flip(right(from("198.51.100.1", "forged.token")))).code).toBe(
        "rate_limited",
      )
      yield* right(from("198.51.100.1", owner.device))
      yield* TestClock.adjust(1_000)
      yield* right(from("198.51.100.1"))
    }),
  )

  it.effect("reports each pause once with the account, and without the typed text", () =>
    Effect.gen(function* () {
      const told: Array<Guessing> = []
      const watch = (guessing: Guessing) => Effect.sync(() => void told.push(guessing))
      const { people } = yield* startOwned().pipe(Effect.provideService(GuessingWatch, watch))
      const tries = (email: string) =>
        Effect.forEach(
          Array.from({ length: 20 }),
          () => Effect.flip(people.signIn(email, "wrong", visitor)),
          { concurrency: "unbounded" },
        )
      yield* tries("ada@example.com")
      expect(told).toMatchObject([
        { account: { email: "ada@example.com" }, address: visitor.address, pauseMs: 1_000 },
      ])
      yield* TestClock.adjust(1_000)
      yield* tries("ada@example.com")
      expect(told.slice(1)).toMatchObject([{ pauseMs: 2_000 }])
      yield* tries("my password")
      expect(told.slice(2)).toEqual([
        { account: undefined, address: visitor.address, pauseMs: 1_000 },
      ])
    }),
  )

  it.effect("pauses a network that tries many accounts, and no other network", () =>
    Effect.gen(function* () {
      const { people } = yield* startOwned()
      for (let count = 0; count < limits.signInFailuresFreePerAddress; count++) {
        yield* Effect.flip(people.signIn(`${count}@example.com`, "wrong", visitor))
      }
      const right = (address: string) =>
        people.signIn("ada@example.com", password, { ...visitor, address })
      expect((yield* Effect.flip(right(visitor.address))).code).toBe("rate_limited")
      yield* right("198.51.100.1")
    }),
  )

  it.effect("pauses a /64 of IPv6 as one address, and an IPv4 address in either notation", () =>
    Effect.gen(function* () {
      const { people } = yield* startOwned()
      const from = (address: string): Visitor => ({ ...visitor, address })
      const right = (address: string) => people.signIn("ada@example.com", password, from(address))
      const cases = [
        [
          (count: number) => `2001:db8:0:1::${count.toString(16)}`,
          "2001:db8:0:1:f::1",
          "2001:db8:0:2::1",
        ],
        [() => "::ffff:192.0.2.9", "192.0.2.9", "::ffff:192.0.2.10"],
      ] as const
      for (const [addressOf, same, other] of cases) {
        for (let count = 0; count < limits.signInFailuresFreePerAddress; count++) {
          const email = `${addressOf(count)}${count}@example.com`
          yield* Effect.flip(people.signIn(email, "wrong", from(addressOf(count))))
        }
        expect((yield* Effect.flip(right(same))).code).toBe("rate_limited")
        yield* right(other)
      }
    }),
  )

  it.effect("counts wrong passwords that are tried at the same time", () =>
    Effect.gen(function* () {
      const { people } = yield* startOwned()
      const tries = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => Effect.flip(people.signIn("ada@example.com", "wrong", visitor)),
        { concurrency: "unbounded" },
      )
      const codes = tries.map(({ code }) => code)
      expect(codes.filter((code) => code === "unauthorized")).toHaveLength(
        limits.signInFailuresFreePerAccount,
      )
      expect(codes.filter((code) => code === "rate_limited")).toHaveLength(15)
    }),
  )
})

describe("A session", () => {
  it.effect("ends when its account signs out, and other sessions stay", () =>
    Effect.gen(function* () {
      const { owner, people } = yield* startOwned()
      const other = yield* people.signIn("ada@example.com", password, visitor)
      const member = (yield* people.find(owner.session))!
      expect(yield* people.sessionsOf(member.account.id)).toHaveLength(2)
      yield* people.signOut(member)
      expect(yield* people.find(owner.session)).toBeUndefined()
      expect(yield* people.find(other.session)).toBeDefined()
    }),
  )

  it.effect("ends after 12 hours without use, and each use renews it", () =>
    Effect.gen(function* () {
      const { owner, people } = yield* startOwned()
      yield* TestClock.adjust(limits.sessionIdleMs - 1)
      expect(yield* people.find(owner.session)).toBeDefined()
      yield* TestClock.adjust(limits.sessionIdleMs - 1)
      expect(yield* people.find(owner.session)).toBeDefined()
      yield* TestClock.adjust(limits.sessionIdleMs)
      expect(yield* people.find(owner.session)).toBeUndefined()
    }),
  )

  it.effect("is replaced when the password changes, and all others end", () =>
    Effect.gen(function* () {
      const { owner, people } = yield* startOwned()
      const stolen = yield* people.signIn("ada@example.com", password, visitor)
      const member = (yield* people.find(owner.session))!
      const weak = yield* Effect.flip(people.changePassword(member, "short", visitor))
      expect(weak.errors).toMatchObject([{ pointer: "/password", code: "invalid_length" }])
      const changed = yield* people.changePassword(member, "another long phrase", visitor)
      expect(yield* people.find(owner.session)).toBeUndefined()
      expect(yield* people.find(stolen.session)).toBeUndefined()
      expect(yield* people.find(changed.session)).toBeDefined()
      const old = yield* Effect.flip(people.signIn("ada@example.com", password, visitor))
      expect(old.code).toBe("unauthorized")
      yield* people.signIn("ada@example.com", "another long phrase", visitor)
    }),
  )

  it.effect("asks for the password again after ten minutes, before accounts are managed", () =>
    Effect.gen(function* () {
      const { owner, people } = yield* startOwned()
      const member = (yield* people.find(owner.session))!
      const asker = { sessionId: member.session.id }
      const wish = { email: "bob@example.com", access: { owner: true, projects: [] } }
      yield* people.invite(asker, wish)
      yield* TestClock.adjust(limits.sessionConfirmedMs)
      expect((yield* Effect.flip(people.invite(asker, wish))).code).toBe("confirmation_required")
      expect((yield* Effect.flip(people.confirm(member, "wrong", visitor))).code).toBe(
        "unauthorized",
      )
      yield* people.confirm(member, password, visitor)
      yield* people.invite(asker, wish)
    }),
  )
})

describe("An account", () => {
  it.effect("that is locked out comes back by a link from an owner or from the command line", () =>
    Effect.gen(function* () {
      const { owner, people } = yield* startOwned()
      const token = yield* people.reset("operator", owner.account.id)
      const back = yield* people.accept({
        token,
        email: "ignored",
        name: "",
        proof: { password: "a phrase that is new" },
        visitor,
      })
      expect(back.account.id).toBe(owner.account.id)
      expect(yield* people.find(owner.session)).toBeUndefined()
      yield* people.signIn("ada@example.com", "a phrase that is new", visitor)
    }),
  )

  it.effect("leaves neither passwords nor tokens in any record", () =>
    Effect.gen(function* () {
      const { owner, people, state, token } = yield* startOwned()
      yield* people.signIn("ada@example.com", password, visitor)
      const member = (yield* people.find(owner.session))!
      yield* Effect.flip(
        people.invite({ sessionId: member.session.id }, { email: "x@y", access: viewer }),
      )
      const text = JSON.stringify(recordsOf(state))
      expect(text).toContain("ada@example.com")
      for (const secret of [password, token, owner.session, owner.device]) {
        expect(text).not.toContain(secret)
      }
    }),
  )
})
