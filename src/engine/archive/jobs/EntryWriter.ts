/** Writes the entries of a job in transactions of bounded size. */
import { Effect } from "effect"
import { limits } from "../../../Limits.ts"
import type { Entry, StorageError } from "../../../storage/Storage.ts"

export type WriteEntries = (entries: ReadonlyArray<Entry>) => Effect.Effect<void, StorageError>

/**
 * A transaction is due with so many entries, or with `archiveFlushBytes`; the entry that reaches a
 * bound is in the transaction.
 */
export const transactionEntriesMax = 5_000

export class EntryWriter {
  readonly #write: WriteEntries
  #waiting: Array<Entry> = []
  #bytes = 0

  constructor(write: WriteEntries) {
    this.#write = write
  }

  add(entry: Entry): void {
    this.#waiting.push(entry)
    this.#bytes += entry.key.length + (entry.value?.length ?? 0)
  }

  /** Whether a transaction is due: then call `flush` before the next entry. */
  get isDue(): boolean {
    return this.#waiting.length >= transactionEntriesMax || this.#bytes >= limits.archiveFlushBytes
  }

  /** Writes the entries that were added since the last flush. */
  readonly flush: Effect.Effect<void, StorageError> = Effect.suspend(() => {
    const entries = this.#waiting
    if (entries.length === 0) return Effect.void
    this.#waiting = []
    this.#bytes = 0
    return this.#write(entries)
  })

  readonly writeAll = Effect.fnUntraced(function* (this: EntryWriter, entries: Iterable<Entry>) {
    for (const entry of entries) {
      this.add(entry)
      if (this.isDue) yield* this.flush
    }
    yield* this.flush
  }).bind(this)
}
