/**
 * The text of user tokens: JSON Web Tokens (RFC 7519) with HMAC-SHA-256, so that clients read the expiry with any library. The
 * issuer is the id of the key that made the token, the subject the user.
 *
 * Nothing is stored: the signing key is derived from the directory's secret, and a token ends with its key. One signing
 * key for all, so that the signature is checked before anything else is read. With Ed25519 an archive could verify tokens but
 * not make them; a verification would cost more than the rest of a request, and strangers can ask for as many as they like.
 *
 * The header is one constant text: a token cannot choose its algorithm. Signatures are compared as texts, so each
 * token has one form.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto"
import { limits } from "../Limits.ts"

/** Times are epoch milliseconds, whole seconds. */
export interface UserToken {
  readonly keyId: string
  readonly userId: string
  readonly issuedAt: number
  readonly expiresAt: number
}

const header = `${Buffer.from('{"alg":"HS256","typ":"JWT"}').toString("base64url")}.`
const signatureCharacters = 43

/** Whether `text` claims to be a token: cheap, and no key begins so. */
export const looksLikeToken = (text: string): boolean => text.startsWith(header)

export class UserTokens {
  readonly #key: KeyObject

  /** `secret` is the directory's; keys are hashed under it, and no text of a key is this one. */
  constructor(secret: KeyObject) {
    this.#key = createSecretKey(createHmac("sha256", secret).update("user tokens").digest())
  }

  make({ expiresAt, issuedAt, keyId, userId }: UserToken): string {
    const claims = {
      iss: keyId,
      sub: userId,
      iat: Math.floor(issuedAt / 1_000),
      exp: Math.floor(expiresAt / 1_000),
    }
    const signed = header + Buffer.from(JSON.stringify(claims)).toString("base64url")
    return `${signed}.${this.#signature(signed)}`
  }

  /** The claims of a token; `undefined` for a text that is none of this directory, or has expired at `now`. */
  read(text: string, now: number): UserToken | undefined {
    const token = this.readAnyTime(text)
    if (token === undefined) return undefined
    // One with more time left than any may have was made before the clock was set back.
    const leftMs = token.expiresAt - now
    return leftMs > 0 && leftMs <= limits.userTokenSecondsMax * 1_000 ? token : undefined
  }

  /** `read` of a token that may have expired. */
  readAnyTime(text: string): UserToken | undefined {
    const end = text.length - signatureCharacters - 1
    if (text.length > limits.userTokenCharactersMax || end <= header.length) return undefined
    if (text[end] !== "." || !looksLikeToken(text)) return undefined
    const asked = Buffer.from(text.slice(end + 1), "latin1")
    if (!timingSafeEqual(asked, Buffer.from(this.#signature(text.slice(0, end)), "latin1"))) {
      return undefined
    }
    const claims = JSON.parse(Buffer.from(text.slice(header.length, end), "base64url").toString())
    const { exp, iat, iss, sub } = claims
    return { keyId: iss, userId: sub, issuedAt: iat * 1_000, expiresAt: exp * 1_000 }
  }

  #signature(signed: string): string {
    return createHmac("sha256", this.#key).update(signed).digest("base64url")
  }
}
