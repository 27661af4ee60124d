/** Progress and failures of jobs, as text for people. */
import fs from "node:fs"
import os from "node:os"
import { Effect } from "effect"
import type { JobFailed, JobProgress } from "../../engine/archive/jobs/Jobs.ts"
import { DiskError, isFull, isUnreadable } from "../../storage/disk/Disk.ts"
import { type CommandFailed, commandFailed, exitCodes } from "./ExitCode.ts"
import { ProgressBar } from "./ProgressBar.ts"
import { bytesText } from "./Table.ts"

const inBytes = new Set<JobProgress["activity"]>([
  "Copying",
  "Hashing",
  "Importing",
  "Sending",
  "Fetching",
])

/** Runs `use` with a progress bar, which is cleared at the end. */
export const withProgressBar = <A, E>(
  use: (progress: (progress: JobProgress) => void) => Effect.Effect<A, E>,
): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    let bar: ProgressBar | undefined
    let shown = ""
    const progress = ({ activity, done, total }: JobProgress): void => {
      if (shown !== `${activity} ${total}`) {
        shown = `${activity} ${total}`
        const format = inBytes.has(activity) ? { format: bytesText } : {}
        bar = new ProgressBar(activity.padEnd(activityColumns), total, format)
      }
      bar!.update(done)
    }
    return Effect.ensuring(
      use(progress),
      Effect.sync(() => bar?.clear()),
    )
  })

const activityColumns = 9

/** A failed job as the failure of a command. */
export const jobFailure = ({ detail, kind }: JobFailed): CommandFailed => {
  const words = detail.split("\n").map((line) => (line.endsWith(".") ? line : `${line}.`))
  switch (kind) {
    case "refused":
      return commandFailed(exitCodes.refused, ...words)
    case "damaged":
    case "died":
      return commandFailed(exitCodes.damagedData, ...words)
    case "noSpace":
      return commandFailed(exitCodes.cannotWrite, ...words)
    case "unavailable":
      return commandFailed(exitCodes.unavailable, ...words)
    case "misconfigured":
      return commandFailed(exitCodes.configuration, ...words)
    case "failed":
      return commandFailed(exitCodes.diskFailed, ...words)
  }
}

/** A failed disk call as the failure of a command. */
export const diskFailure = (error: DiskError): CommandFailed => {
  if (isUnreadable(error)) return unreadable(error.path)
  if (isFull(error)) {
    return commandFailed(exitCodes.cannotWrite, `No space left on the disk (${error.message}).`)
  }
  const remedy = permissionWords(error.code)
  return remedy === ""
    ? commandFailed(exitCodes.diskFailed, `The disk failed: ${error.message}.`)
    : commandFailed(exitCodes.cannotWrite, `No access to the disk: ${error.message}.${remedy}`)
}

/** The failure of a command that cannot lock or write the data directory. */
export const cannotUse = (directory: string, cause: unknown): CommandFailed => {
  const words = cause instanceof Error ? cause.message : String(cause)
  const remedy = permissionWords(cause instanceof DiskError ? cause.code : refusedWrite(directory))
  const end = remedy === "" ? "" : `.${remedy}`
  return commandFailed(
    exitCodes.cannotWrite,
    `Cannot use the data directory ${directory}: ${words}${end}`,
  )
}

/**
 * The code with which the system refuses a write there: the library of the lock does not report it.
 */
const refusedWrite = (directory: string): string => {
  try {
    fs.accessSync(directory, fs.constants.W_OK)
    return ""
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? ""
  }
}

/** The remedy if the system denies access; empty for other errors. */
const permissionWords = (code: string): string => {
  if (code === "EROFS") {
    return " The file system is read-only. Set LAUREL_DATA_DIR to a folder on another one."
  }
  return code === "EACCES" || code === "EPERM"
    ? ` This process runs as ${userName()}, who has no permission. Change the owner of the folder (chown), or set LAUREL_DATA_DIR to a folder of this user.`
    : ""
}

/** The name of the user, or the number if the machine knows no name. */
const userName = (): string => {
  try {
    return `user ${os.userInfo().username}`
  } catch {
    return `user ${process.getuid?.()}`
  }
}

/** The failure of a command that finds a file of another version. */
export const unreadable = (file: string): CommandFailed =>
  commandFailed(
    exitCodes.damagedData,
    `${file} is damaged, or was written by another version of Laurel. Nothing was changed.`,
  )
