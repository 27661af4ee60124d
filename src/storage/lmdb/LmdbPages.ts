/**
 * Checks the pages of an LMDB environment that is not open, without LMDB: it trusts its pages, and one that is damaged or
 * missing ends the process that comes upon it by a signal.
 *
 * - `quick` reads the two meta pages, which LMDB reads before all else; `whole` follows the trees of the newer
 *   one, as LMDB would, and reads every branch and leaf page and the head of every overflow page. What a page
 *   holds must lie within it, keys must be in order and within what the branch above says, pages within the
 *   file, and no page in two places.
 * - Only what would make LMDB fail or miss a key is a fault: a file may be shorter than its meta page says where the
 *   last pages are free, and pages that no tree leads to may hold anything. The bytes of values have checksums of their
 *   own (`Values`); the lists of free pages are not looked at.
 *
 * Memory: a bit for each page, and the branch pages on the way down. Cost: one read of each page.
 */
import fs from "node:fs"
import path from "node:path"
import {
  bigNode,
  branchPage,
  Damaged,
  decodeTree,
  headerBytes,
  leafPage,
  type Meta,
  nodeBytes,
  overflowBytes,
  overflowPage,
  pagesMax,
  passingFlags,
  readMeta,
  type Tree,
  treeBytes,
  treeNode,
} from "./LmdbLayout.ts"

/** What to do about a database that is damaged. */
export const makeAnew =
  "Nothing was changed. `laurel snapshots restore --to-sequence last` makes it anew from an archive and the journal; nothing is lost"

/** How often `whole` gives way: after so many pages. */
const pagesInATurn = 512

/** How a check ended: what is wrong, in words that make a sentence; `undefined`: nothing that it looked at. */
export interface PagesFound {
  readonly fault: string | undefined
  /** The newest transaction: pages are good only as long as it is. */
  readonly transaction: bigint
}

/** `data.mdb` in the folder of an environment. */
export const dataFile = (folder: string): string => path.join(folder, "data.mdb")

/**
 * Checks the environment in `folder`; where there is none, or an empty one, nothing is wrong. A generator of how many
 * pages were read, of how many, that returns what it found; without `whole` it yields nothing. Throws where the file can
 * not be read.
 */
export function* checkPages(
  folder: string,
  { whole }: { readonly whole: boolean },
): Generator<{ readonly done: number; readonly total: number }, PagesFound> {
  const where = dataFile(folder)
  let file: number
  try {
    file = fs.openSync(where, "r")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      return { fault: undefined, transaction: 0n }
    }
    throw error
  }
  let meta: Meta | undefined
  try {
    const { size } = fs.fstatSync(file)
    if (size === 0) return { fault: undefined, transaction: 0n }
    meta = readMeta(file, size)
    const short = size < (meta.lastPage + 1) * meta.pageBytes
    if (whole || short) yield* new Walk(file, size, meta).run()
    return { fault: undefined, transaction: meta.transaction }
  } catch (error) {
    if (!(error instanceof Damaged)) throw error
    return {
      fault: `The database ${where} is damaged: ${error.message}`,
      transaction: meta?.transaction ?? 0n,
    }
  } finally {
    fs.closeSync(file)
  }
}

/** The keys that a page may have: from `low` on, and before `high`. */
interface Bounds {
  readonly low: Buffer | undefined
  readonly high: Buffer | undefined
}

class Walk {
  readonly #file: number
  readonly #size: number
  readonly #meta: Meta
  readonly #seen: Uint8Array
  readonly #trees: Array<Tree>
  #pages = 0

  constructor(file: number, size: number, meta: Meta) {
    this.#file = file
    this.#size = size
    this.#meta = meta
    this.#trees = [...meta.trees]
    // By the file's size: the last page that a damaged head names may be any number.
    this.#seen = new Uint8Array(Math.ceil(size / meta.pageBytes / 8))
  }

  *run(): Generator<{ readonly done: number; readonly total: number }, void> {
    while (true) {
      const tree = this.#trees.shift()
      if (tree === undefined) return
      if (tree.root === undefined) continue
      if (tree.depth === 0) throw new Damaged(`the tree ${tree.name} has pages, but no depth`)
      const none = { low: undefined, high: undefined }
      yield* this.#visit(tree, tree.root, 1, none, Buffer.alloc(this.#meta.pageBytes))
    }
  }

  /** Checks a page and all below it. `memory` is the page's own; pages below share another one. */
  *#visit(
    tree: Tree,
    page: number,
    level: number,
    bounds: Bounds,
    memory: Buffer,
  ): Generator<{ readonly done: number; readonly total: number }, void> {
    const wrong = (words: string): Damaged =>
      new Damaged(
        `page ${page}, at byte ${page * memory.length}, of the tree ${tree.name} ${words}`,
      )
    this.#read(page, 1, memory, wrong)
    if (++this.#pages % pagesInATurn === 0) {
      yield { done: this.#pages, total: this.#meta.lastPage + 1 }
    }
    const flags = memory.readUInt16LE(18) & ~passingFlags
    const isLeaf = flags === leafPage
    if (!isLeaf && flags !== branchPage) throw wrong("is neither a branch nor a leaf")
    if (isLeaf !== (level === tree.depth)) throw wrong(`is at level ${level} of ${tree.depth}`)
    const lower = memory.readUInt16LE(20)
    const upper = memory.readUInt16LE(22)
    const count = lower >> 1
    if ((lower & 1) === 1 || lower > upper || upper > memory.length - headerBytes) {
      throw wrong("says that its nodes are where they can not be")
    }
    if (count < (isLeaf || tree.numbers ? 1 : 2)) throw wrong(`has ${count} nodes`)
    if (isLeaf) {
      this.#leaf(tree, memory, count, upper, bounds, wrong)
      return
    }
    const children = branchOf(memory, count, upper, wrong)
    for (const [index, { key }] of children.entries()) {
      const before = index > 1 ? children[index - 1]!.key : index === 1 ? bounds.low : undefined
      if (index === 0) continue
      this.#inOrder(tree, before, key, index > 1, bounds, wrong)
    }
    const below = Buffer.allocUnsafe(memory.length)
    for (const [index, child] of children.entries()) {
      const next = children[index + 1]
      const low = index === 0 ? bounds.low : child.key
      yield* this.#visit(
        tree,
        child.page,
        level + 1,
        { low, high: next?.key ?? bounds.high },
        below,
      )
    }
  }

  #leaf(
    tree: Tree,
    memory: Buffer,
    count: number,
    upper: number,
    bounds: Bounds,
    wrong: (words: string) => Damaged,
  ): void {
    let previousFrom = 0
    let previousTo = 0
    let used = 0
    for (let index = 0; index < count; index++) {
      const at = nodeAt(memory, index, upper, wrong)
      const flags = memory.readUInt16LE(at + 4)
      const from = at + nodeBytes
      const to = from + memory.readUInt16LE(at + 6)
      const valueBytes = memory.readUInt32LE(at)
      const stored = flags === bigNode ? overflowBytes : valueBytes
      if (to + stored > memory.length) throw wrong(`has a node ${index} that goes beyond its end`)
      used += even(to + stored - at)
      if (index === 0 || tree.numbers) {
        const before = index === 0 ? bounds.low : memory.subarray(previousFrom, previousTo)
        this.#inOrder(tree, before, memory.subarray(from, to), index > 0, bounds, wrong)
      } else if (memory.compare(memory, previousFrom, previousTo, from, to) <= 0) {
        throw wrong(`has a node ${index} whose key is out of order`)
      }
      previousFrom = from
      previousTo = to
      if (flags === bigNode) this.#overflow(memory, to, valueBytes, wrong)
      else if (flags === treeNode && !tree.numbers && stored === treeBytes) {
        const name = memory.toString("utf8", from, to).replaceAll("\0", "")
        this.#trees.push(decodeTree(memory.subarray(to), name, false))
      } else if (flags !== 0) throw wrong(`has a node ${index} of an unknown kind`)
    }
    filled(memory, upper, used, wrong)
    const last = memory.subarray(previousFrom, previousTo)
    this.#inOrder(tree, undefined, last, false, bounds, wrong)
  }

  #overflow(
    memory: Buffer,
    at: number,
    valueBytes: number,
    wrong: (words: string) => Damaged,
  ): void {
    const first = memory.readBigUInt64LE(at)
    const pages = memory.readBigUInt64LE(at + 16)
    const needed = Math.ceil((headerBytes + valueBytes) / memory.length)
    // A value that took the place of a longer one has more pages than it needs.
    if (first > BigInt(pagesMax) || pages < BigInt(needed) || pages > BigInt(pagesMax)) {
      throw wrong(`leads to ${pages} pages from ${first} on for a value of ${valueBytes} bytes`)
    }
    const count = Number(pages)
    const head = Buffer.allocUnsafe(headerBytes)
    this.#read(Number(first), count, head, wrong)
    const flags = head.readUInt16LE(18) & ~passingFlags
    if (flags !== overflowPage || head.readUInt32LE(20) !== count) {
      throw wrong(`leads to page ${first}, which should be the first of ${count} of a long value`)
    }
  }

  /** Reads the beginning of `count` pages from `page` on, and takes note of them. */
  #read(page: number, count: number, into: Buffer, wrong: (words: string) => Damaged): void {
    const { lastPage, pageBytes, transaction } = this.#meta
    if (page < 2 || page + count - 1 > lastPage)
      throw wrong("should not be: no such page was written")
    const position = page * pageBytes
    const end = position + count * pageBytes
    if (end > this.#size) {
      throw wrong(`is missing: the file has ${this.#size} bytes, and should have ${end} at least`)
    }
    for (let each = page; each < page + count; each++) {
      const bit = 1 << (each & 7)
      if ((this.#seen[each >> 3]! & bit) !== 0) throw wrong(`leads to page ${each} a second time`)
      this.#seen[each >> 3]! |= bit
    }
    if (fs.readSync(this.#file, into, 0, into.length, position) < into.length) {
      throw wrong("can not be read")
    }
    const number = into.readBigUInt64LE(0)
    if (number !== BigInt(page)) throw wrong(`says that it is page ${number}`)
    if (into.readBigUInt64LE(8) > transaction) throw wrong("is newer than the newest transaction")
  }

  /** `key` follows `before`, or is the same where not `strictly`, and is within `bounds`. */
  #inOrder(
    { numbers }: Tree,
    before: Buffer | undefined,
    key: Buffer,
    strictly: boolean,
    { high }: Bounds,
    wrong: (words: string) => Damaged,
  ): void {
    if (numbers && key.length !== 8) throw wrong("has a key that is no number")
    const compare = numbers ? compareNumbers : Buffer.compare
    const tooLow = before !== undefined && compare(before, key) >= (strictly ? 0 : 1)
    if (tooLow || (high !== undefined && compare(key, high) >= 0)) {
      throw wrong("has a key that is out of order")
    }
  }
}

const compareNumbers = (one: Buffer, other: Buffer): number =>
  Number(one.readBigUInt64LE(0) - other.readBigUInt64LE(0))

const even = (bytes: number): number => bytes + (bytes & 1)

/** Nodes leave no room between them. */
const filled = (
  memory: Buffer,
  upper: number,
  used: number,
  wrong: (words: string) => Damaged,
): void => {
  if (upper + used === memory.length - headerBytes) return
  throw wrong("has nodes that are longer or shorter than they should be")
}

const nodeAt = (
  memory: Buffer,
  index: number,
  upper: number,
  wrong: (words: string) => Damaged,
): number => {
  const offset = memory.readUInt16LE(headerBytes + 2 * index)
  const at = offset + headerBytes
  if (offset < upper || at + nodeBytes > memory.length) {
    throw wrong(`has a node ${index} outside of it`)
  }
  return at
}

/** The pages below a branch, each with a copy of the key from which on it has all; that of the first counts for nothing. */
const branchOf = (
  memory: Buffer,
  count: number,
  upper: number,
  wrong: (words: string) => Damaged,
): ReadonlyArray<{ readonly page: number; readonly key: Buffer }> => {
  let used = 0
  const children = Array.from({ length: count }, (_, index) => {
    const at = nodeAt(memory, index, upper, wrong)
    const to = at + nodeBytes + memory.readUInt16LE(at + 6)
    if (to > memory.length) throw wrong(`has a node ${index} that goes beyond its end`)
    used += even(to - at)
    // The upper word is in what are flags elsewhere.
    const page = memory.readUInt32LE(at) + memory.readUInt16LE(at + 4) * 2 ** 32
    return { page, key: Buffer.from(memory.subarray(at + nodeBytes, to)) }
  })
  filled(memory, upper, used, wrong)
  return children
}
