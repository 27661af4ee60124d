/** Runs commands in the process of the test: a process for each command would be slow. */

import { Effect } from "effect"
import { vi } from "vitest"
import { exitCodeOf } from "../../src/cli/CommandLine.ts"
import { waitMs } from "../waitMs.ts"

export interface CommandEnd {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command with the data directory `directory` and other settings; `lines` grows with it. */
export const runCommand = (
  args: ReadonlyArray<string>,
  directory: string,
  variables: Readonly<Record<string, string>> = {},
  lines = { stdout: "", stderr: "" },
): Effect.Effect<CommandEnd> =>
  Effect.scoped(
    Effect.gen(function* () {
      const all = { LAUREL_DATA_DIR: directory, ...variables }
      for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value)
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

/** The same as a promise, which fails if the command has not ended after `commandMs`. */
export const commandEnd = (
  args: ReadonlyArray<string>,
  directory: string,
  commandMs = waitMs,
): Promise<CommandEnd> => {
  const lines = { stdout: "", stderr: "" }
  const giveUp = new AbortController()
  const ended = Effect.runPromise(runCommand(args, directory, {}, lines), giveUp)
  return endedWithin(commandMs, ended, () => {
    giveUp.abort()
    return `laurel ${args.join(" ")} has not ended after ${commandMs} ms:\n${lines.stdout}${lines.stderr}`
  })
}

/** What the promise resolves with. Fails with the words of `late` if it takes longer than `ms`. */
export const endedWithin = <A>(ms: number, ended: Promise<A>, late: () => string): Promise<A> => {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(late())), ms)
  return Promise.race([ended, promise]).finally(() => clearTimeout(timer))
}
