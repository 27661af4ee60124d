/**
 * Opens LMDB environments. Only this file and `OpeningLock.ts` import `lmdb`. Does not load Effect,
 * so that scan processes start fast.
 */
import fs from "node:fs"
import path from "node:path"
import { type Database, open, type RootDatabase, type Transaction } from "lmdb"
import { limits } from "../../Limits.ts"
import { type Table, tables } from "../tables.ts"
import { mapBytesOf } from "./addressSpace.ts"
import { betweenCommits } from "./OpeningLock.ts"
import { checkSpace, reserveLock, sizeOf } from "./reserveSpace.ts"

type Bytes = Uint8Array
export type LmdbTable = Database<Bytes, Bytes>
export type LmdbRoot = RootDatabase<Bytes, Bytes>
export type { Transaction }

/** The remedy for a damaged database. */
export const rebuildHint =
  "Nothing was changed. `laurel snapshots restore --to-sequence last` rebuilds it from an archive and the journal; nothing is lost"

/** The data file of an environment. */
export const dataFile = (folder: string): string => path.join(folder, "data.mdb")

const lockFile = (folder: string): string => path.join(folder, "lock.mdb")

const binary = { encoding: "binary", keyEncoding: "binary" } as const

const environment = {
  ...binary,
  // Otherwise `lmdb` takes a path with a dot for a file.
  noSubdir: false,
  maxDbs: 32,
} as const

/**
 * Opens an environment read-only, also while another process writes it. Throws errors of `lmdb`.
 * Damage can end the process.
 */
export const openReadOnly = (folder: string): LmdbRoot => {
  if (fs.existsSync(dataFile(folder))) reserveLock(lockFile(folder))
  return betweenCommits(folder, () =>
    open<Bytes, Bytes>({
      ...environment,
      mapSize: mapBytesIn(folder),
      path: folder,
      readOnly: true,
    }),
  )
}

const writable = { ...environment, overlappingSync: false, eventTurnBatching: false } as const

/**
 * Opens an environment for writing. If other processes may open it meanwhile, its transactions need
 * the `OpeningLock`. Throws errors of `lmdb`. Damage can end the process.
 */
export const openWritable = (folder: string, mapSize = mapBytesIn(folder)): LmdbRoot => {
  checkSpace(dataFile(folder))
  reserveLock(lockFile(folder))
  return open<Bytes, Bytes>({ ...writable, mapSize, path: folder })
}

/**
 * Throws if the next transaction may need a larger mapping than the limit on address space allows.
 */
export const insistRoom = (root: LmdbRoot): void => {
  const { lastPageNumber, mapSize, pageSize } = root.getStats() as Record<string, number>
  const pages = lastPageNumber! + 1 + 2 * limits.snapshotSliceEntriesMax
  if (pages * pageSize! > mapSize!) mapBytesOf(pages * pageSize!)
}

/**
 * The address space for the database in `folder`; the file grows as needed. Throws if the limit of
 * the process leaves too little.
 */
export const mapBytesIn = (folder: string): number => mapBytesOf(sizeOf(dataFile(folder)))

/**
 * A table of an open environment; `undefined` if the environment is read-only and lacks the table.
 */
export const openTable = (root: LmdbRoot, table: string): LmdbTable | undefined =>
  root.openDB<Bytes, Bytes>(table, binary)

/** All tables of an environment that is open for writing. */
export const openTables = (root: LmdbRoot): Readonly<Record<Table, LmdbTable>> =>
  Object.fromEntries(tables.map((table) => [table, openTable(root, table)])) as Record<
    Table,
    LmdbTable
  >

/** The newest transaction, the size that the file must have for it, and the size of a page. */
export const stateOf = (
  root: LmdbRoot,
): { readonly transaction: number; readonly bytes: number; readonly pageBytes: number } => {
  const { lastPageNumber, lastTxnId, pageSize } = root.getStats() as Record<string, number>
  return {
    transaction: lastTxnId!,
    bytes: (lastPageNumber! + 1) * pageSize!,
    pageBytes: pageSize!,
  }
}

/** The value of a key, valid until the next lookup. */
export const lookUp = (table: LmdbTable, key: Bytes): Buffer | undefined => table.getBinaryFast(key)

/** The entry count that LMDB keeps for a table. */
export const countOf = (table: LmdbTable): number =>
  (table.getStats() as { readonly entryCount: number }).entryCount
