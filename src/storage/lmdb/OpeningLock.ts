/**
 * Excludes commits of an LMDB environment while another process opens it.
 *
 * LMDB 0.9.90, which `lmdb` 3.5.6 contains, has the bug ITS#9496 of OpenLDAP: an opening
 * (`mdb_env_open2`) reads the number of the newest transaction from the data file, then stores that
 * number in the lock file, from which the writer and the readers of all processes read it. If a
 * commit happens in between, the next transaction continues from the state before that commit: the
 * commit is lost, or LMDB refuses the next write with `MDB_PROBLEM`.
 *
 * The lock is the write mutex of a second environment beside the first (`opening.mdb`). LMDB's
 * mutex works between processes, and the next process takes it over from an owner that died.
 * Nothing is ever committed to the second environment, so the bug does not affect it. The writer
 * creates the files of the second environment before it opens the first, and keeps both open
 * equally long: a database without these files has no writer. The last process that closes the
 * second environment destroys the mutex.
 *
 * A commit costs one more uncontended mutex. An opening waits for the commit under way; the next
 * commit waits for the opening.
 */
import fs from "node:fs"
import path from "node:path"
import { ABORT, open, type RootDatabase } from "lmdb"
import { checkSpace, metaBytes, reserveLock, sizeOf } from "./reserveSpace.ts"

/** Address space only: nothing is stored. */
const mapBytes = 1_048_576

const fileIn = (folder: string): string => path.join(folder, "opening.mdb")

/** How often an opening is tried: another process may be destroying the mutex at the same time. */
const attemptsMax = 5

export class OpeningLock {
  readonly #root: RootDatabase

  private constructor(folder: string) {
    const file = fileIn(folder)
    if (sizeOf(file) < metaBytes) fs.rmSync(file, { force: true })
    checkSpace(file)
    reserveLock(`${file}-lock`)
    this.#root = open({ path: file, noSubdir: true, mapSize: mapBytes, overlappingSync: false })
  }

  /**
   * Opens the lock of the environment in `folder`, and creates it if there is none. Throws errors
   * of `lmdb` or of the system.
   */
  static open(folder: string): OpeningLock {
    for (let attempt = 1; ; attempt++) {
      const lock = new OpeningLock(folder)
      try {
        lock.hold(() => {})
        return lock
      } catch (error) {
        void lock.close()
        if (attempt === attemptsMax) throw error
      }
    }
  }

  /** Runs a commit or an opening while no other process runs one. Throws the error of `run`. */
  hold<A>(run: () => A): A {
    let result: A | undefined
    this.#root.transactionSync(() => {
      // `lmdb` continues even if LMDB began no transaction.
      if (this.#root.getWriteTxnId() === 0) throw new Error("the lock of the database is destroyed")
      result = run()
      return ABORT
    })
    return result as A
  }

  close(): Promise<void> {
    return this.#root.close()
  }
}

/** Runs an opening of the environment in `folder` while its writer, if any, commits nothing. */
export const betweenCommits = <A>(folder: string, run: () => A): A => {
  const file = fileIn(folder)
  if (sizeOf(file) < metaBytes || !isWritable(file)) return run()
  const lock = OpeningLock.open(folder)
  try {
    return lock.hold(run)
  } finally {
    void lock.close()
  }
}

const isWritable = (file: string): boolean => {
  try {
    fs.accessSync(file, fs.constants.W_OK)
    return true
  } catch {
    return false
  }
}
