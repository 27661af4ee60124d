/** Requests to the admin address of a running server. */
import { randomBytes } from "node:crypto"
import fs from "node:fs/promises"
import type { IncomingMessage } from "node:http"
import path from "node:path"
import { Data, Effect, Option, Schema, type Scope } from "effect"
import type { Config } from "../../config/Config.ts"
import {
  type ErrorCode,
  errorKinds,
  type LaurelError,
  laurelError,
} from "../../domain/values/Errors.ts"
import { request } from "../../http/server/nodeHttp.ts"
import { limits } from "../../Limits.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"

/*
 * `server.json` in the data directory tells the command line how to reach the running server. The
 * server writes the file once it is ready, and removes the file at an orderly shutdown. After a
 * crash the process id in the file shows that the file is stale. Only the owner of the file may
 * read it, since the token permits creating keys.
 */

const Content = Schema.Struct({
  pid: Schema.Int,
  /** Addresses of the API and the admin server for this machine. */
  url: Schema.String,
  adminUrl: Schema.String,
  token: Schema.String,
  startedAt: Schema.String,
  /**
   * The real path of the data directory: in a copy of the directory, the file belongs to another
   * server.
   */
  directory: Schema.optionalKey(Schema.String),
})
export type ServerFile = typeof Content.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Content))
const tokenBytes = 32
const ownerOnly = 0o600

export const makeToken = (): string => randomBytes(tokenBytes).toString("base64url")

const fileIn = (directory: string): string => path.join(directory, "server.json")

/** Keeps the file until the scope closes. A reader finds the whole file or none. */
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

/** The file of the running server of `directory`; `undefined`: no server runs. */
export const readServerFile = (directory: string): Effect.Effect<ServerFile | undefined> =>
  Effect.promise(async () => {
    const text = await fs.readFile(fileIn(directory), "utf8").catch(() => undefined)
    const content = Option.getOrUndefined(decode(text))
    if (content === undefined || !isAlive(content.pid)) return undefined
    const { directory: its } = content
    return its === undefined || its === (await realPath(directory)) ? content : undefined
  })

/** The real path of `directory`; its absolute path if it does not exist. */
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

/** `reached: false`: the server of the file did not answer, so it executed nothing. */
export class AdminUnavailable extends Data.TaggedError("AdminUnavailable")<{
  readonly reached: boolean
  readonly detail: string
}> {}

export type Asked<A> = Effect.Effect<A, LaurelError | AdminUnavailable>

const Problem = Schema.Struct({ code: Schema.String, detail: Schema.String })

export const unusableReply = (detail: string) => new AdminUnavailable({ reached: true, detail })

const notConnected = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"])

interface RawReply {
  readonly status: number
  readonly text: string
}

interface Sending {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  /**
   * Gets each line of a reply with status 200. Such a reply has no deadline, but may not be silent
   * for `workerSilenceMs`.
   */
  readonly line?: (text: string) => void
}

/** One request. `fetch` refuses ports that an operator may choose. */
const send = (
  { adminUrl, token }: ServerFile,
  { body, line, method, path }: Sending,
): Effect.Effect<RawReply, AdminUnavailable> =>
  Effect.callback((resume) => {
    const failed = (error: NodeJS.ErrnoException): void => {
      const reached = !notConnected.has(error.code ?? "")
      resume(Effect.fail(new AdminUnavailable({ reached, detail: error.message })))
    }
    const receive = (reply: IncomingMessage): void => {
      let text = ""
      reply.setEncoding("utf8")
      reply.on("data", (chunk: string) => {
        text += chunk
        if (line === undefined || reply.statusCode !== 200) return
        const lines = text.split("\n")
        text = lines.pop()!
        for (const each of lines) line(each)
      })
      reply.on("error", failed)
      reply.on("end", () => resume(Effect.succeed({ status: reply.statusCode ?? 0, text })))
    }
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" }
    const options = { method, headers, agent: false } as const
    const deadline =
      line === undefined ? { signal: AbortSignal.timeout(limits.adminRequestMs) } : {}
    const asked = request(`${adminUrl}${path}`, { ...options, ...deadline }, receive)
    if (line !== undefined) {
      asked.setTimeout(limits.workerSilenceMs, () => asked.destroy(new Error("the reply stalled")))
    }
    asked.on("error", failed)
    asked.end(body === undefined ? undefined : JSON.stringify(body))
    return Effect.sync(() => asked.destroy())
  })

/** The decoded JSON of a reply; 204 decodes as `undefined`. Fails with the server's refusal. */
export const askAdmin = <A>(
  server: ServerFile,
  method: string,
  path: string,
  reply: Schema.ConstraintDecoder<A>,
  body?: unknown,
): Asked<A> =>
  Effect.flatMap(send(server, { method, path, body }), ({ status, text }) => {
    if (status === 204) return decoded(reply, undefined)
    return Effect.flatMap(jsonOf(text), (value) =>
      status < 300 ? decoded(reply, value) : refusal(value),
    )
  })

const Position = Schema.Struct({ lastSequence: Schema.Int, checksum: Schema.Int })

/** The query that names the partition of a request. */
export const partitionQuery = ({ partition }: Pick<Config, "partition">): string =>
  partition === undefined ? "" : `?partition=${partition.number}`

/** The end of the durable journal of the running server. */
export const askPosition = (
  server: ServerFile,
  config: Pick<Config, "partition">,
): Asked<typeof Position.Type> =>
  askAdmin(server, "GET", `/admin/position${partitionQuery(config)}`, Position)

/** Asks for a reply of several lines; `line` gets the JSON of each line. */
export const streamAdmin = (
  server: ServerFile,
  method: string,
  path: string,
  line: (value: unknown) => void,
): Asked<void> => {
  let misfit: AdminUnavailable | undefined
  const take = (text: string): void => {
    try {
      line(JSON.parse(text))
    } catch {
      misfit = unusableReply("the reply is not JSON")
    }
  }
  return Effect.flatMap(send(server, { method, path, line: take }), ({ status, text }) => {
    if (status !== 200) return Effect.flatMap(jsonOf(text), refusal)
    return misfit === undefined ? Effect.void : Effect.fail(misfit)
  })
}

const jsonOf = (text: string): Effect.Effect<unknown, AdminUnavailable> =>
  Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: () => unusableReply("the reply is not JSON"),
  })

const refusal = (value: unknown): Asked<never> =>
  Effect.flatMap(decoded(Problem, value), ({ code, detail }) => {
    if (code === "unauthorized") {
      return new AdminUnavailable({ reached: false, detail: "another server answered" })
    }
    return Effect.fail(
      code in errorKinds ? laurelError(code as ErrorCode, detail) : unusableReply(code),
    )
  })

/** The decoded body of a reply; fails if the body does not match `schema`. */
export const decoded = <A>(
  schema: Schema.ConstraintDecoder<A>,
  value: unknown,
): Effect.Effect<A, AdminUnavailable> =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(value), () =>
    unusableReply("the reply has an unknown form"),
  )
