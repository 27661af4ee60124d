/** `laurel mcp` */
import type { AddressInfo } from "node:net"
import { Console, Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { serverFlags } from "../process/ApiClient.ts"
import { firstSignal } from "../process/Signals.ts"

const http = Flag.Int("http").pipe(
  Flag.withMetavar("PORT"),
  Flag.withDescription(
    "Listen on this port of the loopback interface (0: a free one), and use the key of each request. Default: standard input and output",
  ),
  Flag.filter(
    (port) => port >= 0 && port <= 65_535,
    () => "a port is 0 to 65535",
  ),
  Flag.optional,
)

const allowWrites = Flag.Boolean("allow-writes").pipe(
  Flag.withDescription("Also offer the tool that applies definitions. Default: read only"),
  Flag.withDefault(false),
)

// The protocol's library is loaded by this command alone.
const load = Effect.promise(() => import("../mcp/McpServers.ts"))

const onError = (error: unknown): void => console.error(`laurel: ${(error as Error).message}`)

export const mcp = Command.make(
  "mcp",
  { url: serverFlags.url, key: Flag.optional(serverFlags.key), http, allowWrites },
  Effect.fnUntraced(function* ({
    allowWrites,
    http,
    key,
    url,
  }): Effect.fn.Return<void, CommandFailed> {
    const { serveOnHttp, serveOnStdio } = yield* load
    const options = { url, allowWrites, onError }
    if (Option.isNone(http)) {
      if (Option.isNone(key)) return yield* commandFailed(exitCodes.usage, "--key is missing")
      const text = Redacted.value(key.value)
      return yield* Effect.promise(() => serveOnStdio(options, text))
    }
    const server = yield* Effect.tryPromise({
      try: () => serveOnHttp(options, http.value),
      catch: (error) => commandFailed(exitCodes.unavailable, (error as Error).message),
    })
    const { port } = server.address() as AddressInfo
    yield* Console.error(`MCP: http://127.0.0.1:${port}/mcp, on the API at ${url}`)
    yield* firstSignal
    server.closeAllConnections()
    server.close()
  }),
).pipe(
  Command.withShortDescription("Let agents read, simulate and propose, over MCP"),
  Command.withDescription(
    "Serve the Model Context Protocol to agents: read users, boards and definitions, simulate events, propose changes of definitions. Read only without --allow-writes; the API key limits the rest.",
  ),
)
