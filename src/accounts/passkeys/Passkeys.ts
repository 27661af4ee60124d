/**
 * Passkeys (WebAuthn Level 3): the options for the browser, and the checks of its answers. All
 * passkeys are discoverable, so that nobody types an address to sign in. The authenticator must
 * verify the person each time.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from "@simplewebauthn/server"
import { Effect } from "effect"
import {
  type Account,
  type AccountsState,
  type NewPasskey,
  passkeyWithId,
} from "../../domain/accounts/Account.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { CheckThread, startCheckWorker } from "../CheckThread.ts"
import { challengeOf, newAnswer, usedAnswer } from "./Answer.ts"
import { type PasskeyCheck, type PasskeyOutcome, passkeyAlgorithms } from "./PasskeyThread.ts"

/*
 * Challenges of passkeys. A challenge contains its expiry and subject, with a MAC. The process
 * remembers a challenge only after its use, so strangers may ask for any number of challenges
 * without using memory or evicting the challenges of others. A restart invalidates all challenges.
 */

const nonceBytes = 16
const keyBytes = 32

/** An answer is valid only for the purpose of its challenge. */
export type ChallengePurpose = "create" | "sign-in" | "confirm"

export interface Challenge {
  readonly id: string
  /** The account of the challenge; empty for any account. */
  readonly subject: string
  readonly expiresAt: number
}

export class Challenges {
  readonly #key = randomBytes(keyBytes)
  /** The expiry of used challenges by their id, in the order of use. */
  readonly #used = new Map<string, number>()

  /**
   * A new challenge in base64url, valid for `passkeyChallengeMs` in the browser whose cookie or
   * session is `browser`.
   */
  make(purpose: ChallengePurpose, browser: string, subject: string, now: number): string {
    const nonce = randomBytes(nonceBytes).toString("base64url")
    const id = `${now + limits.passkeyChallengeMs}.${nonce}.${subject}`
    return Buffer.from(`${id}.${this.#mac(purpose, browser, id)}`).toString("base64url")
  }

  /**
   * The challenge with this text; `undefined` if it has another purpose or browser, or has expired.
   */
  read(
    text: string,
    purpose: ChallengePurpose,
    browser: string,
    now: number,
  ): Challenge | undefined {
    const decoded = Buffer.from(text, "base64url").toString()
    const end = decoded.lastIndexOf(".")
    const id = decoded.slice(0, Math.max(0, end))
    const given = Buffer.from(decoded.slice(end + 1))
    const expected = Buffer.from(this.#mac(purpose, browser, id))
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
    const [expiry, , subject = ""] = id.split(".")
    const expiresAt = Number(expiry)
    return now < expiresAt ? { id, subject, expiresAt } : undefined
  }

  /**
   * Marks the challenge as used. False if it was used before, or if too many used challenges are
   * remembered already.
   */
  use({ expiresAt, id }: Challenge, now: number): boolean {
    // The map is in the order of use, so an expired entry may stay behind one that expires later,
    // for at most five minutes.
    for (const [used, expires] of this.#used) {
      if (expires > now) break
      this.#used.delete(used)
    }
    if (this.#used.has(id) || this.#used.size >= limits.passkeyChallengesUsedMax) return false
    this.#used.set(id, expiresAt)
    return true
  }

  /** Takes a use back. Called for refused answers, so that they use no memory. */
  release({ id }: Challenge): void {
    this.#used.delete(id)
  }

  #mac(purpose: ChallengePurpose, browser: string, id: string): string {
    const text = JSON.stringify([purpose, browser, id])
    return createHmac("sha256", this.#key).update(text).digest("base64url")
  }
}

/** The site for which a passkey is created or used. */
export interface Ceremony {
  /** The page's origin, such as `https://laurel.example.com`. */
  readonly origin: string
  /** The host that its passkeys are bound to. */
  readonly rpId: string
  /** The browser: a session's id, or the text of a cookie. */
  readonly browser: string
}

/** The account that a passkey is for. The account may not exist yet. */
export type PasskeyOwner = Pick<Account, "email" | "id" | "name" | "passkeys">

export interface UsedPasskey {
  readonly account: Account
  readonly passkey: { readonly id: string; readonly counter: number }
}

const handleOf = (accountId: string): string => Buffer.from(accountId).toString("base64url")

const startPasskeyWorker = () => startCheckWorker(new URL("./PasskeyWorker.ts", import.meta.url))

export class Passkeys {
  readonly #now: () => number
  readonly #thread: CheckThread<PasskeyCheck, PasskeyOutcome>
  readonly #challenges = new Challenges()

  constructor(now: () => number, startWorker = startPasskeyWorker) {
    this.#now = now
    this.#thread = new CheckThread(startWorker)
  }

  /** The options for a browser that creates a passkey. */
  creation(
    { browser, rpId }: Ceremony,
    { email, id, name, passkeys }: PasskeyOwner,
  ): PublicKeyCredentialCreationOptionsJSON {
    return {
      challenge: this.#challenges.make("create", browser, id, this.#now()),
      rp: { name: "Laurel", id: rpId },
      user: { id: handleOf(id), name: email, displayName: name },
      pubKeyCredParams: passkeyAlgorithms.map((alg) => ({ type: "public-key", alg })),
      timeout: limits.passkeyChallengeMs,
      attestation: "none",
      excludeCredentials: passkeys.map(descriptorOf),
      authenticatorSelection: {
        residentKey: "required",
        requireResidentKey: true,
        userVerification: "required",
      },
    }
  }

  /**
   * The options for a browser that signs in with any passkey or, given an `account`, confirms it
   * with one of its passkeys.
   */
  request(
    { browser, rpId }: Ceremony,
    account: Account | undefined,
  ): PublicKeyCredentialRequestOptionsJSON {
    const purpose = account === undefined ? "sign-in" : "confirm"
    return {
      challenge: this.#challenges.make(purpose, browser, account?.id ?? "", this.#now()),
      rpId,
      timeout: limits.passkeyChallengeMs,
      allowCredentials: account?.passkeys.map(descriptorOf) ?? [],
      userVerification: "required",
    }
  }

  /** The passkey that a browser created, and the id of the account in its options. */
  created(
    text: string,
    ceremony: Ceremony,
  ): Effect.Effect<
    { readonly accountId: string; readonly passkey: Omit<NewPasskey, "name"> },
    LaurelError
  > {
    return Effect.gen({ self: this }, function* () {
      const answer = newAnswer(text)
      if (answer === undefined) return yield* Effect.fail(noAnswer)
      const check = { kind: "new", answer } as const
      const { outcome, subject } = yield* this.#checked("create", ceremony, check)
      if (outcome.kind !== "new") return yield* Effect.fail(refused(outcome))
      return { accountId: subject, passkey: outcome.passkey }
    })
  }

  /** The passkey in `state` with which a browser signed in, or confirmed the account `confirms`. */
  used(
    text: string,
    ceremony: Ceremony,
    state: Pick<AccountsState, "accounts">,
    confirms: string | undefined,
  ): Effect.Effect<UsedPasskey, LaurelError> {
    return Effect.gen({ self: this }, function* () {
      const answer = usedAnswer(text)
      if (answer === undefined) return yield* Effect.fail(noAnswer)
      const found = passkeyWithId(state, answer.id)
      const handle = answer.response.userHandle
      if (
        found === undefined ||
        (handle && handle !== handleOf(found.account.id)) ||
        (confirms !== undefined && found.account.id !== confirms)
      ) {
        return yield* Effect.fail(unknownPasskey)
      }
      const { account, passkey } = found
      const purpose = confirms === undefined ? "sign-in" : "confirm"
      const check = { kind: "used", answer, publicKey: passkey.publicKey } as const
      const { outcome } = yield* this.#checked(purpose, ceremony, check)
      if (outcome.kind !== "used") return yield* Effect.fail(refused(outcome))
      return { account, passkey: { id: passkey.id, counter: outcome.counter } }
    })
  }

  #checked(
    purpose: ChallengePurpose,
    { browser, origin, rpId }: Ceremony,
    check: WithoutExpected<PasskeyCheck>,
  ): Effect.Effect<{ readonly outcome: PasskeyOutcome; readonly subject: string }, LaurelError> {
    return Effect.suspend(() => {
      const now = this.#now()
      const text = challengeOf(check.answer)
      const challenge = this.#challenges.read(text, purpose, browser, now)
      // Marked before the check, so that of two equal answers at the same time only one passes.
      if (challenge === undefined || !this.#challenges.use(challenge, now)) {
        return Effect.fail(expired)
      }
      const release = Effect.sync(() => this.#challenges.release(challenge))
      return this.#thread.check({ ...check, challenge: text, origin, rpId }).pipe(
        Effect.tap((outcome) => (outcome.kind === "refused" ? release : Effect.void)),
        Effect.onError(() => release),
        Effect.map((outcome) => ({ outcome, subject: challenge.subject })),
      )
    })
  }
}

type WithoutExpected<Check> = Check extends unknown
  ? Omit<Check, "challenge" | "origin" | "rpId">
  : never

const descriptorOf = ({ id, transports }: Account["passkeys"][number]) => ({
  id,
  type: "public-key" as const,
  transports: [...transports] as Array<AuthenticatorTransportFuture>,
})

type AuthenticatorTransportFuture = NonNullable<
  NonNullable<PublicKeyCredentialCreationOptionsJSON["excludeCredentials"]>[number]["transports"]
>[number]

const noAnswer = laurelError("invalid_request", "The browser has sent no passkey. Try again.")
const expired = laurelError(
  "unauthorized",
  "The page has waited too long, or was sent twice. Try again.",
)
const unknownPasskey = laurelError(
  "unauthorized",
  "No account has this passkey. It may have been removed.",
)

const refused = (outcome: PasskeyOutcome): LaurelError => {
  const reason = outcome.kind === "refused" ? outcome.reason : "Another answer was expected"
  return laurelError("unauthorized", `The passkey was not accepted: ${reason}.`)
}
