/**
 * The records that await the snapshot, durable or not: the list of each actor's records, and the
 * names of their commands.
 *
 * - An actor's records are a list from its `lastVisible` backwards along `previousOf`. From its
 *   `lastDurable` backwards they are durable. Records up to the watermark of the snapshot are no
 *   longer here.
 * - A name (the caller's id, by which a repeat is a duplicate) is here as a hash, with the
 *   environment of its user; the record has the name itself.
 * - No record is an object. Hundreds of thousands of objects that live from one snapshot to the
 *   next would cost the garbage collector more than all other work for an event. The texts are in
 *   `RecordBuffer`, and the columns here are indexed as those there.
 *
 * Cost of a record: its text, and 20 bytes including those of `RecordBuffer`.
 */
import type { JournalRecord, Subject } from "../../domain/record/Record.ts"
import type { StoredRecord } from "../../storage/Storage.ts"
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
  /** The hash of a record's name; 0: it has none. */
  #hashes = new Uint32Array(ringRecordsMin)
  /** The place in `#environments` of the environment of a record with a name. */
  #places = new Uint32Array(ringRecordsMin)
  readonly #environments: Array<string> = []
  /** The place of the environment that was named last. */
  #latest = 0

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
  link(actor: RecordChain & { readonly subject: Subject }, hash: number | undefined): void {
    const sequence = this.texts.lastSequence
    const { subject } = actor
    if (hash === undefined || subject.actor !== "user") this.#name(sequence, 0, 0)
    else this.#name(sequence, hash, this.#placeOf(subject.environment))
    actor.lastVisible = sequence
    actor.lastAppended = sequence
  }

  /** Adds an erased record of the journal. No state has its facts, and no actor's list has it. */
  keepErased({ body, previous }: StoredRecord): void {
    this.texts.keep(body, previous)
    this.#name(this.texts.lastSequence, 0, 0)
  }

  #name(sequence: number, hash: number, place: number): void {
    if (sequence - this.#watermark > this.#hashes.length) {
      this.#hashes = grownRing(this.#hashes, this.#watermark + 1, sequence)
      this.#places = grownRing(this.#places, this.#watermark + 1, sequence)
    }
    const at = sequence & (this.#hashes.length - 1)
    this.#hashes[at] = hash
    this.#places[at] = place
  }

  #placeOf(environment: string): number {
    if (this.#environments[this.#latest] === environment) return this.#latest
    const known = this.#environments.indexOf(environment)
    this.#latest = known < 0 ? this.#environments.push(environment) - 1 : known
    return this.#latest
  }

  /**
   * The actor's record before this one; 0: there is none. It may be a record that is no longer
   * here.
   */
  previousOf(sequence: number): number {
    return this.texts.previousOf(sequence)
  }

  /** The hash of a record's name; `undefined`: it has none. */
  hashOf(sequence: number): number | undefined {
    const hash = this.#hashes[sequence & (this.#hashes.length - 1)]!
    return hash === 0 ? undefined : hash
  }

  /** The environment of a record that has a name. */
  environmentOf(sequence: number): string {
    return this.#environments[this.#places[sequence & (this.#places.length - 1)]!]!
  }

  /**
   * The records of an actor's list from `last` backwards that are after `after` and up to
   * `through`, oldest first.
   */
  backFrom(last: number, after: number, through: number = last): ReadonlyArray<number> {
    const sequences: Array<number> = []
    const end = Math.max(after, this.#watermark)
    for (let sequence = last; sequence > end; sequence = this.previousOf(sequence)) {
      if (sequence <= through) sequences.push(sequence)
    }
    return sequences.reverse()
  }

  /**
   * The record as the journal has it; its body is a view that is valid until the next `release`.
   */
  stored(sequence: number): StoredRecord {
    const { texts } = this
    return {
      sequence,
      previous: texts.previousOf(sequence),
      body: texts.textOf(sequence),
    }
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
