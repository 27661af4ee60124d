/** What the failure of an opening means for a server of a cluster. */
import { Cause, Result } from "effect"
import type { OpeningFailure } from "../../cluster/Opening.ts"
import { CommandFailed, exitCodes } from "../output/ExitCode.ts"

/** The end of the process, where another attempt would fail in the same way. */
export const openingFailure = (
  cause: Cause.Cause<unknown>,
): CommandFailed | Exclude<OpeningFailure, "ends"> => {
  const found = Cause.findError(cause)
  if (Result.isFailure(found) || !(found.success instanceof CommandFailed)) return "again"
  const { exitCode } = found.success
  if (exitCode === exitCodes.unavailable) return "again"
  return exitCode === exitCodes.cannotWrite ? "unwritable" : found.success
}
