/**
 * One process per data directory. The lock is SQLite's exclusive lock on an empty database `lock`,
 * a lock of the operating system that the kernel releases whenever the process ends. Node has no
 * file locks; a file with a process id would outlive a crash.
 */
import path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect, type Scope } from "effect"
import { Broken } from "../Storage.ts"

const busy = 5

/** Whether opening failed because another process has the data directory. */
export const isInUse = ({ cause }: Broken): boolean =>
  cause instanceof Error && hasErrorCode(cause.cause, busy)

const hasErrorCode = (error: unknown, code: number): boolean =>
  (error as { readonly errcode?: unknown } | null | undefined)?.errcode === code

const failure = (directory: string, cause: unknown): Broken => {
  const taken = hasErrorCode(cause, busy)
  const words = taken
    ? `The data directory ${directory} is in use by another process. Stop that process first, or choose another directory.`
    : `The data directory ${directory} cannot be locked: ${cause}`
  return new Broken({ operation: "lock", cause: new Error(words, { cause }) })
}

/** Holds the lock of an existing directory while the scope is open. */
export const lockDirectory = (directory: string): Effect.Effect<void, Broken, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        const database = new DatabaseSync(path.join(directory, "lock"))
        try {
          database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
        } catch (error) {
          database.close()
          throw error
        }
        return database
      },
      catch: (cause) => failure(directory, cause),
    }),
    (database) => Effect.sync(() => database.close()),
  ).pipe(Effect.asVoid)
