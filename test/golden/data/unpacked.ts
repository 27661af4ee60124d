import { execFile } from "node:child_process"
import path from "node:path"
import { promisify } from "node:util"
import { Effect } from "effect"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { archiveOfDirectory } from "./program.ts"

/** A copy of a set's data directory for the surrounding scope. */
export const unpacked = Effect.fnUntraced(function* (set: string) {
  const folder = yield* temporaryFolder
  const archive = path.join(import.meta.dirname, set, archiveOfDirectory)
  yield* Effect.promise(() => promisify(execFile)("tar", ["-C", folder, "-xzf", archive]))
  return path.join(folder, "directory")
})
