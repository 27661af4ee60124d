import { createHmac, randomBytes } from "node:crypto"
import { describe, expect, it } from "vitest"
import { makeSecret, secretKey, sign, verifyWebhook } from "../../../src/webhooks/send/Signature.ts"

const id = "msg_0mi8k3f2a4c92_1"
const seconds = 1_793_620_800
const body = '{"name":"Zoë 🏆"}'

const headersOf = (
  signature: string,
  { at = seconds, of = id }: { readonly at?: number; readonly of?: string } = {},
) => ({
  "webhook-id": of,
  "webhook-timestamp": String(at),
  "webhook-signature": signature,
})

const verify = (
  secret: string,
  signature: string,
  more: Partial<Parameters<typeof verifyWebhook>[0]> = {},
) => verifyWebhook({ secret, headers: headersOf(signature), body, now: seconds * 1_000, ...more })

describe("A secret", () => {
  it("is a prefix and 32 random bytes", () => {
    const secrets = Array.from({ length: 100 }, makeSecret)
    expect(new Set(secrets).size).toBe(100)
    for (const secret of secrets) {
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
      expect(secretKey(secret).symmetricKeySize).toBe(32)
    }
  })

  it("may have 24 to 64 bytes; other text is refused", () => {
    const of = (length: number) => `whsec_${randomBytes(length).toString("base64")}`
    for (const length of [24, 64]) expect(secretKey(of(length)).symmetricKeySize).toBe(length)
    const wrong = [of(23), of(65), "whsec_", of(32).slice(6), `${of(32)}!`, of(32).slice(0, -1)]
    for (const secret of wrong) expect(() => secretKey(secret)).toThrow("24 to 64 bytes")
  })
})

describe("A signature", () => {
  const secret = makeSecret()
  const other = makeSecret()
  const signed = sign([secretKey(secret)], id, seconds, body)

  it("is the HMAC-SHA-256 of id, time and body", () => {
    const key = Buffer.from(secret.slice(6), "base64")
    const expected = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")
    expect(signed).toBe(`v1,${expected}`)
  })

  it("verifies with its own secret, id, time and body only", () => {
    expect(verify(secret, signed)).toBe(true)
    expect(verify(secret, signed, { body: Buffer.from(body) })).toBe(true)
    expect(verify(other, signed)).toBe(false)
    expect(verify(secret, signed, { body: `${body} ` })).toBe(false)
    expect(verify(secret, signed, { headers: headersOf(signed, { of: "msg_2" }) })).toBe(false)
    expect(verify(secret, signed, { headers: headersOf(signed, { at: seconds + 1 }) })).toBe(false)
    for (const broken of [
      "",
      "v1,",
      signed.slice(0, -1),
      signed.replace("v1", "v2"),
      signed.slice(3),
    ]) {
      expect(verify(secret, broken)).toBe(false)
    }
  })

  it("is sent for both secrets while a secret is replaced, and each verifies", () => {
    const both = sign([secretKey(other), secretKey(secret)], id, seconds, body)
    expect(both.split(" ")).toHaveLength(2)
    expect(verify(secret, both)).toBe(true)
    expect(verify(other, both)).toBe(true)
    expect(verify(makeSecret(), both)).toBe(false)
    expect(verify(secret, `v1a,xyz ${signed}`)).toBe(true)
  })

  it("is valid for five minutes, before and after", () => {
    for (const [offset, good] of [
      [-300, true],
      [-301, false],
      [300, true],
      [301, false],
    ] as const) {
      expect(verify(secret, signed, { now: (seconds + offset) * 1_000 })).toBe(good)
    }
    expect(verify(secret, signed, { now: Date.now() })).toBe(
      Math.abs(Date.now() / 1_000 - seconds) <= 300,
    )
  })

  it("needs all of its header fields in the right form", () => {
    for (const name of Object.keys(headersOf(signed))) {
      expect(verify(secret, signed, { headers: { ...headersOf(signed), [name]: undefined } })).toBe(
        false,
      )
      expect(verify(secret, signed, { headers: { ...headersOf(signed), [name]: [signed] } })).toBe(
        false,
      )
    }
    for (const time of ["", "now", "1e9", "-1", `${seconds}.5`, "NaN"]) {
      const headers = { ...headersOf(signed), "webhook-timestamp": time }
      expect(verify(secret, signed, { headers })).toBe(false)
    }
  })
})
