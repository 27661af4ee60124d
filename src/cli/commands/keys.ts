/** `laurel keys` */
import { Command } from "effect/cli"
import { createKey } from "./keysCreate.ts"
import { listKeys } from "./keysList.ts"
import { revokeKey } from "./keysRevoke.ts"
import { rotateKey } from "./keysRotate.ts"

export const keys = Command.make("keys").pipe(
  Command.withDescription(
    "Manage API keys, through the running server or directly in the data directory",
  ),
  Command.withSubcommands([createKey, listKeys, rotateKey, revokeKey]),
)
