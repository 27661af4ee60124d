/**
 * The actors with durable records that await the next snapshot, each once, and how many records these are. Asks for a
 * snapshot when those of all engines of the process are many, and this one has its share of them.
 */
import { Effect, Latch } from "effect"
import { limits } from "../../Limits.ts"
import type { AnyActor } from "../actor/Actor.ts"
import type { RecordBuffer } from "../records/RecordBuffer.ts"
import type { SnapshotMark } from "./SnapshotMark.ts"

/** Of all engines of a process: their number, and their durable records that are in no snapshot. */
export interface UnsnapshottedRecords {
  count: number
  engines: number
}

export class ChangedActors {
  readonly #shared: UnsnapshottedRecords
  readonly #texts: RecordBuffer
  readonly #wanted = Latch.makeUnsafe(false)
  #actors: Array<AnyActor> = []
  #last: number
  /** The watermark of the snapshot, or of the one being written. */
  #begun: number
  #bytes: number

  constructor(
    { journal, watermark }: SnapshotMark,
    texts: RecordBuffer,
    shared: UnsnapshottedRecords,
  ) {
    this.#shared = shared
    shared.engines++
    this.#texts = texts
    this.#last = watermark
    this.#begun = watermark
    this.#bytes = journal.at(-1)?.bytes ?? 0
  }

  /** The sequence of the last durable record. */
  get lastDurable(): number {
    return this.#last
  }

  /** Durable records that are neither in the snapshot nor in the one that is being written. */
  get pending(): number {
    return this.#last - this.#begun
  }

  /** `pending` of all engines of the process. */
  get pendingOfAll(): number {
    return this.#shared.count
  }

  /** The engine is closed. */
  leave(): void {
    this.#shared.count -= this.pending
    this.#shared.engines--
  }

  /** Bytes of durable records since the oldest mark of the journal. */
  get bytes(): number {
    return this.#bytes
  }

  /** The next record is durable. */
  committed(actor: AnyActor, sequence: number): void {
    this.#shared.count += sequence - this.#last
    this.#last = sequence
    this.#bytes += this.#texts.bytesOf(sequence)
    if (actor.lastDurable <= this.#begun) this.#actors.push(actor)
    actor.lastDurable = sequence
    if (this.#isDue) this.requestSnapshot()
  }

  /** There are too many records, and no fewer of this engine than of each on average. */
  get #isDue(): boolean {
    const { count, engines } = this.#shared
    return count >= limits.snapshotRecordsMax && this.pending * engines >= count
  }

  /** Asks for a snapshot now. A request while one is being written asks for nothing. */
  requestSnapshot(): void {
    this.#wanted.openUnsafe()
  }

  /** Ends when a snapshot is asked for. */
  readonly requested: Effect.Effect<void> = Effect.suspend(() => {
    if (this.#isDue) return Effect.void
    this.#wanted.closeUnsafe()
    return this.#wanted.await
  })

  /** A snapshot of all durable records begins: the actors that it writes. */
  begin(): ReadonlyArray<AnyActor> {
    const actors = this.#actors
    this.#actors = []
    this.#shared.count -= this.pending
    this.#begun = this.#last
    return actors
  }

  /** It failed: its actors await the next one, which begins at the watermark of the last that stands. */
  failed(actors: ReadonlyArray<AnyActor>, watermark: number): void {
    this.#actors = [...new Set([...actors, ...this.#actors])]
    this.#shared.count += this.#begun - watermark
    this.#begun = watermark
  }
}
