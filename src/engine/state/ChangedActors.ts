/**
 * The actors of projects and of the directory with durable records that await the next snapshot,
 * each once, and how many such records of all actors there are. Changed users are in the lists of
 * their buckets (`users/BucketTable.ts`). Asks for a snapshot when the engines of the process
 * together have `snapshotRecordsMax` such records and this engine has at least its share of them.
 */
import { Effect, Latch } from "effect"
import { limits } from "../../Limits.ts"
import type { AnyActor } from "../actor/Actor.ts"
import type { SnapshotMark } from "./SnapshotMark.ts"

/** How many engines a process has, and how many of their durable records are in no snapshot. */
export interface UnsnapshottedRecords {
  count: number
  engines: number
}

export class ChangedActors {
  readonly #shared: UnsnapshottedRecords
  readonly #wanted = Latch.makeUnsafe(false)
  #actors: Array<AnyActor> = []
  #last: number
  /** The watermark of the snapshot, or of the one being written. */
  #begun: number

  constructor({ watermark }: SnapshotMark, shared: UnsnapshottedRecords) {
    this.#shared = shared
    shared.engines++
    this.#last = watermark
    this.#begun = watermark
  }

  /** The sequence of the last durable record. */
  get lastDurable(): number {
    return this.#last
  }

  /**
   * How many durable records are neither in the last snapshot nor in the one that is being written.
   */
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

  /** The next record is durable, and of no actor. */
  passed(sequence: number): void {
    this.#shared.count += sequence - this.#last
    this.#last = sequence
  }

  /** The next record is durable. */
  committed(actor: AnyActor, sequence: number): void {
    this.passed(sequence)
    if (actor.subject.actor !== "user" && actor.lastDurable <= this.#begun) {
      this.#actors.push(actor)
    }
    actor.lastDurable = sequence
    if (this.#isDue) this.requestSnapshot()
  }

  /**
   * Whether too many records await a snapshot, and this engine has at least the average number of
   * them.
   */
  get #isDue(): boolean {
    const { count, engines } = this.#shared
    return count >= limits.snapshotRecordsMax && this.pending * engines >= count
  }

  /** Asks for a snapshot now. A request while a snapshot is written has no effect. */
  requestSnapshot(): void {
    this.#wanted.openUnsafe()
  }

  /** Ends when a snapshot is asked for. */
  readonly requested: Effect.Effect<void> = Effect.suspend(() => {
    if (this.#isDue) return Effect.void
    this.#wanted.closeUnsafe()
    return this.#wanted.await
  })

  /** A snapshot of all durable records begins; returns the actors that it must write. */
  begin(): ReadonlyArray<AnyActor> {
    const actors = this.#actors
    this.#actors = []
    this.#shared.count -= this.pending
    this.#begun = this.#last
    return actors
  }

  /**
   * The snapshot failed: its actors await the next one. `watermark`: that of the last complete
   * snapshot.
   */
  failed(actors: ReadonlyArray<AnyActor>, watermark: number): void {
    this.#actors = [...new Set([...actors, ...this.#actors])]
    this.#shared.count += this.#begun - watermark
    this.#begun = watermark
  }
}
