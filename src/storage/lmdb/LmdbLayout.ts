/**
 * Where LMDB 0.9.90 (`mdb.c` in lmdb 3.5.6) has what in its file, little-endian, without checksums and encryption:
 *
 *     page    8 number · 8 transaction · 2 · 2 flags · 2 end of the nodes' places · 2 begin of the nodes, or 4 pages of
 *             a long value; then the places, 2 bytes each, counted from behind this head
 *     node    4 bytes of value, or the page below · 2 flags · 2 bytes of key · key · value, a tree, or where a long value is
 *     meta    4 magic · 4 version · 8 · 8 · tree of free pages · tree of tables · 8 last page · 8 transaction
 *     tree    4 (of the first: page size) · 2 flags · 2 depth · 32 · 8 root
 */
import fs from "node:fs"

export const headerBytes = 24
const metaMagic = 0xbeefc0de
const metaVersion = 2
const metaBytes = 160
export const treeBytes = 48
export const overflowBytes = 24
export const nodeBytes = 8
const noPage = 0xffff_ffff_ffff_ffffn
const pageBytesMin = 256
const pageBytesMax = 65_536
/** Pages that are 4 KiB long are as many as 16 TiB. */
export const pagesMax = 2 ** 32

export const branchPage = 1
export const leafPage = 2
export const overflowPage = 4
const metaPage = 8
/** What LMDB keeps in the same bits while a page is in memory. */
export const passingFlags = 0xa000

/** Of the list of free pages. All other trees of ours have no flags; by those of the first, LMDB opens the file. */
const numberKeys = 8

export const bigNode = 1
export const treeNode = 2

export interface Tree {
  readonly name: string
  readonly depth: number
  readonly root: number | undefined
  /** The keys are numbers of eight bytes: the list of free pages. */
  readonly numbers: boolean
}

export interface Meta {
  readonly pageBytes: number
  readonly lastPage: number
  readonly transaction: bigint
  readonly trees: ReadonlyArray<Tree>
}

/** What is wrong with a file, in words that follow "is damaged:". */
export class Damaged extends Error {}

/** The newer of the two meta pages of an open file. Throws `Damaged`. */
export const readMeta = (file: number, size: number): Meta => {
  const bytes = Buffer.alloc(headerBytes + metaBytes)
  const at = (position: number, page: number): Meta => {
    if (fs.readSync(file, bytes, 0, bytes.length, position) < bytes.length) {
      throw new Damaged(`it has ${size} bytes, and ends within its first two pages`)
    }
    return decodeMeta(bytes, page)
  }
  const first = at(0, 0)
  const second = at(first.pageBytes, 1)
  if (second.pageBytes !== first.pageBytes) {
    throw new Damaged("page 1 says that pages are of another size than page 0 does")
  }
  return first.transaction >= second.transaction ? first : second
}

const decodeMeta = (bytes: Buffer, page: number): Meta => {
  const wrong = (words: string) =>
    new Damaged(`page ${page}, of two that lead to all others, ${words}`)
  const body = bytes.subarray(headerBytes)
  if ((bytes.readUInt16LE(18) & metaPage) === 0 || body.readUInt32LE(0) !== metaMagic) {
    throw wrong("is not LMDB's")
  }
  const version = body.readUInt32LE(4)
  if ((version & 0xffff) !== metaVersion) throw wrong(`has format ${version}`)
  const pageBytes = body.readUInt32LE(24)
  const isPower = (pageBytes & (pageBytes - 1)) === 0
  if (pageBytes < pageBytesMin || pageBytes > pageBytesMax || !isPower) {
    throw wrong(`says that pages have ${pageBytes} bytes`)
  }
  const lastPage = body.readBigUInt64LE(120)
  if (lastPage < 1n || lastPage > BigInt(pagesMax))
    throw wrong(`says that page ${lastPage} is the last`)
  const free = decodeTree(body.subarray(24), "of free pages", true)
  const main = decodeTree(body.subarray(24 + treeBytes), "of tables", false)
  return {
    pageBytes,
    lastPage: Number(lastPage),
    transaction: body.readBigUInt64LE(128),
    trees: [free, main],
  }
}

/** A tree by the bytes that describe it. */
export const decodeTree = (bytes: Buffer, name: string, numbers: boolean): Tree => {
  const flags = bytes.readUInt16LE(4)
  if (flags !== (numbers ? numberKeys : 0)) {
    throw new Damaged(`the tree ${name} has the flags ${flags}, which none of ours has`)
  }
  const root = bytes.readBigUInt64LE(40)
  if (root !== noPage && root > BigInt(pagesMax)) {
    throw new Damaged(`the tree ${name} begins at page ${root}, which can not be`)
  }
  return {
    name,
    numbers,
    depth: bytes.readUInt16LE(6),
    root: root === noPage ? undefined : Number(root),
  }
}
