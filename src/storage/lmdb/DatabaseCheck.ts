/**
 * Checks that a database has the entries that were written: before it is opened for writing, and on
 * demand (`scan.ts`).
 *
 * The file `in-use` lies beside an open database and survives a crash. A clean shutdown replaces it
 * by `closed`, which names the last transaction: an older transaction at the next start is damage.
 * Either file implies that the database has sums: without its sums it is damaged.
 */
import fs from "node:fs"
import path from "node:path"
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { DiskError, replaceFile } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import { Broken } from "../Storage.ts"
import { DamagedValue } from "../Values.ts"
import { dataFile } from "./environment.ts"
import { openingCause } from "./fullDisk.ts"
import { metaBytes } from "./reserveSpace.ts"
import { type OnScanning, runScan } from "./ScanProcesses.ts"
import type { Sums } from "./Sums.ts"
import type { Scanned } from "./scan.ts"

/**
 * The damage of the database in `folder`, as a sentence; `undefined` if the scan found none or
 * could not run.
 */
export const findDamage = (
  folder: string,
  onScanning?: OnScanning,
): Effect.Effect<string | undefined> =>
  Effect.map(runScan({ folder, whole: true }, onScanning), (outcome) =>
    "fault" in outcome ? outcome.fault : undefined,
  )

export interface CheckedDatabase {
  /** Sums of all tables, stored or computed. */
  readonly sums: Sums
  /** The sums are not stored yet. */
  readonly isNew: boolean
  /** The check read all entries. */
  readonly isWhole: boolean
}

const attempt = <A>(folder: string, run: () => A): Effect.Effect<A, Broken> =>
  Effect.try({
    try: run,
    catch: (error) => new Broken({ operation: "open", cause: openingCause(folder, error) }),
  })

const damaged = (words: string) => new Broken({ operation: "open", cause: new DamagedValue(words) })

const inUse = (folder: string): string => path.join(folder, "in-use")
const closed = (folder: string): string => path.join(folder, "closed")

/**
 * Reads the marks beside the database. `transaction` is the last one before a clean shutdown;
 * `undefined` if there was none.
 */
const readMarks = (
  folder: string,
): { readonly hasSums: boolean; readonly transaction: number | undefined } => {
  const read = (file: string) => (fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "")
  const transaction = Number.parseInt(read(closed(folder)), 10)
  return Number.isNaN(transaction)
    ? { hasSums: read(inUse(folder)) !== "", transaction: undefined }
    : { hasSums: true, transaction }
}

/**
 * The size of the database. A file without both meta pages never had an entry, since the disk was
 * full: it is removed.
 */
const sizeOf = (folder: string): number => {
  const file = dataFile(folder)
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0 || size >= metaBytes || readMarks(folder).hasSums) return size
  fs.rmSync(file)
  return 0
}

/**
 * Checks the database in `folder` before it is opened for writing. Reads all entries if the
 * database is small, has no sums, or was not closed cleanly (or the journal was not:
 * `uncleanShutdown`); else only the list of tables. Fails if the database is damaged.
 */
export const checkDatabase = Effect.fnUntraced(function* (
  folder: string,
  uncleanShutdown: boolean,
  onScanning: OnScanning | undefined,
): Effect.fn.Return<CheckedDatabase, Broken> {
  const startedAt = performance.now()
  const size = yield* attempt(folder, () => sizeOf(folder))
  if (size === 0) return { sums: {}, isNew: true, isWhole: true }
  yield* attempt(folder, () => fs.closeSync(fs.openSync(dataFile(folder), "r+")))
  const { hasSums, transaction } = yield* attempt(folder, () => readMarks(folder))
  const wasClosed = transaction !== undefined && !uncleanShutdown
  const isSmall = size <= limits.databaseCheckedBytesMax
  const outcome = yield* runScan({ folder, whole: isSmall || !wasClosed }, onScanning)
  if ("fault" in outcome) return yield* damaged(outcome.fault)
  if ("failed" in outcome) {
    const cause = new DiskError({
      operation: "check",
      path: dataFile(folder),
      code: outcome.failed,
    })
    return yield* new Broken({ operation: "open", cause })
  }
  const fault = faultOf(outcome, hasSums, transaction)
  if (fault !== undefined) {
    return yield* damaged(`The database ${dataFile(folder)} is damaged: ${fault}`)
  }
  const { entries, stored, whole, found } = outcome
  const durationMs = Math.round(performance.now() - startedAt)
  const words =
    stored === undefined
      ? "Computed the sums of a database that had none"
      : "Unclean shutdown: checked the entries of the database"
  if (stored === undefined || !wasClosed) {
    yield* Effect.logInfo(words).pipe(Effect.annotateLogs({ entries, durationMs }))
  }
  return { sums: stored ?? found, isNew: stored === undefined, isWhole: whole }
})

const faultOf = (
  { stored, transaction }: Scanned,
  hasSums: boolean,
  closedAt: number | undefined,
): string | undefined => {
  if (stored === undefined && hasSums) return "the sums of its tables are missing"
  return closedAt === undefined || transaction === closedAt
    ? undefined
    : `it ends with transaction ${transaction}, and was closed after ${closedAt}`
}

/** Marks the database as open. */
export const markInUse = (folder: string): Effect.Effect<void, Broken> =>
  attempt(folder, () => {
    if (fs.existsSync(closed(folder))) fs.renameSync(closed(folder), inUse(folder))
    else fs.writeFileSync(inUse(folder), "sums")
  }).pipe(
    Effect.andThen(nodeDisk.syncFolder(folder)),
    Effect.catchTag("DiskError", (cause) => new Broken({ operation: "open", cause })),
  )

/** Marks the database as cleanly closed after `transaction`. */
export const markClosed = (folder: string, transaction: number): Effect.Effect<void> =>
  replaceFile(nodeDisk, folder, "closed", String(transaction)).pipe(
    Effect.andThen(nodeDisk.remove(inUse(folder))),
    Effect.ignore,
  )
