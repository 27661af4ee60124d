/**
 * A user's records, newest first: those that are durable but not in the snapshot yet, from memory, then the
 * snapshot's history pages, backwards.
 *
 * The first are the actor's pending records from its `lastDurable` on (`PendingRecords`). A reader may pause for as long as it
 * likes: where it stood among them is good as long as the snapshot's watermark is below; once it is not, the rest is in
 * the pages. Nothing is read that became durable after the reading began, so that there are no gaps.
 *
 * Cost: nothing on the way of a write. A reader decodes at most `historyTurnBytesMax` of text a
 * turn, and holds one chunk.
 */
import { Effect, Stream } from "effect"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import { compositeKey } from "../../storage/Keys.ts"
import type { Broken, Storage } from "../../storage/Storage.ts"
import { decodeValue } from "../../storage/Values.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { AnyActor } from "../actor/Actor.ts"
import type { Erasures } from "../erasure/Erasures.ts"
import { decodePage } from "../records/Codec.ts"
import type { PendingRecords } from "../records/PendingRecords.ts"

export interface UserHistoryOptions {
  readonly storage: Storage["Service"]
  readonly pending: PendingRecords
  /** Everything up to this sequence is durable. */
  readonly durableSequence: () => number
  /** The user's actor, if it is in memory; it is as long as it has pending records. */
  readonly actorOf: (environment: string, userId: string) => AnyActor | undefined
  readonly erasures: Erasures
}

/** How far a reader has come: everything from `before` on was given. */
interface Position {
  readonly before: number
  /** The next record in memory; up to the snapshot's watermark: the rest is in the pages. */
  readonly next: number
}

/** The most that is read at once. */
interface Chunk {
  readonly pagesMax: number
  readonly recordsMax: number
}

const one: Chunk = { pagesMax: 1, recordsMax: 1 }

type Step = readonly [ReadonlyArray<JournalRecord>, Position]

export class UserHistory {
  readonly #options: UserHistoryOptions

  constructor(options: UserHistoryOptions) {
    this.#options = options
  }

  /** The user's records below the sequence `before`, newest first, in chunks of which some may be empty. */
  read(
    environment: string,
    userId: string,
    before: number = Number.MAX_SAFE_INTEGER,
  ): Stream.Stream<ReadonlyArray<JournalRecord>, Broken> {
    const { historyReadPagesMax: pagesMax, historyTurnRecordsMax: recordsMax } = limits
    return this.#stream(environment, userId, before, { pagesMax, recordsMax })
  }

  /** The user's record with this sequence. */
  find(
    environment: string,
    userId: string,
    sequence: number,
  ): Effect.Effect<JournalRecord | undefined, Broken> {
    let found: JournalRecord | undefined
    return this.#stream(environment, userId, sequence + 1, one).pipe(
      Stream.runForEachWhile((records) =>
        Effect.sync(() => {
          found = records[0]
          return found === undefined
        }),
      ),
      Effect.map(() => (found?.sequence === sequence ? found : undefined)),
    )
  }

  /** Whether the user has a durable record with this sequence: not when they were erased since. */
  has(environment: string, userId: string, sequence: number): Effect.Effect<boolean, Broken> {
    return Effect.suspend(() => {
      const { actorOf, erasures, pending } = this.#options
      if (sequence <= erasures.throughOf(environment, userId)) return Effect.succeed(false)
      // Mostly it is one of the latest.
      if (sequence > pending.watermark) {
        let next = actorOf(environment, userId)?.lastDurable ?? 0
        for (let looked = 0; looked < limits.historyTurnRecordsMax && next > sequence; looked++) {
          next = pending.olderOf(next)
        }
        if (next === sequence) return Effect.succeed(true)
      }
      return Effect.map(this.find(environment, userId, sequence), (found) => found !== undefined)
    })
  }

  #stream(environment: string, userId: string, before: number, chunk: Chunk) {
    const { actorOf, durableSequence } = this.#options
    return Stream.suspend(() => {
      const start: Position = {
        before: Math.min(before, durableSequence() + 1),
        next: actorOf(environment, userId)?.lastDurable ?? 0,
      }
      return Stream.unfold(start, (position) =>
        position.next > this.#options.pending.watermark
          ? Effect.map(yieldToEventLoop, () =>
              this.#fromMemory(environment, userId, position, chunk),
            )
          : this.#fromPages(environment, userId, position, chunk),
      )
    })
  }

  /** What one turn decodes. */
  #fromMemory(
    environment: string,
    userId: string,
    { before, next: first }: Position,
    { recordsMax }: Chunk,
  ): Step {
    const { erasures, pending } = this.#options
    const from = Math.max(pending.watermark, erasures.throughOf(environment, userId))
    const records: Array<JournalRecord> = []
    let next = first
    let bytes = 0
    let looked = 0
    while (next > from) {
      if (records.length >= recordsMax || ++looked > limits.historyTurnRecordsMax) break
      if (bytes > limits.historyTurnBytesMax) break
      if (next < before) {
        records.push(pending.decode(next))
        bytes += pending.texts.bytesOf(next)
      }
      next = pending.olderOf(next)
    }
    return [records, { before: records.at(-1)?.sequence ?? before, next: next > from ? next : 0 }]
  }

  readonly #fromPages = Effect.fnUntraced(function* (
    this: UserHistory,
    environment: string,
    userId: string,
    { before }: Position,
    { pagesMax }: Chunk,
  ): Effect.fn.Return<Step | undefined, Broken> {
    const { erasures, storage } = this.#options
    const first = erasures.throughOf(environment, userId) + 1
    if (first >= before) return undefined
    const from = compositeKey(environment, userId, first)
    const until = compositeKey(environment, userId, before)
    const range = { table: "history", from, until, reverse: true, limit: pagesMax } as const
    const pages = (yield* Stream.runCollect(storage.readEntries(range))).flat()
    if (pages.length === 0) return undefined
    const records: Array<JournalRecord> = []
    let bytes = 0
    for (const [key, value] of pages) {
      bytes += value.length
      if (bytes > limits.historyTurnBytesMax) {
        yield* yieldToEventLoop
        bytes = value.length
      }
      const page = decodePage(yield* decodeValue(value, { table: "history", key }))
      for (const record of page.toReversed()) if (record.sequence < before) records.push(record)
    }
    return [records, { before: records.at(-1)!.sequence, next: 0 }]
  })
}
