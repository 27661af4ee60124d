/** `laurel keys revoke` */
import { Console, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { withKeys } from "../process/KeyAccess.ts"

const id = Argument.String("ID").pipe(
  Argument.withDescription("Id of the key, as `laurel keys list` shows it"),
)

export const revokeKey = Command.make(
  "revoke",
  { id },
  Effect.fnUntraced(function* ({ id }) {
    yield* withKeys((keys) => keys.revoke(id), { makes: false })
    yield* Console.error(`Revoked ${id}.`)
  }),
).pipe(Command.withDescription("Revoke a key at once and permanently"))
