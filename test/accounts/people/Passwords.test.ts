import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { vi } from "vitest"
import { PasswordStrength, Passwords } from "../../../src/accounts/people/Passwords.ts"
import { limits } from "../../../src/Limits.ts"

describe("A password", () => {
  it.live("matches its own hash, and no other password does", () =>
    Effect.gen(function* () {
      const passwords = new Passwords()
      const phc = yield* passwords.hash("correct horse battery")
      expect(phc).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[^$=]{22}\$[^$=]{43}$/)
      expect(yield* passwords.hash("correct horse battery")).not.toBe(phc)
      expect(yield* passwords.check("correct horse battery", phc, "stranger")).toEqual({
        matches: true,
      })
      for (const wrong of ["correct horse batterx", "", "correct horse battery "]) {
        expect(yield* passwords.check(wrong, phc, "stranger")).toEqual({ matches: false })
      }
      // The same letters, composed otherwise.
      const accented = yield* passwords.hash("caf\u00e9 au lait noir")
      expect(yield* passwords.check("cafe\u0301 au lait noir", accented, "stranger")).toEqual({
        matches: true,
      })
    }),
  )

  it.live("is normalized in each of its forms, and not beyond the longest password", () =>
    Effect.gen(function* () {
      const passwords = new Passwords()
      const longest = "\u1f82".repeat(limits.passwordCharactersMax)
      const phc = yield* passwords.hash(longest)
      const normalize = vi.spyOn(String.prototype, "normalize")
      try {
        const decomposed = "\u03b1\u0313\u0300\u0345".repeat(limits.passwordCharactersMax)
        expect(yield* passwords.check(decomposed, phc, "stranger")).toEqual({ matches: true })
        // Normalizing this takes a second.
        const marks = "\u0301".repeat(16_000) + "\u0327".repeat(16_000)
        expect(yield* passwords.check(marks, phc, "stranger")).toEqual({ matches: false })
        const lengths = normalize.mock.contexts.map((text) => String(text).length)
        expect(lengths).toEqual([4 * limits.passwordCharactersMax])
      } finally {
        normalize.mockRestore()
      }
    }),
  )

  it.live("with a hash of another cost is hashed again when it matches", () =>
    Effect.gen(function* () {
      const passwords = new Passwords()
      // argon2id of "password" with the salt "somesaltsomesalt", m=64, t=1, p=1 (node:crypto).
      const cheap = yield* Effect.promise(() => cheapHash("password"))
      const checked = yield* passwords.check("password", cheap, "stranger")
      expect(checked.matches).toBe(true)
      expect(checked.rehashed).toContain("$m=19456,t=2,p=1$")
      expect(yield* passwords.check("passwort", cheap, "stranger")).toEqual({ matches: false })
    }),
  )

  it.live("matches neither a missing nor a damaged hash", () =>
    Effect.gen(function* () {
      const passwords = new Passwords()
      for (const phc of [null, "", "$argon2id$v=19$m=1", "$2b$10$abc"]) {
        expect(yield* passwords.check("anything", phc, "stranger")).toEqual({ matches: false })
      }
    }),
  )

  it.live(
    `waits with at most ${limits.passwordHashesWaitingMax} hashes of strangers, and ${limits.passwordHashesOfKnownMax} more of known people`,
    () =>
      Effect.gen(function* () {
        const passwords = new Passwords()
        const cheap = yield* Effect.promise(() => cheapHash("x"))
        const asStranger = passwords.check("wrong", cheap, "stranger")
        const asKnown = passwords.check("wrong", cheap, "known")
        const fibers = yield* Effect.forEach(
          Array.from({ length: limits.passwordHashesWaitingMax }),
          () => Effect.forkChild(asStranger, { startImmediately: true }),
        )
        const tooMany = { code: "overloaded", retryAfterSeconds: 1 }
        expect(yield* Effect.flip(asStranger)).toMatchObject(tooMany)
        for (let count = 0; count < limits.passwordHashesOfKnownMax; count++) {
          fibers.push(yield* Effect.forkChild(asKnown, { startImmediately: true }))
        }
        const refused = yield* Effect.flip(asKnown)
        expect(refused).toMatchObject(tooMany)
        for (const fiber of fibers) yield* Fiber.join(fiber)
        yield* passwords.hash("x")
      }),
  )

  it.live("may be chosen unless it is short, long or easy to guess", () =>
    Effect.gen(function* () {
      const { passwordCharactersMax: most, passwordCharactersMin: least } = limits
      const strength = new PasswordStrength()
      const ada = { email: "Ada.Lovelace@analytical-engine.example", name: "Augusta Byron" }
      const codes = (password: string) =>
        Effect.map(strength.faults(password, ada), (faults) => faults.map(({ code }) => code))
      const phrase = "wool lamp \u{1f600} grid vest ".repeat(20)
      const cut = (length: number) => [...phrase].slice(0, length).join("")
      expect(yield* codes(cut(least - 1))).toEqual(["invalid_length"])
      expect(yield* codes(cut(least))).toEqual([])
      expect(yield* codes(cut(most))).toEqual([])
      expect(yield* codes(cut(most + 1))).toEqual(["invalid_length"])
      for (const good of ["correct horse battery", "zq8Kd02mfPq1", "дверь над облаком"]) {
        expect({ good, codes: yield* codes(good) }).toEqual({ good, codes: [] })
      }
      for (const bad of [
        "password12345",
        "P@ssw0rd1234",
        "drowssap54321",
        "passwordpassword",
        "1qaz2wsx3edc",
        "QWERTY123456",
        "qwertyuiop[]",
        "aaaaaaaaaaaaaa",
        "a".repeat(most),
        "123456789012",
        "November2026!",
        "iloveyou2026!",
        "ada.LOVELACE",
        "Lovelace1234",
        "augusta-byron",
        "ada.lovelace@analytical-engine.example",
        "laurellaurel1",
      ]) {
        expect({ bad, codes: yield* codes(bad) }).toEqual({ bad, codes: ["invalid_value"] })
      }
    }),
  )

  it.live("is estimated by its first characters, in a bounded time", () =>
    Effect.gen(function* () {
      const { passwordCharactersMax: most, passwordEstimatedCharactersMax: looked } = limits
      const strength = new PasswordStrength()
      const nobody = { email: "x@y", name: "" }
      const strong = "zq8Kd02mfPq1"
      const after = (count: number) => "a".repeat(count) + strong
      expect(yield* strength.faults(after(looked - strong.length), nobody)).toEqual([])
      expect(yield* strength.faults(after(looked), nobody)).toHaveLength(1)
      // What costs the estimate most: many patterns at every place.
      for (const pattern of ["1 2/3-", "4@8({<3690!|17$5+%2", "pP@a4sS$5"]) {
        const costly = pattern.repeat(most).slice(0, most)
        expect(yield* strength.faults(costly, nobody)).toBeInstanceOf(Array)
      }
    }),
  )
})

const cheapHash = async (password: string): Promise<string> => {
  const { argon2Sync } = await import("node:crypto")
  const nonce = Buffer.from("somesaltsomesalt")
  const tag = argon2Sync("argon2id", {
    message: Buffer.from(password),
    nonce,
    parallelism: 1,
    tagLength: 32,
    memory: 64,
    passes: 1,
  })
  const text = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "")
  return `$argon2id$v=19$m=64,t=1,p=1$${text(nonce)}$${text(tag)}`
}
