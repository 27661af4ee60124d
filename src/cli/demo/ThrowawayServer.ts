/**
 * A real server in a process of its own, on a free port. Its data directory is removed at its end.
 * The server gets none of the `LAUREL_` settings of this process.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { watch } from "node:fs"
import fs from "node:fs/promises"
import os from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Schedule, type Scope } from "effect"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { readServerFile } from "../process/AdminRequest.ts"

export interface ThrowawayServer {
  readonly url: string
  /** A key of a new project, which has no rate limit. */
  readonly key: string
  readonly process: ChildProcess
}

const program = fileURLToPath(new URL("../../laurel.sh", import.meta.url))
const stopGraceMs = 10_000
const readyEveryMs = 20
const readyTries = 250

const environmentOf = (directory: string): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([variable]) => !variable.startsWith("LAUREL_")),
  ),
  LAUREL_DATA_DIR: directory,
  LAUREL_PORT: "0",
  LAUREL_ADMIN_PORT: "0",
  LAUREL_LOG_LEVEL: "warn",
})

interface Laurel {
  readonly process: ChildProcess
  readonly ended: Promise<unknown>
  /** Its standard output, and the end of its standard error. */
  readonly printed: () => string
  readonly complaint: () => string
}

/** Starts the command line in a process that ends with the scope. */
const startLaurel = (
  directory: string,
  args: ReadonlyArray<string>,
  settings: Readonly<Record<string, string>> = {},
): Effect.Effect<Laurel, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn("sh", [program, ...args], {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...environmentOf(directory), ...settings },
      })
      let printed = ""
      let complaint = ""
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        printed += text
      })
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        complaint = (complaint + text).slice(-4_000)
      })
      const ended = new Promise((resolve) => child.once("error", resolve).once("close", resolve))
      return {
        process: child,
        ended,
        printed: () => printed,
        complaint: () => complaint.trim(),
      }
    }),
    ({ ended, process }) =>
      Effect.promise(async () => {
        if (process.exitCode !== null || process.signalCode !== null) return
        process.kill("SIGCONT")
        process.kill("SIGTERM")
        const force = setTimeout(() => process.kill("SIGKILL"), stopGraceMs)
        await ended
        clearTimeout(force)
      }),
  )

const didNotStart = ({ complaint, process }: Laurel): CommandFailed =>
  commandFailed(
    exitCodes.unavailable,
    `The server did not start (${process.signalCode ?? `exit code ${process.exitCode}`}).`,
    ...complaint().split("\n"),
  )

const createKey = (directory: string): Effect.Effect<string, CommandFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      const wish = "--project throwaway --environment sandbox --json"
      const laurel = yield* startLaurel(directory, ["keys", "create", ...wish.split(" ")])
      yield* Effect.promise(() => laurel.ended)
      if (laurel.process.exitCode !== 0) return yield* didNotStart(laurel)
      return (JSON.parse(laurel.printed()) as { readonly key: string }).key
    }),
  )

/** The server's address, once the server has written `server.json`. */
const addressOf = (directory: string, laurel: Laurel): Effect.Effect<string, CommandFailed> =>
  Effect.acquireUseRelease(
    Effect.sync(() => watch(directory)),
    (watcher) =>
      Effect.callback<string, CommandFailed>((resume) => {
        const look = async (): Promise<void> => {
          const file = await Effect.runPromise(readServerFile(directory))
          if (file !== undefined) resume(Effect.succeed(file.url))
        }
        watcher.on("change", look)
        void look()
        void laurel.ended.then(() => resume(Effect.fail(didNotStart(laurel))))
      }),
    (watcher) => Effect.sync(() => watcher.close()),
  )

const ready = (url: string): Effect.Effect<void, CommandFailed> =>
  Effect.tryPromise({
    try: async () => {
      const { status } = await fetch(`${url}/readyz`)
      if (status !== 200) throw new Error(`status ${status}`)
    },
    catch: (error) => commandFailed(exitCodes.unavailable, `The server is not ready: ${error}`),
  }).pipe(Effect.retry({ schedule: Schedule.spaced(readyEveryMs), times: readyTries }))

/**
 * Starts a server on an existing data directory; it ends with the scope. `settings` are variables
 * of its environment.
 */
export const startServerOn = (
  directory: string,
  settings: Readonly<Record<string, string>> = {},
): Effect.Effect<ThrowawayServer, CommandFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const key = yield* createKey(directory)
    const laurel = yield* startLaurel(directory, ["serve"], settings)
    const url = yield* addressOf(directory, laurel)
    yield* ready(url)
    return { url, key, process: laurel.process }
  })

/** Starts a server. At the end of the scope the server ends, and its data is removed. */
export const startThrowawayServer: Effect.Effect<ThrowawayServer, CommandFailed, Scope.Scope> =
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.tryPromise({
        try: () => fs.mkdtemp(path.join(os.tmpdir(), "laurel-throwaway-")),
        catch: (error) =>
          commandFailed(exitCodes.cannotWrite, `Cannot create a temporary folder: ${error}`),
      }),
      (folder) => Effect.promise(() => fs.rm(folder, { recursive: true, force: true })),
    ),
    (directory) => startServerOn(directory),
  )
