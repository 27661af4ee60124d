/**
 * Reads a whole database through LMDB and compares it with what was written. LMDB trusts its pages: a damaged or missing
 * one can end the process by a signal, so a process of its own runs this (`scanProcess`, ordered by `runScan`).
 *
 * Of every table: its keys are in order; a lookup of each key finds the entry that the walk has found, since a walk
 * does not use the keys of branch pages, and a lookup does; each value has its checksum; count and sum are those that
 * the transaction has stored (`Sums`). LMDB reads its list of free pages only to write; an `exclusive` scan has it read
 * them and takes that back. A number in that list that is wrong shows at the scan after a write has used it.
 *
 * Beside the server it pins old pages, which grows the file by what is written during the scan of one table.
 */
import fs from "node:fs"
import { crc32 } from "node:zlib"
import { EntryBlock } from "../EntryBlock.ts"
import { keyBytesMax } from "../Keys.ts"
import { checksumOf, hasChecksum, keyName } from "../SealedValue.ts"
import type { BlockRange, Table } from "../Storage.ts"
import {
  countOf,
  dataFile,
  type LmdbRoot,
  lookUp,
  openReadOnly,
  openTable,
  openWritable,
  stateOf,
  tryFreePages,
} from "./environment.ts"
import { BlockTable } from "./LmdbBlocks.ts"
import {
  change,
  decodeSums,
  differenceOf,
  digestOf,
  hashKey,
  type Sums,
  sumsKey,
  sumsName,
  type TableSum,
} from "./Sums.ts"

export interface ScanOptions {
  /** An existing environment. */
  readonly folder: string
  /** All entries are read, else only what leads to them; also where the file is shorter than it should be. */
  readonly whole: boolean
  /** Nobody else has the environment open. */
  readonly exclusive: boolean
}

/** How far a scan is; `after`: the last key that was read, in hex. */
export interface ScanPosition {
  readonly table: string
  readonly after?: string
  readonly done: number
  readonly total: number
}

export interface Scanned {
  /** The newest transaction. */
  readonly transaction: number
  /** All entries were read. */
  readonly whole: boolean
  /** How many were read. */
  readonly entries: number
  /** The sums that are stored; `undefined`: the database was written by a Laurel that kept none. */
  readonly stored: Sums | undefined
  readonly found: Sums
}

/** The database is damaged, in words that follow "is damaged:". */
export class DamagedDatabase extends Error {}

/** No composite key is as high. */
const lastKey = Buffer.alloc(keyBytesMax, 0xff)
const freeBytesTried = 4 * 1024 * 1024

/** Throws `DamagedDatabase`, or what `lmdb` throws. */
export const scan = async (
  { exclusive, folder, whole: wanted }: ScanOptions,
  at: (position: ScanPosition) => void,
): Promise<Scanned> => {
  at({ table: "", done: 0, total: 0 })
  const root = exclusive ? openWritable(folder) : openReadOnly(folder)
  const { bytes, transaction } = stateOf(root)
  const stored = readSums(root)
  const isShort = fs.statSync(dataFile(folder)).size < bytes
  const whole = wanted || isShort || stored === undefined
  const names = namesOf(root)
  const missing = [...(stored?.keys() ?? [])].find((name) => !names.includes(name))
  if (missing !== undefined) throw new DamagedDatabase(`table ${missing} is missing`)
  const total = names.reduce((sum, name) => sum + countOf(openTable(root, name)!), 0)
  const found: Sums = new Map()
  let done = 0
  for (const table of whole ? names : []) {
    const sum = scanTable(root, table, ({ count, last }) => {
      done += count
      at({ table, after: last.toString("hex"), done, total })
    })
    found.set(table, sum)
    const difference = stored && differenceOf(table, readSums(root)?.get(table), sum)
    if (difference !== undefined) throw new DamagedDatabase(difference)
  }
  if (exclusive) {
    at({ table: "of free pages", done, total })
    tryFreePages(root, freeBytesTried)
  }
  await root.close()
  return { transaction, whole, entries: done, stored, found }
}

/** The tables that there are. */
const namesOf = (root: LmdbRoot): ReadonlyArray<string> =>
  Array.from(root.getKeys(), (key) => Buffer.from(key).toString().replaceAll("\0", "")).filter(
    (name) => name !== sumsName,
  )

const readSums = (root: LmdbRoot): Sums | undefined => {
  const value = root.get(sumsKey)
  const sums = value && decodeSums(value)
  if (typeof sums === "string") throw new DamagedDatabase(`the value of its sums ${sums}`)
  return sums
}

/**
 * Checks and sums all entries of a table. LMDB begins a read transaction when a table was opened and keeps it for this turn
 * of the event loop: one for each table, the sums that are read next included.
 */
const scanTable = (
  root: LmdbRoot,
  name: string,
  onBlock: (block: { readonly count: number; readonly last: Buffer }) => void,
): TableSum => {
  const sum = { count: 0, sum: 0 }
  const table = openTable(root, name)!
  const blocks = new BlockTable((options) => root.openDB(name, { encoding: "binary", ...options }))
  const block = new EntryBlock()
  let last: Buffer = Buffer.alloc(0)
  let rest: BlockRange | undefined = { table: name as Table, from: last, until: lastKey }
  while (rest !== undefined) {
    rest = blocks.fill(block, rest)
    const areWhole = crc32(block.separated) === 0
    for (let n = 0; n < block.count; n++) {
      const key = block.key(n)
      const end = block.valueEnd(n)
      const fault = (words: string) =>
        new DamagedDatabase(`key ${keyName(key)} of table ${name} ${words}`)
      if (Buffer.compare(last, key) >= 0) throw fault("is out of order")
      last = key
      if (!areWhole && !hasChecksum(block.value(n))) {
        throw new DamagedDatabase(`The value ${keyName(key)} of table ${name} is damaged`)
      }
      const checksum = checksumOf(block.values, end)
      const found = lookUp(table, key)
      const isFound = found?.length === end - block.valueStart(n) && checksumOf(found) === checksum
      if (!isFound) throw fault("is there, but a lookup does not find it")
      change(sum, digestOf(hashKey(key), checksum), 1)
    }
    // The block is filled anew.
    last = Buffer.from(last)
    if (block.count > 0) onBlock({ count: block.count, last })
  }
  return sum
}
