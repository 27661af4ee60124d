/**
 * Does the work on sealed segments in a thread (`SealWorker.ts`), one piece of work of the process
 * at a time, so that sealing costs the event loop nothing. The thread ends soon after its work: a
 * full segment is rare, and an idle thread takes some 20 MB.
 */
import { Worker } from "node:worker_threads"
import { Effect, Semaphore } from "effect"
import { limits } from "../../Limits.ts"
import { Questions } from "../Channel.ts"
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

/** Does the work in one thread; an interruption waits for its end. */
export const workInThreadOf = (startWorker: () => Worker): DoSegmentWork => {
  const thread = new Questions<SegmentWork, SegmentWorkOutcome>(startWorker, {
    idleMs: limits.sealThreadIdleMs,
  })
  const one = Semaphore.makeUnsafe(1)
  return (work) =>
    Effect.promise(() => thread.ask(work)).pipe(
      Effect.flatMap(resultOf),
      Effect.uninterruptible,
      Semaphore.withPermit(one),
    )
}

/** Does the work in the thread of the process. */
export const workInThread = workInThreadOf(
  () => new Worker(new URL("./SealWorker.ts", import.meta.url)),
)

/** In a thread for the real disk (`undefined`), in this thread for any other. */
export const segmentWorkOf = (disk: Disk | undefined): DoSegmentWork =>
  disk === undefined ? workInThread : segmentWorkOn(disk)

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
