/**
 * The storage of one partition of a cluster: its journal is in PostgreSQL (`PgJournal`), and a data directory of this
 * machine is the copy of it, with the snapshot (`durable/DurableStorage.ts`).
 *
 * - A record is acknowledged when PostgreSQL has it. The local files follow (`Mirror`), without a flush; they are flushed before
 *   snapshot entries that rest on them are written, and every `flushedMarkMs`. So the directory is never ahead of
 *   PostgreSQL, and its snapshot never ahead of its journal: archives, checks and exports work on it as on any other.
 * - A start compares the directory with PostgreSQL (`Lineage`) and catches up; then it claims the partition, reads
 *   what the owner before it still appended, and only then is open. A refused start claims nothing.
 * - Another claim is noticed by the next append, and within `postgresCheckMs` without one: `onFenced`.
 * - An outage of PostgreSQL fails an append with `NoSpace`: nothing is acknowledged, the group commit repeats it. A start waits.
 * - PostgreSQL keeps what the newest archive but one does not have, so that one damaged archive loses nothing, and all that the
 *   local journal keeps.
 * - The tables of webhooks, which the journal does not repeat, are in PostgreSQL under the same claim, and copied (`CopiedTables`).
 *
 * All state belongs to one partition; a process may have several.
 */
import { randomUUID } from "node:crypto"
import path from "node:path"
import { Effect, Exit, Result, Scope, Stream } from "effect"
import { limits } from "../../Limits.ts"
import { DiskError } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import * as DurableStorage from "../durable/DurableStorage.ts"
import { readLineage, writeLineage } from "../durable/LineageFile.ts"
import { scanJournal } from "../journal/JournalScan.ts"
import type { JournalPosition } from "../journal/SegmentFormat.ts"
import {
  Broken,
  type Entry,
  NoSpace,
  Storage,
  type StorageError,
  webhookTables,
} from "../Storage.ts"
import { CopiedTables, forgetMark } from "./CopiedTables.ts"
import { decideLineage } from "./Lineage.ts"
import { cutTornEnd, isRestored, moveAside } from "./LocalFiles.ts"
import { Mirror } from "./Mirror.ts"
import { type Patiently, Refused, waiting } from "./Patience.ts"
import { damaged } from "./PgBatches.ts"
import { type InPostgres, PgConnection, type PgFailure } from "./PgConnection.ts"
import { type PartitionState, PgJournal } from "./PgJournal.ts"
import { inIndexOrder, PgTables } from "./PgTables.ts"
import { migrate } from "./schema.ts"
import { UnflushedDisk } from "./UnflushedDisk.ts"

export interface ClusterStorageOptions<E = never> extends DurableStorage.DurableStorageOptions {
  /** `postgres://…` */
  readonly url: string
  readonly partition: number
  /** The address at which other runners reach this one. */
  readonly owner: string
  /** This server is the owner from now on. `isOwner` asks whether no other one has claimed the partition since. */
  readonly onClaimed?: (claim: Pick<PgJournal, "epoch" | "isOwner">) => void
  /** Where the archives end on which PostgreSQL may rely, oldest first; those of other journals do no harm. */
  readonly archives?: Effect.Effect<ReadonlyArray<JournalPosition>>
  /** Whether this server is fit to take over, judged by the records so far: a failure ends the start, and claims nothing. */
  readonly beforeClaim?: (storage: Storage["Service"]) => Effect.Effect<void, E>
  /** Another server has claimed the partition. */
  readonly onFenced?: () => void
  /** Progress of a start: waiting for PostgreSQL, or records that are caught up. */
  readonly onWaiting?: (why: string) => void
  readonly onCatchingUp?: (done: number, total: number) => void
}

type Failure = StorageError | Refused

export const open = Effect.fnUntraced(function* <E = never>(
  options: ClusterStorageOptions<E>,
): Effect.fn.Return<DurableStorage.OpenedStorage, Failure | E, Scope.Scope> {
  const { owner, partition, url } = options
  const directory = path.resolve(options.directory)
  const others = new PgConnection({ url })
  const appends = new PgConnection({ url })
  const journal = yield* Effect.acquireRelease(
    Effect.sync(() => new PgJournal({ appends, others, partition })),
    (opened) => opened.close,
  )
  // Their writes may be large: no check of the owner waits for them.
  const tables = yield* Effect.acquireRelease(
    Effect.sync(() => new PgConnection({ url, session: inIndexOrder })),
    (connection) => connection.close,
  )
  const patiently = waiting(options.onWaiting)
  yield* patiently(migrate(others))
  const unflushed = new UnflushedDisk(options.disk ?? nodeDisk)
  const { flush } = unflushed
  // The flushes that callers wait for are those of PostgreSQL.
  const local = { ...options, directory, disk: unflushed.disk, flush, metrics: undefined }
  const onFlushed = options.metrics && DurableStorage.flushesOf(options.metrics)
  const opened = yield* openCopy(local, journal, patiently)
  const { position, storage: files } = opened
  const flushed = Effect.mapError(flush, (cause) => new Broken({ operation: "flush", cause }))
  const writeFiles = (entries: Iterable<Entry>) =>
    Effect.andThen(flushed, files.writeEntries(entries))
  const webhooks = new CopiedTables(
    { ...files, writeEntries: writeFiles },
    new PgTables(tables, partition),
  )

  const report = (total: number) => () => options.onCatchingUp?.(position().lastSequence, total)
  const catchUp = (total: number) => follow(journal, opened, report(total), options.onWaiting)
  const remote = yield* patiently(journal.read)
  yield* catchUp(remote?.lastSequence ?? 0)
  // Most of it before the claim, while another server still answers.
  yield* patiently(webhooks.follow)
  if (options.beforeClaim !== undefined) {
    yield* options.beforeClaim({ ...files, lastSequence: position().lastSequence })
  }
  const end = yield* patiently(journal.claim(owner))
  yield* catchUp(end.lastSequence)
  if (!isSame(position(), end)) {
    return yield* damaged(
      `it ends with record ${position().lastSequence} instead of ${end.lastSequence}`,
    )
  }
  yield* patiently(webhooks.claim(journal.epoch))
  yield* patiently(webhooks.follow)
  yield* Effect.addFinalizer(() => webhooks.settled)
  yield* Effect.logInfo("Took the partition").pipe(
    Effect.annotateLogs({ partition, epoch: journal.epoch, lastSequence: end.lastSequence }),
  )

  options.onClaimed?.(journal)
  const mirror = new Mirror(files, end.lastSequence)
  yield* mirror.start
  yield* Effect.addFinalizer(() =>
    Effect.catch(mirror.settled, (error) =>
      Effect.logWarning("The local copy is behind PostgreSQL; the next start catches up", error),
    ),
  )
  yield* watch(journal, options.onFenced)
  const storage = Storage.of({
    ...files,
    lastSequence: end.lastSequence,
    append: (batch) => {
      if (mirror.failure !== undefined) return Effect.fail(mirror.failure)
      if (mirror.isFull) return Effect.fail(new NoSpace({ operation: "mirror" }))
      const startedAt = performance.now()
      return journal.append(batch, (appended) => {
        onFlushed?.(performance.now() - startedAt)
        mirror.add(appended)
      })
    },
    readRecords: mirror.readRecords,
    writeEntries: (entries) =>
      Effect.andThen(
        mirror.settled,
        ofWebhooks(entries) ? webhooks.write(entries) : writeFiles(entries),
      ),
    prune: (sequence, closeThrough) =>
      Effect.andThen(files.prune(sequence, closeThrough), pruned(journal, options, sequence)),
  })
  return { ...opened, storage }
})

/** Whether these are entries of webhooks, which are written by themselves, and never packed. */
const ofWebhooks = (entries: Iterable<Entry>): entries is ReadonlyArray<Entry> =>
  Array.isArray(entries) && entries.some(({ table }) => webhookTables.includes(table))

/** Opens the data directory as a copy of the partition, which is begun where there is none. */
const openCopy = Effect.fnUntraced(function* (
  options: DurableStorage.DurableStorageOptions,
  journal: PgJournal,
  patiently: Patiently,
): Effect.fn.Return<DurableStorage.OpenedStorage, Failure, Scope.Scope> {
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
    return opened
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

/** Appends to the files what PostgreSQL has beyond them. */
const follow = (
  journal: PgJournal,
  { position, storage }: DurableStorage.OpenedStorage,
  report: () => void,
  onWaiting: ((why: string) => void) | undefined,
): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    while (true) {
      const followed = Effect.suspend(() =>
        Stream.runForEach(journal.readBatches(position()), (batches) =>
          Effect.forEach(batches, (batch) => storage.append(batch), { discard: true }).pipe(
            Effect.catchTag("Fenced", (fenced) => Effect.die(fenced)),
            Effect.tap(() => Effect.sync(report)),
          ),
        ),
      )
      const result = yield* Effect.result(followed)
      if (Result.isSuccess(result)) return
      const error = result.failure
      if (error._tag !== "NoSpace" || error.outage === undefined) return yield* error
      onWaiting?.(error.outage)
      yield* Effect.sleep(limits.postgresCheckMs)
    }
  })

/** Notices another owner without an append. */
const watch = (
  journal: PgJournal,
  onFenced: (() => void) | undefined,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.forkScoped(
      Effect.gen(function* () {
        while (yield* Effect.orElseSucceed(journal.isOwner, () => true)) {
          yield* Effect.sleep(limits.postgresCheckMs)
        }
        onFenced?.()
      }),
    ),
  )

/** Removes from PostgreSQL what archives have and the local journal no longer needs. A failure is for the next time. */
const pruned = (
  journal: PgJournal,
  { archives = Effect.succeed([]) }: ClusterStorageOptions<unknown>,
  sequence: number,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const covered = yield* coveredThrough(journal, yield* archives)
    const below = Math.min(sequence, covered + 1)
    if (below > 1) yield* journal.prune(below)
  }).pipe(Effect.ignore)

/** Where the newest archive but one ends that belongs to this journal; 0: there are no two. */
const coveredThrough = Effect.fnUntraced(function* (
  journal: PgJournal,
  archives: ReadonlyArray<JournalPosition>,
): Effect.fn.Return<number, PgFailure> {
  let found = 0
  for (const { checksum, lastSequence } of archives.toReversed()) {
    if ((yield* journal.checksumBefore(lastSequence + 1)) !== checksum) continue
    if (++found === 2) return lastSequence
  }
  return 0
})

const isSame = (left: JournalPosition, right: JournalPosition): boolean =>
  left.lastSequence === right.lastSequence && left.checksum === right.checksum
