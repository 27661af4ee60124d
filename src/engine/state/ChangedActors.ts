/**
 * The actors with durable records that await the next snapshot, each once, and how many records these are. Asks for a
 * snapshot when they are many.
 */
import { Effect, Latch } from "effect"
import { limits } from "../../Limits.ts"
import type { AnyActor } from "../actor/Actor.ts"
import type { RecordBuffer } from "../records/RecordBuffer.ts"
import type { SnapshotMark } from "./SnapshotMark.ts"

export class ChangedActors {
  readonly #texts: RecordBuffer
  readonly #wanted = Latch.makeUnsafe(false)
  #actors: Array<AnyActor> = []
  #last: number
  /** The watermark of the snapshot, or of the one being written. */
  #begun: number
  #bytes: number

  constructor({ journal, watermark }: SnapshotMark, texts: RecordBuffer) {
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

  /** Bytes of durable records since the oldest mark of the journal. */
  get bytes(): number {
    return this.#bytes
  }

  /** The next record is durable. */
  committed(actor: AnyActor, sequence: number): void {
    this.#last = sequence
    this.#bytes += this.#texts.bytesOf(sequence)
    if (actor.lastDurable <= this.#begun) this.#actors.push(actor)
    actor.lastDurable = sequence
    if (this.pending >= limits.snapshotRecordsMax) this.requestSnapshot()
  }

  /** Asks for a snapshot now. A request while one is being written asks for nothing. */
  requestSnapshot(): void {
    this.#wanted.openUnsafe()
  }

  /** Ends when a snapshot is asked for. */
  readonly requested: Effect.Effect<void> = Effect.suspend(() => {
    if (this.pending >= limits.snapshotRecordsMax) return Effect.void
    this.#wanted.closeUnsafe()
    return this.#wanted.await
  })

  /** A snapshot of all durable records begins: the actors that it writes. */
  begin(): ReadonlyArray<AnyActor> {
    const actors = this.#actors
    this.#actors = []
    this.#begun = this.#last
    return actors
  }

  /** It failed: its actors await the next one, which begins at the watermark of the last that stands. */
  failed(actors: ReadonlyArray<AnyActor>, watermark: number): void {
    this.#actors = [...new Set([...actors, ...this.#actors])]
    this.#begun = watermark
  }
}
