/**
 * The storage of one partition of a cluster: its journal is in PostgreSQL (`PgJournal`), and a data directory of this
 * machine is the copy of it, with the snapshot (`durable/DurableStorage.ts`).
 *
 * - A record is acknowledged when PostgreSQL has it. The local files follow (`Mirror`), without a flush; they are flushed before
 *   snapshot entries that rest on them are written, and every `flushedMarkMs`. So the directory is never ahead of
 *   PostgreSQL, and its snapshot never ahead of its journal: archives, checks and exports work on it as on any other.
 * - An opening compares the directory with PostgreSQL (`Lineage`). From then on it **follows**: `look` takes over what the
 *   owner has appended since, and writes nothing to PostgreSQL. `claim` makes this server the owner: it catches up, claims
 *   the partition, and takes over what the owner before it still appended. A refused claim changes nothing.
 * - A copy that is damaged, as an opening finds or as `noteDamage` said before, is moved aside and filled again.
 * - A copy that is `Outdated` cannot go on: PostgreSQL went back, or has deleted what the copy lacks. The next opening decides
 *   about it; an archive fills it where PostgreSQL alone cannot (`refill`).
 * - Another claim is noticed by the next append, and within `postgresCheckMs` without one: `onFenced`.
 * - An outage of PostgreSQL fails an append with `Unavailable`: nothing is acknowledged, the group commit repeats it. A claim waits.
 * - PostgreSQL keeps what the newest archive but one does not have, so that one damaged archive loses nothing, and all that the
 *   owner's snapshot asks to keep (`EarlierRecords` reads what the local journal lacks of it).
 * - The tables of webhooks, which the journal does not repeat, are in PostgreSQL under the same claim, and copied (`CopiedTables`).
 *
 * All state belongs to one partition; a process may have several.
 */
import path from "node:path"
import { Effect, Scope, Stream } from "effect"
import { limits } from "../../Limits.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import * as DurableStorage from "../durable/DurableStorage.ts"
import { batchRecords } from "../Frames.ts"
import type { JournalPosition } from "../journal/SegmentFormat.ts"
import {
  Broken,
  type Entry,
  Storage,
  type StorageError,
  type StoredRecord,
  Unavailable,
  webhookTables,
} from "../Storage.ts"
import { CopiedTables } from "./CopiedTables.ts"
import { EarlierRecords } from "./EarlierRecords.ts"
import { Mirror, noteDamage } from "./Mirror.ts"
import { looksDamaged, Outdated, openCopy, outdatedBy, type RefillCopy } from "./OpenCopy.ts"
import { makeOutageRetry, type Refused } from "./OutageRetry.ts"
import { type ChainedBatch, damaged, endOf, toStorageError } from "./PgBatches.ts"
import type { PgFailure } from "./PgConnection.ts"
import { type HasLock, PgJournal } from "./PgJournal.ts"
import { openSessions, type PgSessions } from "./PgPool.ts"
import { PgTables } from "./PgTables.ts"
import { migrate } from "./schema.ts"
import { nextTick } from "./ticks.ts"
import { UnflushedDisk } from "./UnflushedDisk.ts"

export interface ClusterStorageOptions<E = never> extends DurableStorage.DurableStorageOptions {
  readonly partition: number
  /** `postgres://…` */
  readonly url: string
  /** Those of the process; without them the partition has its own. */
  readonly sessions?: PgSessions
  /** The address at which other runners reach this one. */
  readonly owner: string
  /** Whether PostgreSQL has this runner's lock of the partition; without it, a claim needs no lock. */
  readonly hasLock?: HasLock
  /** This server is the owner from now on. `isOwner` asks whether no other one has claimed the partition since. */
  readonly onClaimed?: (
    claim: Pick<PgJournal, "epoch" | "isOwner" | "resume" | "spreadsProjects">,
  ) => void
  /** Where the archives end on which PostgreSQL may rely, oldest first; those of other journals do no harm. */
  readonly archives?: Effect.Effect<ReadonlyArray<JournalPosition>>
  /** Fills a copy that PostgreSQL alone cannot fill; without it such an opening is refused. */
  readonly refill?: RefillCopy<E>
  /** Whether this server is fit to take over, judged by the records so far: a failure ends the start, and claims nothing. */
  readonly beforeClaim?: (storage: Storage["Service"]) => Effect.Effect<void, E>
  /** Another server has claimed the partition. */
  readonly onFenced?: () => void
  /** Progress of a start: waiting for PostgreSQL, or records that are caught up. */
  readonly onWaiting?: (why: string) => void
  readonly onCatchingUp?: (done: number, total: number) => void
}

type Failure = StorageError | Refused

/** Takes the next records of the journal, in order. */
export type Fold<E> = (records: ReadonlyArray<StoredRecord>) => Effect.Effect<void, E>

/** How far a copy has followed. */
export interface FollowProgress {
  /** The last record that it has. */
  readonly lastSequence: number
  /** The last record that PostgreSQL had at the last look. */
  readonly seen: number
  /** A claim was begun, or an interruption has left a part of a change: the copy cannot go on following. */
  readonly isTorn: boolean
}

export interface FollowedStorage<E = never> extends DurableStorage.OpenedStorage {
  /** The files are damaged: nothing more is written to them, and the next opening fills others. */
  readonly noteDamage: (words: string) => void
  readonly progress: () => FollowProgress
  /** Takes over what PostgreSQL has beyond the copy now. Fails with `Unavailable` while PostgreSQL does not answer. */
  readonly look: <F>(fold: Fold<F>) => Effect.Effect<void, StorageError | Outdated | F>
  /** Makes this server the owner: from then on the storage takes appends. An interruption leaves it to be closed where it `isTorn`. */
  readonly claim: <F>(fold: Fold<F>) => Effect.Effect<void, Failure | Outdated | E | F>
}

/** Opens a copy that follows. */
export const follow = Effect.fnUntraced(function* <E = never>(
  options: ClusterStorageOptions<E>,
): Effect.fn.Return<FollowedStorage<E>, Failure | E, Scope.Scope> {
  const { hasLock, onWaiting, owner, partition, url } = options
  const directory = path.resolve(options.directory)
  const sessions = options.sessions ?? (yield* openSessions({ url }))
  const journal = new PgJournal({ sessions, partition, ...(hasLock && { hasLock }) })
  yield* Effect.addFinalizer(() => journal.settled)
  const retryOutage = makeOutageRetry(onWaiting)
  yield* retryOutage(migrate(sessions.others))
  const unflushed = new UnflushedDisk(options.disk ?? nodeDisk)
  const { flush } = unflushed
  // The flushes that callers wait for are those of PostgreSQL.
  const local = { ...options, directory, disk: unflushed.disk, flush, metrics: undefined }
  const onFlushed = options.metrics && DurableStorage.flushesOf(options.metrics)
  const { lineage, opened } = yield* openCopy(local, journal, retryOutage)
  const { storage: files } = opened
  const scope = yield* Effect.scope

  /** Where the copy ends; once this server is the owner, where it began to write. */
  let end = opened.position()
  let seen = end.lastSequence
  let isOwner = false
  let isTorn = false
  let isDamaged = false
  const mirror = new Mirror(files, end.lastSequence)
  const records = new EarlierRecords({
    files: { firstSequence: files.firstSequence, readRecords: mirror.readRecords },
    journal,
    lineage,
    partition,
  })
  yield* mirror.start
  yield* Effect.addFinalizer(() =>
    Effect.catch(mirror.settled, (error) =>
      Effect.logWarning("The local copy is behind PostgreSQL; the next start catches up", error),
    ),
  )
  const flushed = Effect.mapError(flush, (cause) => new Broken({ operation: "flush", cause }))
  /** Interrupted once it has begun, `change` leaves a part of itself. */
  const whole = <A, E>(change: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.onInterrupt(restore(change), () =>
        Effect.sync(() => {
          isTorn = true
        }),
      ),
    )
  const writeFiles = (entries: Iterable<Entry>) =>
    Effect.suspend(() =>
      isDamaged ? damagedCopy : Effect.andThen(flushed, files.writeEntries(entries)),
    )
  const webhooks = new CopiedTables(
    { ...files, writeEntries: writeFiles },
    new PgTables(sessions.others, partition),
  )
  /** What the owner writes to them rests on records that the files may not have yet. */
  const followWebhooks = Effect.andThen(mirror.settled, whole(webhooks.follow))
  let webhooksFollowedAt = Number.NEGATIVE_INFINITY
  /** Of PostgreSQL's tables, before they were followed; `undefined`: there were none. */
  let webhooksState: string | undefined
  const storage = Storage.of({
    ...files,
    get lastSequence() {
      return end.lastSequence
    },
    append: (batch) => {
      if (!isOwner) return notOwner
      if (mirror.failure !== undefined) return Effect.fail(mirror.failure)
      if (mirror.isFull)
        return Effect.fail(new Unavailable({ operation: "mirror", reason: "disk_full" }))
      const startedAt = performance.now()
      return journal.append(batch, (appended) => {
        onFlushed?.(performance.now() - startedAt)
        mirror.add(appended)
      })
    },
    firstSequence: records.firstSequence,
    readRecords: records.readRecords,
    writeEntries: (entries) =>
      Effect.andThen(
        mirror.settled,
        ofWebhooks(entries) ? webhooks.write(entries) : writeFiles(entries),
      ),
    prune: (sequence, closeThrough) =>
      Effect.andThen(
        files.prune(sequence, closeThrough),
        Effect.suspend(() =>
          isOwner ? pruned(journal, options, sequence, records.loses) : Effect.void,
        ),
      ),
  })

  const add = Effect.fnUntraced(function* <F>(batches: ReadonlyArray<ChainedBatch>, fold: Fold<F>) {
    for (const batch of batches) {
      // Records that are folded are in the files, or on the way there: a full disk is waited for.
      while (mirror.isFull && mirror.failure === undefined) yield* Effect.sleep(mirrorWaitMs)
      if (mirror.failure !== undefined) return yield* mirror.failure
      const records = batchRecords(batch, batch.firstSequence)
      if (records === undefined) return yield* damaged(`record ${batch.firstSequence} is cut`)
      yield* whole(
        Effect.suspend(() => {
          mirror.add(batch)
          end = endOf(batch)
          return fold(records)
        }),
      )
    }
  })

  const failed = Effect.mapError((failure: PgFailure) => toStorageError("read", failure))
  const replaced = new Outdated({ words: "PostgreSQL has the journal of another cluster" })
  const insistLineage = Effect.flatMap(failed(journal.read), (remote) =>
    remote?.lineage === lineage ? Effect.void : Effect.fail(replaced),
  )

  /** Takes over the batches up to `last`, which PostgreSQL has. */
  const takeThrough = <F>(
    last: number,
    fold: Fold<F>,
  ): Effect.Effect<void, StorageError | Outdated | F> =>
    end.lastSequence >= last
      ? Effect.void
      : journal.readBatches(end).pipe(
          Stream.takeUntil((batches) => endOf(batches.at(-1)!).lastSequence >= last),
          Stream.runForEach((batches) => add(batches, fold)),
          Effect.tapError((error) => (looksDamaged(error) ? insistLineage : Effect.void)),
        )

  const look = Effect.fnUntraced(function* <F>(
    fold: Fold<F>,
  ): Effect.fn.Return<void, StorageError | Outdated | F> {
    const remote = yield* failed(journal.read)
    const why = outdatedBy({ ...end, lineage }, remote)
    if (why !== undefined || remote === undefined) return yield* new Outdated({ words: why ?? "" })
    seen = remote.lastSequence
    records.begins(remote.firstSequence)
    yield* takeThrough(seen, fold)
    if (performance.now() - webhooksFollowedAt < limits.followWebhooksMs) return
    const tables = yield* failed(sessions.rows.tables(partition))
    const state = tables && `${tables.claim} ${tables.changes}`
    webhooksFollowedAt = performance.now()
    if (state === webhooksState) return
    const isFollowed = yield* followWebhooks.pipe(
      Effect.as(true),
      Effect.catchTag("PgFailure", (failure) => Effect.fail(toStorageError("read", failure))),
      // The next look tries again: until then a full disk costs the follower its webhooks, not its place.
      Effect.catchIf(isFullDisk, () => Effect.succeed(false)),
    )
    if (isFollowed) webhooksState = state
  })

  const claim = Effect.fnUntraced(function* <F>(
    fold: Fold<F>,
  ): Effect.fn.Return<void, Failure | Outdated | E | F> {
    const total = (yield* retryOutage(journal.read))?.lastSequence ?? 0
    const reported: Fold<F> = (records) =>
      Effect.tap(fold(records), () =>
        Effect.sync(() => options.onCatchingUp?.(end.lastSequence, total)),
      )
    yield* retryOutage(look(reported))
    // Most of it before the claim, while another server still answers.
    yield* retryOutage(followWebhooks)
    if (options.beforeClaim !== undefined) yield* options.beforeClaim(storage)
    isTorn = true
    const claimed = yield* retryOutage(journal.claim(owner, lineage))
    if (claimed === undefined) return yield* replaced
    yield* retryOutage(Effect.suspend(() => takeThrough(claimed.lastSequence, fold)))
    if (!isSame(end, claimed)) {
      return yield* damaged(
        `it ends with record ${end.lastSequence} instead of ${claimed.lastSequence}`,
      )
    }
    yield* retryOutage(webhooks.claim(journal.epoch))
    yield* retryOutage(followWebhooks)
    yield* Scope.addFinalizer(scope, webhooks.settled)
    isOwner = true
    yield* Effect.logInfo("Claimed the partition").pipe(
      Effect.annotateLogs({
        partition,
        epoch: journal.epoch,
        lastSequence: claimed.lastSequence,
      }),
    )
    options.onClaimed?.(journal)
    yield* Effect.provideService(watch(journal, options.onFenced), Scope.Scope, scope)
  })

  return {
    ...opened,
    storage,
    noteDamage: (words: string) => {
      isDamaged = true
      noteDamage(directory, words)
    },
    progress: () => ({ lastSequence: end.lastSequence, seen, isTorn }),
    look,
    claim,
  }
})

/** Whether these are entries of webhooks, which are written by themselves, and never packed. */
const ofWebhooks = (entries: Iterable<Entry>): entries is ReadonlyArray<Entry> =>
  Array.isArray(entries) && entries.some(({ table }) => webhookTables.includes(table))

/** Whether the disk of this machine is full. */
const isFullDisk = (error: StorageError | PgFailure): error is Unavailable =>
  error._tag === "Unavailable" && error.reason === "disk_full"

const damagedCopy = Effect.fail(
  new Broken({ operation: "writeEntries", cause: new Error("the local copy is damaged") }),
)

const notOwner = Effect.fail(new Broken({ operation: "append", cause: new Error("not the owner") }))

/** How long a batch from PostgreSQL waits for the local disk before it looks again. */
const mirrorWaitMs = 10

/** Notices another owner without an append. */
const watch = (
  journal: PgJournal,
  onFenced: (() => void) | undefined,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.forkScoped(
      Effect.gen(function* () {
        while (yield* Effect.orElseSucceed(journal.isOwner, () => true)) {
          yield* nextTick(limits.postgresCheckMs)
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
  loses: (sequence: number) => void,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const covered = yield* coveredThrough(journal, yield* archives)
    const below = Math.min(sequence, covered + 1)
    if (below <= 1) return
    loses(below)
    yield* journal.prune(below)
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
