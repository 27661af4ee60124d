/** Runs a job of a command in a process of its own, with a progress bar. */
import { Effect } from "effect"
import type { Input, JobFailed, JobName, ResultOf } from "../../engine/archive/jobs/Jobs.ts"
import { type Listener, makeWorkerHost } from "../../engine/archive/jobs/WorkerHost.ts"
import type { CommandFailed } from "../output/ExitCode.ts"
import { jobFailure, withProgressBar } from "../output/JobWords.ts"

interface CommandJobOptions extends Pick<Listener, "asked"> {
  /** Run it with low priority, beside a server. */
  readonly background?: boolean
}

/** Runs a job. A failure of the job ends the command. */
export const runJob = <Name extends JobName>(
  name: Name,
  input: Input<Name>,
  options?: CommandJobOptions,
): Effect.Effect<ResultOf<Name>, CommandFailed> =>
  Effect.mapError(attemptJob(name, input, options), jobFailure)

/** As `runJob`, for a command that continues after a failure. */
export const attemptJob = <Name extends JobName>(
  name: Name,
  input: Input<Name>,
  { background = false, ...listener }: CommandJobOptions = {},
): Effect.Effect<ResultOf<Name>, JobFailed> =>
  withProgressBar((progress) =>
    Effect.scoped(
      Effect.flatMap(makeWorkerHost({ background }), (host) =>
        host.run(name, input, { ...listener, progress }),
      ),
    ),
  )
