import { createHmac, createSecretKey } from "node:crypto"
import { describe, expect, it } from "vitest"
import { looksLikeToken, UserTokens } from "../../src/accounts/UserTokens.ts"
import { tokenScopes } from "../../src/domain/project/Directory.ts"
import { limits } from "../../src/Limits.ts"

const secret = createSecretKey(Buffer.alloc(32, 7))
const tokens = new UserTokens(secret)
const now = 1_795_000_000_000
const hour = 3_600_000
const claims = { keyId: "key_01a1", userId: "ada", issuedAt: now, expiresAt: now + hour }
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")

describe("The text of a user token", () => {
  it("names the user, the key that made it and its times", () => {
    const text = tokens.make(claims)
    expect(looksLikeToken(text)).toBe(true)
    expect(tokens.read(text, now)).toEqual(claims)
    expect(JSON.parse(Buffer.from(text.split(".")[1]!, "base64url").toString())).toEqual({
      iss: "key_01a1",
      sub: "ada",
      iat: now / 1_000,
      exp: (now + hour) / 1_000,
    })
  })

  it("names its scopes as words, and a token without them has none", () => {
    const scopes = ["purchases"] as const
    const text = tokens.make({ ...claims, scopes })
    expect(tokens.read(text, now)).toEqual({ ...claims, scopes })
    const { scope } = JSON.parse(Buffer.from(text.split(".")[1]!, "base64url").toString())
    expect(scope).toBe("purchases")
    expect(tokens.read(tokens.make({ ...claims, scopes: [] }), now)).toEqual(claims)
  })

  it("can be read again with every user id, however long", () => {
    const ids = [
      "a",
      "ü".repeat(128),
      "🏆".repeat(64),
      "\ud800".repeat(128),
      '"\\'.repeat(64),
      "a.b",
    ]
    for (const userId of ids) {
      const text = tokens.make({ ...claims, userId, scopes: tokenScopes })
      expect(text.length).toBeLessThanOrEqual(limits.userTokenCharactersMax)
      expect(tokens.read(text, now)?.userId).toBe(userId)
    }
  })

  it("ends at the second of its expiry", () => {
    const text = tokens.make(claims)
    expect(tokens.read(text, claims.expiresAt - 1)).toEqual(claims)
    expect(tokens.read(text, claims.expiresAt)).toBeUndefined()
  })

  it("is refused with more than the longest lifetime left: the clock was set back", () => {
    const text = tokens.make({ ...claims, expiresAt: now + 24 * hour })
    expect(tokens.read(text, now)).toBeDefined()
    expect(tokens.read(text, now - 1)).toBeUndefined()
  })

  it("is refused if one character is changed, lost or added", () => {
    const text = tokens.make(claims)
    for (let place = 0; place < text.length; place++) {
      const [before, after] = [text.slice(0, place), text.slice(place + 1)]
      expect(tokens.read(before + after, now)).toBeUndefined()
      for (const other of ["A", "B", "g", "_", ".", "=", "é"]) {
        if (other === text[place]) continue
        expect(tokens.read(before + other + after, now)).toBeUndefined()
        expect(tokens.read(before + other + text[place] + after, now)).toBeUndefined()
      }
    }
    for (const wrong of ["", ".", "..", text.slice(0, -44), ` ${text}`, `${text}\n`]) {
      expect(tokens.read(wrong, now)).toBeUndefined()
    }
  })

  it("can neither choose its algorithm nor be signed with another secret", () => {
    const [, payload] = tokens.make(claims).split(".")
    const others = [
      `${encoded({ alg: "none", typ: "JWT" })}.${payload}.`,
      `${encoded({ alg: "none", typ: "JWT" })}.${payload}.${"A".repeat(43)}`,
      new UserTokens(createSecretKey(Buffer.alloc(32, 8))).make(claims),
    ]
    // The secret itself hashes keys: what it signs is no token.
    const head = encoded({ alg: "HS256", typ: "JWT" })
    const signed = `${head}.${payload}`
    const signature = createHmac("sha256", secret).update(signed).digest("base64url")
    others.push(`${signed}.${signature}`)
    for (const text of others) expect(tokens.read(text, now)).toBeUndefined()
  })

  it("is refused unread beyond the maximum length", () => {
    const userId = "x".repeat(limits.userTokenCharactersMax)
    expect(tokens.read(tokens.make({ ...claims, userId }), now)).toBeUndefined()
  })
})
