/** The thread that works on sealed segments (`SealThread.ts`). */
import { Effect } from "effect"
import { answerQuestions } from "../Channel.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import { type SegmentWork, segmentWorkOn } from "./Seal.ts"
import type { SegmentWorkOutcome } from "./SealThread.ts"

const work = segmentWorkOn(nodeDisk)

answerQuestions(
  (question: SegmentWork): Promise<SegmentWorkOutcome> =>
    work(question).pipe(
      Effect.match({
        onSuccess: (end): SegmentWorkOutcome => ({ kind: "done", end }),
        onFailure: (error): SegmentWorkOutcome => {
          const { path } = error
          if (error._tag === "DiskError") {
            return { kind: "disk", path, operation: error.operation, code: error.code }
          }
          const { isOther, position, words } = error
          return { kind: "fault", path, position, words, isOther }
        },
      }),
      Effect.runPromise,
    ),
)
