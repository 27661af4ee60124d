/**
 * A table of LMDB whose entries are read into blocks. The binding copies each key and each value into a buffer
 * of its own that it uses again, and has them decoded there. For everybody else that makes two new buffers
 * of an entry, which is most of the cost of reading one and all of its garbage (`npm run bench -- journal` compares);
 * here the bytes are copied on, into the block.
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

/** What is needed of the table. */
interface OpenTable {
  readonly getRange: (range: {
    readonly start: Bytes
    readonly end: Bytes
    readonly limit: number
  }) => Iterable<unknown>
}

export class BlockTable {
  readonly #table: OpenTable
  /** The one that is being filled. */
  #block!: EntryBlock
  /** LMDB's buffer as of the last value, and the whole of it: the length that LMDB gives it is the value's. */
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
          this.#block.addKey(source, start, end)
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
          this.#block.addValue(this.#whole, size)
        },
      },
    })
  }

  /** Fills `block` with the first entries of the range, for up to `readChunkMs`; answers what is left of it. Throws. */
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
    return more ? { ...range, from: following(block.key(block.count - 1)) } : undefined
  }
}

/** The key right after this one in byte order. */
export const following = (key: Bytes): Bytes => {
  const next = new Uint8Array(key.length + 1)
  next.set(key)
  return next
}
