/**
 * When keys were last used. A request writes one number in memory. `AccountsLive` records the times
 * of all keys together, at most once every `keyUseFlushMs`.
 */
import type { ApiKey, DirectoryState } from "../domain/project/Directory.ts"

/**
 * Epoch milliseconds; `-Infinity`: not used since the start. Requests overwrite the number, so they
 * allocate nothing.
 */
export interface KeyUse {
  at: number
}

export class KeyUses {
  readonly #uses = new Map<string, KeyUse>()

  /** The object for the time of a key's last request; the same object for each call. */
  of(keyId: string): KeyUse {
    let use = this.#uses.get(keyId)
    if (use === undefined) {
      use = { at: Number.NEGATIVE_INFINITY }
      this.#uses.set(keyId, use)
    }
    return use
  }

  /** Forgets keys that are not among `keys`. */
  retain(keys: DirectoryState["keys"]): void {
    for (const keyId of this.#uses.keys()) if (!keys.has(keyId)) this.#uses.delete(keyId)
  }

  /** When the key was last used, whether recorded or not; `undefined`: never. */
  lastUsedAt({ id, lastUsedAt }: ApiKey): number | undefined {
    const at = this.#uses.get(id)?.at ?? Number.NEGATIVE_INFINITY
    return at > (lastUsedAt ?? Number.NEGATIVE_INFINITY) ? at : lastUsedAt
  }

  /** The uses that are later than the recorded ones in `keys`. */
  unrecorded(keys: DirectoryState["keys"]): ReadonlyArray<readonly [keyId: string, at: number]> {
    const found: Array<readonly [string, number]> = []
    for (const [keyId, { at }] of this.#uses) {
      const key = keys.get(keyId)
      if (key !== undefined && at > (key.lastUsedAt ?? Number.NEGATIVE_INFINITY)) {
        found.push([keyId, at])
      }
    }
    return found
  }
}
