/** The messages to and from the thread that checks passkeys. */
import type { NewPasskey } from "../../domain/accounts/Account.ts"
import type { NewAnswer, UsedAnswer } from "./Answer.ts"

/** COSE algorithms that the server offers: Ed25519, ECDSA with P-256, RSA with SHA-256. */
export const passkeyAlgorithms = [-8, -7, -257] as const

interface Expected {
  readonly challenge: string
  /** The page's origin, such as `https://laurel.example.com`. */
  readonly origin: string
  /** The host that passkeys are bound to. */
  readonly rpId: string
}

export type PasskeyCheck = Expected &
  (
    | { readonly kind: "new"; readonly answer: NewAnswer }
    /** `publicKey` is COSE in base64url. */
    | { readonly kind: "used"; readonly answer: UsedAnswer; readonly publicKey: string }
  )

export type PasskeyOutcome =
  | { readonly kind: "new"; readonly passkey: Omit<NewPasskey, "name"> }
  | { readonly kind: "used"; readonly counter: number }
  | { readonly kind: "refused"; readonly reason: string }
