/**
 * Passkeys: the options that a browser is asked with, and the checks of its answers. Every passkey signs in without a
 * typed address (it is discoverable), and only after the authenticator has verified the person. WebAuthn Level 3.
 */
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from "@simplewebauthn/server"
import { Effect } from "effect"
import { type Account, type AccountsState, passkeyWithId } from "../../domain/accounts/Account.ts"
import type { NewPasskey } from "../../domain/accounts/AccountCommand.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { CheckThread, startCheckWorker } from "../CheckThread.ts"
import { challengeOf, newAnswer, usedAnswer } from "./Answer.ts"
import { type ChallengePurpose, Challenges } from "./Challenges.ts"
import { type PasskeyCheck, type PasskeyOutcome, passkeyAlgorithms } from "./Protocol.ts"

/** The site for which a passkey is created or used. */
export interface Ceremony {
  /** The page's origin, such as `https://laurel.example.com`, and the host to which its passkeys are bound. */
  readonly origin: string
  readonly rpId: string
  /** The browser: a session's id, or the text of a cookie. */
  readonly browser: string
}

/** The account that a passkey is for: an existing one, or one that is to be created. */
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

  /** The options with which a browser creates a passkey. */
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

  /** The options with which a browser signs in, by any passkey, or confirms `account` by one of its own. */
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

  /** The passkey that a browser created, and the id of the account that its options were for. */
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

  /** The passkey of `state` that a browser used to sign in, or to confirm the account `confirms`. */
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
      // Used before the check: an answer that comes twice at once passes once.
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
