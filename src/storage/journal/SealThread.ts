/**
 * Does the work on sealed segments in a thread of its own (`SealWorker.ts`), one piece of work of
 * the process at a time, so that sealing costs the event loop nothing. A thread ends with its work:
 * a full segment is rare, and an idle thread takes some 20 MB.
 */
import { Worker } from "node:worker_threads"
import { Effect, Semaphore } from "effect"
import { type Disk, DiskError } from "../disk/Disk.ts"
import { type DoSegmentWork, type SegmentWork, segmentWorkOn } from "./Seal.ts"
import { SealedFault } from "./SealedFile.ts"
import type { JournalPosition } from "./SegmentFormat.ts"

/** What the thread answers. Errors come as their fields, since threads share no classes. */
export type SegmentWorkOutcome =
  | { readonly kind: "done"; readonly end: JournalPosition }
  | Fields<"disk", DiskError, "operation" | "path" | "code">
  | Fields<"fault", SealedFault, "path" | "position" | "words" | "isOther">

type Fields<Kind extends string, A, Names extends keyof A> = { readonly kind: Kind } & {
  readonly [Name in Names]: A[Name]
}

const one = Semaphore.makeUnsafe(1)

/** Does the work; an interruption waits for its end. */
export const workInThread: DoSegmentWork = (work) =>
  Semaphore.withPermit(one, Effect.uninterruptible(Effect.flatMap(answerTo(work), resultOf)))

/** In a thread for the real disk (`undefined`), in this thread for any other. */
export const segmentWorkOf = (disk: Disk | undefined): DoSegmentWork =>
  disk === undefined ? workInThread : segmentWorkOn(disk)

const answerTo = (work: SegmentWork): Effect.Effect<SegmentWorkOutcome> =>
  Effect.callback((resume) => {
    const worker = new Worker(new URL("./SealWorker.ts", import.meta.url), { workerData: work })
    let outcome: SegmentWorkOutcome | undefined
    worker.on("message", (answer: SegmentWorkOutcome) => {
      outcome = answer
    })
    worker.on("error", (cause) => resume(Effect.die(cause)))
    worker.on("exit", (code) => {
      const gone = Effect.die(new Error(`the thread that seals segments exited with ${code}`))
      resume(outcome === undefined ? gone : Effect.succeed(outcome))
    })
  })

const resultOf = (
  outcome: SegmentWorkOutcome,
): Effect.Effect<JournalPosition, DiskError | SealedFault> => {
  switch (outcome.kind) {
    case "done":
      return Effect.succeed(outcome.end)
    case "disk":
      return Effect.fail(new DiskError(outcome))
    case "fault":
      return Effect.fail(new SealedFault(outcome))
  }
}
