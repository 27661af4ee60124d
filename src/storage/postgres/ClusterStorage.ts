/**
 * The storage of one partition of a cluster. PostgreSQL has its journal (`PgJournal`); a data
 * directory of this machine (`durable/DurableStorage.ts`) is a copy of that journal, and has the
 * snapshot.
 *
 * - A record is acknowledged when PostgreSQL has stored it. The local files follow without a flush
 *   (`Mirror`). They are flushed before snapshot entries that depend on them are written, and every
 *   `flushedMarkMs`. So the directory is never ahead of PostgreSQL and the snapshot is never ahead
 *   of the local journal: archives, checks and exports work on the directory as on that of a single
 *   server.
 * - An opening compares the directory with PostgreSQL (`Lineage`). From then on the copy
 *   **follows**: `look` takes over the records that the owner has appended since, and writes
 *   nothing to PostgreSQL. `claim` makes this server the owner: it catches up, claims the
 *   partition, and takes over the last records of the previous owner. A refused claim changes
 *   nothing.
 * - A damaged copy is moved aside and filled again. An opening finds the damage, or `noteDamage`
 *   noted it before.
 * - An `Outdated` copy cannot continue: PostgreSQL went back, or has deleted records that the copy
 *   lacks. The next opening decides what to do; an archive fills the copy where PostgreSQL alone
 *   cannot (`refill`).
 * - The next append notices another owner, and so does a check every `postgresCheckMs`: `onFenced`.
 * - While PostgreSQL does not answer, an append fails with `Unavailable` and acknowledges nothing;
 *   the group commit repeats it. A claim waits.
 * - Local files and PostgreSQL are pruned apart. The local files keep all records, or those of some
 *   time. PostgreSQL keeps the records that the newest archive but one lacks, so that one damaged
 *   archive loses nothing, and the records that the owner's snapshot lacks; without archives it
 *   keeps all. A new copy takes the earlier records from an archive, which has the whole journal of
 *   the server that made it.
 * - The journal does not repeat the tables of webhooks. PostgreSQL has them under the same claim,
 *   and the directory has a copy (`CopiedTables`).
 *
 * All state belongs to one partition; a process may have several partitions.
 */
import path from "node:path"
import { Effect, Scope, Stream } from "effect"
import { limits } from "../../Limits.ts"
import type { OnDisk } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import * as DurableStorage from "../durable/DurableStorage.ts"
import { checkedRecords } from "../Frames.ts"
import { segmentWorkOf } from "../journal/SealThread.ts"
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
import { Mirror, noteDamage } from "./Mirror.ts"
import { looksDamaged, Outdated, openCopy, outdatedBy, type RefillCopy } from "./OpenCopy.ts"
import { makeOutageRetry, type OutageRetry, type Refused } from "./OutageRetry.ts"
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
  /** The sessions of the process; absent: the partition opens its own. */
  readonly sessions?: PgSessions
  /** The address at which other runners reach this one. */
  readonly owner: string
  /** Whether PostgreSQL has this runner's lock of the partition; absent: a claim needs no lock. */
  readonly hasLock?: HasLock
  /** This server is the owner from now on. `isOwner` asks PostgreSQL whether it still is. */
  readonly onClaimed?: (claim: Pick<PgJournal, "epoch" | "isOwner" | "resume">) => void
  /**
   * The ends of the archives, oldest first: PostgreSQL deletes records that they have. Archives of
   * other journals do no harm.
   */
  readonly archives?: Effect.Effect<ReadonlyArray<JournalPosition>>
  /**
   * Fills a copy that PostgreSQL alone cannot fill; absent: the opening of such a copy is refused.
   */
  readonly refill?: RefillCopy<E>
  /**
   * Checks by the records so far whether this server may take over. A failure ends the start before
   * the claim.
   */
  readonly beforeClaim?: (storage: Storage["Service"]) => Effect.Effect<void, E>
  /** Another server has claimed the partition. */
  readonly onFenced?: () => void
  /** Progress of a start: why it waits for PostgreSQL, and how many records it has caught up. */
  readonly onWaiting?: (why: string) => void
  readonly onCatchingUp?: (done: number, total: number) => void
}

type Failure = StorageError | Refused

/** Applies the next records of the journal, in order. */
export type Fold<E> = (records: ReadonlyArray<StoredRecord>) => Effect.Effect<void, E>

/** How far a copy has followed. */
export interface FollowProgress {
  /** The last record that it has. */
  readonly lastSequence: number
  /** The last record that PostgreSQL had at the last look. */
  readonly seen: number
  /**
   * A claim has begun, or an interruption left a part of a change: the copy cannot follow any
   * longer.
   */
  readonly isTorn: boolean
}

export interface FollowedStorage<E = never> extends DurableStorage.OpenedStorage {
  /**
   * Notes that the files are damaged: nothing more is written to them, and the next opening fills a
   * new copy.
   */
  readonly noteDamage: (words: string) => void
  readonly progress: () => FollowProgress
  /**
   * Takes over the records of PostgreSQL that the copy lacks. Fails with `Unavailable` while
   * PostgreSQL does not answer.
   */
  readonly look: <F>(fold: Fold<F>) => Effect.Effect<void, StorageError | Outdated | F>
  /**
   * Makes this server the owner: from then on the storage takes appends. After an interruption the
   * caller must close the storage if it `isTorn`.
   */
  readonly claim: <F>(fold: Fold<F>) => Effect.Effect<void, Failure | Outdated | E | F>
}

/** Opens a copy that follows. */
export const follow = Effect.fnUntraced(function* <E = never>(
  options: ClusterStorageOptions<E>,
): Effect.fn.Return<FollowedStorage<E>, Failure | E, Scope.Scope> {
  const { hasLock, onWaiting, partition, url } = options
  const directory = path.resolve(options.directory)
  const sessions = options.sessions ?? (yield* openSessions({ url }))
  const journal = new PgJournal({ sessions, partition, ...(hasLock && { hasLock }) })
  yield* Effect.addFinalizer(() => journal.settled)
  const retryOutage = makeOutageRetry(onWaiting)
  yield* retryOutage(migrate(sessions.others))
  const unflushed = new UnflushedDisk(options.disk ?? nodeDisk)
  const { flush } = unflushed
  // The metric counts the flushes that callers wait for: those of PostgreSQL.
  const workOnSegment = options.workOnSegment ?? segmentWorkOf(options.disk)
  const files = { disk: unflushed.disk, flush, workOnSegment, metrics: undefined }
  const local = { ...options, directory, ...files }
  const { lineage, opened } = yield* openCopy(local, journal, retryOutage)
  const scope = yield* Effect.scope
  const copy = new FollowingCopy(
    { ...options, directory },
    { journal, sessions, opened, lineage, flush, retryOutage, scope },
  )
  yield* copy.start
  const { claim, look, noteDamage, progress, storage } = copy
  return { ...opened, storage, noteDamage, progress, look, claim }
})

/** What a copy that follows consists of. */
interface CopyParts {
  readonly journal: PgJournal
  readonly sessions: PgSessions
  readonly opened: DurableStorage.OpenedStorage
  readonly lineage: string
  /** Flushes the local files. */
  readonly flush: OnDisk<void>
  readonly retryOutage: OutageRetry
  readonly scope: Scope.Scope
}

/** The state of an open copy. Its effects and functions are passed on without their object. */
class FollowingCopy<E> {
  readonly storage: Storage["Service"]
  readonly #options: ClusterStorageOptions<E>
  readonly #parts: CopyParts
  readonly #mirror: Mirror
  readonly #webhooks: CopiedTables
  readonly #onFlushed: ((durationMs: number) => void) | undefined
  /** The end of the copy; once this server is the owner, the position from which it appends. */
  #end: JournalPosition
  /** The last record that PostgreSQL had at the last look. */
  #seen: number
  #isOwner = false
  #isTorn = false
  #isDamaged = false
  #webhooksFollowedAt = Number.NEGATIVE_INFINITY
  /**
   * The state of PostgreSQL's tables of webhooks when they were last followed; `undefined`: there
   * were none.
   */
  #webhooksState: string | undefined

  constructor(options: ClusterStorageOptions<E>, parts: CopyParts) {
    const { opened, sessions } = parts
    const { partition } = options
    const files = opened.storage
    this.#options = options
    this.#parts = parts
    this.#onFlushed = options.metrics && DurableStorage.flushesOf(options.metrics)
    this.#end = opened.position()
    this.#seen = this.#end.lastSequence
    this.#mirror = new Mirror(files, this.#end.lastSequence)
    this.#webhooks = new CopiedTables(
      { ...files, writeEntries: this.#writeFiles },
      new PgTables(sessions.others, partition),
    )
    this.storage = this.#makeStorage(files)
  }

  /** Starts to write the local copy in the surrounding scope, whose end waits for the writes. */
  readonly start: Effect.Effect<void, never, Scope.Scope> = Effect.suspend(() =>
    Effect.andThen(
      this.#mirror.start,
      Effect.addFinalizer(() =>
        Effect.catch(this.#mirror.settled, (error) =>
          Effect.logWarning(
            "The local copy is behind PostgreSQL; the next start catches up",
            error,
          ),
        ),
      ),
    ),
  )

  readonly noteDamage = (words: string): void => {
    this.#isDamaged = true
    noteDamage(this.#options.directory, words)
  }

  readonly progress = (): FollowProgress => ({
    lastSequence: this.#end.lastSequence,
    seen: this.#seen,
    isTorn: this.#isTorn,
  })

  #makeStorage(files: Storage["Service"]): Storage["Service"] {
    const lastSequence = () => this.#end.lastSequence
    return Storage.of({
      ...files,
      get lastSequence() {
        return lastSequence()
      },
      append: this.#append,
      readRecords: this.#mirror.readRecords,
      readRecord: this.#mirror.readRecord,
      writeEntries: (entries) =>
        Effect.andThen(
          this.#mirror.settled,
          ofWebhooks(entries) ? this.#webhooks.write(entries) : this.#writeFiles(entries),
        ),
      eraseRecords: (sequences, environment) =>
        Effect.tap(files.eraseRecords(sequences, environment), (done) => {
          if (done === undefined) return Effect.void
          const { journal, lineage } = this.#parts
          const erased = sequences.filter((sequence) => sequence <= done.lastSequence)
          return journal.erase(erased, lineage)
        }),
      prune: (sequence, closeThrough, snapshotThrough = 0) =>
        Effect.andThen(files.prune(sequence, closeThrough), this.#prune(snapshotThrough + 1)),
    })
  }

  readonly #append: Storage["Service"]["append"] = (batch) => {
    if (!this.#isOwner) return notOwner
    if (this.#mirror.failure !== undefined) return Effect.fail(this.#mirror.failure)
    if (this.#mirror.isFull) {
      return Effect.fail(new Unavailable({ operation: "mirror", reason: "disk_full" }))
    }
    const startedAt = performance.now()
    return this.#parts.journal.append(batch, (appended) => {
      this.#onFlushed?.(performance.now() - startedAt)
      this.#mirror.add(appended)
    })
  }

  readonly #writeFiles = (entries: Iterable<Entry>): Effect.Effect<void, StorageError> =>
    Effect.suspend(() => {
      if (this.#isDamaged) return damagedCopy
      const { flush, opened } = this.#parts
      const flushed = Effect.mapError(flush, (cause) => new Broken({ operation: "flush", cause }))
      return Effect.andThen(flushed, opened.storage.writeEntries(entries))
    })

  /**
   * Removes records below `sequence` from PostgreSQL that archives have. Ignores failures: the next
   * call tries again.
   */
  #prune(sequence: number): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      if (!this.#isOwner) return
      const { archives = Effect.succeed([]) } = this.#options
      const { journal } = this.#parts
      const covered = yield* coveredThrough(journal, yield* archives)
      const below = Math.min(sequence, covered + 1)
      if (below <= 1) return
      yield* journal.prune(below)
    }).pipe(Effect.ignore)
  }

  /**
   * Runs `change`, and marks the copy as torn if an interruption leaves only a part of the change.
   */
  #whole<A, F>(change: Effect.Effect<A, F>): Effect.Effect<A, F> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.onInterrupt(restore(change), () =>
        Effect.sync(() => {
          this.#isTorn = true
        }),
      ),
    )
  }

  /** The tables that the owner wrote refer to records, so the files get these records first. */
  readonly #followWebhooks = Effect.suspend(() =>
    Effect.andThen(this.#mirror.settled, this.#whole(this.#webhooks.follow)),
  )

  #add<F>(
    batches: ReadonlyArray<ChainedBatch>,
    fold: Fold<F>,
  ): Effect.Effect<void, StorageError | F> {
    return Effect.gen({ self: this }, function* () {
      const mirror = this.#mirror
      for (const batch of batches) {
        // Folded records must reach the files, so this waits while the local disk is full.
        while (mirror.isFull && mirror.failure === undefined) yield* Effect.sleep(mirrorWaitMs)
        if (mirror.failure !== undefined) return yield* mirror.failure
        const records = checkedRecords(batch, batch.firstSequence)
        yield* this.#whole(
          Effect.suspend(() => {
            mirror.add(batch)
            this.#end = endOf(batch)
            return fold(records)
          }),
        )
      }
    })
  }

  /** Fails unless PostgreSQL still has the journal that the copy follows. */
  readonly #checkLineage = Effect.suspend(() =>
    Effect.flatMap(readFailed(this.#parts.journal.read), (remote) =>
      remote?.lineage === this.#parts.lineage ? Effect.void : Effect.fail(replaced),
    ),
  )

  /** Takes over the batches up to record `last`, which PostgreSQL has. */
  #takeThrough<F>(last: number, fold: Fold<F>): Effect.Effect<void, StorageError | Outdated | F> {
    return Effect.suspend(() =>
      this.#end.lastSequence >= last
        ? Effect.void
        : this.#parts.journal.readBatches(this.#end).pipe(
            Stream.takeUntil((batches) => endOf(batches.at(-1)!).lastSequence >= last),
            Stream.runForEach((batches) => this.#add(batches, fold)),
            Effect.tapError((error) => (looksDamaged(error) ? this.#checkLineage : Effect.void)),
          ),
    )
  }

  readonly look = <F>(fold: Fold<F>): Effect.Effect<void, StorageError | Outdated | F> =>
    Effect.gen({ self: this }, function* () {
      const { journal, lineage } = this.#parts
      const remote = yield* readFailed(journal.read)
      const why = outdatedBy({ ...this.#end, lineage }, remote)
      if (why !== undefined || remote === undefined)
        return yield* new Outdated({ words: why ?? "" })
      this.#seen = remote.lastSequence
      yield* this.#takeThrough(this.#seen, fold)
      yield* this.#lookAtWebhooks
    })

  /** Follows the tables of webhooks if they have changed, every `followWebhooksMs` at most. */
  readonly #lookAtWebhooks = Effect.gen({ self: this }, function* () {
    if (performance.now() - this.#webhooksFollowedAt < limits.followWebhooksMs) return
    const { rows } = this.#parts.sessions
    const tables = yield* readFailed(rows.tables(this.#options.partition))
    const state = tables && `${tables.claim} ${tables.changes}`
    this.#webhooksFollowedAt = performance.now()
    if (state === this.#webhooksState) return
    const isFollowed = yield* this.#followWebhooks.pipe(
      Effect.as(true),
      Effect.catchTag("PgFailure", (failure) => Effect.fail(toStorageError("read", failure))),
      // The next look tries again. With a full disk the copy follows records, but not webhooks.
      Effect.catchIf(isFullDisk, () => Effect.succeed(false)),
    )
    if (isFollowed) this.#webhooksState = state
  })

  readonly claim = <F>(fold: Fold<F>): Effect.Effect<void, Failure | Outdated | E | F> =>
    Effect.gen({ self: this }, function* () {
      const { beforeClaim, onCatchingUp } = this.#options
      const { journal, retryOutage } = this.#parts
      const total = (yield* retryOutage(journal.read))?.lastSequence ?? 0
      const reported: Fold<F> = (records) =>
        Effect.tap(fold(records), () =>
          Effect.sync(() => onCatchingUp?.(this.#end.lastSequence, total)),
        )
      // Catches up before the claim, while the previous owner still answers.
      yield* retryOutage(this.look(reported))
      yield* retryOutage(this.#followWebhooks)
      if (beforeClaim !== undefined) yield* beforeClaim(this.storage)
      this.#isTorn = true
      const claimed = yield* this.#claimPartition(fold)
      this.#isOwner = true
      yield* this.#announceClaim(claimed)
    })

  /** Claims the partition and takes over the last changes of the previous owner. */
  #claimPartition<F>(fold: Fold<F>): Effect.Effect<JournalPosition, Failure | Outdated | F> {
    return Effect.gen({ self: this }, function* () {
      const { journal, lineage, retryOutage, scope } = this.#parts
      const claimed = yield* retryOutage(journal.claim(this.#options.owner, lineage))
      if (claimed === undefined) return yield* replaced
      yield* retryOutage(this.#takeThrough(claimed.lastSequence, fold))
      if (!isSame(this.#end, claimed)) {
        return yield* damaged(
          `it ends with record ${this.#end.lastSequence} instead of ${claimed.lastSequence}`,
        )
      }
      yield* retryOutage(this.#webhooks.claim(journal.epoch))
      yield* retryOutage(this.#followWebhooks)
      yield* Scope.addFinalizer(scope, this.#webhooks.settled)
      return claimed
    })
  }

  #announceClaim({ lastSequence }: JournalPosition): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { onClaimed, onFenced, partition } = this.#options
      const { journal, scope } = this.#parts
      yield* Effect.logInfo("Claimed the partition").pipe(
        Effect.annotateLogs({ partition, epoch: journal.epoch, lastSequence }),
      )
      onClaimed?.(journal)
      yield* Effect.provideService(watch(journal, onFenced), Scope.Scope, scope)
    })
  }
}

/**
 * Whether these are entries of webhooks. Such a write has no other entries and is never an
 * `EntrySlice`.
 */
const ofWebhooks = (entries: Iterable<Entry>): entries is ReadonlyArray<Entry> =>
  Array.isArray(entries) && entries.some(({ table }) => webhookTables.includes(table))

/** Whether the disk of this machine is full. */
const isFullDisk = (error: StorageError | PgFailure): error is Unavailable =>
  error._tag === "Unavailable" && error.reason === "disk_full"

const damagedCopy = Effect.fail(
  new Broken({ operation: "writeEntries", cause: new Error("the local copy is damaged") }),
)

const notOwner = Effect.fail(new Broken({ operation: "append", cause: new Error("not the owner") }))

const replaced = new Outdated({ words: "PostgreSQL has the journal of another cluster" })

const readFailed = Effect.mapError((failure: PgFailure) => toStorageError("read", failure))

/** How long a batch from PostgreSQL waits for the local disk before the next check. */
const mirrorWaitMs = 10

/**
 * Calls `onFenced` when another server has claimed the partition, also if this server appends
 * nothing.
 */
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

/** The last record of the second newest archive of this journal; 0 if there are fewer than two. */
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
