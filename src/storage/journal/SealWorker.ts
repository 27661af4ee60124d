/** The thread that works on one sealed segment (`SealThread.ts`). */
import { parentPort, workerData } from "node:worker_threads"
import { Effect } from "effect"
import { nodeDisk } from "../disk/NodeDisk.ts"
import { segmentWorkOn } from "./Seal.ts"
import type { SegmentWorkOutcome } from "./SealThread.ts"

const outcome = segmentWorkOn(nodeDisk)(workerData).pipe(
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
)

parentPort!.postMessage(await Effect.runPromise(outcome))
