/**
 * Records that await the snapshot, durable or about to be: the list of each actor's, and the names of their commands.
 *
 * - An actor's records are a list, from its `lastVisible` backwards along `olderOf`; from its `lastDurable` on they are
 *   durable. A pointer to a record up to the watermark of the snapshot leads nowhere: that record is gone from here.
 * - A name (the caller's id, by which a repeat is a duplicate) is here as a hash; the record has the name itself.
 * - No record is an object: hundreds of thousands that live from one snapshot to the next would cost the garbage
 *   collector more than all other work for an event. Their texts are in `RecordBuffer`, and these columns are like
 *   the columns there.
 *
 * Cost of a record: its text, and 20 bytes with those of `RecordBuffer`.
 */
import type { JournalRecord } from "../../domain/record/Record.ts"
import { decodeRecord } from "./Codec.ts"
import { grownRing, RecordBuffer, ringRecordsMin } from "./RecordBuffer.ts"

/** The ends of an actor's list, as `Actor` says. */
export interface RecordChain {
  lastAppended: number
  lastVisible: number
  lastDurable: number
}

export class PendingRecords {
  readonly texts: RecordBuffer
  #watermark: number
  /** How many sequences before it the actor's record before it stands, 0 for none, doubled; and 1 where it has a name. */
  #links = new Uint32Array(ringRecordsMin)
  #hashes = new Uint32Array(ringRecordsMin)

  /** There is nothing after `watermark` yet. */
  constructor(watermark: number) {
    this.texts = new RecordBuffer(watermark)
    this.#watermark = watermark
  }

  /** Everything up to this sequence is in the snapshot. */
  get watermark(): number {
    return this.#watermark
  }

  /** The record whose text came last is this actor's; `hash` is that of its name, if it has one. */
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

  /** The actor's record before this one; a sequence up to the watermark, or 0: it is not pending. */
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

  /** An actor's records from `last` backwards, those after `after` and up to `through`, oldest first. */
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
