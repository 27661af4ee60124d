/** Flags that commands about keys share. */
import { Flag } from "effect/cli"

export const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print the key and its details as JSON"),
  Flag.withDefault(false),
)
