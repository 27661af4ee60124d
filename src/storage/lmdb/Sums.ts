/**
 * The count of each table's entries and the sum of their digests, in any order. The transaction
 * that changes the entries stores both, so a scan of the same transaction can compare them. A
 * digest is 32 bits of an entry's key and of its value's checksum (`SealedValue`), so the old
 * checksum is enough to subtract an entry. The sums reveal a lost, doubled, renamed or stale entry,
 * except for one case in 2^32.
 */
import { checksumOf, encodeValue, openValue, packedValue } from "../SealedValue.ts"
import type { Entry, Table } from "../tables.ts"
import { insistRoom, type LmdbRoot, type LmdbTable, lookUp, stateOf } from "./environment.ts"

export interface TableSum {
  count: number
  sum: number
}

/** By table; a missing table has no entries. */
export type Sums = Record<string, TableSum>

/** Key of the sums among the names of the tables. */
export const sumsName = "sums"
export const sumsKey = Buffer.from(sumsName)

export const encodeSums = (sums: Sums): Uint8Array => encodeValue(JSON.stringify(sums))

/** The sums of a stored value, or its fault. */
export const decodeSums = (value: Uint8Array): Sums | string => {
  const body = openValue(value)
  return typeof body === "string" ? body : JSON.parse(Buffer.from(body).toString("utf8"))
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

/** The digest of an entry by the hash of its key and the checksum of its value (`checksumOf`). */
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

/** How the sums that a scan `found` differ from the stored ones; `undefined`: not at all. */
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
 * Puts entries in the open transaction, and the sums (`Sums.ts`) that follow. Each entry names the
 * value that it replaces (`Entry.replaces`), or has it looked up, which costs 1 µs: also an entry
 * that the same transaction has put before. History, most of what is stored, is packed here: in the
 * thread that writes.
 */

/**
 * Answers the sums after all entries. Throws what `lmdb` throws, and where the transaction would
 * undo the newest one.
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
      const stored = table === "history" ? packedValue(value) : value
      change(sum, digestOf(hash, checksumOf(stored)), 1)
      database.put(key, stored)
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
 * Throws where another process has opened the database without its lock, at the moment of a commit
 * (`OpeningLock.ts`), and where LMDB began no transaction, which `lmdb` does not report.
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
