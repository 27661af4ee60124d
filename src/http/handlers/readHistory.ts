/**
 * Reads back what users did and were given: a single event, reward or spend by its id, and a user's
 * history in pages, as facts or as records of one kind.
 *
 * An id of Laurel has the sequence and the time of its record. The record must have that time, be
 * of the environment, and be an accepted command of the kind: a forged id finds nothing else.
 */
import { Effect, Stream } from "effect"
import { isShown, type ShownKind } from "../../domain/message/FactMembers.ts"
import { type HistoryFact, historyFact } from "../../domain/message/HistoryFact.ts"
import {
  type Cause,
  decidedAt,
  type JournalRecord,
  ownIdKey,
  type Revocable,
  revocationKey,
  type Subject,
} from "../../domain/record/Record.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { recordNameOf, revocablePrefix } from "../../domain/values/Ids.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine, StorageCode } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { Position } from "../api/Cursor.ts"

/* Single records. */

/** The record of an event, reward or spend that was accepted. */
export type RecordOf<Kind extends Revocable> = JournalRecord & {
  readonly subject: Extract<Subject, { readonly actor: "user" }>
  readonly cause: Extract<Cause, { readonly kind: Kind }>
}

/** A kept refusal has no facts. */
const isOfKind = <Kind extends Revocable>(
  record: JournalRecord,
  kind: Kind,
): record is RecordOf<Kind> =>
  record.subject.actor === "user" && record.cause.kind === kind && record.facts.length > 0

/** The record of the environment to which an id of Laurel leads. */
export const readByOurId = Effect.fnUntraced(function* <Kind extends Revocable>(
  engine: Engine["Service"],
  environment: string,
  kind: Kind,
  id: string,
): Effect.fn.Return<RecordOf<Kind> | undefined, LaurelError<StorageCode>> {
  const name = recordNameOf(revocablePrefix[kind], id)
  if (name === undefined) return undefined
  const record = yield* engine.readRecord(environment, name.sequence)
  return record?.at === name.at && isOfKind(record, kind) ? record : undefined
})

/** The user's record with this id: Laurel's or, if there is none, the caller's. */
export const readByEitherId = Effect.fnUntraced(function* <Kind extends Revocable>(
  engine: Engine["Service"],
  environment: string,
  userId: string,
  kind: Kind,
  id: string,
): Effect.fn.Return<RecordOf<Kind> | undefined, LaurelError<StorageCode>> {
  const ours = yield* readByOurId(engine, environment, kind, id)
  if (ours?.subject.userId === userId) return ours
  const own = yield* engine.readNamed(environment, userId, ownIdKey(kind, id))
  return own !== undefined && isOfKind(own, kind) ? own : undefined
})

/** Whether and when the record was revoked. */
export const readRevocation = (
  engine: Engine["Service"],
  { sequence, subject: { environment, userId } }: RecordOf<Revocable>,
) =>
  Effect.map(engine.readNamed(environment, userId, revocationKey(sequence)), (revocation) => ({
    revoked: revocation !== undefined,
    revokedAt: revocation === undefined ? null : isoTime(decidedAt(revocation)),
  }))

/* Pages. */

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

/** The records of one kind. */
export const recordsOf = <Kind extends Revocable>(kind: Kind): ItemsOf<RecordOf<Kind>> =>
  function* (record, end) {
    if (end > 0 && isOfKind(record, kind)) yield [0, record]
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
