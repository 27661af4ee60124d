/**
 * Where the texts of pending records stay until the snapshot has them: slabs outside the heap, filled one
 * after another and used again. A buffer for each batch would be as simple, but the collector runs more
 * often the more memory outside the heap comes and goes.
 */
import { limits } from "../Limits.ts"

/** `bytes` is shared by many records. */
export interface RecordText {
  readonly bytes: Buffer
}

class Slab implements RecordText {
  readonly bytes: Buffer
  used = 0
  /** The last record whose text is here. */
  lastSequence = 0

  constructor(bytes: number) {
    this.bytes = Buffer.allocUnsafeSlow(bytes)
  }
}

export class RecordTexts {
  /** In the order of their records; the last one is being filled. */
  readonly #slabs: Array<Slab> = []
  readonly #free: Array<Slab> = []

  /** Copies `bytes`, the texts of records up to `lastSequence`; they begin in the slab at the place returned. */
  store(bytes: Buffer, lastSequence: number): { readonly text: RecordText; readonly at: number } {
    let slab = this.#slabs.at(-1)
    if (slab === undefined || slab.bytes.length - slab.used < bytes.length) {
      slab = bytes.length <= limits.recordSlabBytes ? this.#free.pop() : undefined
      slab ??= new Slab(Math.max(bytes.length, limits.recordSlabBytes))
      this.#slabs.push(slab)
    }
    const at = slab.used
    bytes.copy(slab.bytes, at)
    slab.used += bytes.length
    slab.lastSequence = lastSequence
    return { text: slab, at }
  }

  /** The snapshot has every record up to `watermark`: nobody asks for their texts any more. */
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
  }
}
