/**
 * The records that await the snapshot, durable or not: the list of each actor's records, and the
 * names of their commands.
 *
 * - An actor's records are a list from its `lastVisible` backwards along `olderOf`. From its
 *   `lastDurable` backwards they are durable. The list ends at the watermark of the snapshot:
 *   earlier records are no longer here.
 * - A name (the caller's id, by which a repeat is a duplicate) is here as a hash; the record has
 *   the name itself.
 * - No record is an object. Hundreds of thousands of objects that live from one snapshot to the
 *   next would cost the garbage collector more than all other work for an event. The texts are in
 *   `RecordBuffer`, and the columns here are indexed as those there.
 *
 * Cost of a record: its text, and 20 bytes including those of `RecordBuffer`.
 */
import type { JournalRecord } from "../../domain/record/Record.ts"
import { decodeRecord } from "./Codec.ts"
import { grownRing, RecordBuffer, ringRecordsMin } from "./RecordBuffer.ts"

/** The ends of an actor's list; see `Actor`. */
export interface RecordChain {
  lastAppended: number
  lastVisible: number
  lastDurable: number
}

export class PendingRecords {
  readonly texts: RecordBuffer
  #watermark: number
  /**
   * Bit 0: the record has a name. Higher bits: the distance to the actor's record before it; 0:
   * none.
   */
  #links = new Uint32Array(ringRecordsMin)
  #hashes = new Uint32Array(ringRecordsMin)

  /** Begins without records after `watermark`. */
  constructor(watermark: number) {
    this.texts = new RecordBuffer(watermark)
    this.#watermark = watermark
  }

  /** Everything up to this sequence is in the snapshot. */
  get watermark(): number {
    return this.#watermark
  }

  /**
   * The record whose text was added last is this actor's; `hash` is that of its name, if it has
   * one.
   */
  link(actor: RecordChain, hash: number | undefined): void {
    const sequence = this.texts.lastSequence
    const { lastVisible } = actor
    if (sequence - this.#watermark > this.#links.length) {
      this.#links = grownRing(this.#links, this.#watermark + 1, sequence)
      this.#hashes = grownRing(this.#hashes, this.#watermark + 1, sequence)
    }
    const at = sequence & (this.#links.length - 1)
    const toOlder = lastVisible > this.#watermark ? sequence - lastVisible : 0
    this.#links[at] = 2 * toOlder + Number(hash !== undefined)
    this.#hashes[at] = hash ?? 0
    actor.lastVisible = sequence
    actor.lastAppended = sequence
  }

  /**
   * The actor's record before this one; 0 or a sequence up to the watermark: no such record is
   * pending.
   */
  olderOf(sequence: number): number {
    const toOlder = this.#links[sequence & (this.#links.length - 1)]! >>> 1
    return toOlder === 0 ? 0 : sequence - toOlder
  }

  /** The hash of a record's name; `undefined`: it has none. */
  hashOf(sequence: number): number | undefined {
    const at = sequence & (this.#links.length - 1)
    return (this.#links[at]! & 1) === 0 ? undefined : this.#hashes[at]
  }

  /** The actor's durable records after `after` and up to `through`, oldest first. */
  durableOf(actor: RecordChain, after: number, through: number): ReadonlyArray<number> {
    return this.backFrom(actor.lastDurable, after, through)
  }

  /**
   * The records of an actor's list from `last` backwards that are after `after` and up to
   * `through`, oldest first.
   */
  backFrom(last: number, after: number, through: number = last): ReadonlyArray<number> {
    const sequences: Array<number> = []
    const end = Math.max(after, this.#watermark)
    for (let sequence = last; sequence > end; sequence = this.olderOf(sequence)) {
      if (sequence <= through) sequences.push(sequence)
    }
    return sequences.reverse()
  }

  decode(sequence: number): JournalRecord {
    return decodeRecord(this.texts.textOf(sequence))
  }

  /** The snapshot has every record up to `watermark`. */
  release(watermark: number): void {
    this.#watermark = watermark
    this.texts.release(watermark)
  }
}
