/** An archive of a running server, on demand. */
import { Effect } from "effect"
import { readServerFile } from "../src/cli/process/AdminRequest.ts"
import { bytesOf } from "../src/storage/archive/ArchiveCatalog.ts"
import type { Manifest } from "../src/storage/archive/ArchiveManifest.ts"

export interface Made {
  readonly durationMs: number
  /** Without the journal's files: archives share them with the data directory by hard links. */
  readonly bytes: number
}

/**
 * Asks a running server for an archive. Returns the time until it was checked and published, and
 * its size.
 */
export const makeArchive = async (directory: string): Promise<Made> => {
  const { adminUrl, token } = (await Effect.runPromise(readServerFile(directory)))!
  const startedAt = performance.now()
  const reply = await fetch(`${adminUrl}/admin/archives`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
  })
  const lines = (await reply.text()).trim().split("\n")
  const { archive }: { readonly archive?: Manifest } = JSON.parse(lines.at(-1)!)
  if (archive === undefined) throw new Error(`No archive was made: ${lines.at(-1)}`)
  const files = archive.files.filter(({ path }) => !path.startsWith("journal/"))
  return { durationMs: performance.now() - startedAt, bytes: bytesOf({ files }) }
}
