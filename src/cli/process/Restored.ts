/** The last record of a data directory that a restore has replaced since it was last opened; else `undefined`. */
import { Context } from "effect"

export const RestoredTo = Context.Reference<number | undefined>("cli/process/RestoredTo", {
  defaultValue: () => undefined,
})
