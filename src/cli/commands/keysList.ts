/** `laurel keys list` */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { keyTable } from "../output/KeyWords.ts"
import { withKeys } from "../process/KeyAccess.ts"

const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print a JSON array"),
  Flag.withDefault(false),
)

export const listKeys = Command.make(
  "list",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const keys = yield* withKeys((keys) => keys.list, { makes: false })
    yield* Console.log(json ? JSON.stringify(keys) : keyTable(keys))
  }),
).pipe(Command.withDescription("List all keys, oldest first. The keys' texts are not stored"))
