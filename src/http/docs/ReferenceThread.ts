/**
 * The files of the reference. A worker thread (`ReferenceWorker.ts`) makes them at the first
 * request: most servers never get one, and the work would block the event loop of the actors for
 * longer than many requests take. The files depend only on the program, so all servers of a process
 * share them.
 */
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import type { PublicFile } from "./PublicFile.ts"

export interface ReferenceFiles {
  readonly document: PublicFile
  readonly script: PublicFile
}

type LoadReference = () => Promise<ReferenceFiles>

/** Calls `make` once for all callers, and again only after a failure. */
export const shared = (make: LoadReference): LoadReference => {
  let files: Promise<ReferenceFiles> | undefined
  return () => {
    files ??= make().catch((error: unknown) => {
      files = undefined
      throw error
    })
    return files
  }
}

const inThread: LoadReference = async () => {
  const worker = new Worker(new URL("./ReferenceWorker.ts", import.meta.url))
  // The thread must not keep the process alive.
  worker.unref()
  const ended = once(worker, "exit").then(([code]): never => {
    throw new Error(`The thread of the reference ended with ${code}`)
  })
  const [{ document, script }]: [ReferenceFiles] = await Promise.race([
    once(worker, "message") as Promise<[ReferenceFiles]>,
    ended,
  ])
  return { document: received(document), script: received(script) }
}

/** A `Buffer` arrives from another thread as a `Uint8Array`. */
const received = (file: PublicFile): PublicFile => ({
  ...file,
  compressed: Buffer.from(file.compressed),
})

export const loadReference: LoadReference = shared(inThread)
