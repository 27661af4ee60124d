/**
 * The files of the reference. A worker thread (`ReferenceWorker.ts`) makes them at the first
 * request: most servers never get one, and the work would block the event loop of the actors for
 * longer than many requests take. The files depend only on the program, so all servers of a process
 * share them.
 */
import { Worker } from "node:worker_threads"
import { Questions } from "../../storage/Channel.ts"
import type { PublicFile } from "./PublicFile.ts"

export interface ReferenceFiles {
  readonly document: PublicFile
  readonly script: PublicFile
  /** `llms.txt`. */
  readonly index: PublicFile
  /** The pages as Markdown, by name. */
  readonly pages: { readonly [name: string]: PublicFile }
}

/** Calls `make` once for all callers, and again only after a failure. */
export const shared = <A>(make: () => Promise<A>): (() => Promise<A>) => {
  let made: Promise<A> | undefined
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
}

const inThread = async (): Promise<ReferenceFiles> => {
  const start = () => new Worker(new URL("./ReferenceWorker.ts", import.meta.url))
  const thread = new Questions<"files", ReferenceFiles>(start, { idleMs: 0 })
  const { document, index, pages, script } = await thread.ask("files")
  const entries = Object.entries(pages).map(([name, page]) => [name, received(page)] as const)
  return {
    document: received(document),
    script: received(script),
    index: received(index),
    pages: Object.fromEntries(entries),
  }
}

/** A `Buffer` arrives from another thread as a `Uint8Array`. */
export const received = (file: PublicFile): PublicFile => ({
  ...file,
  compressed: Buffer.from(file.compressed),
})

export const loadReference = shared(inThread)
