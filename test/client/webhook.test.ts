/** `verifyWebhook` of the client against signatures of the server and of the reference library. */
import { randomBytes } from "node:crypto"
import { Webhook } from "standardwebhooks"
import { describe, expect, it } from "vitest"
import { verifyWebhook, WebhookError, type WebhookRequest } from "../../src/client/webhook.ts"
import { limits } from "../../src/Limits.ts"
import { makeSecret, secretKey, sign } from "../../src/webhooks/send/Signature.ts"

const id = "msg_0mi8k3f2a4c92_1"
const seconds = 1_793_620_800
const body = '{"type":"xp.earned","data":{"name":"Zoë 🏆"}}'
const [secret, other] = [makeSecret(), makeSecret()]
const signed = sign([secretKey(secret)], id, seconds, body)

const headersOf = (signature: string, at: number | string = seconds, of = id) => ({
  "webhook-id": of,
  "webhook-timestamp": String(at),
  "webhook-signature": signature,
})

const verify = (more: Partial<WebhookRequest> = {}) =>
  verifyWebhook({ secret, headers: headersOf(signed), body, now: seconds * 1_000, ...more })

const refusal = (request: Promise<unknown>): Promise<string> =>
  request.then(
    () => "genuine",
    (error) => (error instanceof WebhookError ? error.message : `not refused: ${error}`),
  )

describe("A webhook", () => {
  it("is genuine as the server signs it, with any form of body and headers", async () => {
    const message = JSON.parse(body)
    expect(await verify()).toEqual(message)
    const bytes = Buffer.from(body)
    expect(await verify({ body: bytes, headers: new Headers(headersOf(signed)) })).toEqual(message)
    expect(await verify({ body: new Uint8Array(bytes).buffer })).toEqual(message)
  })

  it("is genuine as the reference library signs it", async () => {
    const signature = new Webhook(secret).sign(id, new Date(seconds * 1_000), body)
    expect(await verify({ headers: headersOf(signature) })).toEqual(JSON.parse(body))
  })

  it("is refused with another secret, body, id or time", async () => {
    const none = "No signature is genuine"
    expect(await refusal(verify({ secret: other }))).toBe(none)
    expect(await refusal(verify({ body: `${body} ` }))).toBe(none)
    expect(await refusal(verify({ headers: headersOf(signed, seconds, "msg_2") }))).toBe(none)
    expect(await refusal(verify({ headers: headersOf(signed, seconds + 1) }))).toBe(none)
    for (const broken of [
      ...["", "v1,", signed.slice(3), `v2${signed.slice(2)}`, `V1${signed.slice(2)}`],
      ...[`${signed.slice(0, -2)}==`, signed.slice(0, -2), `v1,%%%`, `x${signed}`],
    ]) {
      expect([broken, await refusal(verify({ headers: headersOf(broken) }))]).toEqual([
        broken,
        none,
      ])
    }
  })

  it("is refused without its header fields, or with a time that is no number", async () => {
    const missing = "The header fields of a webhook are missing"
    for (const name of Object.keys(headersOf(signed))) {
      expect(await refusal(verify({ headers: { ...headersOf(signed), [name]: undefined } }))).toBe(
        missing,
      )
    }
    for (const at of ["", "now", "-1", "1e9", " 1", "9".repeat(13)]) {
      expect(await refusal(verify({ headers: headersOf(signed, at) }))).toBe(missing)
    }
  })

  it("may be as old or as new as the tolerance", async () => {
    const late = "The webhook was signed too long ago, or the clocks differ"
    for (const side of [-1, 1]) {
      const at = (more: number) => ({ now: (seconds + side * more) * 1_000 })
      expect(await refusal(verify(at(300)))).toBe("genuine")
      expect(await refusal(verify(at(301)))).toBe(late)
      expect(await refusal(verify({ ...at(11), toleranceSeconds: 10 }))).toBe(late)
    }
    expect(await refusal(verify({ toleranceSeconds: Number.NaN }))).toBe(late)
  })

  it("is genuine while secrets rotate: signed with several, or checked with several", async () => {
    const both = sign([other, secret].map(secretKey), id, seconds, body)
    expect(await refusal(verify({ headers: headersOf(both) }))).toBe("genuine")
    expect(await refusal(verify({ secret: [other, secret] }))).toBe("genuine")
    expect(await refusal(verify({ secret: [] }))).toBe("No signature is genuine")
  })

  it("may have a signature of each secret that a server has at most, and no more are tried", async () => {
    const of = (others: number) =>
      [...Array.from({ length: others }, makeSecret), secret].map(secretKey)
    const signatures = (others: number) => headersOf(sign(of(others), id, seconds, body))
    expect(limits.webhookSecretsMax).toBe(5)
    expect(await refusal(verify({ headers: signatures(4) }))).toBe("genuine")
    expect(await refusal(verify({ headers: signatures(5) }))).toBe("No signature is genuine")
  })

  it("cannot be checked with what is no secret: that is the receiver's fault, and refused", async () => {
    const short = `whsec_${randomBytes(23).toString("base64")}`
    for (const wrong of ["", "whsec_", secret.slice(6), "whsec_%", short, `x${secret}`]) {
      expect(await refusal(verify({ secret: wrong }))).toBe("A secret is whsec_ and base64")
    }
  })
})
