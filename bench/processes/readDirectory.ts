/**
 * The minimum work of a start: reads every value that the engine reads from LMDB, without decoding
 * it.
 */
import path from "node:path"
import { open } from "lmdb"
import { answer } from "../children.ts"

export interface ReadReport {
  readonly durationMs: number
  readonly values: number
}

const binary = { encoding: "binary", keyEncoding: "binary" } as const

await answer(async ({ directory }: { readonly directory: string }): Promise<ReadReport> => {
  const startedAt = performance.now()
  const root = open({ ...binary, path: path.join(directory, "live"), noSubdir: false, maxDbs: 32 })
  let values = 0
  let bytes = 0
  for (const table of ["meta", "actors", "buckets"]) {
    for (const { key, value } of root.openDB<Uint8Array, Uint8Array>(table, binary).getRange()) {
      values++
      bytes += key.length + value.length
    }
  }
  const durationMs = performance.now() - startedAt
  if (bytes === 0) throw new Error(`Nothing to read in ${directory}`)
  await root.close()
  return { durationMs, values }
})
