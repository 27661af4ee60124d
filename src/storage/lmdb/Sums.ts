/**
 * The number of entries of each table and the sum of their digests. The order of the entries does
 * not matter. The transaction that changes entries also stores both numbers, so a scan of the same
 * transaction can compare them. A digest is 32 bits of an entry's key and its value's checksum
 * (`SealedValue`), so the old checksum is enough to subtract an entry. The sums reveal a lost,
 * doubled, renamed or stale entry, except for one case in 2^32.
 */
import { checksumOf, encodeValue, jsonOf, openValue } from "../SealedValue.ts"
import type { Entry, Table } from "../tables.ts"
import { insistRoom, type LmdbRoot, type LmdbTable, lookUp, stateOf } from "./environment.ts"

export interface TableSum {
  count: number
  sum: number
}

/** By table. A table that is missing here has no entries. */
export type Sums = Record<string, TableSum>

/** The key of the sums in the list of tables. */
export const sumsName = "sums"
export const sumsKey = Buffer.from(sumsName)

export const encodeSums = (sums: Sums): Uint8Array => encodeValue(JSON.stringify(sums))

/** The sums of a stored value, or its fault. */
export const decodeSums = (value: Uint8Array): Sums | string => {
  const body = openValue(value)
  return typeof body === "string" ? body : jsonOf(body)
}

/** Adds (`by` 1) or subtracts (`by` -1) an entry. */
export const change = (sum: TableSum, digest: number, by: 1 | -1): void => {
  sum.count += by
  sum.sum = (sum.sum + by * digest) | 0
}

/** 32 bits of a key. */
export const hashKey = (key: Uint8Array): number => {
  let hash = key.length
  let at = 4
  // Four bytes at a time.
  for (; at <= key.length; at += 4) hash = scramble(hash ^ checksumOf(key, at))
  for (at -= 4; at < key.length; at++) hash = scramble(hash ^ key[at]!)
  return hash
}

/**
 * The digest of an entry, from the hash of its key and the checksum of its value (`checksumOf`).
 */
export const digestOf = (keyHash: number, checksum: number): number => mix(keyHash ^ mix(checksum))

const scramble = (bits: number): number => {
  const product = Math.imul(bits, 0x9e3779b1)
  return product ^ (product >>> 15)
}

/** The finalizer of MurmurHash3. */
const mix = (bits: number): number => {
  let mixed = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}

/** How the sums that a scan `found` differ from the stored sums; `undefined` if they are equal. */
export const differenceOf = (
  table: string,
  stored: TableSum = { count: 0, sum: 0 },
  found: TableSum,
): string | undefined => {
  if (stored.count !== found.count) {
    return `table ${table} has ${found.count} entries where ${stored.count} were written`
  }
  return stored.sum === found.sum
    ? undefined
    : `table ${table} has other entries than those that were written`
}

/*
 * Writes entries and their sums in the open transaction. An entry names the checksum of the value
 * that it replaces (`Entry.replaces`). Otherwise the checksum is looked up, which costs 1 µs and
 * also finds an entry that the same transaction has put before. Values of history, the largest
 * table, are packed here, in the thread that writes.
 */

/**
 * Returns the sums after all entries. Throws errors of `lmdb`; throws if the transaction would undo
 * the newest transaction, or if a table would count fewer than 0 entries.
 */
export const putEntries = (
  root: LmdbRoot,
  tables: Readonly<Record<Table, LmdbTable>>,
  before: Sums,
  entries: Iterable<Entry>,
): Sums => {
  insistNewest(root)
  insistRoom(root)
  const sums: Sums = structuredClone(before)
  for (const { key, replaces, table, value } of entries) {
    sums[table] ??= { count: 0, sum: 0 }
    const sum = sums[table]
    const hash = hashKey(key)
    const database = tables[table]
    const replaced = replaces === undefined ? storedChecksum(database, key) : replaces
    if (replaced !== null) change(sum, digestOf(hash, replaced), -1)
    if (value !== null) {
      change(sum, digestOf(hash, checksumOf(value)), 1)
      database.put(key, value)
    } else if (replaced !== null) {
      database.remove(key)
    }
  }
  for (const [table, { count }] of Object.entries(sums)) {
    if (count < 0) throw new Error(`table ${table} would have ${count} entries`)
  }
  root.put(sumsKey, encodeSums(sums))
  return sums
}

const storedChecksum = (table: LmdbTable, key: Uint8Array): number | null => {
  const value = lookUp(table, key)
  return value === undefined ? null : checksumOf(value)
}

/**
 * Throws if another process opened the database without the lock during a commit
 * (`OpeningLock.ts`), and if LMDB began no transaction, which `lmdb` does not report.
 */
const insistNewest = (root: LmdbRoot): void => {
  const [newest, own] = [stateOf(root).transaction, root.getWriteTxnId()]
  if (own === newest + 1) return
  throw new Error(
    own === 0
      ? "LMDB began no transaction"
      : `transaction ${own} would undo transaction ${newest}: a process has opened the database without its lock`,
  )
}
