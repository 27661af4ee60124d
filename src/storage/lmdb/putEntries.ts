/**
 * Puts entries in the open transaction, and the sums (`Sums.ts`) that follow. Each entry names the value that it replaces
 * (`Entry.replaces`), or has it looked up, which costs 1 µs: also an entry that the same transaction has put before.
 * History, most of what is stored, is packed here: in the thread that writes.
 */
import { checksumOf, packedValue } from "../SealedValue.ts"
import type { Entry, Table } from "../tables.ts"
import { insistRoom, type LmdbRoot, type LmdbTable, lookUp, stateOf } from "./environment.ts"
import { change, digestOf, encodeSums, hashKey, type Sums, sumsKey } from "./Sums.ts"

/** Answers the sums after all entries. Throws what `lmdb` throws, and where the transaction would undo the newest one. */
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
  root.put(sumsKey, encodeSums(sums))
  return sums
}

const storedChecksum = (table: LmdbTable, key: Uint8Array): number | null => {
  const value = lookUp(table, key)
  return value === undefined ? null : checksumOf(value)
}

/**
 * Throws where another process has opened the database without its lock, at the moment of a commit (`OpeningLock.ts`), and
 * where LMDB began no transaction, which `lmdb` does not report.
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
