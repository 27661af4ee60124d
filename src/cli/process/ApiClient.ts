/** Requests of commands to the API of a server, with the key of the caller. */
import { Config, Console, Data, Effect, Redacted } from "effect"
import { Flag } from "effect/cli"
import { commandVariables } from "../../config/Config.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"

export const serverFlags = {
  url: Flag.String("url").pipe(
    Flag.withMetavar("URL"),
    Flag.withDescription(
      `Address of the server. Default: ${commandVariables.url}, else http://127.0.0.1:8080`,
    ),
    Flag.withFallbackConfig(Config.String(commandVariables.url)),
    Flag.withDefault("http://127.0.0.1:8080"),
  ),
  key: Flag.Redacted("key").pipe(
    Flag.withMetavar("KEY"),
    Flag.withDescription(
      `API key, which selects project and environment. Default: ${commandVariables.key}, which other users cannot read`,
    ),
    Flag.withFallbackConfig(Config.Redacted(commandVariables.key)),
  ),
}

export interface Target {
  readonly url: string
  readonly key: Redacted.Redacted<string>
}

class Unreachable extends Data.TaggedError("Unreachable")<{ readonly detail: string }> {}

/** Prints on standard error which server a command asks. */
export const printServer = ({ url }: Target): Effect.Effect<void> => Console.error(`Server: ${url}`)

/** Sends a request with the key. A redirect fails: it would carry the key to another address. */
export const sendToApi = (
  { key, url }: { readonly url: string; readonly key: string },
  method: "GET" | "POST",
  path: string,
  body?: unknown,
  ifMatch?: number,
  signal?: AbortSignal,
): Promise<Response> =>
  fetch(new URL(path, url), {
    method,
    signal: signal ?? null,
    redirect: "error",
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(ifMatch !== undefined && { "if-match": `"${ifMatch}"` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

/** The body of the reply. `ifMatch` is the version that the request may change. A refusal fails with one line for each fault. */
export const askApi = (
  { key, url }: Target,
  method: "GET" | "POST",
  path: string,
  body?: unknown,
  ifMatch?: number,
): Effect.Effect<unknown, CommandFailed> =>
  Effect.tryPromise({
    try: async (signal) => {
      const given = { url, key: Redacted.value(key) }
      const reply = await sendToApi(given, method, path, body, ifMatch, signal)
      return { status: reply.status, json: (await reply.json()) as unknown }
    },
    catch: (error) => new Unreachable({ detail: detailOf(error) }),
  }).pipe(
    Effect.mapError(({ detail }) =>
      commandFailed(exitCodes.unavailable, `The server at ${url} did not answer: ${detail}.`),
    ),
    Effect.flatMap(({ json, status }) =>
      status < 300
        ? Effect.succeed(json)
        : Effect.fail(
            commandFailed(
              status < 500 ? exitCodes.refused : exitCodes.unavailable,
              ...faultLines(json),
            ),
          ),
    ),
  )

/** Why `fetch` failed: the system's words, not "fetch failed". */
const detailOf = (error: unknown): string => {
  const { cause, message } = error as Error
  return cause instanceof Error ? cause.message : message
}

interface Problem {
  readonly detail?: string
  readonly errors?: ReadonlyArray<{ readonly pointer: string; readonly detail: string }>
}

const faultLines = (json: unknown): ReadonlyArray<string> => {
  const { detail = "The server refused the request.", errors = [] } = (json ?? {}) as Problem
  return errors.length === 0 ? [detail] : errors.map((fault) => `${fault.pointer}: ${fault.detail}`)
}
