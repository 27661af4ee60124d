import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import type {
  AccountCommand,
  Asker,
  Credential,
  NewSession,
} from "../../../src/domain/accounts/Account.ts"
import {
  type Access,
  applyAccountFacts,
  isAccountFact,
  roleIn,
} from "../../../src/domain/accounts/Account.ts"
import { decideDirectory } from "../../../src/domain/decide/Directory.ts"
import { type DirectoryState, emptyDirectory } from "../../../src/domain/project/Directory.ts"
import { applyDirectory } from "../../../src/domain/record/applyDirectory.ts"
import { limits } from "../../../src/Limits.ts"
import { Random, seeds } from "../../simulation/random.ts"

const minute = 60_000
const everything: Access = { owner: true, projects: [] }
const viewer: Access = { owner: false, projects: [{ projectId: "prj_a", role: "viewer" }] }
const password: Credential = { password: "$argon2id$one" }
const passkeyOf = (id: string) => ({ id, publicKey: "pk", counter: 0, transports: [], name: id })
const session = (id: string): NewSession => ({
  id: `ses_${id}`,
  hash: `hash of ${id}`,
  agent: "Firefox",
  address: "127.0.0.1",
})

const withProject: DirectoryState = {
  ...emptyDirectory,
  projects: new Map([["prj_a", { id: "prj_a", name: "shop", createdAt: 0 }]]),
}

const fold = (state: DirectoryState, command: AccountCommand, at: number): DirectoryState =>
  applyDirectory(state, {
    sequence: state.sequence + 1,
    at,
    subject: { actor: "directory" },
    cause: { kind: "request" },
    facts: Result.getOrThrow(decideDirectory(state, command, at)),
  })

const refusal = (state: DirectoryState, command: AccountCommand, at: number) =>
  Result.getOrThrow(Result.flip(decideDirectory(state, command, at)))

const invite = (
  id: string,
  more: Partial<Extract<AccountCommand, { kind: "invite" }>["invitation"]> = {},
  by: Asker = "operator",
): AccountCommand => ({
  kind: "invite",
  by,
  invitation: {
    id: `inv_${id}`,
    purpose: "join",
    hash: `token ${id}`,
    accountId: null,
    email: more.purpose === undefined || more.purpose === "join" ? `${id}@example.com` : null,
    access: viewer,
    ...more,
  },
})

const accept = (id: string, name: string, credential: Credential = password): AccountCommand => ({
  kind: "acceptInvitation",
  hash: `token ${id}`,
  accountId: `acc_${name}`,
  email: `${name}@Example.com `,
  name,
  credential,
  session: session(name),
})

const addressOf = (name: number): string => `${name}@example.com`

const run = (commands: ReadonlyArray<AccountCommand>, at = 1, from = withProject) =>
  commands.reduce((state, command) => fold(state, command, at), from)

const setUp = (at = 1) => run([invite("setup", { purpose: "setup" }), accept("setup", "ada")], at)
const ada = { sessionId: "ses_ada" }
const joined = (name: string, access: Access, at = 1) =>
  run([invite(name, { access }, ada), accept(name, name)], at, setUp(at))

describe("A link", () => {
  it("makes the first owner once, however many ask at the same time", () => {
    const state = setUp()
    expect([...state.accounts.values()].map(({ access, email }) => ({ access, email }))).toEqual([
      { access: everything, email: "ada@example.com" },
    ])
    expect(state.invitations.size).toBe(0)
    expect(refusal(state, accept("setup", "eve"), 1).code).toBe("invitation_not_found")
    expect(refusal(state, invite("again", { purpose: "setup" }), 1).code).toBe("conflict")
  })

  it("of a setup replaces the one before", () => {
    const state = run([invite("one", { purpose: "setup" }), invite("two", { purpose: "setup" })])
    expect(refusal(state, accept("one", "eve"), 1).code).toBe("invitation_not_found")
    expect(fold(state, accept("two", "ada"), 1).accounts.size).toBe(1)
  })

  it("works until its time, not a millisecond longer", () => {
    const lifetimes = { setup: limits.setupLinkMs, join: limits.joinLinkMs } as const
    for (const purpose of ["setup", "join"] as const) {
      const email = purpose === "join" ? "ada@example.com" : null
      const state = run([invite("one", { purpose, email })], 1)
      const ends = 1 + lifetimes[purpose]
      expect(refusal(state, accept("one", "ada"), ends).code).toBe("invitation_not_found")
      expect(fold(state, accept("one", "ada"), ends - 1).accounts.size).toBe(1)
    }
  })

  it("of an invitation gives the access that the owner chose, and no other", () => {
    const state = joined("bob", viewer)
    const bob = state.accounts.get("acc_bob")!
    expect(roleIn(bob, "prj_a")).toBe("viewer")
    expect(roleIn(bob, "prj_b")).toBeUndefined()
    expect(roleIn(bob, null)).toBeUndefined()
  })

  it("makes no account in place of another", () => {
    const state = fold(setUp(), invite("bob"), 1)
    const command = { ...accept("bob", "bob"), accountId: "acc_ada" } as AccountCommand
    expect(refusal(state, command, 1).code).toBe("conflict")
  })

  it("of a reset replaces the password and ends every session of the account", () => {
    const before = joined("bob", viewer)
    const reset = invite("reset", { purpose: "reset", accountId: "acc_bob" })
    const state = run(
      [reset, { ...accept("reset", "bob", { password: "new" }), session: session("b2") }] as never,
      2,
      before,
    )
    expect(state.accounts.get("acc_bob")!.password).toBe("new")
    expect(state.accounts.get("acc_bob")!.email).toBe("bob@example.com")
    expect([...state.sessions.keys()].sort()).toEqual(["ses_ada", "ses_b2"])
    expect(refusal(before, invite("x", { purpose: "reset", accountId: "acc_x" }), 2).code).toBe(
      "account_not_found",
    )
  })

  it("lists everything that is wrong with an invitation or an account", () => {
    const state = joined("bob", viewer)
    const pointers = (command: AccountCommand, from = state) =>
      refusal(from, command, 1).errors?.map(({ pointer }) => pointer)
    const nowhere: Access = { owner: false, projects: [] }
    const unknown: Access = { owner: false, projects: [{ projectId: "prj_x", role: "admin" }] }
    expect(pointers(invite("x", { email: "nobody", access: nowhere }, ada))).toEqual([
      "/email",
      "/access",
    ])
    expect(pointers(invite("x", { email: "ADA@example.com", access: unknown }, ada))).toEqual([
      "/email",
      "/access/0/projectId",
    ])
    expect(pointers(invite("x", { email: null, access: nowhere }, ada))).toEqual([
      "/email",
      "/access",
    ])
    const length = limits.emailCharactersMax - "@example.com".length
    const longAddress = (count: number) => `${"e".repeat(count)}@example.com`
    expect(pointers(invite("x", { email: longAddress(length + 1) }, ada))).toEqual(["/email"])
    const invited = fold(state, invite("y", { email: longAddress(length) }, ada), 1)
    const made = accept("y", "y") as Extract<AccountCommand, { kind: "acceptInvitation" }>
    expect(pointers({ ...made, email: "a b@c", name: " " }, invited)).toEqual(["/email", "/name"])
    const named = (count: number, name: string) => ({ ...made, email: longAddress(count), name })
    const longest = "😀".repeat(limits.accountNameCharactersMax)
    expect(pointers(named(length + 1, `${longest}x`), invited)).toEqual(["/email", "/name"])
    expect(fold(invited, named(length, longest), 1).accounts.size).toBe(3)
  })

  it("of an invitation makes an account with the invited address, and with no other", () => {
    const invited = fold(setUp(), invite("bob", { email: " Bob@example.com" }, ada), 1)
    const other = refusal(invited, accept("bob", "eve"), 1)
    expect(other.errors).toMatchObject([{ pointer: "/email", code: "invalid_value" }])
    expect(fold(invited, accept("bob", "bob"), 1).accounts.get("acc_bob")!.email).toBe(
      "bob@example.com",
    )
  })

  it("is revoked with the account that made it, and with the one that it is for", () => {
    let state = joined("bob", everything)
    state = run(
      [
        invite("by-bob", {}, { sessionId: "ses_bob" }),
        invite("reset", { purpose: "reset", accountId: "acc_bob" }, ada),
        invite("by-ada", {}, ada),
        { kind: "removeAccount", by: ada, accountId: "acc_bob" },
      ],
      2,
      state,
    )
    expect([...state.invitations.keys()]).toEqual(["inv_by-ada"])
    expect([...state.sessions.keys()]).toEqual(["ses_ada"])
  })

  /** An owner, bob, with links that he made, a reset for him, and a link of another owner. */
  const withLinks = () => {
    const bob = { sessionId: "ses_bob" }
    return run(
      [
        invite("by-bob", { access: everything }, bob),
        invite("reset-of-ada", { purpose: "reset", accountId: "acc_ada" }, bob),
        invite("reset-of-bob", { purpose: "reset", accountId: "acc_bob" }, ada),
        invite("by-ada", {}, ada),
      ],
      1,
      joined("bob", everything),
    )
  }

  it("ends when the account that made it, or that it is for, loses access", () => {
    const demoted: AccountCommand = {
      kind: "changeAccess",
      by: ada,
      accountId: "acc_bob",
      access: viewer,
    }
    const newPassword: AccountCommand = {
      kind: "changePassword",
      by: { sessionId: "ses_bob" },
      password: "new",
      session: session("new"),
    }
    const reset = { ...accept("reset-of-bob", "bob"), session: session("new") } as AccountCommand
    for (const command of [demoted, newPassword, reset]) {
      const { invitations } = fold(withLinks(), command, 2)
      expect({ command: command.kind, left: [...invitations.keys()] }).toEqual({
        command: command.kind,
        left: ["inv_by-ada"],
      })
    }
  })

  it("stays when the account that it is for gets more access", () => {
    const reset = invite("reset", { purpose: "reset", accountId: "acc_bob" }, ada)
    const before = run([reset], 1, joined("bob", viewer))
    const admin: Access = { owner: false, projects: [{ projectId: "prj_a", role: "admin" }] }
    const leftAfter = (access: Access, state = before) =>
      fold(state, { kind: "changeAccess", by: ada, accountId: "acc_bob", access }, 2).invitations
        .size
    expect(leftAfter(viewer)).toBe(1)
    expect(leftAfter(admin)).toBe(1)
    expect(leftAfter(everything)).toBe(1)
    expect(leftAfter(viewer, run([reset], 1, joined("bob", admin)))).toBe(0)
  })
})

describe("The last owner", () => {
  const demote = (id: string): AccountCommand => ({
    kind: "changeAccess",
    by: ada,
    accountId: id,
    access: viewer,
  })

  it("can be neither removed nor demoted, by nobody", () => {
    const state = joined("bob", viewer)
    for (const by of [ada, "operator"] as const) {
      for (const command of [
        { ...demote("acc_ada"), by },
        { kind: "removeAccount", by, accountId: "acc_ada" },
      ] as ReadonlyArray<AccountCommand>) {
        expect(refusal(state, command, 1).code).toBe("conflict")
      }
    }
  })

  it("is the other one, once of two the first has gone", () => {
    const state = fold(joined("bob", everything), demote("acc_ada"), 1)
    const bob = { sessionId: "ses_bob" }
    expect(state.sessions.has("ses_ada")).toBe(false)
    expect(refusal(state, { kind: "removeAccount", by: bob, accountId: "acc_bob" }, 1).code).toBe(
      "conflict",
    )
    const removed = fold(state, { kind: "removeAccount", by: bob, accountId: "acc_ada" }, 1)
    expect([...removed.accounts.keys()]).toEqual(["acc_bob"])
  })
})

describe("A session", () => {
  const renew: AccountCommand = { kind: "renewSession", sessionId: "ses_ada" }

  it("ends after 12 hours without use, and after 30 days in any case", () => {
    const idle = 1 + limits.sessionIdleMs
    expect(refusal(setUp(), renew, idle).code).toBe("unauthorized")
    let state = fold(setUp(), renew, idle - 1)
    let now = idle - 1
    const end = 1 + limits.sessionMs
    while (now + limits.sessionIdleMs - 1 < end) {
      now += limits.sessionIdleMs - 1
      state = fold(state, renew, now)
    }
    expect(fold(state, renew, end - 1).sessions.size).toBe(1)
    expect(refusal(state, renew, end).code).toBe("unauthorized")
  })

  it("is recorded as used at most every ten minutes", () => {
    const facts = (at: number) => Result.getOrThrow(decideDirectory(setUp(), renew, at))
    expect(facts(limits.sessionRenewMs)).toEqual([])
    expect(facts(1 + limits.sessionRenewMs)).toEqual([
      { kind: "session.renewed", sessionId: "ses_ada" },
    ])
  })

  it("may manage accounts for ten minutes after the account proved itself, then after it does so again", () => {
    const at = 1 + limits.sessionConfirmedMs
    const command = invite("bob", {}, ada)
    expect(fold(setUp(), command, at - 1).invitations.size).toBe(1)
    expect(refusal(setUp(), command, at).code).toBe("confirmation_required")
    const confirmed = fold(setUp(), { kind: "confirmSession", sessionId: "ses_ada" }, at)
    expect(fold(confirmed, command, at).invitations.size).toBe(1)
  })

  it("changes the name of its account at any time", () => {
    const at = 1 + limits.sessionConfirmedMs
    const rename: AccountCommand = { kind: "changeName", by: ada, name: "Augusta" }
    const renamed = fold(setUp(), rename, at).accounts.get("acc_ada")!
    expect(renamed).toMatchObject({ name: "Augusta", email: "ada@example.com" })
    expect(refusal(setUp(), { ...rename, name: " " }, at).errors).toMatchObject([
      { pointer: "/name" },
    ])
  })

  it("of an owner changes the address of an account for ten minutes after it proved itself", () => {
    const at = 1 + limits.sessionConfirmedMs
    const state = joined("bob", viewer)
    const change = (accountId: string, email: string, by: Asker = ada): AccountCommand => ({
      kind: "changeAddress",
      by,
      accountId,
      email,
    })
    const changed = fold(state, change("acc_bob", " Eve@example.com"), at - 1)
    expect(changed.accounts.get("acc_bob")!.email).toBe("eve@example.com")
    expect(
      fold(state, change("acc_ada", "eve@example.com"), 1).accounts.get("acc_ada")!.email,
    ).toBe("eve@example.com")
    expect(refusal(state, change("acc_bob", "x@y"), at).code).toBe("confirmation_required")
    expect(refusal(state, change("acc_none", "x@y"), 1).code).toBe("account_not_found")
    for (const email of ["nobody", "ADA@example.com"]) {
      expect(refusal(state, change("acc_bob", email), 1).errors).toMatchObject([
        { pointer: "/email" },
      ])
    }
  })

  it("of an account that is no owner manages no accounts", () => {
    const state = joined("bob", viewer)
    const bob = { sessionId: "ses_bob" }
    const commands: ReadonlyArray<AccountCommand> = [
      invite("x", {}, bob),
      { kind: "revokeInvitation", by: bob, invitationId: "inv_x" },
      { kind: "changeAccess", by: bob, accountId: "acc_bob", access: everything },
      { kind: "changeAddress", by: bob, accountId: "acc_bob", email: "eve@example.com" },
      { kind: "removeAccount", by: bob, accountId: "acc_ada" },
    ]
    for (const command of commands) {
      expect(refusal(state, command, 1).code).toBe("insufficient_role")
    }
  })

  it("ends those of its own account alone", () => {
    const state = joined("bob", viewer)
    const end = (sessionId: string): AccountCommand => ({
      kind: "endSession",
      by: { sessionId: "ses_bob" },
      sessionId,
    })
    expect(refusal(state, end("ses_ada"), 1).code).toBe("session_not_found")
    expect([...fold(state, end("ses_bob"), 1).sessions.keys()]).toEqual(["ses_ada"])
  })

  it("is replaced by a new one where the password changes, and all others end", () => {
    const signIn = (id: string): AccountCommand => ({
      kind: "signIn",
      accountId: "acc_ada",
      session: session(id),
    })
    const state = run([signIn("two"), signIn("three")], 2, setUp())
    const changed = fold(
      state,
      { kind: "changePassword", by: ada, password: "new", session: session("four") },
      3,
    )
    expect([...changed.sessions.keys()]).toEqual(["ses_four"])
    const others = fold(state, { kind: "endOtherSessions", by: ada }, 3)
    expect([...others.sessions.keys()]).toEqual(["ses_ada"])
    const all = fold(state, { kind: "endAllSessions", by: "operator" }, 3)
    expect(all.sessions.size).toBe(0)
  })

  it(`is one of at most ${limits.sessionsPerAccountMax} of an account: the longest unused ends`, () => {
    let state = setUp()
    for (let count = 1; count < limits.sessionsPerAccountMax; count++) {
      const made = session(`s${count}`)
      state = fold(state, { kind: "signIn", accountId: "acc_ada", session: made }, 1 + count)
    }
    expect(state.sessions.size).toBe(limits.sessionsPerAccountMax)
    expect(state.sessions.has("ses_ada")).toBe(true)
    state = fold(state, { kind: "signIn", accountId: "acc_ada", session: session("last") }, 100)
    expect(state.sessions.size).toBe(limits.sessionsPerAccountMax)
    expect(state.sessions.has("ses_ada")).toBe(false)
  })

  it("leaves the directory once it has expired and another starts", () => {
    const state = fold(
      setUp(),
      { kind: "signIn", accountId: "acc_ada", session: session("two") },
      1 + limits.sessionIdleMs,
    )
    expect([...state.sessions.keys()]).toEqual(["ses_two"])
  })
})

describe("A passkey", () => {
  const add = (id: string): AccountCommand => ({
    kind: "addPasskey",
    by: ada,
    passkey: passkeyOf(id),
  })
  const remove = (passkeyId: string): AccountCommand => ({
    kind: "removePasskey",
    by: ada,
    passkeyId,
  })

  it("belongs to one account", () => {
    expect(refusal(fold(setUp(), add("one"), 1), add("one"), 1).code).toBe("conflict")
  })

  it("cannot be removed where it is the only way to sign in, nor can the password", () => {
    const noPassword: AccountCommand = {
      kind: "changePassword",
      by: ada,
      password: null,
      session: { ...session("ada"), hash: "new" },
    }
    expect(refusal(setUp(), noPassword, 1).code).toBe("conflict")
    const state = run([add("one"), noPassword], 1, setUp())
    expect(state.accounts.get("acc_ada")!.password).toBeNull()
    expect(refusal(state, remove("one"), 1).code).toBe("conflict")
    expect(refusal(state, remove("two"), 1).code).toBe("passkey_not_found")
    expect(
      run([add("two"), remove("one")], 1, state).accounts.get("acc_ada")!.passkeys,
    ).toHaveLength(1)
  })

  it("signs in with a counter that grows, or with none", () => {
    const state = fold(setUp(), add("one"), 1)
    const signIn = (counter: number, id = "one"): AccountCommand => ({
      kind: "signIn",
      accountId: "acc_ada",
      session: session("two"),
      passkey: { id, counter },
    })
    expect(fold(state, signIn(0), 2).sessions.size).toBe(2)
    const used = fold(state, signIn(5), 2)
    expect(used.accounts.get("acc_ada")!.passkeys[0]).toMatchObject({ counter: 5, usedAt: 2 })
    for (const counter of [5, 4, 0]) {
      expect(refusal(used, signIn(counter), 3).code).toBe("unauthorized")
    }
    expect(refusal(used, signIn(9, "other"), 3).code).toBe("unauthorized")
  })

  it("of a reset replaces the password, and those of before stay", () => {
    const before = run(
      [add("one"), invite("reset", { purpose: "reset", accountId: "acc_ada" })],
      1,
      setUp(),
    )
    const state = fold(
      before,
      { ...accept("reset", "x", { passkey: passkeyOf("two") }), session: session("new") } as never,
      2,
    )
    const { passkeys, password } = state.accounts.get("acc_ada")!
    expect({ password, ids: passkeys.map(({ id }) => id) }).toEqual({
      password: null,
      ids: ["one", "two"],
    })
    expect([...state.sessions.keys()]).toEqual(["ses_new"])
    const again = accept("reset", "x", { passkey: passkeyOf("one") })
    expect(refusal(before, again, 2).code).toBe("conflict")
  })

  it("has a name, and an id and a key of bounded length", () => {
    const { passkeyIdCharactersMax, passkeyKeyCharactersMax, passkeyNameCharactersMax } = limits
    const pointersOf = (change: object) => {
      const passkey = { ...passkeyOf("one"), ...change }
      const decided = decideDirectory(setUp(), { kind: "addPasskey", by: ada, passkey }, 1)
      const joins = decideDirectory(
        fold(setUp(), invite("bob"), 1),
        accept("bob", "bob", { passkey }),
        1,
      )
      return [decided, joins].map((one) =>
        Result.isSuccess(one) ? "allowed" : one.failure.errors?.map(({ pointer }) => pointer),
      )
    }
    const both = (outcome: unknown) => [outcome, outcome]
    for (const [change, wrong] of [
      [{ name: "x".repeat(passkeyNameCharactersMax) }, "allowed"],
      [{ name: "x".repeat(passkeyNameCharactersMax + 1) }, ["/passkeyName"]],
      [{ name: " " }, ["/passkeyName"]],
      [{ name: "\u0000" }, ["/passkeyName"]],
      [{ id: "x".repeat(passkeyIdCharactersMax) }, "allowed"],
      [{ id: "x".repeat(passkeyIdCharactersMax + 1) }, ["/passkey"]],
      [{ publicKey: "x".repeat(passkeyKeyCharactersMax) }, "allowed"],
      [
        { publicKey: "x".repeat(passkeyKeyCharactersMax + 1), name: "" },
        ["/passkeyName", "/passkey"],
      ],
    ] as const) {
      expect({ change, outcomes: pointersOf(change) }).toEqual({ change, outcomes: both(wrong) })
    }
  })

  it("and everything else that is wrong with a new account are told at once", () => {
    const passkey = { ...passkeyOf("one"), name: "" }
    const wrong = { ...accept("bob", "bob", { passkey }), email: "nobody" } as AccountCommand
    const { errors } = refusal(fold(setUp(), invite("bob"), 1), wrong, 1)
    expect(errors?.map(({ pointer }) => pointer)).toEqual(["/email", "/passkeyName"])
  })

  it(`is one of at most ${limits.passkeysPerAccountMax}`, () => {
    const most = Array.from({ length: limits.passkeysPerAccountMax }, (_, index) => add(`${index}`))
    const state = run(most, 1, setUp())
    expect(refusal(state, add("more"), 1).code).toBe("quota_exceeded")
  })
})

describe("Accounts", () => {
  it(`are at most ${limits.accountsMax}, and open links at most ${limits.invitationsMax}`, () => {
    let state = setUp()
    for (let count = 0; count < limits.invitationsMax; count++) {
      state = fold(state, invite(`${count}`, {}, ada), 1)
    }
    expect(refusal(state, invite("more", {}, ada), 1).code).toBe("quota_exceeded")
    const one = state.accounts.get("acc_ada")!
    const full = new Map(state.accounts)
    for (let count = 1; count < limits.accountsMax; count++) {
      full.set(`acc_${count}`, { ...one, id: `acc_${count}`, email: `${count}@example.com` })
    }
    expect(refusal({ ...state, accounts: full }, accept("0", "0"), 1).code).toBe("quota_exceeded")
    full.delete("acc_1")
    expect(fold({ ...state, accounts: full }, accept("0", "0"), 1).accounts.size).toBe(
      limits.accountsMax,
    )
  })

  it.each(seeds(1))("keep their invariants whatever is asked; LAUREL_TEST_SEED=%i", (seed) => {
    const random = new Random(seed)
    let state = setUp()
    let refused = 0
    let made = 0
    let now = 1
    for (let step = 0; step < 3_000; step++) {
      now += random.pick([0, 1, minute, 5 * minute, limits.sessionIdleMs / 4])
      const accounts = [...state.accounts.keys()]
      const sessions = [...state.sessions.keys()]
      const by = random.chance(0.2)
        ? ("operator" as const)
        : { sessionId: random.pick([...sessions, "ses_none"]) }
      const own = by === "operator" ? ada : by
      const access = random.chance(0.3) ? everything : viewer
      const accountId = random.pick([...accounts, "acc_none"])
      const passkeyIds = [...state.accounts.values()].flatMap(({ passkeys }) =>
        passkeys.map(({ id }) => id),
      )
      const fresh = session(`n${step}`)
      const links = [...state.invitations.values()]
      const tokens = links.map(({ hash }) => hash)
      const invited = [null, ...links.map(({ email }) => email)]
      const passkey = passkeyOf(`pk${random.integer(0, step)}`)
      const command = random.pick<AccountCommand>([
        invite(`${step}`, { access, email: addressOf(random.integer(0, 40)) }, by),
        invite(`${step}`, { purpose: "setup" }, by),
        invite(`${step}`, { purpose: "reset", accountId }, by),
        {
          kind: "revokeInvitation",
          by,
          invitationId: random.pick([...state.invitations.keys(), "inv_x"]),
        },
        {
          kind: "acceptInvitation",
          hash: random.pick([...tokens, "none"]),
          accountId: `acc_${step}`,
          email: random.pick(invited) ?? addressOf(random.integer(0, 40)),
          name: "someone",
          credential: random.chance(0.5) ? password : { passkey },
          session: fresh,
        },
        { kind: "signIn", accountId, session: fresh },
        { kind: "confirmSession", sessionId: own.sessionId },
        { kind: "renewSession", sessionId: own.sessionId },
        { kind: "endSession", by, sessionId: random.pick([...sessions, "ses_none"]) },
        { kind: "endOtherSessions", by: own },
        { kind: "changeName", by: own, name: "n" },
        { kind: "changeAddress", by, accountId, email: addressOf(random.integer(0, 40)) },
        { kind: "changePassword", by: own, password: random.pick([null, "new"]), session: fresh },
        { kind: "addPasskey", by: own, passkey },
        { kind: "removePasskey", by: own, passkeyId: random.pick([...passkeyIds, "none"]) },
        { kind: "changeAccess", by, accountId, access },
        { kind: "removeAccount", by, accountId },
      ])
      const decided = decideDirectory(state, command, now)
      if (Result.isFailure(decided)) {
        refused++
        continue
      }
      made++
      const facts = decided.success.filter(isAccountFact)
      state = { ...state, ...applyAccountFacts(state, facts, now) }
      const all = [...state.accounts.values()]
      expect(all.some(({ access }) => access.owner)).toBe(true)
      expect(new Set(all.map(({ email }) => email)).size).toBe(all.length)
      for (const { passkeys, password } of all) {
        expect(password !== null || passkeys.length > 0).toBe(true)
      }
      const keys = all.flatMap(({ passkeys }) => passkeys.map(({ id }) => id))
      expect(new Set(keys).size).toBe(keys.length)
      for (const { accountId } of state.sessions.values()) {
        expect(state.accounts.has(accountId)).toBe(true)
      }
      for (const { accountId, createdBy } of state.invitations.values()) {
        if (createdBy !== null) expect(state.accounts.get(createdBy)?.access.owner).toBe(true)
        if (accountId !== null) expect(state.accounts.has(accountId)).toBe(true)
      }
    }
    expect(made).toBeGreaterThan(300)
    expect(refused).toBeGreaterThan(300)
  })
})
