/**
 * Reads and verifies the batches of one segment in pieces of about `journalReadBytes`: memory is
 * bounded for segments of any length, and the event loop runs between pieces.
 *
 * Cost: one read per piece, and one allocation unless the caller provides memory.
 */
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import type { DiskError, DiskFile } from "../disk/Disk.ts"
import { batchHeaderBytes, batchSizeAt, decodeBatch, type SegmentBatch } from "./SegmentFormat.ts"

export class SegmentReader {
  readonly #file: DiskFile
  readonly #end: number
  /** Memory for all pieces; `undefined`: each piece has its own memory. */
  #memory: Buffer | undefined
  /** The beginning of a batch that continues after the last piece. */
  #carried: Buffer = Buffer.alloc(0)
  /** The end of the last returned batch. */
  position: number

  /**
   * Reads from `start`, where a batch begins, up to `end`. With `memory` the batches are views of
   * that memory, valid until the next call of `next`.
   */
  constructor(file: DiskFile, start: number, end: number, memory?: Buffer) {
    this.#memory = memory
    this.#file = file
    this.#end = end
    this.position = start
  }

  /** The next batches, as views of the piece; empty if there is no valid batch at `position`. */
  readonly next: Effect.Effect<ReadonlyArray<SegmentBatch>, DiskError> = Effect.suspend(() =>
    this.#read(limits.journalReadBytes),
  )

  readonly #read = Effect.fnUntraced(function* (
    this: SegmentReader,
    wantedBytes: number,
  ): Effect.fn.Return<ReadonlyArray<SegmentBatch>, DiskError> {
    let wanted = wantedBytes
    while (true) {
      const carried = this.#carried
      const size = Math.max(carried.length, Math.min(wanted, this.#end - this.position))
      const bytes = this.#piece(size)
      // The beginning of a batch from the last piece moves to the front, possibly within the same
      // memory.
      carried.copy(bytes)
      const rest = bytes.subarray(carried.length)
      const count =
        rest.length === 0 ? 0 : yield* this.#file.read(this.position + carried.length, rest)
      const filled = bytes.subarray(0, carried.length + count)
      const batches = this.#parse(filled)
      if (batches.length > 0) return batches
      // No whole batch yet: reading more helps only if the header announces a larger batch and the
      // file has that many bytes.
      const announced = filled.length >= batchHeaderBytes ? batchSizeAt(filled, 0) : 0
      if (count < rest.length || announced <= filled.length) return []
      if (announced > this.#end - this.position) return []
      this.#carried = filled
      wanted = announced
    }
  })

  #piece(size: number): Buffer {
    if (this.#memory === undefined) return Buffer.allocUnsafe(size)
    if (this.#memory.length < size) this.#memory = Buffer.allocUnsafe(size)
    return this.#memory.subarray(0, size)
  }

  #parse(bytes: Buffer): Array<SegmentBatch> {
    const batches: Array<SegmentBatch> = []
    let at = 0
    while (at + batchHeaderBytes <= bytes.length) {
      const size = batchSizeAt(bytes, at)
      if (size === 0 || at + size > bytes.length) break
      const batch = decodeBatch(bytes, at, size, this.position)
      if (batch === undefined) break
      batches.push(batch)
      at += size
      this.position += size
    }
    this.#carried = bytes.subarray(at)
    return batches
  }
}
