/**
 * How much disk files take, and how much is left, for operators. Files are looked at one after another: of Node's few threads
 * for disk calls, which the journal uses too, a disk that does not answer holds one.
 */
import { lstat, readdir, statfs } from "node:fs/promises"
import path from "node:path"
import { Effect } from "effect"

export interface Room {
  /** Bytes that this process can still write to the file system. */
  readonly free: number
  readonly total: number
}

const orUnknown = <A>(ask: () => Promise<A>): Effect.Effect<A | undefined> =>
  Effect.orElseSucceed(Effect.tryPromise(ask), () => undefined)

/**
 * Bytes that a folder and all in it take on disk, but for what has the name `without` in it: 0 where it does not exist, `undefined`
 * where it cannot be read.
 */
export const bytesUnder = (folder: string, without?: string): Effect.Effect<number | undefined> =>
  orUnknown(() => bytesOf(folder, without))

const bytesOf = async (folder: string, without?: string): Promise<number> => {
  let bytes = 0
  for (const entry of await orGone(readdir(folder, { withFileTypes: true }), [])) {
    if (entry.name === without) continue
    const where = path.join(folder, entry.name)
    if (entry.isDirectory()) bytes += await bytesOf(where)
    else bytes += blockBytes * (await orGone(blocksOf(where), 0))
  }
  return bytes
}

const blocksOf = async (file: string): Promise<number> => (await lstat(file)).blocks

/** The unit of `blocks` in a file's status, whatever the block size of its file system. */
const blockBytes = 512

/** Files come and go while they are looked at. */
const orGone = <A>(asked: Promise<A>, gone: A): Promise<A> =>
  asked.catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return gone
    throw error
  })

/** `undefined` where the file system does not tell. */
export const roomAt = (folder: string): Effect.Effect<Room | undefined> =>
  orUnknown(async () => {
    const { bavail, blocks, bsize } = await statfs(folder)
    return { free: bavail * bsize, total: blocks * bsize }
  })
