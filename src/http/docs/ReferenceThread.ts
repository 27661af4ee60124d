/**
 * The files of the reference, made in a thread of its own (`ReferenceWorker.ts`) at the first request for one: most servers
 * are never asked, and the event loop of the actors must not wait for what takes longer than many requests. The
 * files are those of the program: all servers of a process share them.
 */
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import type { PublicFile } from "./PublicFile.ts"

export interface ReferenceFiles {
  readonly document: PublicFile
  readonly script: PublicFile
}

export type LoadReference = () => Promise<ReferenceFiles>

/** The same for all who ask: `make` is called once, and again where it has failed. */
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
  // It must not keep a process alive that is ending.
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

/** Between threads a `Buffer` becomes a `Uint8Array`. */
const received = (file: PublicFile): PublicFile => ({
  ...file,
  compressed: Buffer.from(file.compressed),
})

export const loadReference: LoadReference = shared(inThread)
