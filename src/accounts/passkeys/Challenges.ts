/**
 * Challenges of passkeys. A challenge carries its expiry and subject under a MAC, and the process keeps it only once it
 * is used: strangers may ask for any number of challenges without taking memory or evicting those of others. A restart
 * invalidates all of them.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { limits } from "../../Limits.ts"

const nonceBytes = 16
const keyBytes = 32

/** The purpose of a challenge; an answer is valid for this purpose only. */
export type ChallengePurpose = "create" | "sign-in" | "confirm"

export interface Challenge {
  readonly id: string
  /** The account that the challenge is for; empty for any. */
  readonly subject: string
  readonly expiresAt: number
}

export class Challenges {
  readonly #key = randomBytes(keyBytes)
  /** The expiry of used challenges by their id, in the order of use. */
  readonly #used = new Map<string, number>()

  /** A new challenge in base64url, valid for `passkeyChallengeMs` in the browser whose cookie or session is `browser`. */
  make(purpose: ChallengePurpose, browser: string, subject: string, now: number): string {
    const nonce = randomBytes(nonceBytes).toString("base64url")
    const id = `${now + limits.passkeyChallengeMs}.${nonce}.${subject}`
    return Buffer.from(`${id}.${this.#mac(purpose, browser, id)}`).toString("base64url")
  }

  /** The challenge behind the text, or `undefined` where it is not of this purpose and browser or has expired. */
  read(
    text: string,
    purpose: ChallengePurpose,
    browser: string,
    now: number,
  ): Challenge | undefined {
    const decoded = Buffer.from(text, "base64url").toString()
    const end = decoded.lastIndexOf(".")
    const id = decoded.slice(0, Math.max(0, end))
    const given = Buffer.from(decoded.slice(end + 1))
    const expected = Buffer.from(this.#mac(purpose, browser, id))
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
    const [expiry, , subject = ""] = id.split(".")
    const expiresAt = Number(expiry)
    return now < expiresAt ? { id, subject, expiresAt } : undefined
  }

  /** Uses the challenge: false where it was used before, or where too many others were used to remember one more. */
  use({ expiresAt, id }: Challenge, now: number): boolean {
    // In the order of use, an expired entry waits five minutes at most behind one that expires later.
    for (const [used, expires] of this.#used) {
      if (expires > now) break
      this.#used.delete(used)
    }
    if (this.#used.has(id) || this.#used.size >= limits.passkeyChallengesUsedMax) return false
    this.#used.set(id, expiresAt)
    return true
  }

  /** Takes back a use whose answer was refused, so that refused answers fill no memory. */
  release({ id }: Challenge): void {
    this.#used.delete(id)
  }

  #mac(purpose: ChallengePurpose, browser: string, id: string): string {
    const text = JSON.stringify([purpose, browser, id])
    return createHmac("sha256", this.#key).update(text).digest("base64url")
  }
}
