/** A user's history in pages. */
import { Effect, Stream } from "effect"
import { isShown, type ShownKind } from "../../domain/message/FactMembers.ts"
import { type HistoryFact, historyFact } from "../../domain/message/HistoryFact.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { Engine, StorageCode } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import {
  type HistoryPage,
  type HistoryPosition,
  historyCursor,
  historyPositionOf,
} from "../api/History.ts"

interface HistoryQuery {
  readonly limit?: number
  readonly cursor?: string
  readonly kind?: ShownKind
}

/**
 * Reads a page of the user's facts. It reads at most `historyScanRecordsMax` records, and at most
 * `historyPageBlocksMax` blocks of segments: a rare kind in a long history takes several pages, and
 * each page is answered soon.
 */
export const readHistoryPage = (
  engine: Engine["Service"],
  environment: string,
  userId: string,
  query: HistoryQuery,
): Effect.Effect<typeof HistoryPage.Type, LaurelError<StorageCode>> =>
  Effect.suspend(() => {
    const start = query.cursor === undefined ? undefined : historyPositionOf(query.cursor)
    const page = new Page(query.limit ?? limits.pageDefault, query.kind, start)
    const before = start === undefined ? undefined : start.sequence + 1
    const work = { blocks: 0 }
    return engine.readHistory(environment, userId, before, work).pipe(
      Stream.runForEachWhile((records) =>
        Effect.sync(() => page.take(records) && page.goesOn(work.blocks)),
      ),
      Effect.map(() => page.reply()),
    )
  })

class Page {
  readonly #limit: number
  readonly #kind: ShownKind | undefined
  readonly #start: HistoryPosition | undefined
  readonly #facts: Array<HistoryFact> = []
  #scanned = 0
  /** The start of the next page; `undefined` if this is the last page so far. */
  #next: HistoryPosition | undefined
  /** The last fact that is on this page or was skipped. */
  #last: HistoryPosition | undefined

  constructor(limit: number, kind: ShownKind | undefined, start: HistoryPosition | undefined) {
    this.#limit = limit
    this.#kind = kind
    this.#start = start
  }

  /** Takes records, newest first. Returns whether the page needs more records. */
  take(records: ReadonlyArray<JournalRecord>): boolean {
    for (const record of records) {
      if (this.#scanned === limits.historyScanRecordsMax) {
        this.#next = this.#last
        return false
      }
      this.#scanned++
      if (!this.#takeRecord(record)) return false
    }
    return true
  }

  /** Whether the page may read more blocks than these; if not, the page ends here. */
  goesOn(blocks: number): boolean {
    if (blocks < limits.historyPageBlocksMax) return true
    this.#next = this.#last
    return false
  }

  #takeRecord(record: JournalRecord): boolean {
    const { facts, sequence } = record
    const start = this.#start
    const end = start?.sequence === sequence ? Math.min(start.index, facts.length) : facts.length
    for (let index = end - 1; index >= 0; index--) {
      const fact = facts[index]!
      if (!isShown(fact) || (this.#kind !== undefined && fact.kind !== this.#kind)) continue
      if (this.#facts.length === this.#limit) {
        this.#next = this.#last
        return false
      }
      this.#facts.push(historyFact(record, fact))
      this.#last = { sequence, index }
    }
    if (this.#facts.length < this.#limit) this.#last = { sequence, index: 0 }
    return true
  }

  reply(): typeof HistoryPage.Type {
    const nextCursor = this.#next === undefined ? null : historyCursor(this.#next)
    return { facts: this.#facts, nextCursor }
  }
}
