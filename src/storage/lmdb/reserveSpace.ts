/**
 * LMDB ends the process where an opening needs space and the disk is full: by SIGBUS, since it
 * writes its lock file through a mapping, and by SIGSEGV, if the first pages of a new database
 * cannot be written. So the lock is written before, with more bytes than LMDB needs, and a new
 * database needs `spareBytes` free. Loads nothing of Effect.
 */
import fs from "node:fs"
import path from "node:path"

/** Of pages that a transaction writes beside its entries. */
export const spareBytes = 1_048_576

/**
 * Both meta pages of a new database, which LMDB writes at once; less is left where the disk was
 * full.
 */
export const metaBytes = 8_192

const lockBytes = 65_536
/** LMDB has opened no smaller one: a crash has cut it. */
const openedBytesMin = 8_192

/** Bytes of a file; 0 where there is none. */
export const sizeOf = (file: string): number =>
  fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** Bytes that this process can still write to the file system of `folder`. */
export const freeBytesOf = (folder: string): number => {
  const { bavail, bsize } = fs.statfsSync(folder)
  return bavail * bsize
}

/**
 * Writes the lock file `file` of an environment, if there is none. Throws the system's error, as
 * `ENOSPC`, but none where its folder cannot be written: LMDB reads there without a lock.
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

/** Throws `ENOSPC` where there is no space for a new database in `data`. */
export const checkSpace = (data: string): void => {
  const folder = path.dirname(data)
  if (sizeOf(data) > 0 || freeBytesOf(folder) >= spareBytes) return
  const words = `ENOSPC: less than ${spareBytes} bytes are free for a new database in ${folder}`
  throw Object.assign(new Error(words), { code: "ENOSPC" })
}
