/** Runs commands in the process of the test: a process for each command would be slow. */

import { Effect } from "effect"
import { vi } from "vitest"
import { exitCodeOf } from "../../src/cli/CommandLine.ts"

export interface CommandEnd {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command with the data directory `directory` and other settings. */
export const runCommand = (
  args: ReadonlyArray<string>,
  directory: string,
  variables: Readonly<Record<string, string>> = {},
): Effect.Effect<CommandEnd> =>
  Effect.scoped(
    Effect.gen(function* () {
      const all = { LAUREL_DATA_DIR: directory, ...variables }
      for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value)
      const lines = { stdout: "", stderr: "" }
      const log = vi.spyOn(console, "log").mockImplementation((line) => {
        lines.stdout += `${line}\n`
      })
      const error = vi.spyOn(console, "error").mockImplementation((line) => {
        lines.stderr += `${line}\n`
      })
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          log.mockRestore()
          error.mockRestore()
          vi.unstubAllEnvs()
        }),
      )
      const code = yield* exitCodeOf(args)
      return { code, ...lines }
    }),
  )

/** The same as a promise. */
export const commandEnd = (args: ReadonlyArray<string>, directory: string): Promise<CommandEnd> =>
  Effect.runPromise(runCommand(args, directory))
