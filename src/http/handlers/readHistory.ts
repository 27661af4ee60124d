/**
 * Reads back what users did and were given: a single event, reward, spend or purchase by its id, a user's
 * rewards, spends and purchases in pages, and a user's history in pages.
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

/** The record of an event, reward, spend or purchase that was accepted. */
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
  if (ours !== undefined && isOfUser(engine, ours, userId)) return ours
  const own = yield* engine.readNamed(environment, userId, ownIdKey(kind, id))
  return own !== undefined && isOfKind(own, kind) ? own : undefined
})

/** Whether the record is of the user, or of one who was merged into the user. */
const isOfUser = (
  engine: Engine["Service"],
  { subject: { environment, userId: owner } }: RecordOf<Revocable>,
  userId: string,
): boolean =>
  owner === userId || engine.idNow(environment, owner) === engine.idNow(environment, userId)

/** Whether and when the record was revoked. */
export const readRevocation = (
  engine: Engine["Service"],
  { sequence, subject: { environment, userId } }: RecordOf<Revocable>,
) =>
  Effect.map(engine.readNamed(environment, userId, revocationKey(sequence)), (revocation) => ({
    revoked: revocation !== undefined,
    revokedAt: revocation === undefined ? null : isoTime(decidedAt(revocation)),
  }))

/* Rewards, spends and purchases. */

/** The kinds whose records lead to each other: each names the user's record of its kind before it. */
export type Listed = "reward" | "spend" | "purchase"

export interface ListedRecords<Kind extends Listed> {
  readonly records: ReadonlyArray<RecordOf<Kind>>
  /** The record with which the next page begins; `undefined`: this is the last page. */
  readonly next: number | undefined
}

/**
 * Reads at most `limit` of the user's records of one kind, newest first, from the record `first` on,
 * and no other record, however long the history is. `lasts` are the ends of the lists of the user
 * and of those who were merged into the user; their records after `first` are read, too. A list ends
 * at a record that the journal no longer has. A forged cursor may name any record: it begins no list.
 */
export const readListed = Effect.fnUntraced(function* <Kind extends Listed>(
  engine: Engine["Service"],
  environment: string,
  userId: string,
  kind: Kind,
  {
    first,
    lasts,
    limit,
  }: {
    readonly first: number | undefined
    readonly lasts: ReadonlyArray<number>
    readonly limit: number
  },
): Effect.fn.Return<ListedRecords<Kind>, LaurelError<StorageCode>> {
  const records: Array<RecordOf<Kind>> = []
  // A single list goes on at its cursor.
  const [only] = lasts
  const heads = lasts.length === 1 ? [first ?? only!] : [...lasts]
  const isDone = () => heads.every((head) => head === 0)
  while (!isDone() && (records.length < limit || Math.max(...heads) > (first ?? Infinity))) {
    const next = Math.max(...heads)
    const place = heads.indexOf(next)
    const record = yield* engine.readRecord(environment, next)
    if (record === undefined || !isOfKind(record, kind) || !isOfUser(engine, record, userId)) {
      heads[place] = 0
      continue
    }
    if (first === undefined || next <= first) records.push(record)
    heads[place] = beforeOf(record)
  }
  return { records, next: isDone() ? undefined : Math.max(...heads) }
})

/** The sequence of the user's record of its kind before this one; 0: there is none. */
const beforeOf = ({ facts }: JournalRecord): number => {
  for (const fact of facts) if ("before" in fact) return fact.before ?? 0
  return 0
}

/* Pages of a history. */

/** The place of a fact: its record, and its number in the record. */
type Place = Position<"history">

export interface HistoryFacts {
  readonly items: ReadonlyArray<HistoryFact>
  /** The place behind which the next page begins; `undefined`: this is the last page. */
  readonly last: Place | undefined
}

/**
 * Reads a page of the facts of a user's records that a history shows, or those of one `kind`, newest
 * first. A page with a fact ends after
 * `historyScanRecordsMax` records, and after `historyPageBlocksMax` blocks of segments, so that it
 * is answered soon. A page without a fact goes on to the end of the history: only the last page is
 * empty. The storage reads few records at once, and shares its reads among environments.
 */
export const readHistoryFacts = (
  engine: Engine["Service"],
  environment: string,
  userId: string,
  { after, limit }: { readonly after: Place | undefined; readonly limit: number },
  kind: ShownKind | undefined,
): Effect.Effect<HistoryFacts, LaurelError<StorageCode>> =>
  Effect.suspend(() => {
    const page = new Page(limit, after, kind)
    const before = after === undefined ? undefined : after[0] + 1
    const work = { blocks: 0 }
    return engine.readHistory(environment, userId, before, work).pipe(
      Stream.runForEachWhile((records) =>
        Effect.sync(() => page.take(records) && page.goesOn(work.blocks)),
      ),
      Effect.map(() => page),
    )
  })

class Page implements HistoryFacts {
  readonly items: Array<HistoryFact> = []
  last: Place | undefined
  readonly #limit: number
  readonly #after: Place | undefined
  readonly #kind: ShownKind | undefined
  #scanned = 0
  /** The last place that is on this page or was skipped. */
  #latest: Place | undefined

  constructor(limit: number, after: Place | undefined, kind: ShownKind | undefined) {
    this.#limit = limit
    this.#after = after
    this.#kind = kind
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
    const { facts, sequence } = record
    const [start, end] = this.#after ?? []
    const count = start === sequence ? Math.min(end!, facts.length) : facts.length
    for (let index = count - 1; index >= 0; index--) {
      const fact = facts[index]!
      if (!isShown(fact) || (this.#kind !== undefined && fact.kind !== this.#kind)) continue
      if (this.items.length === this.#limit) {
        this.last = this.#latest
        return false
      }
      this.items.push(historyFact(record, fact))
      this.#latest = [sequence, index]
    }
    if (this.items.length < this.#limit) this.#latest = [sequence, 0]
    return true
  }
}

/**
 * Calls `look` with the user's latest records, newest first, until it returns false, but with at most
 * `most` of them. Returns when the first record was decided that this limit left out; `undefined`: it
 * left out none.
 */
export const readLatest = (
  engine: Engine["Service"],
  environment: string,
  userId: string,
  most: number,
  look: (record: JournalRecord) => boolean,
): Effect.Effect<number | undefined, LaurelError<StorageCode>> =>
  Effect.suspend(() => {
    let read = 0
    let cutAt: number | undefined
    return Stream.runForEachWhile(engine.readHistory(environment, userId), (records) =>
      Effect.sync(() => {
        for (const record of records) {
          if (read === most) {
            cutAt = decidedAt(record)
            return false
          }
          read++
          if (!look(record)) return false
        }
        return true
      }),
    ).pipe(Effect.map(() => cutAt))
  })
