/** A data directory with 1,000,000 users, and engines on it. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import path from "node:path"
import { Effect } from "effect"
import type { Engine } from "../src/engine/Engine.ts"
import { makeEngine } from "../src/engine/EngineLive.ts"
import * as DurableStorage from "../src/storage/durable/DurableStorage.ts"

export const environment = "prj_bench:sandbox"
export const users = 1_000_000

export interface EngineOnDisk {
  readonly directory: string
}

/** Runs `use` with an engine on a data directory. */
export const withEngine = <A>(
  { directory, ...options }: EngineOnDisk,
  use: (engine: Engine["Service"]) => Effect.Effect<A, unknown>,
): Promise<A> =>
  Effect.scoped(
    Effect.flatMap(
      makeEngine({
        ...options,
        onBroken: (cause) => {
          throw cause
        },
      }),
      use,
    ).pipe(Effect.provide(DurableStorage.layer({ directory }))),
  ).pipe(Effect.runPromise)

/** Runs `use` with a new temporary folder, and removes it. */
export const withTemporaryFolder = async <A>(use: (folder: string) => Promise<A>): Promise<A> => {
  const folder = await mkdtemp(path.join(tmpdir(), "laurel-bench-"))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
