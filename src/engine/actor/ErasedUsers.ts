/**
 * When the users of an environment were erased. A user token from before the erasure must not
 * create the user again, so an erasure is remembered as long as such a token may be valid. The
 * times are folded from durable records and stored with the counts (`Counts.ts`).
 *
 * An erased user is remembered by a hash of the id. The first snapshot after `userTokenSecondsMax`
 * deletes it. Beyond `erasedUsersMax` the oldest erasure is forgotten early, and then every token
 * from before that erasure is refused for every user.
 */
import { createHash } from "node:crypto"
import { limits } from "../../Limits.ts"

/** `earliest` (epoch milliseconds): users who are not listed count as erased then. */
export interface StoredErased {
  readonly earliest: number
  readonly users: ReadonlyArray<readonly [hash: string, at: number]>
}

const keptMs = limits.userTokenSecondsMax * 1_000
const hashCharacters = 22

const hashOf = (userId: string): string =>
  createHash("sha256").update(userId).digest("base64url").slice(0, hashCharacters)

export class ErasedUsers {
  /** In the order of the erasures. */
  readonly #at = new Map<string, number>()
  #earliest = 0

  add(userId: string, at: number): void {
    const hash = hashOf(userId)
    this.#at.delete(hash)
    this.#at.set(hash, at)
    if (this.#at.size <= limits.erasedUsersMax) return
    const [oldest, erasedAt] = this.#at.entries().next().value!
    this.#at.delete(oldest)
    this.#earliest = erasedAt
  }

  /**
   * The latest time at which the user may have been erased, epoch milliseconds; 0: before any valid
   * token.
   */
  lastOf(userId: string): number {
    if (this.#at.size === 0) return this.#earliest
    return Math.max(this.#earliest, this.#at.get(hashOf(userId)) ?? 0)
  }

  /** Forgets erasures that no valid token precedes; returns whether there were any. */
  forget(now: number): boolean {
    const before = this.#at.size
    for (const [hash, at] of this.#at) {
      if (now - at <= keptMs) break
      this.#at.delete(hash)
    }
    return this.#at.size < before
  }

  load({ earliest, users }: StoredErased): void {
    this.#earliest = earliest
    for (const [hash, at] of users) this.#at.set(hash, at)
  }

  /** The member for the snapshot; none without an erasure. */
  stored(): { readonly erased?: StoredErased } {
    if (this.#at.size === 0) return {}
    return { erased: { earliest: this.#earliest, users: [...this.#at] } }
  }
}
