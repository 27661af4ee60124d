/**
 * Reads a whole database through LMDB and compares it with its sums. LMDB trusts its pages: a
 * damaged or missing page can end the process by a signal, so the scan runs in a child process
 * (`scanProcess`, started by `runScan`).
 *
 * The scan checks the pages (`PageCheck.ts`). For every table it checks that keys are in order;
 * that a lookup of each key finds the entry that the walk found (a lookup uses the keys of branch
 * pages, a walk does not); that each value has its checksum; that count and sum equal the stored
 * sums (`Sums`). It writes nothing.
 *
 * While a server writes, the scan pins old pages. So the file grows by the pages that the server
 * writes during the check of the pages, or during the scan of one table.
 */
import fs from "node:fs"
import { crc32 } from "node:zlib"
import { EntryBlock } from "../EntryBlock.ts"
import { keyBytesMax } from "../Keys.ts"
import { checksumOf, hasChecksum, keyName, valueFault } from "../SealedValue.ts"
import type { BlockRange, Table } from "../Storage.ts"
import {
  countOf,
  dataFile,
  type LmdbRoot,
  lookUp,
  openReadOnly,
  openTable,
  stateOf,
} from "./environment.ts"
import { BlockTable } from "./LmdbBlocks.ts"
import { checkPages, DamagedDatabase } from "./PageCheck.ts"
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
  /**
   * Read all entries; otherwise only the list of tables. If the file is too short, all entries are
   * read in any case.
   */
  readonly whole: boolean
}

/** The progress of a scan; `after` is the last key read, in hex. */
export interface ScanPosition {
  readonly table: string
  readonly after?: string
  readonly done: number
  readonly total: number
}

export interface Scanned {
  /** The newest transaction. */
  readonly transaction: number
  /** The scan read all entries. */
  readonly whole: boolean
  /** The number of entries read. */
  readonly entries: number
  /** The stored sums; `undefined` if the database has none. */
  readonly stored?: Sums | undefined
  readonly found: Sums
}

/** What the process prints of a scan, each as a line of JSON. */
export type FromScan =
  | { readonly at: ScanPosition }
  | { readonly scanned: Scanned }
  /** The damage, as a sentence. */
  | { readonly fault: string }
  /** The error of LMDB at the position of the last `at`. */
  | { readonly thrown: string }
  /** The error of the operating system. */
  | { readonly failed: string }

/** Above every composite key. */
const lastKey = Buffer.alloc(keyBytesMax, 0xff)

/** Throws `DamagedDatabase`, or errors of `lmdb`. */
export const scan = async (
  { folder, whole: wanted }: ScanOptions,
  at: (position: ScanPosition) => void,
): Promise<Scanned> => {
  at({ table: "", done: 0, total: 0 })
  const root = openReadOnly(folder)
  const { bytes, pageBytes, transaction } = stateOf(root)
  const stored = readSums(root)
  const isShort = fs.statSync(dataFile(folder)).size < bytes
  const whole = wanted || isShort || stored === undefined
  const names = namesOf(root)
  const missing = Object.keys(stored ?? {}).find((name) => !names.includes(name))
  if (missing !== undefined) throw new DamagedDatabase(`table ${missing} is missing`)
  const total = names.reduce((sum, name) => sum + countOf(openTable(root, name)!), 0)
  // After the tables are open, since opening a table ends a read transaction.
  const pinned = root.useReadTransaction()
  checkPages(dataFile(folder), pageBytes, whole, () => at({ table: "", done: 0, total }))
  pinned.done()
  const found: Sums = {}
  let done = 0
  for (const table of whole ? names : []) {
    const sum = scanTable(root, table, ({ count, last }) => {
      done += count
      at({ table, after: last.toString("hex"), done, total })
    })
    found[table] = sum
    const difference = stored && differenceOf(table, readSums(root)?.[table], sum)
    if (difference !== undefined) throw new DamagedDatabase(difference)
  }
  await root.close()
  return { transaction, whole, entries: done, stored, found }
}

/** The names of the existing tables. */
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
 * Checks and sums all entries of a table. LMDB begins a read transaction when a table is opened and
 * keeps it for this turn of the event loop. So these entries and the sums that are read next belong
 * to the same transaction.
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
        throw new DamagedDatabase(valueFault(name, key, "is damaged"))
      }
      const checksum = checksumOf(block.values, end)
      const found = lookUp(table, key)
      const isFound = found?.length === end - block.valueStart(n) && checksumOf(found) === checksum
      if (!isFound) throw fault("is there, but a lookup does not find it")
      change(sum, digestOf(hashKey(key), checksum), 1)
    }
    // The next fill overwrites the block.
    last = Buffer.from(last)
    if (block.count > 0) onBlock({ count: block.count, last })
  }
  return sum
}
