import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Ceremony, Passkeys } from "../../../src/accounts/passkeys/Passkeys.ts"
import type { Account } from "../../../src/domain/accounts/Account.ts"
import type { LaurelError } from "../../../src/domain/values/Errors.ts"
import { limits } from "../../../src/Limits.ts"
import { Authenticator, type Lies } from "./authenticator.ts"

const ceremony: Ceremony = {
  origin: "https://laurel.example.com",
  rpId: "laurel.example.com",
  browser: "one",
}
const owner = { id: "acc_ada", email: "ada@example.com", name: "Ada", passkeys: [] }

/** Passkeys at a time that the test sets; the thread is the real one. */
const start = () => {
  const clock = { now: 1_000 }
  const passkeys = new Passkeys(() => clock.now)
  /** An authenticator with a passkey, and the directory that knows it. */
  const registered = Effect.gen(function* () {
    const authenticator = new Authenticator(ceremony.origin)
    const answer = authenticator.create(passkeys.creation(ceremony, owner) as never)
    const { accountId, passkey } = yield* passkeys.created(answer, ceremony)
    const known = { ...passkey, name: "one", createdAt: 0, usedAt: null }
    const account = { ...owner, passkeys: [known] } as unknown as Account
    return { account, accountId, authenticator, passkey, state: stateOf(account) }
  })
  return { clock, passkeys, registered }
}

const stateOf = (...accounts: ReadonlyArray<Account>) => ({
  accounts: new Map(accounts.map((account) => [account.id, account])),
})

const refusalOf = <A>(effect: Effect.Effect<A, LaurelError>) =>
  Effect.map(Effect.flip(effect), ({ code, detail }) => `${code}: ${detail}`)

describe("Options", () => {
  it("ask for a verified person and a discoverable passkey, and exclude the passkeys that exist", () => {
    const { passkeys } = start()
    const known = [{ id: "cred", transports: ["usb"] }] as unknown as Account["passkeys"]
    const account = { ...owner, passkeys: known } as Account
    const created = passkeys.creation(ceremony, account)
    expect(created).toMatchObject({
      rp: { id: "laurel.example.com" },
      user: { id: Buffer.from("acc_ada").toString("base64url"), name: "ada@example.com" },
      excludeCredentials: [{ id: "cred", type: "public-key", transports: ["usb"] }],
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      attestation: "none",
    })
    expect(created.pubKeyCredParams.map(({ alg }) => alg)).toEqual([-8, -7, -257])
    expect(passkeys.request(ceremony, undefined)).toMatchObject({
      rpId: "laurel.example.com",
      userVerification: "required",
      allowCredentials: [],
    })
    expect(passkeys.request(ceremony, account).allowCredentials).toHaveLength(1)
  })
})

describe("A new passkey", () => {
  it.live("is the one that the browser created, for the account of the options", () =>
    Effect.gen(function* () {
      const { registered } = start()
      const { accountId, authenticator, passkey } = yield* registered
      expect(accountId).toBe("acc_ada")
      expect(passkey).toMatchObject({
        id: authenticator.id,
        counter: 0,
        transports: ["internal", "hybrid"],
      })
    }),
  )

  it.live("is refused if the browser's answer does not fit the options", () =>
    Effect.gen(function* () {
      const { passkeys } = start()
      const refused = (lies: Lies) => {
        const options = passkeys.creation(ceremony, owner)
        const answer = new Authenticator(ceremony.origin).create(options as never, lies)
        return refusalOf(passkeys.created(answer, ceremony))
      }
      expect(yield* refused({ origin: "https://evil.example" })).toMatch(/not accepted: .*origin/)
      expect(yield* refused({ rpId: "evil.example" })).toMatch(/not accepted: .*RP ?ID/i)
      expect(yield* refused({ verified: false })).toMatch(/not accepted: .*verif/)
      expect(yield* refused({ algorithm: -36 })).toMatch(/not accepted: .*alg/)
      expect(yield* refused({ type: "webauthn.get" })).toMatch(/not accepted: .*type/)
      expect(yield* refused({ challenge: "AAAA" })).toMatch(/^unauthorized: The page has waited/)
    }),
  )

  it.live(
    "is refused if the options were used, have expired, or were made for another browser",
    () =>
      Effect.gen(function* () {
        const { clock, passkeys } = start()
        const authenticator = new Authenticator(ceremony.origin)
        const answer = () => authenticator.create(passkeys.creation(ceremony, owner) as never)
        const late = "unauthorized: The page has waited too long, or was sent twice. Try again."
        const once = answer()
        const elsewhere = { ...ceremony, browser: "two" }
        expect(yield* refusalOf(passkeys.created(once, elsewhere))).toBe(late)
        yield* passkeys.created(once, ceremony)
        expect(yield* refusalOf(passkeys.created(once, ceremony))).toBe(late)
        const waiting = answer()
        clock.now += limits.passkeyChallengeMs
        expect(yield* refusalOf(passkeys.created(waiting, ceremony))).toBe(late)
        const twice = answer()
        const both = yield* Effect.all(
          [1, 2].map(() => Effect.exit(passkeys.created(twice, ceremony))),
          { concurrency: 2 },
        )
        expect(both.map(({ _tag }) => _tag).sort()).toEqual(["Failure", "Success"])
      }),
  )
})

describe("A passkey", () => {
  it.live("signs in its account with a right signature, and with no other", () =>
    Effect.gen(function* () {
      const { passkeys, registered } = start()
      const { authenticator, state } = yield* registered
      const use = (lies: Lies = {}, from = authenticator) => {
        const answer = from.use(passkeys.request(ceremony, undefined), lies)
        return passkeys.used(answer, ceremony, state, undefined)
      }
      authenticator.counter = 7
      const used = yield* use()
      expect(used.account.id).toBe("acc_ada")
      expect(used.passkey).toEqual({ id: authenticator.id, counter: 7 })
      expect((yield* use({ userHandle: null })).account.id).toBe("acc_ada")
      const refused = (lies: Lies) => refusalOf(use(lies))
      expect(yield* refused({ origin: "https://evil.example" })).toMatch(/not accepted: .*origin/)
      expect(yield* refused({ rpId: "evil.example" })).toMatch(/not accepted: .*RP ?ID/i)
      expect(yield* refused({ verified: false })).toMatch(/not accepted: .*verif/)
      expect(yield* refused({ signature: Buffer.alloc(70) })).toMatch(/not accepted: /)
      expect(yield* refused({ type: "webauthn.create" })).toMatch(/not accepted: .*type/)
      expect(yield* refused({ userHandle: Buffer.from("acc_eve").toString("base64url") })).toMatch(
        /No account has this passkey/,
      )
    }),
  )

  it.live("is unknown after its removal, and confirms only its own account", () =>
    Effect.gen(function* () {
      const { passkeys, registered } = start()
      const { account, authenticator, state } = yield* registered
      const unknown = "unauthorized: No account has this passkey. It may have been removed."
      const answer = authenticator.use(passkeys.request(ceremony, undefined))
      const removed = stateOf({ ...account, passkeys: [] })
      expect(yield* refusalOf(passkeys.used(answer, ceremony, removed, undefined))).toBe(unknown)
      yield* passkeys.used(answer, ceremony, state, undefined)
      const confirms = authenticator.use(passkeys.request(ceremony, account))
      expect(yield* refusalOf(passkeys.used(confirms, ceremony, state, "acc_eve"))).toBe(unknown)
      // A signature to sign in is none to confirm.
      expect(yield* refusalOf(passkeys.used(confirms, ceremony, state, undefined))).toMatch(
        /waited too long/,
      )
      yield* passkeys.used(confirms, ceremony, state, "acc_ada")
    }),
  )

  it.live("is refused without a thread if the answer is malformed", () =>
    Effect.gen(function* () {
      const passkeys = new Passkeys(
        () => 0,
        () => {
          throw new Error("checked")
        },
      )
      const answer = JSON.parse(
        new Authenticator(ceremony.origin).create({
          challenge: "x",
          rp: { id: "x" },
          user: { id: "x" },
        }),
      )
      const long = "A".repeat(64 * 1_024)
      for (const text of [
        "",
        "{",
        "null",
        "[]",
        "[".repeat(64 * 1_024),
        long,
        JSON.stringify({ ...answer, type: "password" }),
        JSON.stringify({ ...answer, id: "" }),
        JSON.stringify({ ...answer, response: null }),
        JSON.stringify({ ...answer, response: { ...answer.response, clientDataJSON: 1 } }),
        JSON.stringify({ ...answer, response: { ...answer.response, clientDataJSON: long } }),
        JSON.stringify({
          ...answer,
          response: {
            ...answer.response,
            clientDataJSON: Buffer.from("null").toString("base64url"),
          },
        }),
      ]) {
        const codes = [
          yield* Effect.flip(passkeys.created(text, ceremony)),
          yield* Effect.flip(passkeys.used(text, ceremony, stateOf(), undefined)),
        ].map(({ code }) => code)
        for (const code of codes) expect(["invalid_request", "unauthorized"]).toContain(code)
      }
    }),
  )

  it.live(
    "is refused with a right challenge and a malformed rest, and the thread still checks others",
    () =>
      Effect.gen(function* () {
        const { passkeys, registered } = start()
        const { state } = yield* registered
        const authenticator = new Authenticator(ceremony.origin)
        const answer = JSON.parse(authenticator.create(passkeys.creation(ceremony, owner) as never))
        // Arrays in arrays in CBOR, an announced length that is not there, and bytes of no meaning.
        for (const bytes of [
          Buffer.alloc(48 * 1_024, 0x81),
          Buffer.from([0x5b, 255, 255, 255, 255, 255, 255, 255, 255]),
          Buffer.alloc(48 * 1_024),
          Buffer.alloc(0),
        ]) {
          const attestationObject = bytes.toString("base64url")
          const text = JSON.stringify({
            ...answer,
            response: { ...answer.response, attestationObject },
          })
          expect(yield* refusalOf(passkeys.created(text, ceremony))).toMatch(/was not accepted/)
        }
        // Refused answers used nothing up.
        yield* passkeys.created(JSON.stringify(answer), ceremony)
        expect(state.accounts.size).toBe(1)
      }),
  )
})
