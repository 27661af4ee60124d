/**
 * Signatures of Standard Webhooks 1.0: `webhook-signature: v1,<base64>` with the HMAC-SHA-256 of
 * `<webhook-id>.<webhook-timestamp>.<body>` under a secret `whsec_<base64 of 24 to 64 bytes>`.
 * While a secret is being replaced there are two signatures, separated by a space.
 *
 * Needs only Node: receivers may copy this file for `verifyWebhook`.
 */
import {
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from "node:crypto"

const prefix = "whsec_"
const secretBytes = 32
const secretBytesMin = 24
const secretBytesMax = 64
/** The largest accepted difference between the clocks of sender and receiver. */
const toleranceSeconds = 300

/** Generates a secret. */
export const makeSecret = (): string => prefix + randomBytes(secretBytes).toString("base64")

/** The key of a secret. Throws on malformed text. */
export const secretKey = (secret: string): KeyObject => {
  const text = secret.startsWith(prefix) ? secret.slice(prefix.length) : ""
  const bytes = Buffer.from(text, "base64")
  if (
    bytes.toString("base64") !== text ||
    bytes.length < secretBytesMin ||
    bytes.length > secretBytesMax
  ) {
    throw new Error(`A secret is ${prefix} and the base64 of 24 to 64 bytes`)
  }
  return createSecretKey(bytes)
}

const signature = (key: KeyObject, id: string, timestamp: string, body: string | Uint8Array) =>
  createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64")

/**
 * The value of `webhook-signature`: one signature for each of `keys`. `timestampSeconds`: since
 * 1970.
 */
export const sign = (
  keys: ReadonlyArray<KeyObject>,
  id: string,
  timestampSeconds: number,
  body: string | Uint8Array,
): string => keys.map((key) => `v1,${signature(key, id, String(timestampSeconds), body)}`).join(" ")

export interface SignedRequest {
  /** The secret from the response that created the webhook or rotated its secret. */
  readonly secret: string
  /** The header fields of the request, names in lower case. */
  readonly headers: { readonly [name: string]: string | ReadonlyArray<string> | undefined }
  /** The bytes of the body as received, not parsed and serialised again. */
  readonly body: string | Uint8Array
  /** Epoch milliseconds; absent: now. */
  readonly now?: number
}

/**
 * For receivers: whether a request is from Laurel and at most five minutes old. Also store its
 * `webhook-id`, since the same message may arrive more than once.
 */
export const verifyWebhook = ({
  body,
  headers,
  now = Date.now(),
  secret,
}: SignedRequest): boolean => {
  const id = headers["webhook-id"]
  const timestamp = headers["webhook-timestamp"]
  const given = headers["webhook-signature"]
  if (typeof id !== "string" || typeof timestamp !== "string" || typeof given !== "string") {
    return false
  }
  if (!/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now / 1_000 - Number(timestamp)) > toleranceSeconds) return false
  const expected = Buffer.from(`v1,${signature(secretKey(secret), id, timestamp, body)}`)
  return given.split(" ").some((each) => {
    const bytes = Buffer.from(each)
    return bytes.length === expected.length && timingSafeEqual(bytes, expected)
  })
}
