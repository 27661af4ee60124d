/**
 * Exit codes of commands, as in sysexits.h if it has one:
 *
 *      0  done; for `serve`: stopped in order by SIGTERM or SIGINT
 *      1  refused: not possible; nothing was changed
 *     64  usage: wrong arguments, or no terminal for a confirmation
 *     65  damaged data: the data directory cannot be recovered or has another format, or an archive fails its check
 *     66  no data: no data directory, or another server of the cluster has it, or the archive path is not a folder
 *     69  unavailable: cannot listen on an address, or the running server or the bucket did not answer
 *     70  a defect of Laurel
 *     73  the data directory cannot be created or written, or no space is left
 *     74  the disk failed; a restart recovers all acknowledged writes
 *     75  the data directory is in use by another process
 *     78  configuration: a setting is wrong, or the machine's clock
 *    128  and the signal's number: ended at once by a second signal
 */
import path from "node:path"
import { Data } from "effect"
import { isGiven } from "../../config/Config.ts"
import type { ErrorCode, LaurelError } from "../../domain/values/Errors.ts"

export const exitCodes = {
  done: 0,
  refused: 1,
  usage: 64,
  damagedData: 65,
  noData: 66,
  unavailable: 69,
  defect: 70,
  cannotWrite: 73,
  diskFailed: 74,
  inUse: 75,
  configuration: 78,
  signal: 128,
} as const

/** Ends a command: one line for each fault, and the exit code. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly exitCode: number
  readonly lines: ReadonlyArray<string>
}> {
  override get message(): string {
    return this.lines.join(" ")
  }
}

export const commandFailed = (exitCode: number, ...lines: ReadonlyArray<string>): CommandFailed =>
  new CommandFailed({ exitCode, lines })

const exitCodesByError: Partial<Record<ErrorCode, number>> = {
  storage_unavailable: exitCodes.diskFailed,
  internal_error: exitCodes.defect,
  overloaded: exitCodes.unavailable,
  starting: exitCodes.unavailable,
  shutting_down: exitCodes.unavailable,
  // The data is on the machine of another server of the cluster.
  misdirected_request: exitCodes.noData,
}

/** A refusal of the engine as the failure of a command. */
export const refused = ({ code, detail }: LaurelError): CommandFailed =>
  commandFailed(exitCodesByError[code] ?? exitCodes.refused, detail)

/** The failure of a command that finds no data in `directory`. */
export const noData = (directory: string): CommandFailed => {
  const unset = isGiven("dataDirectory")
    ? ""
    : " LAUREL_DATA_DIR is not set: set it to the server's data directory."
  return commandFailed(exitCodes.noData, `No data in ${path.resolve(directory)}.${unset}`)
}
