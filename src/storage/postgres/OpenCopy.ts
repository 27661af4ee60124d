/** Opens the data directory of a partition as a copy of what PostgreSQL has, or begins the partition with it. */
import { randomUUID } from "node:crypto"
import path from "node:path"
import { Effect, Exit, Result, Scope } from "effect"
import { DiskError } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import * as DurableStorage from "../durable/DurableStorage.ts"
import { readLineage, writeLineage } from "../durable/LineageFile.ts"
import { scanJournal } from "../journal/JournalScan.ts"
import type { JournalPosition } from "../journal/SegmentFormat.ts"
import { Broken, type StorageError } from "../Storage.ts"
import { forgetMark } from "./CopiedTables.ts"
import { decideLineage } from "./Lineage.ts"
import { cutTornEnd, isRestored, moveAside } from "./LocalFiles.ts"
import { type Patiently, Refused } from "./Patience.ts"
import type { InPostgres } from "./PgConnection.ts"
import type { PartitionState, PgJournal } from "./PgJournal.ts"

type Failure = StorageError | Refused

/** An open copy. */
export interface OpenedCopy {
  readonly opened: DurableStorage.OpenedStorage
  readonly lineage: string
}

/** Opens the data directory as a copy of the partition, which is begun where there is none. */
export const openCopy = Effect.fnUntraced(function* (
  options: DurableStorage.DurableStorageOptions,
  journal: PgJournal,
  patiently: Patiently,
): Effect.fn.Return<OpenedCopy, Failure, Scope.Scope> {
  const { directory } = options
  const onDisk = Effect.mapError((cause: DiskError) => new Broken({ operation: "open", cause }))
  while (true) {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const opened = yield* Scope.provide(openFiles(options), scope)
    const lineage = yield* onDisk(readLineage(nodeDisk, directory))
    const position = opened.position()
    const remote = yield* patiently(journal.read)
    const restored = yield* onDisk(isRestored(nodeDisk, directory))
    const copy = { ...position, directory, lineage, isRestored: restored }
    const link = yield* patiently(linkAt(journal, remote, position))
    const decision = decideLineage(copy, remote, link)
    if (decision.kind === "refuse") return yield* new Refused({ words: decision.why })
    if (decision.kind === "discard") {
      yield* Scope.close(scope, Exit.void)
      const aside = yield* onDisk(moveAside(nodeDisk, directory))
      yield* Effect.logWarning("The local copy was moved aside; PostgreSQL fills a new one").pipe(
        Effect.annotateLogs({ why: decision.why, aside }),
      )
      continue
    }
    const own = remote?.lineage ?? randomUUID()
    if (remote === undefined && !(yield* begin(journal, directory, own, patiently))) {
      // Another server was faster.
      yield* Scope.close(scope, Exit.void)
      continue
    }
    if (lineage !== own) {
      yield* forgetMark(opened.storage)
      yield* onDisk(writeLineage(nodeDisk, directory, own))
    }
    return { opened, lineage: own }
  }
})

/** Opens the files; a torn end is cut off first where it keeps them from being opened. */
const openFiles = (
  options: DurableStorage.DurableStorageOptions,
): Effect.Effect<DurableStorage.OpenedStorage, Broken, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const opened = yield* Effect.result(Scope.provide(DurableStorage.open(options), scope))
    if (Result.isSuccess(opened)) return opened.success
    const error = opened.failure
    yield* Scope.close(scope, Exit.void)
    if (error.operation !== "open" || error.cause instanceof DiskError) return yield* error
    const isCut = yield* Effect.orElseSucceed(cutTornEnd(nodeDisk, options.directory), () => false)
    return yield* isCut ? DurableStorage.open(options) : error
  })

/** The checksum that PostgreSQL has where the copy ends. */
const linkAt = (
  journal: PgJournal,
  remote: PartitionState | undefined,
  { lastSequence }: JournalPosition,
): InPostgres<number | undefined> => {
  if (remote === undefined || lastSequence > remote.lastSequence) return Effect.undefined
  if (lastSequence === remote.lastSequence) return Effect.succeed(remote.checksum)
  return journal.checksumBefore(lastSequence + 1)
}

/** Makes the partition of what the directory has; false: there is one by now. */
const begin = Effect.fnUntraced(function* (
  journal: PgJournal,
  directory: string,
  lineage: string,
  patiently: Patiently,
): Effect.fn.Return<boolean, Failure> {
  const options = { disk: nodeDisk, folder: path.join(directory, "journal") }
  let records = 0
  const uploaded = journal.create(lineage, (insert) =>
    Effect.map(scanJournal(options, insert), (end) => {
      records = end.lastSequence - (end.firstSequence ?? end.lastSequence + 1) + 1
    }),
  )
  const isMade = yield* patiently(
    uploaded.pipe(
      Effect.as(true),
      Effect.catch((error) => {
        if (error._tag === "DiskError") return Effect.die(error)
        return error.code === "23505" ? Effect.succeed(false) : Effect.fail(error)
      }),
    ),
  )
  if (isMade) {
    yield* Effect.logInfo("Began the partition in PostgreSQL").pipe(
      Effect.annotateLogs({ lineage, records }),
    )
  }
  return isMade
})
