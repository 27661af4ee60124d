/** Merges several ordered runs of entries. */
import type { StoredEntry } from "../../storage/Storage.ts"

export const same = (one: Uint8Array | undefined, other: Uint8Array): boolean =>
  one !== undefined && Buffer.compare(one, other) === 0

export const leastOf = (...keys: ReadonlyArray<Uint8Array | undefined>): Uint8Array | undefined => {
  let least: Uint8Array | undefined
  for (const key of keys) {
    if (key !== undefined && (least === undefined || Buffer.compare(key, least) < 0)) least = key
  }
  return least
}

/** A run of entries, with one entry of look-ahead. */
export class Cursor {
  readonly #entries: Iterator<StoredEntry>
  #current: IteratorResult<StoredEntry>

  constructor(entries: Generator<StoredEntry>) {
    this.#entries = entries
    this.#current = entries.next()
  }

  get key(): Uint8Array | undefined {
    return this.#current.done ? undefined : this.#current.value[0]
  }

  get value(): Uint8Array | undefined {
    return this.#current.done ? undefined : this.#current.value[1]
  }

  next(): void {
    this.#current = this.#entries.next()
  }
}
