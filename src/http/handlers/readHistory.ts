/** A user's history in pages: its facts, or its records of one kind. */
import { Effect, Stream } from "effect"
import { isShown, type ShownKind } from "../../domain/message/FactMembers.ts"
import { type HistoryFact, historyFact } from "../../domain/message/HistoryFact.ts"
import type { JournalRecord, Revocable } from "../../domain/record/Record.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { Engine, StorageCode } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { Position } from "../api/Cursor.ts"

/** The place of an item: its record, and its number in the record. */
type Place = Position<"history">

/** An item of a record, with its number in the record. */
type Numbered<Item> = readonly [index: number, item: Item]

/** The items of a record with numbers below `end`, the highest number first. */
type ItemsOf<Item> = (record: JournalRecord, end: number) => Iterable<Numbered<Item>>

export interface HistoryItems<Item> {
  readonly items: ReadonlyArray<Item>
  /** The place behind which the next page begins; `undefined`: this is the last page. */
  readonly last: Place | undefined
}

/**
 * Reads a page of the items of a user's records, newest first. A page with an item ends after
 * `historyScanRecordsMax` records, and after `historyPageBlocksMax` blocks of segments, so that it
 * is answered soon. A page without an item goes on to the end of the history: only the last page is
 * empty. The storage reads few records at once, and shares its reads among environments.
 */
export const readHistoryItems = <Item>(
  engine: Engine["Service"],
  environment: string,
  userId: string,
  { after, limit }: { readonly after: Place | undefined; readonly limit: number },
  itemsOf: ItemsOf<Item>,
): Effect.Effect<HistoryItems<Item>, LaurelError<StorageCode>> =>
  Effect.suspend(() => {
    const page = new Page(limit, after, itemsOf)
    const before = after === undefined ? undefined : after[0] + 1
    const work = { blocks: 0 }
    return engine.readHistory(environment, userId, before, work).pipe(
      Stream.runForEachWhile((records) =>
        Effect.sync(() => page.take(records) && page.goesOn(work.blocks)),
      ),
      Effect.map(() => page),
    )
  })

/** The facts of a record that a history shows, or those of one kind. */
export const factsOf = (kind: ShownKind | undefined): ItemsOf<HistoryFact> =>
  function* (record, end) {
    const { facts } = record
    for (let index = Math.min(end, facts.length) - 1; index >= 0; index--) {
      const fact = facts[index]!
      if (!isShown(fact) || (kind !== undefined && fact.kind !== kind)) continue
      yield [index, historyFact(record, fact)]
    }
  }

/** The record itself, if it is an event, reward or spend that was accepted. */
export const recordsOf = (kind: Revocable): ItemsOf<JournalRecord> =>
  function* (record, end) {
    // A kept refusal has no facts.
    if (end > 0 && record.cause.kind === kind && record.facts.length > 0) yield [0, record]
  }

class Page<Item> implements HistoryItems<Item> {
  readonly items: Array<Item> = []
  last: Place | undefined
  readonly #limit: number
  readonly #after: Place | undefined
  readonly #itemsOf: ItemsOf<Item>
  #scanned = 0
  /** The last place that is on this page or was skipped. */
  #latest: Place | undefined

  constructor(limit: number, after: Place | undefined, itemsOf: ItemsOf<Item>) {
    this.#limit = limit
    this.#after = after
    this.#itemsOf = itemsOf
  }

  /** Takes records, newest first. Returns whether the page needs more records. */
  take(records: ReadonlyArray<JournalRecord>): boolean {
    for (const record of records) {
      if (this.#scanned >= limits.historyScanRecordsMax && this.items.length > 0) {
        this.last = this.#latest
        return false
      }
      this.#scanned++
      if (!this.#takeRecord(record)) return false
    }
    return true
  }

  /** Whether the page may read more blocks than these; if not, the page ends here. */
  goesOn(blocks: number): boolean {
    if (blocks < limits.historyPageBlocksMax || this.items.length === 0) return true
    this.last = this.#latest
    return false
  }

  #takeRecord(record: JournalRecord): boolean {
    const { sequence } = record
    const [start, end] = this.#after ?? []
    const before = start === sequence ? end! : Number.MAX_SAFE_INTEGER
    for (const [index, item] of this.#itemsOf(record, before)) {
      if (this.items.length === this.#limit) {
        this.last = this.#latest
        return false
      }
      this.items.push(item)
      this.#latest = [sequence, index]
    }
    if (this.items.length < this.#limit) this.#latest = [sequence, 0]
    return true
  }
}
