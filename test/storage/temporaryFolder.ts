import { mkdtemp, rm } from "node:fs/promises"
import os from "node:os"
import path from "node:path"
import { Effect } from "effect"

/** A folder of its own for a test, removed with the scope. */
export const temporaryFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(path.join(os.tmpdir(), "laurel-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
)
