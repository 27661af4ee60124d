import { execFile } from "node:child_process"
import path from "node:path"
import { promisify } from "node:util"
import { Effect } from "effect"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { directoryArchive } from "./program.ts"

/** A copy of the golden data directory for the surrounding scope. */
export const unpacked = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  yield* Effect.promise(() => promisify(execFile)("tar", ["-C", folder, "-xzf", directoryArchive]))
  return path.join(folder, "directory")
})
