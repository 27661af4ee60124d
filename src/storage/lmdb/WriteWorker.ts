/**
 * The thread that writes an LMDB environment (`WriteThread.ts`): one slice after another, each in a
 * transaction that is flushed when it returns. Does not load Effect, so that it starts fast.
 */
import { workerData } from "node:worker_threads"
import { answerQuestions } from "../Channel.ts"
import { EntrySlice, type SharedSlice } from "../EntryBlock.ts"
import { openTables, openWritable } from "./environment.ts"
import { OpeningLock } from "./OpeningLock.ts"
import { putEntries } from "./Sums.ts"
import { asFault, type WriteOutcome, type WriteSettings } from "./WriteThread.ts"

const { folder, mapBytes, sums: first }: WriteSettings = workerData
const lock = OpeningLock.open(folder)
const root = openWritable(folder, mapBytes)
const tables = lock.hold(() => openTables(root))
/** The sums after the last transaction. */
let sums = first

const write = (slice: SharedSlice): WriteOutcome => {
  try {
    sums = lock.hold(() =>
      root.transactionSync(() => putEntries(root, tables, sums, EntrySlice.from(slice))),
    )
    return { sums }
  } catch (error) {
    return asFault(error)
  }
}

answerQuestions(write, async () => {
  await root.close()
  await lock.close()
})
