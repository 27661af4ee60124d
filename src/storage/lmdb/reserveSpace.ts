/**
 * If an opening needs space and the disk is full, LMDB ends the process: by SIGBUS, since it writes
 * its lock file through a mapping, or by SIGSEGV, if it cannot write the first pages of a new
 * database. So the lock file is written before the opening, with more bytes than LMDB needs, and a
 * new database needs `spareBytes` of free space. Does not load Effect.
 */
import fs from "node:fs"
import path from "node:path"

/** The bytes of the pages that a transaction writes beside its entries. */
export const spareBytes = 1_048_576

/**
 * The size of both meta pages, which LMDB writes together for a new database. A smaller file was
 * written when the disk was full.
 */
export const metaBytes = 8_192

const lockBytes = 65_536
/** A smaller lock file was cut by a crash before LMDB opened it. */
const openedBytesMin = 8_192

/** The size of a file; 0 if it does not exist. */
export const sizeOf = (file: string): number =>
  fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** Bytes that this process can still write to the file system of `folder`. */
export const freeBytesOf = (folder: string): number => {
  const { bavail, bsize } = fs.statfsSync(folder)
  return bavail * bsize
}

/**
 * Writes the lock file `file` of an environment, if there is none. Throws errors of the system such
 * as `ENOSPC`. Does nothing if the folder is read-only: LMDB reads there without a lock.
 */
export const reserveLock = (file: string): void => {
  if (sizeOf(file) >= openedBytesMin) return
  try {
    fs.writeFileSync(file, Buffer.alloc(lockBytes))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "EROFS" || code === "EACCES") return
    fs.rmSync(file, { force: true })
    throw error
  }
}

/** Throws `ENOSPC` if there is no space for a new database at `data`. */
export const checkSpace = (data: string): void => {
  const folder = path.dirname(data)
  if (sizeOf(data) > 0 || freeBytesOf(folder) >= spareBytes) return
  const words = `ENOSPC: less than ${spareBytes} bytes are free for a new database in ${folder}`
  throw Object.assign(new Error(words), { code: "ENOSPC" })
}
