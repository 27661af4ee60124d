/** Opening a journal: recovery, then the newest segment for writing, closed with the scope. */
import { Effect, type Scope } from "effect"
import type { DiskError } from "../disk/Disk.ts"
import { Broken } from "../Storage.ts"
import { type Current, Journal, type JournalOptions } from "./Journal.ts"
import { recoverJournal } from "./JournalRecovery.ts"

/** Recovers the journal in `folder` and opens it for the surrounding scope. */
export const openJournal = Effect.fnUntraced(function* (
  options: JournalOptions,
): Effect.fn.Return<Journal, Broken, Scope.Scope> {
  const { disk, folder } = options
  const failed = (cause: DiskError) => new Broken({ operation: "open", cause })
  yield* Effect.mapError(disk.makeFolder(folder), failed)
  const recovered = yield* recoverJournal(disk, folder)
  const segment = recovered.segments[recovered.segments.length - 1]
  let current: Current | undefined
  if (segment !== undefined) {
    const file = yield* Effect.mapError(disk.open(segment.path, "write", { durable: true }), failed)
    const allocated = yield* Effect.mapError(file.size, failed)
    current = { file, segment, end: segment.end, allocated }
  }
  const journal = new Journal(options, recovered, current)
  yield* Effect.acquireRelease(journal.prepare, () => journal.close)
  return journal
})
