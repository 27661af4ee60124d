/** `laurel serve` */
import { Command } from "effect/cli"
import { describeSettings } from "../Config.ts"
import { runServer } from "./Server.ts"

export const serve = Command.make("serve", {}, () => runServer).pipe(
  Command.withShortDescription("Run the server until SIGTERM or SIGINT"),
  Command.withDescription(
    `Run the server until SIGTERM or SIGINT. Settings are environment variables, here with their defaults:\n\n${describeSettings()}`,
  ),
)
