/**
 * Prints the size of each entry of the client, minified and gzipped, with everything that the entry
 * imports.
 */
import { gzipSync } from "node:zlib"
import { bundle, type Entry, entries } from "./entries.ts"

export const gzippedBytes = async (entry: Entry): Promise<number> => {
  const [chunk] = await bundle([entry])
  return gzipSync(chunk!.code, { level: 9 }).length
}

if (import.meta.main) {
  console.log("entry      gzipped bytes   goal")
  for (const [entry, goal] of Object.entries(entries)) {
    const bytes = await gzippedBytes(entry as Entry)
    console.log(`${entry.padEnd(10)} ${String(bytes).padStart(13)} ${String(goal).padStart(6)}`)
  }
}
