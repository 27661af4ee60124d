/** `laurel serve` */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { describeSettings } from "../../config/Config.ts"

// The other commands start sooner without it.
const runServer = Effect.flatMap(
  Effect.promise(() => import("../process/Server.ts")),
  (server) => server.runServer,
)

export const serve = Command.make("serve", {}, () => runServer).pipe(
  Command.withShortDescription("Run the server until SIGTERM or SIGINT"),
  Command.withDescription(
    `Run the server until SIGTERM or SIGINT. Settings are environment variables, here with their defaults:\n\n${describeSettings()}`,
  ),
)
