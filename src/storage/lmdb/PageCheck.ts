/**
 * Checks the pages of an LMDB file without LMDB. LMDB trusts its pages. If a commit changes a page
 * with a damaged header, or reuses a page that is in the free list by mistake, it destroys other
 * entries or ends the process by a signal.
 *
 * The check walks the trees of the newest snapshot: the free list, the list of tables and, if
 * `whole`, each table. Each page must have its number, its kind, a past transaction, and entries
 * that fill its space exactly. Each tree must have its depth and its counts. No page is in two
 * trees, or in a tree and in the free list. `scan.ts` checks keys and values.
 *
 * The format is that of `mdb.c` in lmdb-js, data version 2, in little-endian order, by offset:
 *
 *   page   0 number, 8 transaction, 18 kind, 20 end of the offsets of its nodes, 22 start of its
 *   nodes; a long value: 20 pages node   0 size of the value, or page of the child, 4 kind, 6 size
 *   of the key, 8 key, then value or description of a long one meta   48 the free list, 96 the list
 *   of tables, 144 last page, 152 transaction; trees as in `treeAt`
 *
 * The pages of the snapshot must not change during the check: either nobody writes, or a read
 * transaction of this or an earlier snapshot is open.
 *
 * Cost: one read of each page (of a long value only its first page), and one bit of memory per
 * page.
 */
import fs from "node:fs"
import { limits } from "../../Limits.ts"

const metaBytes = 168
const headerBytes = 24
const nodeBytes = 8
const treeBytes = 48
/** The description of a long value: page, transaction, number of pages. */
const longBytes = 24
const pageKinds = { branch: 1, leaf: 2, long: 4 }
const entryKinds = { value: 0, long: 1, table: 2 }
/** Reads between two calls of `onProgress`: few enough for a slow disk within `workerSilenceMs`. */
const progressReads = 1_024

/** The database is damaged. The message continues the words "is damaged:". */
export class DamagedDatabase extends Error {}

interface Counts {
  branches: number
  leaves: number
  longPages: number
  entries: number
}

/** A tree as a meta page or the list of tables describes it. */
interface Tree {
  readonly name: string
  readonly depth: number
  readonly counts: Counts
  readonly root: number
}

/** The buffers are valid until the call ends. */
interface Visitor {
  /** The lower bound of the keys that follow. */
  readonly bound?: (key: Buffer) => void
  readonly entry: (key: Buffer, value: Buffer, kind: number) => void
}

/** Throws `DamagedDatabase`, or the system's error. */
export const checkPages = (
  file: string,
  pageBytes: number,
  whole: boolean,
  onProgress: () => void,
): void => {
  const descriptor = fs.openSync(file, "r")
  try {
    const check = new PageCheck(descriptor, pageBytes, onProgress)
    check.freeList()
    const tables = check.tables()
    if (whole) for (const table of tables) check.tree(table)
  } finally {
    fs.closeSync(descriptor)
  }
}

/** Numbers from 2^53 on lose their low bits, but they are out of every valid range. */
const integer = (bytes: Buffer, at: number): number => Number(bytes.readBigUInt64LE(at))

const treeAt = (bytes: Buffer, at: number, name: string): Tree => ({
  name,
  depth: bytes.readUInt16LE(at + 6),
  counts: {
    branches: integer(bytes, at + 8),
    leaves: integer(bytes, at + 16),
    longPages: integer(bytes, at + 24),
    entries: integer(bytes, at + 32),
  },
  root: integer(bytes, at + 40),
})

class PageCheck {
  readonly #file: number
  readonly #pageBytes: number
  readonly #onProgress: () => void
  /** One buffer per level of the walk. */
  readonly #levels: Array<Buffer> = []
  readonly #meta: Buffer
  readonly #lastPage: number
  readonly #transaction: number
  /** One bit per page: set if the page is in a tree or in the free list. */
  readonly #taken: Uint8Array
  readonly #header = Buffer.alloc(headerBytes)
  #reads = 0

  constructor(file: number, pageBytes: number, onProgress: () => void) {
    this.#file = file
    this.#pageBytes = pageBytes
    this.#onProgress = onProgress
    this.#meta = this.#newestMeta()
    this.#lastPage = integer(this.#meta, 144)
    this.#transaction = integer(this.#meta, 152)
    // The file may end before its last page, if a transaction freed the end again.
    const bytesMax = Math.max(limits.mapBytes, 2 * fs.fstatSync(file).size)
    if ((this.#lastPage + 1) * pageBytes > bytesMax) {
      throw new DamagedDatabase(`it has more pages than fit in ${bytesMax} bytes`)
    }
    this.#taken = new Uint8Array((this.#lastPage >>> 3) + 1)
  }

  /**
   * An entry of the free list maps a transaction to the pages that it freed: a count, then pages. A
   * negative number is the length of a run of pages that begins with the next page.
   */
  freeList(): void {
    let next = 1
    const wrong = (words: string) => new DamagedDatabase(`an entry of the free list ${words}`)
    const transactionOf = (key: Buffer): number => {
      const transaction = key.length === 8 ? integer(key, 0) : 0
      if (transaction < next || transaction > this.#transaction) throw wrong("has a wrong key")
      return transaction
    }
    this.tree(treeAt(this.#meta, 48, "the free list"), {
      bound: (key) => {
        next = transactionOf(key)
      },
      entry: (key, value) => {
        next = transactionOf(key) + 1
        const count = value.length < 8 ? Number.POSITIVE_INFINITY : integer(value, 0)
        if (8 * (count + 1) > value.length) throw wrong("is too short")
        for (let n = 1; n <= count; n++) {
          const word = Number(value.readBigInt64LE(8 * n))
          if (word === 0) continue
          if (word < 0 && ++n > count) throw wrong("ends within a run of pages")
          this.#take("the free list", integer(value, 8 * n), Math.max(1, -word))
        }
      },
    })
  }

  tables(): ReadonlyArray<Tree> {
    const tables: Array<Tree> = []
    this.tree(treeAt(this.#meta, 96, "the list of tables"), {
      entry: (key, value, kind) => {
        if (kind !== entryKinds.table) return
        const name = `table ${key.toString().replaceAll("\0", "")}`
        if (value.length !== treeBytes || value.readUInt16LE(4) !== 0) {
          throw new DamagedDatabase(`the description of ${name} is damaged`)
        }
        tables.push(treeAt(value, 0, name))
      },
    })
    return tables
  }

  tree(tree: Tree, visitor?: Visitor): void {
    const counts: Counts = { branches: 0, leaves: 0, longPages: 0, entries: 0 }
    if (tree.depth > 0) this.#page(tree, tree.root, 1, counts, visitor)
    for (const name of ["branches", "leaves", "longPages", "entries"] as const) {
      if (counts[name] === tree.counts[name]) continue
      throw new DamagedDatabase(
        `${tree.name} has ${counts[name]} ${name}, not ${tree.counts[name]} as its description says`,
      )
    }
  }

  /**
   * The meta page of the newest snapshot. Reads both meta pages until two reads are equal, since a
   * writer may be replacing the older page.
   */
  #newestMeta(): Buffer {
    const read = () => this.#read(Buffer.alloc(this.#pageBytes + metaBytes), 0)
    let bytes = read()
    for (let again = read(); !again.equals(bytes); again = read()) bytes = again
    if (bytes.length < this.#pageBytes + metaBytes)
      throw new DamagedDatabase("it has no meta pages")
    const other = bytes.subarray(this.#pageBytes)
    return integer(bytes, 152) >= integer(other, 152) ? bytes : other
  }

  /** Fills `buffer` from the file, up to the end of the file. */
  #read(buffer: Buffer, at: number): Buffer {
    if (++this.#reads % progressReads === 0) this.#onProgress()
    return buffer.subarray(0, fs.readSync(this.#file, buffer, 0, buffer.length, at))
  }

  #take(where: string, page: number, count: number): void {
    if (page < 2 || page + count - 1 > this.#lastPage) {
      throw new DamagedDatabase(`${where} has page ${page}, which does not exist`)
    }
    for (let each = page; each < page + count; each++) {
      const bit = 1 << (each & 7)
      if ((this.#taken[each >>> 3]! & bit) !== 0) {
        throw new DamagedDatabase(`${where} has page ${each}, which is used already`)
      }
      this.#taken[each >>> 3]! |= bit
    }
  }

  /** Whether a page or a long value begins with its header. */
  #isHeader(bytes: Buffer, page: number, kind: number): boolean {
    return (
      bytes.length >= headerBytes &&
      integer(bytes, 0) === page &&
      integer(bytes, 8) <= this.#transaction &&
      bytes.readUInt16LE(18) === kind
    )
  }

  #page(
    tree: Tree,
    page: number,
    level: number,
    counts: Counts,
    visitor: Visitor | undefined,
  ): void {
    const wrong = (words: string) => new DamagedDatabase(`page ${page} of ${tree.name} ${words}`)
    this.#take(tree.name, page, 1)
    this.#levels[level] ??= Buffer.alloc(this.#pageBytes)
    const bytes = this.#read(this.#levels[level], page * this.#pageBytes)
    if (bytes.length < this.#pageBytes) throw wrong("is missing")
    const isLeaf = level === tree.depth
    if (!this.#isHeader(bytes, page, isLeaf ? pageKinds.leaf : pageKinds.branch)) {
      throw wrong("has a damaged header")
    }
    counts[isLeaf ? "leaves" : "branches"]++
    const space = this.#pageBytes - headerBytes
    const lower = bytes.readUInt16LE(20)
    const upper = bytes.readUInt16LE(22)
    if (lower % 2 !== 0 || lower > upper || upper > space) throw wrong("has damaged bounds")
    let used = 0
    for (let n = 0; n < lower / 2; n++) {
      const offset = bytes.readUInt16LE(headerBytes + 2 * n)
      if (offset < upper || offset + nodeBytes > space) throw wrong("has damaged entries")
      const at = headerBytes + offset
      const low = bytes.readUInt32LE(at)
      const kind = bytes.readUInt16LE(at + 4)
      const keyAt = at + nodeBytes
      const keyEnd = keyAt + bytes.readUInt16LE(at + 6)
      const isLong = isLeaf && kind === entryKinds.long
      const end = keyEnd + (isLong ? longBytes : isLeaf ? low : 0)
      if (end > this.#pageBytes || kind > entryKinds.table) throw wrong("has damaged entries")
      used += end - at + ((end - at) % 2)
      if (isLeaf) {
        counts.entries++
        const long = isLong ? this.#long(tree, bytes.subarray(keyEnd, end), low, counts) : undefined
        if (visitor === undefined) continue
        const value =
          long === undefined
            ? bytes.subarray(keyEnd, end)
            : this.#read(Buffer.alloc(low), long * this.#pageBytes + headerBytes)
        visitor.entry(bytes.subarray(keyAt, keyEnd), value, kind)
      } else {
        if (n > 0) visitor?.bound?.(bytes.subarray(keyAt, keyEnd))
        this.#page(tree, low + kind * 2 ** 32, level + 1, counts, visitor)
      }
    }
    if (used !== space - upper) throw wrong("has entries that overlap")
  }

  /** Checks the first page of a long value of `size` bytes. Returns the number of that page. */
  #long(tree: Tree, description: Buffer, size: number, counts: Counts): number {
    const page = integer(description, 0)
    const pages = integer(description, 16)
    this.#take(tree.name, page, pages)
    const header = this.#read(this.#header, page * this.#pageBytes)
    const isWhole =
      this.#isHeader(header, page, pageKinds.long) &&
      integer(header, 8) === integer(description, 8) &&
      header.readUInt32LE(20) === pages &&
      headerBytes + size <= pages * this.#pageBytes
    if (!isWhole)
      throw new DamagedDatabase(`page ${page} of ${tree.name} is not the value that it should be`)
    counts.longPages += pages
    return page
  }
}
