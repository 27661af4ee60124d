/**
 * The process of one job (`Jobs`): takes the job as an argument, prints messages as lines to
 * standard output, and reads answers as lines from pipe 3. The end of that pipe means that the host
 * has died.
 */
import { writeSync } from "node:fs"
import { Socket } from "node:net"
import { createInterface } from "node:readline"
import { Cause, Effect, Logger, Result, type Scope } from "effect"
import { BucketError } from "../../storage/bucket/bucketErrors.ts"
import { DiskError, isFull } from "../../storage/disk/Disk.ts"
import { Broken, Unavailable } from "../../storage/Storage.ts"
import { bucketFailure } from "./bucket/bucketFailure.ts"
import {
  type FromWorker,
  type JobContext,
  JobFailed,
  type JobName,
  type JobProgress,
  type Step,
} from "./jobs/Jobs.ts"
import { jobs } from "./jobTable.ts"

const standardOutput = 1
const answersPipe = 3
const progressEveryMs = 100

const tell = (message: FromWorker): void => {
  writeSync(standardOutput, `${JSON.stringify(message)}\n`)
}

const waiting = new Map<string, (answer: unknown) => void>()
let asked = 0
const answers = createInterface({ input: new Socket({ fd: answersPipe }) })
answers.on("line", (line) => {
  const { answer, id } = JSON.parse(line)
  waiting.get(id)?.(answer)
  waiting.delete(id)
})
answers.on("close", () => process.kill(process.pid, "SIGKILL"))

const ask = (step: Step): Effect.Effect<unknown> =>
  Effect.callback((resume) => {
    const id = `${process.pid}-${++asked}`
    waiting.set(id, (answer) => resume(Effect.succeed(answer)))
    tell({ ask: step, id })
  })

let toldAt = 0
const progress = (at: JobProgress): void => {
  const now = performance.now()
  if (now - toldAt < progressEveryMs && at.done < at.total) return
  toldAt = now
  tell({ progress: at })
}

const failure = (error: unknown): JobFailed => {
  if (error instanceof JobFailed) return error
  if (error instanceof Unavailable || (error instanceof DiskError && isFull(error))) {
    return new JobFailed({ kind: "noSpace", detail: "There is no space left" })
  }
  if (error instanceof BucketError) return bucketFailure(error)
  if (error instanceof Broken) return new JobFailed({ kind: "damaged", detail: error.message })
  return new JobFailed({
    kind: "failed",
    detail: error instanceof Error ? error.message : String(error),
  })
}

const { input, name } = JSON.parse(process.argv[2]!) as { name: JobName; input: never }
const job = jobs[name] as (
  input: never,
  context: JobContext,
) => Effect.Effect<unknown, unknown, Scope.Scope>
const exit = await Effect.runPromiseExit(
  Effect.scoped(job(input, { ask, progress })).pipe(Effect.provide(Logger.layer([]))),
)
const found = exit._tag === "Success" ? undefined : Cause.findError(exit.cause)
if (exit._tag === "Success") tell({ result: exit.value })
else {
  const error =
    found !== undefined && Result.isSuccess(found) ? found.success : Cause.squash(exit.cause)
  const { detail, kind } = failure(error)
  tell({ failed: { kind, detail } })
}
process.exit(0)
