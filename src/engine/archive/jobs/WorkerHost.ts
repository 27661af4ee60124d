/**
 * Runs jobs in child processes, one at a time.
 *
 * A fork copies the page tables of its parent, which holds the event loop of a server with
 * gigabytes of state. So the host starts a shell before the server has any state, and the small
 * shell starts the processes.
 *
 * The shell leads its own process group, so the terminal's Ctrl-C does not reach it. When the host
 * ends or dies, the pipe to its jobs closes, which ends them, and then the shell ends.
 */
import { spawn } from "node:child_process"
import os from "node:os"
import { fileURLToPath } from "node:url"
import { Effect, type Scope, Semaphore } from "effect"
import { limits } from "../../../Limits.ts"
import { ProcessChannel } from "../../../storage/Channel.ts"
import {
  type FromWorker,
  type Input,
  JobFailed,
  type JobName,
  type JobProgress,
  type ResultOf,
  type Step,
} from "./Jobs.ts"

export interface Listener {
  readonly progress?: (progress: JobProgress) => void
  /** Runs at each step, while the job waits for its answer. */
  readonly asked?: (step: Step) => Effect.Effect<unknown>
}

export interface WorkerHost {
  /** Whether its jobs have low priority. */
  readonly background: boolean
  /** Runs a job to its end. An interruption ends its process. */
  readonly run: <Name extends JobName>(
    name: Name,
    input: Input<Name>,
    listener?: Listener,
  ) => Effect.Effect<ResultOf<Name>, JobFailed>
}

export interface WorkerHostOptions {
  /** Run jobs with low priority. */
  readonly background: boolean
}

const worker = fileURLToPath(new URL("../worker.ts", import.meta.url))
const shell = "/bin/sh"
/**
 * Answers use pipe 3: Node makes its standard input non-blocking and, if killed, leaves it so,
 * which a shell reads as the end of input.
 */
const loop = `
trap '' PIPE
while IFS= read -r job; do
  "$0" "$1" "$job" </dev/null
  printf '{"ended":%d}\\n' "$?" 2>/dev/null
done`
const answersPipe = 3
const signalBase = 128

/** Starts the shell; it ends with the scope. */
export const makeWorkerHost = (
  options: WorkerHostOptions,
): Effect.Effect<WorkerHost, never, Scope.Scope> =>
  Effect.gen(function* () {
    const one = yield* Semaphore.make(1)
    let running = start(options)
    yield* Effect.addFinalizer(() => Effect.promise(() => running.end()))
    return {
      background: options.background,
      run: (name, input, listener = {}) =>
        Semaphore.withPermit(
          one,
          Effect.suspend(() => {
            if (!running.isOpen) running = start(options)
            return runJob(running, { name, input }, listener)
          }),
        ) as Effect.Effect<never, JobFailed>,
    }
  })

/** A job for the shell, or an answer to its process. */
type ToWorker =
  | { readonly name: JobName; readonly input: unknown }
  | { readonly id: string; readonly answer: unknown }

type Shell = ProcessChannel<ToWorker, FromWorker>

const start = ({ background }: WorkerHostOptions): Shell => {
  const child = spawn(shell, ["-c", loop, process.execPath, worker], {
    stdio: ["pipe", "pipe", "inherit", "pipe"],
    detached: true,
  })
  if (background && child.pid !== undefined) {
    try {
      os.setPriority(child.pid, os.constants.priority.PRIORITY_LOW)
    } catch {
      // The shell has already ended; the job reports it.
    }
  }
  // Its job shares the output, so the output may outlast the shell. Both end together.
  return new ProcessChannel(child, "exit", () => {
    try {
      process.kill(-child.pid!, "SIGKILL")
    } catch {
      // Both have already ended.
    }
  })
}

const runJob = (
  channel: Shell,
  job: ToWorker,
  { asked, progress }: Listener,
): Effect.Effect<unknown, JobFailed> =>
  Effect.callback<unknown, JobFailed>((resume) => {
    let outcome: Effect.Effect<unknown, JobFailed> | undefined
    const finish = (otherwise: string): void => {
      channel.listen(undefined)
      resume(outcome ?? Effect.fail(new JobFailed({ kind: "died", detail: otherwise })))
    }
    const answer = (step: Step, id: string): void => {
      const work = asked === undefined ? Effect.undefined : asked(step)
      Effect.runPromise(work).then(
        (answer) => channel.tell({ id, answer }, answersPipe),
        () => channel.kill(),
      )
    }
    const heard = (message: FromWorker): void => {
      if ("ended" in message) finish(endedText(message.ended))
      else if ("progress" in message) progress?.(message.progress)
      else if ("ask" in message) answer(message.ask, message.id)
      else {
        outcome =
          "result" in message
            ? Effect.succeed(message.result)
            : Effect.fail(new JobFailed(message.failed))
        // Its process may hang in Node's exit.
        channel.within(limits.workerExitMs)
      }
    }
    channel.listen({ heard, ended: () => finish("Its process was ended") }, limits.workerSilenceMs)
    channel.tell(job)
    return Effect.promise(() => channel.end())
  })

const endedText = (code: number): string => {
  const signal = Object.entries(os.constants.signals).find(
    ([, number]) => number === code - signalBase,
  )?.[0]
  return signal === undefined
    ? `Its process ended with ${code}`
    : `Its process was ended by ${signal}, as by a file of LMDB that is truncated or damaged, or for want of memory`
}
