/** How Laurel opens LMDB. The only importer of `lmdb`; loads nothing of Effect, for the processes that only read. */
import path from "node:path"
import { ABORT, type Database, open, type RootDatabase, type Transaction } from "lmdb"
import { limits } from "../../Limits.ts"

type Bytes = Uint8Array
export type LmdbTable = Database<Bytes, Bytes>
export type LmdbRoot = RootDatabase<Bytes, Bytes>
export type { Transaction }

/** What to do about a damaged database. */
export const makeAnew =
  "Nothing was changed. `laurel snapshots restore --to-sequence last` makes it anew from an archive and the journal; nothing is lost"

/** `data.mdb` in the folder of an environment. */
export const dataFile = (folder: string): string => path.join(folder, "data.mdb")

const binary = { encoding: "binary", keyEncoding: "binary" } as const

const environment = {
  ...binary,
  // A folder with a dot in its name is still a folder.
  noSubdir: false,
  // Address space only; the file grows as needed.
  mapSize: limits.mapBytes,
  maxDbs: 32,
} as const

/** Opens an environment to read it only, also beside the process that writes it. Throws; damage can end the process. */
export const openReadOnly = (folder: string): LmdbRoot =>
  open<Bytes, Bytes>({ ...environment, path: folder, readOnly: true })

const writable = { ...environment, overlappingSync: false, eventTurnBatching: false } as const

/** Opens an environment to write it. Throws; damage can end the process. */
export const openWritable = (folder: string, mapSize = environment.mapSize): LmdbRoot =>
  open<Bytes, Bytes>({ ...writable, mapSize, path: folder })

/** A table of an open environment; `undefined`: it is only read, and the table was never written. */
export const openTable = (root: LmdbRoot, table: string): LmdbTable | undefined =>
  root.openDB<Bytes, Bytes>(table, binary)

/** The newest transaction, and what the file should have at least. */
export const stateOf = (
  root: LmdbRoot,
): { readonly transaction: number; readonly bytes: number } => {
  const { lastPageNumber, lastTxnId, pageSize } = root.getStats() as Record<string, number>
  return { transaction: lastTxnId!, bytes: (lastPageNumber! + 1) * pageSize! }
}

/** The value of a key, good until the next one is looked up. */
export const lookUp = (table: LmdbTable, key: Bytes): Buffer | undefined => table.getBinaryFast(key)

/** How many entries a table says it has. */
export const countOf = (table: LmdbTable): number =>
  (table.getStats() as { readonly entryCount: number }).entryCount

/** Makes LMDB take free pages for a value of so many bytes, and takes the write back. Throws; damage can end the process. */
export const tryFreePages = (root: LmdbRoot, bytes: number): void => {
  root.transactionSync(() => {
    root.put(Buffer.from("tried"), Buffer.alloc(bytes))
    return ABORT
  })
}
