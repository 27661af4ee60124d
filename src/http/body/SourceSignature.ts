/**
 * Verifies that a delivery comes from the service of a source: that its signature is that of the
 * body's bytes with one of the source's valid secrets.
 *
 * - Stripe: `Stripe-Signature: t=<seconds>,v1=<hex>,…`, the HMAC-SHA-256 of `<t>.<body>`. A time that
 *   is further than `sourceToleranceMs` from the server's is refused, so an old delivery cannot be
 *   replayed. Other schemes than `v1` are ignored.
 * - GitHub: `X-Hub-Signature-256: sha256=<hex>`, the HMAC-SHA-256 of the body. It has no time, and
 *   GitHub does not sign the id of the delivery.
 * - Standard Webhooks: `webhook-signature: v1,<base64> …`, the HMAC-SHA-256 of
 *   `<webhook-id>.<webhook-timestamp>.<body>`. The time is bounded as Stripe's. A secret that begins
 *   with `whsec_` has the base64 of the key; any other text is the key itself.
 *
 * Cost: a hash of the body for each valid secret, whose number is bounded, and for each signature a
 * comparison that takes the same time wherever two differ. Nothing is parsed or remembered.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { SignedKind } from "../../domain/project/Source.ts"
import { limits } from "../../Limits.ts"

/** The header fields of a delivery that may matter. */
export interface DeliveryHeaders {
  readonly "stripe-signature"?: string
  readonly "x-hub-signature-256"?: string
  readonly "x-github-event"?: string
  readonly "x-github-delivery"?: string
  readonly "webhook-id"?: string
  readonly "webhook-timestamp"?: string
  readonly "webhook-signature"?: string
}

/** Why a delivery is refused: words for the service's log, which tell nothing of the secret. */
export type SignatureFault = "missing" | "malformed" | "too_old" | "wrong"

/** `secrets`: the valid ones. `now`: the server's time. `undefined`: the signature is valid. */
type Verify = (
  headers: DeliveryHeaders,
  body: Buffer,
  secrets: ReadonlyArray<string>,
  now: number,
) => SignatureFault | undefined

const hex256 = /^[0-9a-f]{64}$/

/** `signatures`: 32 bytes each. */
const isSigned = (
  signatures: ReadonlyArray<Buffer>,
  secrets: ReadonlyArray<string | Buffer>,
  parts: ReadonlyArray<string | Buffer>,
): boolean => {
  let matches = false
  for (const secret of secrets) {
    const hmac = createHmac("sha256", secret)
    for (const part of parts) hmac.update(part)
    const digest = hmac.digest()
    for (const signature of signatures) if (timingSafeEqual(signature, digest)) matches = true
  }
  return matches
}

/** `seconds`: digits. */
const isFresh = (seconds: string, now: number): boolean =>
  Math.abs(now - Number(seconds) * 1_000) <= limits.sourceToleranceMs

const verifyStripe: Verify = (headers, body, secrets, now) => {
  const header = headers["stripe-signature"]
  if (header === undefined) return "missing"
  if (header.length > limits.sourceSignatureCharactersMax) return "malformed"
  const fields = header.split(",").map((field) => field.split("=", 2))
  const time = fields.find(([name]) => name?.trim() === "t")?.[1]
  const signatures = fields
    .flatMap(([name, value = ""]) =>
      name?.trim() === "v1" && hex256.test(value) ? [Buffer.from(value, "hex")] : [],
    )
    .slice(0, limits.sourceSignaturesMax)
  if (time === undefined || !/^\d{1,12}$/.test(time) || signatures.length === 0) return "malformed"
  if (!isFresh(time, now)) return "too_old"
  return isSigned(signatures, secrets, [`${time}.`, body]) ? undefined : "wrong"
}

const verifyGithub: Verify = (headers, body, secrets) => {
  const header = headers["x-hub-signature-256"]
  if (header === undefined) return "missing"
  const signature = header.startsWith("sha256=") ? header.slice(7) : ""
  if (!hex256.test(signature)) return "malformed"
  return isSigned([Buffer.from(signature, "hex")], secrets, [body]) ? undefined : "wrong"
}

const base64Of256 = /^[A-Za-z0-9+/]{43}=$/

/** The key of a secret of Standard Webhooks. */
const standardKey = (secret: string): string | Buffer => {
  const text = secret.startsWith("whsec_") ? secret.slice(6) : ""
  const bytes = Buffer.from(text, "base64")
  // What is no base64 would be a short key, or none at all, which anybody could guess.
  return bytes.length >= keyBytesMin && bytes.toString("base64") === text ? bytes : secret
}

/** The shortest key of Standard Webhooks. */
const keyBytesMin = 24

const verifyStandard: Verify = (headers, body, secrets, now) => {
  const { "webhook-id": id, "webhook-signature": header, "webhook-timestamp": time } = headers
  if (id === undefined || header === undefined || time === undefined) return "missing"
  if (header.length > limits.sourceSignatureCharactersMax) return "malformed"
  const signatures = header
    .split(" ")
    .flatMap((each) => {
      const value = each.startsWith("v1,") ? each.slice(3) : ""
      return base64Of256.test(value) ? [Buffer.from(value, "base64")] : []
    })
    .slice(0, limits.sourceSignaturesMax)
  if (!/^\d{1,12}$/.test(time) || signatures.length === 0) return "malformed"
  if (!isFresh(time, now)) return "too_old"
  const keys = secrets.map(standardKey)
  return isSigned(signatures, keys, [`${id}.${time}.`, body]) ? undefined : "wrong"
}

const services: Readonly<Record<SignedKind, Verify>> = {
  stripe: verifyStripe,
  github: verifyGithub,
  json: verifyStandard,
}

export const verifyDelivery = (kind: SignedKind, ...given: Parameters<Verify>) =>
  services[kind](...given)
