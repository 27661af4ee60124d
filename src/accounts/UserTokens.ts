/**
 * The text of user tokens: JSON Web Tokens (RFC 7519) with HMAC-SHA-256, so that clients can read
 * the expiry with any library. The issuer is the id of the key that made the token, the subject is
 * the user.
 *
 * Tokens are not stored. The signing key is derived from the directory's secret, and a token ends
 * with the API key that made it. All tokens have the same signing key, so that the signature is
 * checked before anything else is read. With Ed25519 a copy of the data could verify tokens but not
 * make them. But a verification would cost more than the rest of a request, and strangers can cause
 * any number of verifications.
 *
 * The header is one constant text, so a token cannot choose its algorithm. Signatures are compared
 * as texts, so each token has exactly one form.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto"
import { type TokenScope, tokenScopes } from "../domain/project/Directory.ts"
import { limits } from "../Limits.ts"

/** Times are epoch milliseconds, whole seconds. */
export interface UserToken {
  readonly keyId: string
  readonly userId: string
  readonly issuedAt: number
  readonly expiresAt: number
  /** Absent: none. */
  readonly scopes?: ReadonlyArray<TokenScope>
}

const header = `${Buffer.from('{"alg":"HS256","typ":"JWT"}').toString("base64url")}.`
const signatureCharacters = 43

/** Whether `text` begins like a token, as no key does. */
export const looksLikeToken = (text: string): boolean => text.startsWith(header)

export class UserTokens {
  readonly #key: KeyObject

  /**
   * `secret` is the directory's secret. It also hashes the texts of keys. No key has the text `user
   * tokens`, so no hash of a key is the key of tokens.
   */
  constructor(secret: KeyObject) {
    this.#key = createSecretKey(createHmac("sha256", secret).update("user tokens").digest())
  }

  make({ expiresAt, issuedAt, keyId, scopes = [], userId }: UserToken): string {
    const claims = {
      iss: keyId,
      sub: userId,
      iat: Math.floor(issuedAt / 1_000),
      exp: Math.floor(expiresAt / 1_000),
      // Words with spaces between them, as in RFC 8693.
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
    }
    const signed = header + Buffer.from(JSON.stringify(claims)).toString("base64url")
    return `${signed}.${this.#signature(signed)}`
  }

  /**
   * The claims of a token; `undefined` if this directory did not sign the token, or if it has
   * expired at `now`.
   */
  read(text: string, now: number): UserToken | undefined {
    const token = this.readAnyTime(text)
    if (token === undefined) return undefined
    // A token with more than the longest lifetime left was made before the clock was set back.
    const leftMs = token.expiresAt - now
    return leftMs > 0 && leftMs <= limits.userTokenSecondsMax * 1_000 ? token : undefined
  }

  /** Like `read`, for tokens that may have expired. */
  readAnyTime(text: string): UserToken | undefined {
    const end = text.length - signatureCharacters - 1
    if (text.length > limits.userTokenCharactersMax || end <= header.length) return undefined
    if (text[end] !== "." || !looksLikeToken(text)) return undefined
    const asked = Buffer.from(text.slice(end + 1), "latin1")
    if (!timingSafeEqual(asked, Buffer.from(this.#signature(text.slice(0, end)), "latin1"))) {
      return undefined
    }
    const claims = JSON.parse(Buffer.from(text.slice(header.length, end), "base64url").toString())
    const { exp, iat, iss, scope = "", sub } = claims
    const scopes = tokenScopes.filter((one) => scope.split(" ").includes(one))
    const times = { issuedAt: iat * 1_000, expiresAt: exp * 1_000 }
    return { keyId: iss, userId: sub, ...times, ...(scopes.length > 0 && { scopes }) }
  }

  #signature(signed: string): string {
    return createHmac("sha256", this.#key).update(signed).digest("base64url")
  }
}
