/**
 * Group commit: records that arrive while a batch is flushed form the next batch, so one flush
 * serves many writers.
 *
 * Invariants:
 * - `append` gives a record its sequence at once. `onCommitted` gets every record, in the order of
 *   the sequences, when its batch is durable. Relaxed durability calls it before the flush.
 * - One batch is at the disk at a time, and batches go there in order. A batch is sealed, and takes
 *   no more records, at `commitBatchBytesMax` and at the end of the slab that holds its texts
 *   (`RecordBuffer`).
 * - While `commitPendingBytesMax` or more bytes are not durable, `accepting` is false and callers
 *   take no more commands. Commands accepted before are still appended.
 *
 * Delay: a batch of few records waits `commitDelayMs` for more where that pays (`CommitDelay`). A
 * batch with an urgent record waits only to the end of the turn, since the records that would
 * follow are those of another environment.
 *
 * Failures:
 * - No space, or a database that does not answer: the loop retries the batch until it succeeds.
 *   Meanwhile `stalled` is true and no command is accepted. After `stalledAnswerMs`, each retry
 *   passes the entries that `onCommitted` did not get to `onStalled`, and calls the waiters, so no
 *   caller waits longer. The records stay queued for the disk.
 * - Another server owns the journal now: `onBroken` gets `Fenced`, callers get `outcomeUnknown`, and
 *   the engine must be closed.
 * - Any other failure: `onBroken`, and no further batch is committed. The process must end.
 *
 * Ownership: this loop owns a record from its append until `onCommitted`. The texts belong to
 * `RecordBuffer`, which keeps them until a snapshot has them.
 *
 * Cost: the text of a record is written once, into `texts`, and goes to the disk from there. A
 * plain callback wakes the loop, since every record does so.
 */

import { Cause, Clock, Effect, type Scope } from "effect"
import { limits } from "../../Limits.ts"
import { Broken, brokenBy, type Fenced, Storage, type Unavailable } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { RecordBuffer } from "../records/RecordBuffer.ts"

/*
 * Whether a commit of few records waits for more before its flush, as with PostgreSQL's
 * `commit_delay`. A flush costs the processor as much for one record as for ten, and at half load
 * most of the cost of an event is its share of a flush.
 *
 * A single record does not wait: at a light load the processor has time, and callers get their
 * answers sooner. The wait pays only where records keep coming. It gains nothing where callers are
 * few, or where all of them wait for this commit. So each wait decides about the next: after a wait
 * that brought records, every commit of few records waits. After a wait that brought none, commits
 * skip the wait, twice as many each time and up to `commitDelaySkipsMax`.
 */

export class CommitDelay {
  /** How many commits skip the wait after a wait without records, and how many of them are left. */
  #skips: number = limits.commitDelaySkipsMax
  #left: number = limits.commitDelaySkipsMax

  /** Whether the next commit of few records waits. */
  isDue(): boolean {
    if (this.#left === 0) return true
    this.#left--
    return false
  }

  /** A commit has waited; `cameMore`: records came meanwhile. */
  waited(cameMore: boolean): void {
    this.#skips = cameMore ? 0 : Math.min(2 * this.#skips + 1, limits.commitDelaySkipsMax)
    this.#left = this.#skips
  }
}

export type Durability = "fsync" | "relaxed"

/** Waits for all records that were appended before it. */
export interface CommitWaiter {
  /** All these records are committed. */
  readonly committed: () => void
  /**
   * The disk has been full for too long. Returns whether it still waits: then each retry calls
   * again.
   */
  readonly stalled: () => boolean
}

export interface GroupCommit<Entry> {
  /** The sequence of the next record. */
  readonly nextSequence: number
  /** Every record up to this sequence is durable. */
  readonly durableSequence: number
  /** The disk is full or the database does not answer; the batch at the head waits. */
  readonly stalled: boolean
  /** Whether the bytes that are not durable leave room for more commands. */
  readonly accepting: boolean
  /** Bytes of entries that are not durable yet. */
  readonly pendingBytes: number
  /**
   * Queues the record whose text is `encoded`, and whose actor's record before it is `previous` (0:
   * none); returns its sequence.
   */
  readonly append: (encoded: string, previous: number, entry: Entry) => number
  /** Calls the waiter when every record appended so far is durable, at once if it already is. */
  readonly afterCommit: (waiter: CommitWaiter) => void
  /**
   * Ends when the journal has every record that `onCommitted` has had; waits only in relaxed
   * durability.
   */
  readonly written: Effect.Effect<void>
  /** Another server has taken the journal over. */
  readonly fenced: boolean
  /**
   * Ends with true when the journal has every record appended so far, or with false when the disk
   * has been full for too long.
   */
  readonly settled: Effect.Effect<boolean>
}

/** How many bytes of all engines of the process are not durable yet. */
export interface PendingBytes {
  bytes: number
}

interface GroupCommitOptions<Entry> {
  readonly durability: Durability
  /** Holds the texts of records. Its next sequence follows the last one of the storage. */
  readonly texts: RecordBuffer
  /** Shared by the engines of the process; absent: this engine is alone. */
  readonly shared?: PendingBytes
  /** Gets consecutive entries of one batch, in one turn of the event loop. */
  readonly onCommitted: (entries: ReadonlyArray<Entry>) => void
  /** Whether a batch with this record must not wait for more records. */
  readonly isUrgent?: (entry: Entry) => boolean
  /**
   * Gets entries that are not durable and whose callers have waited too long; called at each retry.
   */
  readonly onStalled: (entries: ReadonlyArray<Entry>) => void
  readonly onBroken: (cause: Broken) => void
  /** A batch is in the journal. */
  readonly onWritten?: (records: number, bytes: number, durationMs: number) => void
}

class Batch<Entry> {
  readonly firstSequence: number
  readonly entries: Array<Entry> = []
  waiters: Array<CommitWaiter> = []
  /** Bytes of its frames. */
  bytes = 0
  /** Its bytes for the journal; set when it is sealed. */
  frames: Buffer | undefined
  /** `onCommitted` has had all its entries. */
  announced = false
  /** These wait until it is in the journal. */
  writtenWaiters: Array<CommitWaiter> = []

  constructor(firstSequence: number) {
    this.firstSequence = firstSequence
  }
}

/** Starts the commit loop in the surrounding scope. */
export const makeGroupCommit = Effect.fnUntraced(function* <Entry>(
  options: GroupCommitOptions<Entry>,
): Effect.fn.Return<GroupCommit<Entry>, never, Storage | Scope.Scope> {
  const storage = yield* Storage
  const clock = yield* Clock.Clock
  const loop = new CommitLoop(options, storage, clock)
  // Finalizers run newest first: this one runs after the loop has ended, when no batch is at the
  // disk.
  yield* Effect.addFinalizer(() => Effect.sync(() => loop.release()))
  yield* loop.run.pipe(
    Effect.catchCause((cause) =>
      Effect.sync(() => {
        if (Cause.hasInterruptsOnly(cause)) return
        options.onBroken(brokenBy("commit", cause))
      }),
    ),
    Effect.forkScoped,
  )
  return loop
})

/** The state of a group commit, with the loop that writes its batches. */
class CommitLoop<Entry> implements GroupCommit<Entry> {
  durableSequence: number
  pendingBytes = 0
  stalled = false
  fenced = false
  private readonly options: GroupCommitOptions<Entry>
  private readonly storage: Storage["Service"]
  private readonly clock: Clock.Clock
  private readonly texts: RecordBuffer
  private readonly shared: PendingBytes
  private readonly delay = new CommitDelay()
  /** The batch that takes the next record. */
  private collecting: Batch<Entry>
  /** Batches that take no more records and wait for the disk. */
  private readonly sealed: Array<Batch<Entry>> = []
  /** The batch at the disk. */
  private flushing: Batch<Entry> | undefined
  private wake: (() => void) | undefined

  constructor(options: GroupCommitOptions<Entry>, storage: Storage["Service"], clock: Clock.Clock) {
    this.options = options
    this.storage = storage
    this.clock = clock
    this.texts = options.texts
    this.shared = options.shared ?? { bytes: 0 }
    this.durableSequence = storage.lastSequence
    this.collecting = new Batch(options.texts.nextSequence)
  }

  get nextSequence() {
    return this.texts.nextSequence
  }

  get accepting() {
    return this.shared.bytes < limits.commitPendingBytesMax
  }

  // Callers pass `append` and `afterCommit` on without their object.
  readonly append = (encoded: string, previous: number, entry: Entry): number => {
    if (this.collecting.entries.length > 0 && !this.texts.hasRoom(encoded)) this.seal()
    const sequence = this.texts.nextSequence
    const added = this.texts.append(encoded, previous)
    this.collecting.entries.push(entry)
    this.collecting.bytes += added
    this.pendingBytes += added
    this.shared.bytes += added
    if (this.collecting.bytes >= limits.commitBatchBytesMax) this.seal()
    if (this.wake !== undefined) {
      this.wake()
      this.wake = undefined
    }
    return sequence
  }

  readonly afterCommit = (waiter: CommitWaiter): void => {
    const last = this.latest()
    if (last === undefined || last.announced) waiter.committed()
    else last.waiters.push(waiter)
  }

  readonly written = Effect.callback<void>((resume) => {
    const committed = () => resume(Effect.void)
    // With fsync durability, `onCommitted` gets a record only after the journal has it.
    if (this.options.durability === "relaxed" && this.flushing !== undefined) {
      this.flushing.writtenWaiters.push({ committed, stalled: () => true })
    } else committed()
  })

  readonly settled = Effect.callback<boolean>((resume) => {
    const last = this.latest()
    if (last === undefined) return resume(Effect.succeed(true))
    last.writtenWaiters.push({
      committed: () => resume(Effect.succeed(true)),
      stalled: () => {
        resume(Effect.succeed(false))
        return false
      },
    })
  })

  /** Subtracts this engine's bytes from the count that all engines share. */
  release(): void {
    this.shared.bytes -= this.pendingBytes
  }

  readonly run: Effect.Effect<never, unknown> = Effect.gen({ self: this }, function* () {
    while (true) {
      yield* this.collect
      if (this.sealed.length === 0) this.seal()
      yield* this.flush(this.sealed.shift()!)
    }
  })

  private seal(): void {
    this.collecting.frames = this.texts.framesFrom(this.collecting.firstSequence)
    this.sealed.push(this.collecting)
    this.collecting = new Batch(this.texts.nextSequence)
  }

  /** The batch with the latest record; `undefined`: the journal has every record. */
  private latest(): Batch<Entry> | undefined {
    if (this.collecting.entries.length > 0) return this.collecting
    return this.sealed[this.sealed.length - 1] ?? this.flushing
  }

  private hasPending(): boolean {
    return this.sealed.length > 0 || this.collecting.entries.length > 0
  }

  private isUrgent(): boolean {
    const { isUrgent } = this.options
    return isUrgent !== undefined && this.collecting.entries.some(isUrgent)
  }

  private readonly pending = Effect.callback<void>((resume) => {
    if (this.hasPending()) resume(Effect.void)
    else this.wake = () => resume(Effect.void)
  })

  /**
   * Waits for the first record, then for more: while each turn of the event loop brings records,
   * they join the batch. Turns can be long, so the wait ends after `commitCollectMs`.
   */
  private readonly collect = Effect.gen({ self: this }, function* () {
    const slept = !this.hasPending()
    yield* this.pending
    const wokenAt = performance.now()
    for (let turn = 0; turn < limits.commitTurnsMax && this.sealed.length === 0; turn++) {
      // The first record wakes the loop before the other records of its turn are appended.
      if ((turn > 0 || !slept) && this.isUrgent()) break
      const before = this.collecting.entries.length
      yield* yieldToEventLoop
      if (this.collecting.entries.length === before) break
      if (performance.now() - wokenAt >= limits.commitCollectMs) break
    }
    const { length } = this.collecting.entries
    const few = length >= limits.commitDelayRecordsMin && length < limits.commitDelayRecordsMax
    if (this.sealed.length === 0 && few && !this.isUrgent() && this.delay.isDue()) {
      yield* pause
      this.delay.waited(this.sealed.length > 0 || this.collecting.entries.length > length)
    }
  })

  private readonly flush = Effect.fnUntraced({ self: this }, function* (batch: Batch<Entry>) {
    const { durability, onWritten } = this.options
    this.flushing = batch
    if (durability === "relaxed") yield* this.announce(batch)
    const startedAt = performance.now()
    yield* this.write(batch)
    onWritten?.(batch.entries.length, batch.bytes, performance.now() - startedAt)
    this.pendingBytes -= batch.bytes
    this.shared.bytes -= batch.bytes
    if (durability === "fsync") yield* this.announce(batch)
    this.flushing = undefined
    for (const waiter of batch.writtenWaiters) waiter.committed()
  })

  private readonly announce = Effect.fnUntraced({ self: this }, function* (batch: Batch<Entry>) {
    const { entries, firstSequence } = batch
    const most = limits.commitTurnRecordsMax
    for (let from = 0; from < entries.length; from += most) {
      if (from > 0) yield* yieldToEventLoop
      const slice = entries.length <= most ? entries : entries.slice(from, from + most)
      this.durableSequence = firstSequence + from + slice.length - 1
      this.options.onCommitted(slice)
    }
    batch.announced = true
    for (const waiter of batch.waiters) waiter.committed()
  })

  /**
   * Writes a batch to the journal. Retries while the disk is full or the database does not answer.
   */
  private readonly write = Effect.fnUntraced({ self: this }, function* (batch: Batch<Entry>) {
    const request = {
      firstSequence: batch.firstSequence,
      count: batch.entries.length,
      frames: batch.frames!,
    }
    let stalledSince: number | undefined
    let reason: Unavailable["reason"] = "disk_full"
    while (true) {
      const refusal = yield* Effect.matchEffect(this.storage.append(request), {
        onSuccess: () => Effect.succeed(undefined),
        onFailure: (failure) => {
          if (failure._tag === "Unavailable") return Effect.succeed(failure)
          return failure._tag === "Fenced" ? this.refuseForEver(failure) : Effect.fail(failure)
        },
      })
      if (refusal === undefined) break
      reason = refusal.reason
      const now = Number(this.clock.monotonicTimeNanosUnsafe()) / 1e6
      if (stalledSince === undefined) {
        stalledSince = now
        this.stalled = true
        yield* logStall(refusal)
      }
      if (now - stalledSince >= limits.stalledAnswerMs) this.refuseWaiting(batch)
      yield* Effect.sleep(limits.unavailableRetryMs)
    }
    if (!this.stalled) return
    this.stalled = false
    yield* Effect.logInfo(
      reason === "database_away"
        ? "The journal's database answers again; accepting writes"
        : "Disk space recovered; accepting writes",
    )
  })

  /** Another server has taken the journal over: no further record of this engine enters it. */
  private readonly refuseForEver = Effect.fnUntraced({ self: this }, function* (fenced: Fenced) {
    this.stalled = true
    this.fenced = true
    this.options.onBroken(new Broken({ operation: "commit", cause: fenced }))
    while (true) {
      this.refuseWaiting(this.flushing!)
      yield* Effect.sleep(limits.unavailableRetryMs)
    }
  })

  /** Tells the callers of all records that are not durable that they have waited too long. */
  private refuseWaiting(atDisk: Batch<Entry>): void {
    for (const batch of [atDisk, ...this.sealed, this.collecting]) {
      if (!batch.announced) {
        this.options.onStalled(batch.entries)
        batch.waiters = batch.waiters.filter((waiter) => waiter.stalled())
      }
      batch.writtenWaiters = batch.writtenWaiters.filter((waiter) => waiter.stalled())
    }
  }
}

// Node's timer, not the Effect clock: under a test's virtual clock a commit would wait until the
// test moves that clock.
const pause = Effect.callback<void>((resume) => {
  const timer = setTimeout(() => resume(Effect.void), limits.commitDelayMs)
  return Effect.sync(() => clearTimeout(timer))
})

const logStall = ({ detail, operation, reason }: Unavailable) =>
  Effect.logError(
    reason === "disk_full"
      ? "Disk full: refusing writes until space is free"
      : "The journal's database does not answer: refusing writes until it does",
  ).pipe(Effect.annotateLogs({ operation, ...(detail !== undefined && { cause: detail }) }))

/**
 * The path of a durable record: each record passes these stages in this order before the next
 * record begins. Parts of the engine subscribe to a stage when they are made. Only this list states
 * the order, with the reason for each place.
 *
 * A stage runs inside the commit of a batch, for up to `commitTurnRecordsMax` records in a turn of
 * the event loop: it is synchronous, must not throw, and leaves long work to a fiber. Recovery runs
 * the stages up to `erasure` for the records that it reads from the journal.
 */
export const commitStages = [
  /** Counts, and the list of new users. No later stage reads them. */
  "counts",
  /** Keeps the answer under its key, so that no caller finds the key free. */
  "idempotency",
  /**
   * The record awaits the next snapshot, and is now the newest in the actor's list of durable
   * records.
   */
  "snapshot",
  /**
   * An erasure hides all earlier records of its user. It precedes the actor's state, so that no
   * reader finds records of a user who has no state.
   */
  "erasure",
  /**
   * The actor's durable state takes the record in, and boards and agenda follow. Later stages read
   * them.
   */
  "actor",
  /** Closes windows by the new settings of a project, and goes on with test clocks. */
  "windows",
  /** Streams and webhooks. */
  "feed",
  /** Starts the award of a badge to users who qualify already. */
  "backfills",
  /** Tests that watch. */
  "observer",
  /** The answer. It is last because the caller may resume at once, in the middle of the batch. */
  "caller",
] as const

type CommitStage = (typeof commitStages)[number]

export class CommitPipeline<Entry> {
  readonly #stages = new Map<CommitStage, (entry: Entry) => void>()
  #inOrder: ReadonlyArray<(entry: Entry) => void> = []

  /** Subscribes to a stage, which has at most one subscriber. */
  on(stage: CommitStage, run: (entry: Entry) => void): void {
    this.#stages.set(stage, run)
    this.#inOrder = commitStages.flatMap((name) => this.#stages.get(name) ?? [])
  }

  /** Runs the stages for records that are durable, in the order of their sequences. */
  readonly committed = (entries: ReadonlyArray<Entry>): void => {
    for (const entry of entries) for (const run of this.#inOrder) run(entry)
  }
}
