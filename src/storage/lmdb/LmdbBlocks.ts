/**
 * Reads a table of LMDB into blocks. The binding copies each key and value into its own reused
 * buffer and calls a decoder. The usual decoder makes two new buffers per entry, which is most of
 * the cost of a read and all of its garbage (`npm run bench -- journal` compares); this one copies
 * the bytes into the block.
 */
import { limits } from "../../Limits.ts"
import type { EntryBlock } from "../EntryBlock.ts"
import type { BlockRange } from "../Storage.ts"

type Bytes = Uint8Array

/** How `lmdb` opens the table: it calls `readKey` for each entry, and then `decode`. */
interface TableOptions {
  readonly keyEncoder: {
    readonly writeKey: (key: Bytes, target: Bytes, at: number) => number
    readonly readKey: (source: Bytes, start: number, end: number) => undefined
  }
  readonly encoder: {
    readonly encode: (value: Bytes) => Bytes
    readonly decode: (source: Bytes, size: number) => undefined
  }
}

/** The used part of the binding's table. */
interface OpenTable {
  readonly getRange: (range: {
    readonly start: Bytes
    readonly end: Bytes
    readonly limit: number
  }) => Iterable<unknown>
}

export class BlockTable {
  readonly #table: OpenTable
  /** The block that is being filled. */
  #block: EntryBlock | undefined
  /**
   * LMDB's buffer as of the last value, and the whole of it: the length that LMDB gives it is the
   * value's.
   */
  #source: Bytes | undefined
  #whole!: Buffer

  constructor(open: (options: TableOptions) => OpenTable) {
    this.#table = open({
      keyEncoder: {
        writeKey: (key, target, at) => {
          target.set(key, at)
          return at + key.length
        },
        readKey: (source, start, end) => {
          this.#block!.addKey(source, start, end)
        },
      },
      encoder: {
        encode: (value) => value,
        decode: (source, size) => {
          if (source !== this.#source) {
            this.#source = source
            const { buffer, byteLength, byteOffset } = source
            this.#whole = Buffer.from(buffer, byteOffset, byteLength)
          }
          this.#block!.addValue(this.#whole, size)
        },
      },
    })
  }

  /**
   * Fills `block` with the first entries of the range, for up to `readChunkMs`; returns the rest of
   * the range. Throws.
   */
  fill(block: EntryBlock, range: BlockRange): BlockRange | undefined {
    block.clear()
    if (range.until.length === 0) return undefined
    this.#block = block
    const deadline = performance.now() + limits.readChunkMs
    const bounds = { start: range.from, end: range.until, limit: limits.readChunkEntriesMax }
    let more = false
    for (const _ of this.#table.getRange(bounds)) {
      more = block.full || (block.count % 32 === 0 && performance.now() > deadline)
      if (more) break
    }
    // The table stays, the block goes with its read.
    this.#block = undefined
    return more ? { ...range, from: following(block.key(block.count - 1)) } : undefined
  }
}

/** The key right after this one in byte order. */
export const following = (key: Bytes): Bytes => {
  const next = new Uint8Array(key.length + 1)
  next.set(key)
  return next
}
