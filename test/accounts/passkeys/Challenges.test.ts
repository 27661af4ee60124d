import { describe, expect, it } from "vitest"
import { Challenges } from "../../../src/accounts/passkeys/Passkeys.ts"
import { limits } from "../../../src/Limits.ts"

describe("A challenge", () => {
  const challenges = new Challenges()
  const text = challenges.make("sign-in", "browser", "acc_1", 1_000)

  it("is read in its browser, for its purpose, by the process that made it, until it expires", () => {
    const ends = 1_000 + limits.passkeyChallengeMs
    expect(challenges.read(text, "sign-in", "browser", ends - 1)).toMatchObject({
      subject: "acc_1",
      expiresAt: ends,
    })
    expect(challenges.read(text, "sign-in", "browser", ends)).toBeUndefined()
    expect(challenges.read(text, "confirm", "browser", 1_000)).toBeUndefined()
    expect(challenges.read(text, "sign-in", "another", 1_000)).toBeUndefined()
    expect(new Challenges().read(text, "sign-in", "browser", 1_000)).toBeUndefined()
    const decoded = Buffer.from(text, "base64url").toString()
    for (const changed of [
      decoded.replace("acc_1", "acc_2"),
      decoded.replace(/^\d+/, String(ends + 1)),
      decoded.slice(0, -1),
      decoded.slice(0, decoded.lastIndexOf(".")),
      "",
      ".",
      "a.b.c.d",
    ]) {
      const other = Buffer.from(changed).toString("base64url")
      expect(challenges.read(other, "sign-in", "browser", 1_000)).toBeUndefined()
    }
  })

  it("is used once, unless its use is taken back", () => {
    const challenge = challenges.read(text, "sign-in", "browser", 1_000)!
    expect(challenges.use(challenge, 1_000)).toBe(true)
    expect(challenges.use(challenge, 1_000)).toBe(false)
    challenges.release(challenge)
    expect(challenges.use(challenge, 1_000)).toBe(true)
  })

  it(`is refused after ${limits.passkeyChallengesUsedMax} used challenges, until they expire`, () => {
    const full = new Challenges()
    const use = (now: number) => {
      const made = full.make("create", "browser", "", now)
      return full.use(full.read(made, "create", "browser", now)!, now)
    }
    for (let count = 1; count < limits.passkeyChallengesUsedMax; count++) use(0)
    expect(use(1)).toBe(true)
    expect(use(2)).toBe(false)
    expect(use(limits.passkeyChallengeMs - 1)).toBe(false)
    expect(use(limits.passkeyChallengeMs)).toBe(true)
  })
})
