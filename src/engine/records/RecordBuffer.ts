/**
 * The texts of records, from the append until the snapshot has them. They are in slabs outside the
 * heap, which are filled one after another and used again. A buffer for each batch would be as
 * simple, but the garbage collector runs more often the more memory outside the heap is allocated
 * and freed.
 *
 * - A text is in its slab as a frame (`storage/Frames.ts`), behind the frame of the record before
 *   it. So a batch of the journal is a part of one slab, and goes to the disk from there without a
 *   copy.
 * - Records come in the order of their sequences, without gaps. Their places are in columns of
 *   numbers, a ring by sequence: an object for each record would cost the collector more than all
 *   other work for it.
 *
 * Cost of a record: its text, and 12 bytes. To find a text takes three reads.
 */
import { limits } from "../../Limits.ts"
import { frameHeadBytes, previousBefore, writeFrameHead } from "../../storage/Frames.ts"

/*
 * Columns of numbers by sequence: of consecutive records, the one with `sequence` stands at
 * `sequence` modulo the length.
 */

/** The first length of a ring. All lengths are powers of two. */
export const ringRecordsMin = 1_024

/** A ring twice as long, with the numbers of the records from `first` to `end` (exclusive). */
export const grownRing = (
  ring: Uint32Array,
  first: number,
  end: number,
): Uint32Array<ArrayBuffer> => {
  const grown = new Uint32Array(2 * ring.length)
  for (let sequence = first; sequence < end; sequence++) {
    grown[sequence & (grown.length - 1)] = ring[sequence & (ring.length - 1)]!
  }
  return grown
}

class Slab {
  readonly bytes: Buffer
  used = 0
  /** The last record whose text is here. */
  lastSequence = 0

  constructor(bytes: number) {
    this.bytes = Buffer.allocUnsafeSlow(bytes)
  }
}

export class RecordBuffer {
  /** In the order of their records, numbered from `#firstSlab` on; the last slab is filled now. */
  readonly #slabs: Array<Slab> = []
  #firstSlab = 0
  readonly #free: Array<Slab> = []
  #first: number
  #next: number
  #slabOf = new Uint32Array(ringRecordsMin)
  #starts = new Uint32Array(ringRecordsMin)
  #lengths = new Uint32Array(ringRecordsMin)

  /** Begins empty; the first record is the one after `watermark`. */
  constructor(watermark: number) {
    this.#first = watermark + 1
    this.#next = watermark + 1
  }

  /** The sequence of the next record. */
  get nextSequence(): number {
    return this.#next
  }

  get lastSequence(): number {
    return this.#next - 1
  }

  /** Whether the next text fits behind the last one in the same slab. */
  hasRoom(text: string): boolean {
    const slab = this.#slabs[this.#slabs.length - 1]
    if (slab === undefined) return false
    const room = slab.bytes.length - slab.used - frameHeadBytes
    // A UTF-16 unit takes at most three bytes of UTF-8.
    return text.length * 3 <= room || Buffer.byteLength(text) <= room
  }

  /**
   * Adds the text of the next record, whose actor's record before it is `previous` (0: none);
   * returns the bytes of its frame.
   */
  append(text: string, previous: number): number {
    const slab = this.hasRoom(text) ? this.#filling : this.#begin(Buffer.byteLength(text))
    const textBytes = slab.bytes.write(text, slab.used + frameHeadBytes, "utf8")
    return this.#took(slab, textBytes, previous)
  }

  /** Adds the text of the next record, read from the journal, as a copy. */
  keep(text: Uint8Array, previous: number): void {
    const slab = this.#slabs[this.#slabs.length - 1]
    const needed = frameHeadBytes + text.length
    const fits = slab !== undefined && slab.bytes.length - slab.used >= needed
    const into = fits ? slab : this.#begin(text.length)
    into.bytes.set(text, into.used + frameHeadBytes)
    this.#took(into, text.length, previous)
  }

  get #filling(): Slab {
    return this.#slabs[this.#slabs.length - 1]!
  }

  #begin(textBytes: number): Slab {
    const bytes = frameHeadBytes + textBytes
    const usual = bytes <= limits.recordSlabBytes ? this.#free.pop() : undefined
    const slab = usual ?? new Slab(Math.max(bytes, limits.recordSlabBytes))
    this.#slabs.push(slab)
    return slab
  }

  #took(slab: Slab, textBytes: number, previous: number): number {
    const sequence = this.#next++
    if (sequence - this.#first >= this.#lengths.length) this.#grow(sequence)
    const start = writeFrameHead(slab.bytes, slab.used, textBytes, previous)
    slab.used = start + textBytes
    slab.lastSequence = sequence
    const at = sequence & (this.#lengths.length - 1)
    this.#slabOf[at] = this.#firstSlab + this.#slabs.length - 1
    this.#starts[at] = start
    this.#lengths[at] = textBytes
    return frameHeadBytes + textBytes
  }

  #grow(end: number): void {
    this.#slabOf = grownRing(this.#slabOf, this.#first, end)
    this.#starts = grownRing(this.#starts, this.#first, end)
    this.#lengths = grownRing(this.#lengths, this.#first, end)
  }

  /** The frames from that of the record `sequence` on, which must all be in one slab. */
  framesFrom(sequence: number): Buffer {
    const at = sequence & (this.#starts.length - 1)
    const { bytes, used } = this.#filling
    return bytes.subarray(this.#starts[at]! - frameHeadBytes, used)
  }

  /** The actor's record before this one; 0: there is none. */
  previousOf(sequence: number): number {
    const at = sequence & (this.#starts.length - 1)
    const { bytes } = this.#slabs[this.#slabOf[at]! - this.#firstSlab]!
    return previousBefore(bytes, this.#starts[at]!)
  }

  /** The bytes of a record's text. */
  bytesOf(sequence: number): number {
    return this.#lengths[sequence & (this.#lengths.length - 1)]!
  }

  /** A record's text, as a view that is valid until the snapshot has the record. */
  textOf(sequence: number): Buffer {
    const at = sequence & (this.#lengths.length - 1)
    const start = this.#starts[at]!
    const { bytes } = this.#slabs[this.#slabOf[at]! - this.#firstSlab]!
    return bytes.subarray(start, start + this.#lengths[at]!)
  }

  /** The snapshot has every record up to `watermark`: their texts are dropped. */
  release(watermark: number): void {
    let count = 0
    for (const slab of this.#slabs) {
      if (slab.lastSequence > watermark) break
      slab.used = 0
      const usual = slab.bytes.length === limits.recordSlabBytes
      if (usual && this.#free.length < limits.recordSlabsFreeMax) this.#free.push(slab)
      count++
    }
    this.#slabs.splice(0, count)
    this.#firstSlab += count
    this.#first = Math.max(this.#first, watermark + 1)
  }
}
