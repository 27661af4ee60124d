/** Options shared by commands of `laurel snapshots`. */
import { Flag } from "effect/cli"

export const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print JSON, for scripts"),
  Flag.withDefault(false),
)
