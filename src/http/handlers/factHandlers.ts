/**
 * Reads the facts of all users of an environment in the order of the journal, from the durable
 * records of all actors.
 *
 * A page ends with a whole record. Its cursor names that record and its time: after a restore the
 * journal may have another record with the same sequence. An erased record has no time any more, so
 * it may stand for any.
 *
 * Cost: a page reads the records of other environments that lie between its own.
 */
import { Effect } from "effect"
import { isShown } from "../../domain/message/FactMembers.ts"
import { historyFact } from "../../domain/message/HistoryFact.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import type { FeedEntry } from "../../engine/commit/Feed.ts"
import type { Engine, StorageCode } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { cursorOf, type Position } from "../api/Cursor.ts"
import type { Facts, FactsPage } from "../api/Facts.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { pageAsked } from "./Shapes.ts"

export const factHandlers = (engine: Engine["Service"]): Handlers<typeof Facts> => ({
  list: {
    handle: ({ caller: { environment }, query }) =>
      Effect.gen(function* () {
        const { after, limit } = yield* pageAsked("facts", environment, {}, query)
        const reading = new Reading(engine, environment, limit, after)
        yield* reading.run
        const { erased, facts, hasMore, last } = reading
        const nextCursor = cursorOf("facts", environment, {}, last)
        return { body: { facts, erased, hasMore, nextCursor } }
      }),
  },
})

type Place = Position<"facts">
type Page = typeof FactsPage.Type

const gone = laurelError(
  "gone",
  "The server no longer keeps what follows this cursor, or was restored to a time before it. Read all facts again, without a cursor.",
)

class Reading {
  readonly facts: Array<Page["facts"][number]> = []
  readonly erased: Array<Page["erased"][number]> = []
  /** The last record of the page; sequence 0: none. */
  last: Place
  hasMore = false
  readonly #engine: Engine["Service"]
  readonly #environment: string
  readonly #limit: number
  #scanned = 0
  #bytes = 0

  constructor(
    engine: Engine["Service"],
    environment: string,
    limit: number,
    after: Place | undefined,
  ) {
    this.#engine = engine
    this.#environment = environment
    this.#limit = limit
    this.last = after ?? [0, 0]
  }

  readonly run: Effect.Effect<void, LaurelError<StorageCode | "gone">> = Effect.gen(
    { self: this },
    function* () {
      const { feed } = this.#engine
      yield* this.#checkCursor
      while (this.last[0] < feed.head && !this.#isFull) {
        const next = this.last[0] + 1
        const read = feed.read(next, limits.streamTakeRecordsMax)
        const entries = yield* Effect.catchTag(read, "FeedGone", ({ first }) => {
          // The first page begins with the oldest record that is kept.
          if (next > 1) return Effect.fail(gone)
          this.last = [first - 1, 0]
          return Effect.succeed([])
        })
        for (const entry of entries) {
          yield* this.#take(entry)
          if (this.#isFull) break
        }
      }
      this.hasMore = this.last[0] < feed.head
    },
  )

  get #isFull(): boolean {
    return (
      this.facts.length >= this.#limit ||
      this.#scanned >= limits.factsScanRecordsMax ||
      this.#bytes >= limits.factsPageBytesMax
    )
  }

  readonly #checkCursor: Effect.Effect<void, LaurelError<"gone">> = Effect.gen(
    { self: this },
    function* () {
      const [sequence, at] = this.last
      if (sequence === 0) return
      const { feed } = this.#engine
      if (sequence > feed.head) return yield* Effect.fail(gone)
      const found = (yield* feed.find([sequence])).get(sequence)
      if (found !== undefined && at !== 0 && found.record.at !== 0 && found.record.at !== at) {
        return yield* Effect.fail(gone)
      }
    },
  )

  readonly #take = Effect.fnUntraced(function* (
    this: Reading,
    { bytes, record }: FeedEntry,
  ): Effect.fn.Return<void, LaurelError<StorageCode>> {
    const { at, cause, facts, sequence, subject } = record
    this.last = [sequence, at]
    this.#scanned++
    if (subject.actor !== "user" || subject.environment !== this.#environment) return
    const { userId } = subject
    if (cause.kind === "erasure") {
      this.erased.push({ userId, sequence })
      return
    }
    if (!facts.some(isShown) || (yield* this.#engine.isErased(record))) return
    this.#bytes += bytes
    for (const [number, fact] of facts.entries()) {
      if (isShown(fact)) this.facts.push({ userId, number, fact: historyFact(record, fact) })
    }
  })
}
