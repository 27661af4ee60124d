/**
 * `server.json` in the data directory tells the command line how to reach the running server. The server writes the file
 * once ready and removes it at an orderly shutdown; after a crash its process id shows that it is stale. Only its owner may
 * read it, since the token permits creating keys.
 */
import { randomBytes } from "node:crypto"
import fs from "node:fs/promises"
import path from "node:path"
import { Effect, Option, Schema, type Scope } from "effect"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"

const Content = Schema.Struct({
  pid: Schema.Int,
  /** The API and the admin server as this machine reaches them. */
  url: Schema.String,
  adminUrl: Schema.String,
  token: Schema.String,
  startedAt: Schema.String,
  /** The data directory without links: a copy of it has the file of another directory's server. */
  directory: Schema.optionalKey(Schema.String),
})
export type ServerFile = typeof Content.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Content))
const tokenBytes = 32
const ownerOnly = 0o600

export const makeToken = (): string => randomBytes(tokenBytes).toString("base64url")

const fileIn = (directory: string): string => path.join(directory, "server.json")

/** Keeps the file there until the scope closes. A reader finds all of it or nothing. */
export const keepServerFile = (
  directory: string,
  content: ServerFile,
): Effect.Effect<void, CommandFailed, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const draft = `${fileIn(directory)}.new`
        await fs.rm(draft, { force: true })
        await fs.writeFile(draft, `${JSON.stringify(content)}\n`, { mode: ownerOnly })
        await fs.rename(draft, fileIn(directory))
      },
      catch: (error) =>
        commandFailed(exitCodes.cannotWrite, `Cannot write ${fileIn(directory)}: ${error}`),
    }),
    () => Effect.promise(() => fs.rm(fileIn(directory), { force: true })),
  )

/** The file of a running server of `directory`; `undefined`: none. */
export const readServerFile = (directory: string): Effect.Effect<ServerFile | undefined> =>
  Effect.promise(async () => {
    const text = await fs.readFile(fileIn(directory), "utf8").catch(() => undefined)
    const content = Option.getOrUndefined(decode(text))
    if (content === undefined || !isAlive(content.pid)) return undefined
    const { directory: its } = content
    return its === undefined || its === (await realPath(directory)) ? content : undefined
  })

/** The real path of `directory`; its absolute path where it does not exist. */
export const realPath = (directory: string): Promise<string> =>
  fs.realpath(directory).catch(() => path.resolve(directory))

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** The address of this machine for a listener on all addresses. */
export const reachable = (url: string): string =>
  url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
