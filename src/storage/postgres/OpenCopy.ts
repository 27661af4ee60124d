/**
 * Opens the data directory of a partition as a copy of PostgreSQL's journal, or creates the
 * partition from it.
 */
import { randomUUID } from "node:crypto"
import path from "node:path"
import { Data, Effect, Exit, Option, Result, Scope, Stream } from "effect"
import { forgetRestored, noteInstalled } from "../archive/ArchiveSwap.ts"
import { DiskError, removeTree } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import * as DurableStorage from "../durable/DurableStorage.ts"
import { writeLineage } from "../durable/LineageFile.ts"
import { scanJournal } from "../journal/JournalScan.ts"
import type { JournalPosition } from "../journal/SegmentFormat.ts"
import { everyKey } from "../Keys.ts"
import { Broken, Damaged, isDamagedHere, type Storage, type StorageError } from "../Storage.ts"
import { forgetMark } from "./CopiedTables.ts"
import { decideLineage } from "./Lineage.ts"
import { copyNames, cutTornEnd, moveAside, notedDamage, originOf } from "./Mirror.ts"
import { type OutageRetry, Refused } from "./OutageRetry.ts"
import type { InPostgres } from "./PgConnection.ts"
import type { PartitionState, PgJournal } from "./PgJournal.ts"

type Failure = StorageError | Refused

/** An open copy. */
export interface OpenedCopy {
  readonly opened: DurableStorage.OpenedStorage
  readonly lineage: string
}

/** Requests an archive to fill a copy that PostgreSQL alone cannot fill. */
export interface Refill {
  /** The lineage of PostgreSQL's journal, which the restored data gets. */
  readonly lineage: string
  /** The archive must have this record or a later one. */
  readonly record: number
  /** Whether PostgreSQL has the records that follow this end of an archive. */
  readonly isFollowed: (end: JournalPosition) => Effect.Effect<boolean, Failure>
  /**
   * Moves the present data in the directory away. Before this call the directory must not change.
   */
  readonly makeRoom: Effect.Effect<void, Broken>
}

/**
 * Restores an archive into the directory of a closed copy. Succeeds with the reason if there is no
 * fitting archive.
 */
export type RefillCopy<E> = (refill: Refill) => Effect.Effect<string | undefined, Failure | E>

export interface CopyOptions<E> extends DurableStorage.DurableStorageOptions {
  readonly refill?: RefillCopy<E>
}

const onDisk = Effect.mapError((cause: DiskError) => new Broken({ operation: "open", cause }))

/** Opens the data directory as a copy of the partition. Creates the partition if there is none. */
export const openCopy = Effect.fnUntraced(function* <E>(
  options: CopyOptions<E>,
  journal: PgJournal,
  retryOutage: OutageRetry,
): Effect.fn.Return<OpenedCopy, Failure | E, Scope.Scope> {
  const { directory, refill } = options
  const fill = Effect.fnUntraced(function* (
    remote: PartitionState,
    { why, remedy }: { readonly why: string; readonly remedy: string },
    makeRoom: Effect.Effect<void, Broken>,
  ): Effect.fn.Return<void, Failure | E> {
    const isFollowed = (end: JournalPosition) =>
      Effect.gen(function* () {
        const current = yield* retryOutage(journal.read)
        return (yield* retryOutage(linkAt(journal, current, end))) === end.checksum
      })
    const wish = { lineage: remote.lineage, record: remote.firstSequence - 1, isFollowed }
    const missing = refill === undefined ? "" : yield* refill({ ...wish, makeRoom })
    if (missing === undefined) return
    const words = [why, missing, remedy].filter((part) => part !== "").join(" ")
    return yield* new Refused({ words, lacksArchive: true })
  })
  while (true) {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const noted = yield* onDisk(notedDamage(nodeDisk, directory))
    const attempt: Result.Result<DurableStorage.OpenedStorage, Broken> =
      noted === undefined
        ? yield* Effect.result(Scope.provide(openFiles(options), scope))
        : Result.fail(new Broken({ operation: "open", cause: new Damaged(noted) }))
    if (Result.isFailure(attempt)) {
      yield* Scope.close(scope, Exit.void)
      const remote = yield* replacementOf(directory, attempt.failure, journal, retryOutage)
      const words = String((attempt.failure.cause as Error).message)
      const why = `The local copy is damaged: ${words.replace(/\.?$/, ".")}`
      const makeRoom = putAside(directory, why)
      const remedy = "Restore an archive of this cluster into the directory, then start again."
      yield* remote.firstSequence > 1 ? fill(remote, { why, remedy }, makeRoom) : makeRoom
      continue
    }
    const opened = attempt.success
    const origin = yield* onDisk(originOf(nodeDisk, directory))
    const position = opened.position()
    const remote = yield* retryOutage(journal.read)
    const link = yield* retryOutage(linkAt(journal, remote, position))
    const decision = decideLineage({ ...origin, ...position, directory }, remote, link)
    if (decision.kind === "refuse") return yield* new Refused({ words: decision.why })
    if (decision.kind === "discard" || decision.kind === "refill") {
      const isEmpty = position.lastSequence === 0 && (yield* isUnused(opened.storage))
      yield* Scope.close(scope, Exit.void)
      const makeRoom = isEmpty ? removeCopy(directory) : putAside(directory, decision.why)
      if (decision.kind === "discard") {
        yield* makeRoom
        continue
      }
      yield* fill(remote!, decision, makeRoom)
      continue
    }
    const own = remote?.lineage ?? randomUUID()
    if (remote === undefined && !(yield* begin(journal, directory, own, retryOutage))) {
      // Another server was faster.
      yield* Scope.close(scope, Exit.void)
      continue
    }
    if (!origin.isNoted) {
      yield* forgetMark(opened.storage)
      // The restored copy is on PostgreSQL's chain, so the mark of the restore is removed.
      const settle =
        remote === undefined
          ? noteInstalled(nodeDisk, directory, own)
          : forgetRestored(nodeDisk, directory)
      yield* onDisk(Effect.andThen(settle, writeLineage(nodeDisk, directory, own)))
    }
    return { opened, lineage: own }
  }
})

/**
 * The partition that can replace a copy which could not be opened. Fails if the copy is not
 * damaged, or if it may have data that PostgreSQL lacks: it belongs to no cluster or to another
 * one, or it was restored.
 */
const replacementOf = Effect.fnUntraced(function* (
  directory: string,
  failure: Broken,
  journal: PgJournal,
  retryOutage: OutageRetry,
): Effect.fn.Return<PartitionState, Failure> {
  if (!isDamagedHere(failure)) return yield* failure
  const { isRestored, lineage } = yield* onDisk(originOf(nodeDisk, directory))
  if (lineage === undefined || isRestored) return yield* failure
  const remote = yield* retryOutage(journal.read)
  return remote?.lineage === lineage ? remote : yield* failure
})

/** Whether the snapshot was never written. */
const isUnused = (storage: Storage["Service"]): Effect.Effect<boolean, StorageError> =>
  Effect.map(Stream.runHead(storage.readEntries({ table: "meta", ...everyKey })), Option.isNone)

/** Removes an empty copy. */
const removeCopy = (directory: string): Effect.Effect<void, Broken> =>
  onDisk(
    Effect.forEach(copyNames, (name) => removeTree(nodeDisk, path.join(directory, name)), {
      discard: true,
    }),
  )

const putAside = Effect.fnUntraced(function* (
  directory: string,
  why: string,
): Effect.fn.Return<void, Broken> {
  const aside = yield* onDisk(moveAside(nodeDisk, directory))
  yield* Effect.logWarning("Moved the local copy aside; filling a new one").pipe(
    Effect.annotateLogs({ why, aside }),
  )
})

/** Opens the files. If a torn end prevents that, truncates it and tries again. */
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

/**
 * Creates the partition from the directory. Returns false if another server created it meanwhile.
 */
const begin = Effect.fnUntraced(function* (
  journal: PgJournal,
  directory: string,
  lineage: string,
  retryOutage: OutageRetry,
): Effect.fn.Return<boolean, Failure> {
  const options = { disk: nodeDisk, folder: path.join(directory, "journal") }
  let records = 0
  const uploaded = journal.create(lineage, (insert) =>
    Effect.map(scanJournal(options, insert), (end) => {
      records = end.lastSequence - (end.firstSequence ?? end.lastSequence + 1) + 1
    }),
  )
  const isMade = yield* retryOutage(
    uploaded.pipe(
      Effect.as(true),
      Effect.catch((error) => {
        if (error._tag === "DiskError") return Effect.die(error)
        return error.code === "23505" ? Effect.succeed(false) : Effect.fail(error)
      }),
    ),
  )
  if (isMade) {
    yield* Effect.logInfo("Created the partition in PostgreSQL").pipe(
      Effect.annotateLogs({ lineage, records }),
    )
  }
  return isMade
})

/*
 * When a copy that follows must be opened again: its journal is not the beginning of PostgreSQL's
 * journal any more.
 */

/**
 * The copy must be closed and opened again: it cannot reach the state of PostgreSQL by following.
 */
export class Outdated extends Data.TaggedError("Outdated")<{ readonly words: string }> {
  override get message(): string {
    return this.words
  }
}

/** Why a copy with this end cannot take over PostgreSQL's records; `undefined` if it can. */
export const outdatedBy = (
  { checksum, lastSequence, lineage }: JournalPosition & { readonly lineage: string },
  remote: PartitionState | undefined,
): string | undefined => {
  if (remote === undefined) return "PostgreSQL has no such partition any more"
  if (remote.lineage !== lineage) return "PostgreSQL has the journal of another cluster"
  if (remote.lastSequence < lastSequence) {
    return `the copy has record ${lastSequence}, and PostgreSQL ends with ${remote.lastSequence}`
  }
  if (remote.lastSequence === lastSequence) {
    return remote.checksum === checksum ? undefined : "the copy's last record is not PostgreSQL's"
  }
  return remote.firstSequence > lastSequence + 1
    ? `the copy ends with record ${lastSequence}, and PostgreSQL begins with ${remote.firstSequence}`
    : undefined
}

/**
 * Whether PostgreSQL's journal looks damaged. It also looks damaged if it was replaced during the
 * read.
 */
export const looksDamaged = (error: unknown): boolean =>
  error instanceof Broken && error.cause instanceof Damaged
