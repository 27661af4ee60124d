/**
 * When the users of an environment were erased, for as long as a token may be in force that was made before: such a token
 * must not create the user again. Folded from durable records and kept with the counts (`Counts.ts`).
 *
 * A user is remembered by a hash of the id, which goes with the first snapshot after `userTokenSecondsMax`. Beyond `erasedUsersMax` the oldest goes
 * early: then every token that was made before that erasure counts as made before one.
 */
import { createHash } from "node:crypto"
import { limits } from "../../Limits.ts"

/** `earliest`, epoch milliseconds: whoever is not listed may have been erased then, at the latest. */
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

  /** Epoch milliseconds at which the user was erased, at the latest; 0: not since any token was made. */
  lastOf(userId: string): number {
    if (this.#at.size === 0) return this.#earliest
    return Math.max(this.#earliest, this.#at.get(hashOf(userId)) ?? 0)
  }

  /** Forgets erasures that no token precedes; whether there was one. */
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

  /** Members for the snapshot; none without an erasure. */
  stored(): { readonly erased?: StoredErased } {
    if (this.#at.size === 0) return {}
    return { erased: { earliest: this.#earliest, users: [...this.#at] } }
  }
}
