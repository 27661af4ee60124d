/** The index of one segment file. Cost: two numbers per `journalIndexBytes`. */
import path from "node:path"
import { limits } from "../../Limits.ts"
import { segmentHeaderBytes, segmentName } from "./SegmentFormat.ts"

export class Segment {
  readonly path: string
  readonly firstSequence: number
  /** Where the last durable batch ends. */
  end = segmentHeaderBytes
  /** Some batches, in order: the first sequence of each and where it begins. */
  readonly #sequences: Array<number> = []
  readonly #positions: Array<number> = []

  constructor(folder: string, firstSequence: number) {
    this.path = path.join(folder, segmentName(firstSequence))
    this.firstSequence = firstSequence
  }

  /** Adds a batch at the end. */
  add(firstSequence: number, size: number): void {
    const indexed = this.#positions[this.#positions.length - 1]
    if (indexed === undefined || this.end - indexed >= limits.journalIndexBytes) {
      this.#sequences.push(firstSequence)
      this.#positions.push(this.end)
    }
    this.end += size
  }

  /** Where to start reading for `sequence`: at the last indexed batch that does not begin after it. */
  positionBefore(sequence: number): number {
    let low = 0
    let high = this.#sequences.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#sequences[middle]! <= sequence) low = middle + 1
      else high = middle
    }
    return this.#positions[low - 1] ?? segmentHeaderBytes
  }
}
