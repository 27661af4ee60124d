/** Progress and failures of jobs, as text for people. */
import { Effect } from "effect"
import type { JobFailed, JobProgress } from "../../engine/archive/Jobs.ts"
import { type DiskError, isFull, isUnreadable } from "../../storage/disk/Disk.ts"
import { bytesText } from "./Amounts.ts"
import { type CommandFailed, commandFailed, exitCodes } from "./ExitCode.ts"
import { ProgressBar } from "./ProgressBar.ts"

const inBytes = new Set<JobProgress["activity"]>([
  "Copying",
  "Reading",
  "Hashing",
  "Importing",
  "Sending",
  "Fetching",
])

/** Runs `use` with a progress bar, which is gone when it ends. */
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

/** A job that failed, as the end of a command. */
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

/** A disk that failed under a command, as its end. */
export const diskFailure = (error: DiskError): CommandFailed => {
  if (isUnreadable(error)) return unreadable(error.path)
  return isFull(error)
    ? commandFailed(exitCodes.cannotWrite, `No space left on the disk (${error.message}).`)
    : commandFailed(exitCodes.diskFailed, `The disk failed: ${error.message}.`)
}

/** A file that this version does not understand, as the end of a command. */
export const unreadable = (file: string): CommandFailed =>
  commandFailed(
    exitCodes.damagedData,
    `${file} is damaged, or was written by a newer Laurel. Nothing was changed.`,
  )
