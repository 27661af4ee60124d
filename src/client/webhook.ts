/**
 * Verifies webhooks with WebCrypto, after Standard Webhooks 1.0: the header field
 * `webhook-signature` has `v1,<base64>` with the HMAC-SHA-256 of
 * `<webhook-id>.<webhook-timestamp>.<body>`. WebCrypto compares in constant time.
 */
import type { Message } from "./generated/types.ts"

/** A received request, and the secret to verify it with. */
export interface WebhookRequest {
  /**
   * The secret (`whsec_…`) from the reply that created the webhook or rotated its secret. During a
   * rotation, a list of the old and the new secret.
   */
  readonly secret: string | ReadonlyArray<string>
  /**
   * The header fields: a `Headers` object, or an object with names in lower case, such as Node's
   * `request.headers`.
   */
  readonly headers:
    | Headers
    | { readonly [name: string]: string | ReadonlyArray<string> | undefined }
  /** The raw body. A body that was parsed and serialised again has another signature. */
  readonly body: string | Uint8Array | ArrayBuffer
  /**
   * The largest difference between the time of the signature and `now`, in seconds. Default: 300.
   */
  readonly toleranceSeconds?: number
  /** The present time in epoch milliseconds. Default: `Date.now()`. */
  readonly now?: number
}

/**
 * The reason why `verifyWebhook` rejects a request. The request may be forged: do not process it.
 */
export class WebhookError extends Error {
  override readonly name = "WebhookError"
}

/**
 * A sender signs with at most five secrets. Further signatures are ignored, so a forger cannot make
 * this slow.
 */
const signaturesMax = 5

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {}
}

/**
 * Resolves with the message of a genuine request. Rejects with a `WebhookError` if a header field
 * is missing, the time of the signature is not within `toleranceSeconds`, a secret is malformed, or
 * no signature matches. The same message may arrive more than once: remember its `id`.
 *
 * ```ts
 * const { headers } = request
 * const message = await verifyWebhook({ secret: "whsec_…", headers, body: await request.text() })
 * if (await isNew(message.id)) handle(message.type, message.data)
 * ```
 */
export const verifyWebhook = async ({
  body,
  headers,
  now = Date.now(),
  secret,
  toleranceSeconds = 300,
}: WebhookRequest): Promise<Message> => {
  const [id, timestamp, given] = ["id", "timestamp", "signature"].map((name) => {
    const field = `webhook-${name}`
    return headers instanceof Headers ? headers.get(field) : headers[field]
  })
  if (
    typeof id !== "string" ||
    !/^\d{1,12}$/.test(String(timestamp)) ||
    typeof given !== "string"
  ) {
    throw new WebhookError("The header fields of a webhook are missing")
  }
  // A tolerance of NaN must refuse, so the comparison is negated.
  if (!(Math.abs(now / 1_000 - Number(timestamp)) <= toleranceSeconds)) {
    throw new WebhookError("The webhook was signed too long ago, or the clocks differ")
  }
  // Decoding replaces bytes that are not UTF-8. The decoded text is both verified and returned.
  const text = typeof body === "string" ? body : new TextDecoder().decode(body)
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`)
  for (const each of [secret].flat()) {
    const raw = each.startsWith("whsec_") ? bytesOf(each.slice(6)) : undefined
    if (!raw || raw.length < 24) throw new WebhookError("A secret is whsec_ and base64")
    const key = await crypto.subtle.importKey(
      "raw",
      raw,
      { name: "HMAC", hash: "SHA-256" },
      false,
      ["verify"],
    )
    for (const one of given.split(" ", signaturesMax)) {
      const signature = one.startsWith("v1,") && bytesOf(one.slice(3))
      if (signature && (await crypto.subtle.verify("HMAC", key, signature, signed))) {
        return JSON.parse(text)
      }
    }
  }
  throw new WebhookError("No signature is genuine")
}
