/**
 * Reads a table of LMDB into blocks. The binding copies each key and value into its own reused
 * buffer and calls a decoder. The usual decoder allocates two buffers per entry: most of the cost
 * of a read, and all of its garbage (`npm run bench -- journal` compares both). This decoder copies
 * the bytes into the block.
 */
import { limits } from "../../Limits.ts"
import type { EntryBlock } from "../EntryBlock.ts"
import type { BlockRange } from "../Storage.ts"

type Bytes = Uint8Array

/** Options for `lmdb` to open the table: for each entry it calls `readKey`, then `decode`. */
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

/** The part of the binding's table that is used here. */
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
   * The binding's buffer at the last value, and a view of its whole memory: the binding sets the
   * length of the buffer to that of the value.
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
   * Fills `block` with the first entries of the range, for up to `readChunkMs`. Returns the rest of
   * the range. Throws the errors of `lmdb`.
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
    // Releases the block, since the table outlives the read.
    this.#block = undefined
    return more ? { ...range, from: following(block.key(block.count - 1)) } : undefined
  }
}

/** The next possible key in byte order. */
export const following = (key: Bytes): Bytes => {
  const next = new Uint8Array(key.length + 1)
  next.set(key)
  return next
}
