/** Opening a journal: recovery, then the newest segment for writing, closed with the scope. */
import { Effect, type Scope } from "effect"
import type { Disk, DiskError } from "../disk/Disk.ts"
import { Broken } from "../Storage.ts"
import { type Current, Journal, type JournalOptions } from "./Journal.ts"
import { type RecoveredJournal, recoverJournal } from "./JournalRecovery.ts"

/** The newest segment, where there is one, open for writing. */
const openNewest = Effect.fnUntraced(function* (
  disk: Disk,
  { segments }: RecoveredJournal,
): Effect.fn.Return<Current | undefined, DiskError> {
  const segment = segments.at(-1)
  if (segment === undefined) return undefined
  const file = yield* disk.open(segment.path, "write", { durable: true })
  const allocated = yield* Effect.onError(file.size, () => Effect.ignore(file.close))
  return { file, segment, end: segment.end, allocated }
})

/** Recovers the journal in `folder` and opens it for the surrounding scope. */
export const openJournal = Effect.fnUntraced(function* (
  options: JournalOptions,
): Effect.fn.Return<Journal, Broken, Scope.Scope> {
  const { disk, folder } = options
  const failed = (cause: DiskError) => new Broken({ operation: "open", cause })
  yield* Effect.mapError(disk.makeFolder(folder), failed)
  const recovered = yield* recoverJournal(disk, folder)
  const opened = Effect.gen(function* () {
    const current = yield* Effect.mapError(openNewest(disk, recovered), failed)
    const journal = new Journal(options, recovered, current)
    yield* journal.prepare
    return journal
  })
  return yield* Effect.acquireRelease(opened, (journal) => journal.close)
})
