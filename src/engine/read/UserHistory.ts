/**
 * Reads a user's records, newest first: first the durable records that the snapshot lacks, from
 * memory (`PendingRecords`, from the actor's `lastDurable` backwards), then the history pages of
 * the snapshot.
 *
 * A reader may pause between chunks. Its position in memory is valid while it is above the
 * snapshot's watermark; after that the rest is in the pages. A reader leaves out records that
 * become durable after it began, so it has no gaps.
 *
 * Cost: nothing on the path of a write. A reader decodes at most `historyTurnBytesMax` of text in a
 * turn, and holds one chunk.
 */
import { Effect, Stream } from "effect"
import { type HistoryNeeded, Past } from "../../domain/record/Past.ts"
import type { JournalRecord, Subject } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import type { Broken, StoredEntry } from "../../storage/Storage.ts"
import { decodeValue } from "../../storage/Values.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { RecallingActor } from "../actor/RecordFinder.ts"
import { decodePage } from "../records/Codec.ts"
import { findStored, pagesIn, partitionOf } from "../records/SnapshotValues.ts"
import type { EngineState } from "../state/EngineState.ts"

/** The position of a reader: it has given every record from `before` on. */
interface Position {
  readonly before: number
  /**
   * The next record in memory. If it is not above the snapshot's watermark, the rest is in the
   * pages.
   */
  readonly next: number
  /** The partition of the next pages; absent until pages were read. */
  readonly partition?: number
}

type HistoryState = Pick<EngineState, "storage" | "pending" | "erasures" | "environments">

type Step = readonly [ReadonlyArray<JournalRecord>, Position]

export class UserHistory {
  readonly #state: HistoryState
  readonly #commit: { readonly durableSequence: number }

  constructor(state: HistoryState, commit: { readonly durableSequence: number }) {
    this.#state = state
    this.#commit = commit
  }

  /**
   * The user's durable record with this sequence; `undefined`: there is none, or the user was
   * erased since.
   */
  readonly find = Effect.fnUntraced(function* (
    this: UserHistory,
    environment: string,
    userId: string,
    sequence: number,
  ): Effect.fn.Return<JournalRecord | undefined, Broken> {
    const { erasures, pending, storage } = this.#state
    if (sequence > this.#commit.durableSequence) return undefined
    let next = this.#lastDurable(environment, userId)
    for (let looked = 1; next > sequence && next > pending.watermark; looked++) {
      next = pending.previousOf(next)
      if (looked % limits.historyTurnRecordsMax === 0) yield* yieldToEventLoop
    }
    if (sequence <= erasures.throughOf(environment, userId)) return undefined
    if (next === sequence && next > pending.watermark) return pending.decode(sequence)
    return yield* findStored(storage, environment, userId, sequence)
  })

  /**
   * `find` for the actor's own next command: an erasure that is not durable yet already hides
   * records.
   */
  findForActor(
    subject: Subject,
    sequence: number,
  ): Effect.Effect<JournalRecord | undefined, Broken> {
    return subject.actor === "user" && sequence > this.#state.erasures.aheadOf(subject)
      ? this.find(subject.environment, subject.userId, sequence)
      : Effect.succeed(undefined)
  }

  /** The history that a decision of the actor needs, from its records, durable or not. */
  readonly recallForActor = Effect.fnUntraced(function* (
    this: UserHistory,
    { lastVisible, subject }: RecallingActor,
    needed: HistoryNeeded,
  ): Effect.fn.Return<Past, Broken> {
    const past = new Past()
    if (subject.actor !== "user") return past
    const { environment, userId } = subject
    const after = this.#state.erasures.aheadOf(subject)
    const before = Math.max(lastVisible, this.#state.pending.watermark) + 1
    const start = { before, next: lastVisible }
    yield* Stream.runForEachWhile(this.#readFrom(environment, userId, start), (records) =>
      Effect.sync(() => {
        for (const record of records) {
          if (record.sequence <= after) return false
          past.add(record)
          if (needed.isMet(past, record.at)) return false
        }
        return true
      }),
    )
    return past
  })

  /** `recallForActor` for a decision on the durable state that will not be applied. */
  recall(environment: string, userId: string, needed: HistoryNeeded): Effect.Effect<Past, Broken> {
    const lastVisible = this.#lastDurable(environment, userId)
    return this.recallForActor(
      { subject: { actor: "user", environment, userId }, lastVisible },
      needed,
    )
  }

  /** The user's last durable record; 0: there is none that is pending. */
  #lastDurable(environment: string, userId: string): number {
    const { states, users } = this.#state.environments.of(environment)
    return users.get(userId)?.lastDurable ?? states.sequenceOf(userId)
  }

  /**
   * The user's records below the sequence `before`, newest first, in chunks; a chunk may be empty.
   */
  read(
    environment: string,
    userId: string,
    before: number = Number.MAX_SAFE_INTEGER,
  ): Stream.Stream<ReadonlyArray<JournalRecord>, Broken> {
    return Stream.suspend(() => {
      const start: Position = {
        before: Math.min(before, this.#commit.durableSequence + 1),
        next: this.#lastDurable(environment, userId),
      }
      return this.#readFrom(environment, userId, start)
    })
  }

  #readFrom(environment: string, userId: string, start: Position) {
    return Stream.unfold(start, (position) =>
      position.next > this.#state.pending.watermark
        ? Effect.map(yieldToEventLoop, () => this.#fromMemory(environment, userId, position))
        : this.#fromPages(environment, userId, position),
    )
  }

  /** Decodes the records of one turn. */
  #fromMemory(environment: string, userId: string, { before, next: first }: Position): Step {
    const { erasures, pending } = this.#state
    const from = Math.max(pending.watermark, erasures.throughOf(environment, userId))
    const records: Array<JournalRecord> = []
    let next = first
    let bytes = 0
    let looked = 0
    while (next > from) {
      if (++looked > limits.historyTurnRecordsMax) break
      if (bytes > limits.historyTurnBytesMax) break
      if (next < before) {
        records.push(pending.decode(next))
        bytes += pending.texts.bytesOf(next)
      }
      next = pending.previousOf(next)
    }
    return [records, { before: records.at(-1)?.sequence ?? before, next: next > from ? next : 0 }]
  }

  readonly #fromPages = Effect.fnUntraced(function* (
    this: UserHistory,
    environment: string,
    userId: string,
    { before, partition: next }: Position,
  ): Effect.fn.Return<Step | undefined, Broken> {
    const { erasures, storage } = this.#state
    const limit = limits.historyReadPagesMax
    const first = erasures.throughOf(environment, userId) + 1
    if (first >= before) return undefined
    const oldest = partitionOf(first)
    let partition = next ?? partitionOf(before - 1)
    let pages: ReadonlyArray<StoredEntry> = []
    for (let asked = 1; ; asked++) {
      const range = pagesIn(environment, partition, userId, first, before)
      const last = { ...range, reverse: true, limit } as const
      pages = (yield* Stream.runCollect(storage.readEntries(last))).flat()
      if (pages.length > 0) break
      if (partition === oldest) return undefined
      partition--
      if (asked % limits.historyTurnPartitionsMax === 0) yield* yieldToEventLoop
    }
    const records: Array<JournalRecord> = []
    let bytes = 0
    for (const [key, value] of pages) {
      const body = yield* decodeValue(value, { table: "history", key })
      bytes += body.length
      if (bytes > limits.historyTurnBytesMax) {
        yield* yieldToEventLoop
        bytes = body.length
      }
      const page = decodePage(body)
      for (const record of page.toReversed()) if (record.sequence < before) records.push(record)
    }
    return [records, { before: records.at(-1)!.sequence, next: 0, partition }]
  })
}
