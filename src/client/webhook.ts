/**
 * Verifies webhooks with WebCrypto: `webhook-signature: v1,<base64>` with the HMAC-SHA-256 of
 * `<webhook-id>.<webhook-timestamp>.<body>` (Standard Webhooks 1.0). WebCrypto compares in constant time.
 */
import type { Message } from "./generated/types.ts"

export interface WebhookRequest {
  /** The secret, as the server replied when the webhook was created or its secret rotated; several during a rotation. */
  readonly secret: string | ReadonlyArray<string>
  /** The header fields: a `Headers`, or an object with names in lower case. */
  readonly headers:
    | Headers
    | { readonly [name: string]: string | ReadonlyArray<string> | undefined }
  /** The body as received, byte by byte: not parsed and serialised again. */
  readonly body: string | Uint8Array | ArrayBuffer
  /** How far the clocks of sender and receiver may differ. Default: 300. */
  readonly toleranceSeconds?: number
  /** Epoch milliseconds; now by default. */
  readonly now?: number
}

export class WebhookError extends Error {
  override readonly name = "WebhookError"
}

/** A sender signs with at most five secrets; more would only cost time. */
const signaturesMax = 5

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {}
}

/**
 * The message of a genuine request; throws a `WebhookError` otherwise. Remember its `id`: the same message may come more
 * than once.
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
  // Written so that a tolerance that is no number refuses.
  if (!(Math.abs(now / 1_000 - Number(timestamp)) <= toleranceSeconds)) {
    throw new WebhookError("The webhook was signed too long ago, or the clocks differ")
  }
  // Bytes that are no UTF-8 change here, and what is returned is what was verified.
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
