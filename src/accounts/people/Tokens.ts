/**
 * Tokens of sessions and links: 256 random bits. Only their SHA-256 is stored; a fast hash is
 * enough for random texts.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto"

const tokenBytes = 32

/** A new token, base64url. */
export const makeToken = (): string => randomBytes(tokenBytes).toString("base64url")

/** The stored hash of a token, in hex. */
export const hashToken = (token: string): string => createHash("sha256").update(token).digest("hex")

const mac = (secret: string, accountId: string, nonce: string): Buffer =>
  createHmac("sha256", Buffer.from(secret, "hex")).update(`device\n${accountId}\n${nonce}`).digest()

/**
 * A token for a browser in which the account has signed in, signed with the directory's secret
 * (hex).
 */
export const makeDeviceToken = (secret: string, accountId: string): string => {
  const nonce = makeToken()
  return `${nonce}.${mac(secret, accountId, nonce).toString("base64url")}`
}

/**
 * The nonce of a device's token that was made for this account; `undefined` for all other texts.
 */
export const deviceOf = (secret: string, accountId: string, token: string): string | undefined => {
  const [nonce, signature, ...rest] = token.split(".")
  if (nonce === undefined || signature === undefined || rest.length > 0) return undefined
  const given = Buffer.from(signature, "base64url")
  const expected = mac(secret, accountId, nonce)
  return given.length === expected.length && timingSafeEqual(given, expected) ? nonce : undefined
}
