/**
 * Group commit: records that arrive while a batch is being flushed form the next one, so that one flush
 * serves many writers.
 *
 * - `append` gives a record its place at once; `onCommitted` gets it, in order, when its batch is durable: up to
 *   `commitTurnRecordsMax` records in a turn of the event loop, so that a large batch does not hold it.
 * - One batch is at the disk at a time. A batch is sealed at `commitBatchBytesMax`, and at the end of the slab that has
 *   its texts (`RecordBuffer`). From `commitPendingBytesMax` not yet durable bytes on, `accepting` is false and callers
 *   take no more commands; those already accepted are still appended.
 * - A batch of few records waits `commitDelayMs` for more where that helps (`CommitDelay`). A batch with an urgent record
 *   waits for nothing beyond the turn: the next records are those of another environment, turn after turn.
 * - No space, or a database that does not answer: the batch at the head is retried until it succeeds; meanwhile `stalled` is true and no command is taken.
 *   After `stalledAnswerMs`, at each retry, `onStalled` gets the entries that were not handed to `onCommitted`, and the
 *   waiters are called: no caller waits longer for a full disk. The records still go to the disk.
 * - Another server has the journal: `onBroken` with `Fenced`, no caller gets an outcome, and the engine is to be closed.
 * - Any other failure: `onBroken`, and no further batch is committed. The process must end.
 * - Relaxed durability hands a batch to `onCommitted` before the flush.
 *
 * Cost: each record is written once, into `texts`, and goes to the disk from there. The wake-up of the loop is a plain
 * callback, since every record passes it.
 */

import { Cause, Clock, Effect, type Scope } from "effect"
import { limits } from "../../Limits.ts"
import { Broken, brokenBy, type Fenced, type NoSpace, Storage } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { RecordBuffer } from "../records/RecordBuffer.ts"

/*
 * Whether a commit of few records waits for more before its flush (`commit_delay` of PostgreSQL): a flush costs the
 * processor as much for one record as for ten, and at half load most of what an event costs is its share of a flush.
 *
 * A record alone does not wait: at a light load the processor has time, and callers get their answers sooner. The wait
 * pays only where records keep coming. It gains nothing where all callers wait for this very commit, or where they
 * are few. So each wait decides about the next: after one that brought records every such commit waits; after one
 * that brought none the next commits do not, up to `commitDelaySkipsMax`, twice as many each time.
 */

export class CommitDelay {
  /** Commits without a wait after the next one, and those left of them. */
  #skips: number = limits.commitDelaySkipsMax
  #left: number = limits.commitDelaySkipsMax

  /** Whether the next commit, of few records, waits. */
  isDue(): boolean {
    if (this.#left === 0) return true
    this.#left--
    return false
  }

  /** A commit waited, and records came meanwhile or not. */
  waited(cameMore: boolean): void {
    this.#skips = cameMore ? 0 : Math.min(2 * this.#skips + 1, limits.commitDelaySkipsMax)
    this.#left = this.#skips
  }
}

export type Durability = "fsync" | "relaxed"

/** Waits for all records appended before. */
export interface CommitWaiter {
  /** All of it is committed. */
  readonly committed: () => void
  /** The disk has been full for too long. Returns whether to wait on: then the next retry calls again. */
  readonly stalled: () => boolean
}

export interface GroupCommit<Entry> {
  /** The sequence that the next append gets. */
  readonly nextSequence: number
  /** Everything up to here is durable. */
  readonly durableSequence: number
  /** The disk is full, or the database away; the batch at the head waits. */
  readonly stalled: boolean
  /** Whether there is room for another record. */
  readonly accepting: boolean
  /** Bytes of entries that are not durable yet. */
  readonly pendingBytes: number
  /** Queues the record whose text is `encoded`; returns its sequence. */
  readonly append: (encoded: string, entry: Entry) => number
  /** Calls the waiter when everything appended so far is durable; at once if it is. */
  readonly afterCommit: (waiter: CommitWaiter) => void
  /** Ends when all that was handed to `onCommitted` is in the journal: at once, but for relaxed durability. */
  readonly written: Effect.Effect<void>
  /** Another server has the journal. */
  readonly fenced: boolean
  /** Ends when everything appended so far is in the journal: true; or when the disk has been full for too long: false. */
  readonly settled: Effect.Effect<boolean>
}

/** Bytes that are not durable yet, of all engines of the process. */
export interface PendingBytes {
  bytes: number
}

export interface GroupCommitOptions<Entry> {
  readonly durability: Durability
  /** Where the texts of records stay; the next one there is the one after the last of the storage. */
  readonly texts: RecordBuffer
  /** Shared with other engines; absent: this one is alone. */
  readonly shared?: PendingBytes
  /** Consecutive entries of one batch, in one turn of the event loop. */
  readonly onCommitted: (entries: ReadonlyArray<Entry>) => void
  /** Whether the record must not wait until the batch has more. */
  readonly isUrgent?: (entry: Entry) => boolean
  /** The callers of these entries, which are not durable, have waited too long for space. Called again as long as they wait. */
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
  /** As soon as it is sealed. */
  frames: Buffer | undefined
  /** All of it was handed to `onCommitted`. */
  announced = false
  /** Those who wait until it is in the journal. */
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
  // Finalizers run newest first: this one runs after the loop has ended, when nothing is on its way
  // to the disk.
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

/** The state of a group commit, and the loop that writes its batches. */
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

  // Callers pass these two on without their object.
  readonly append = (encoded: string, entry: Entry): number => {
    if (this.collecting.entries.length > 0 && !this.texts.hasRoom(encoded)) this.seal()
    const sequence = this.texts.nextSequence
    const added = this.texts.append(encoded)
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
    // With fsync durability, only what is in the journal reaches `onCommitted`.
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

  /** Returns this engine's share of the bytes that all engines count together. */
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

  /** The batch of the latest record that is not in the journal. */
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
   * they join the batch. Turns can be long, so the waiting ends after `commitCollectMs`.
   */
  private readonly collect = Effect.gen({ self: this }, function* () {
    const slept = !this.hasPending()
    yield* this.pending
    const wokenAt = performance.now()
    for (let turn = 0; turn < limits.commitTurnsMax && this.sealed.length === 0; turn++) {
      // The first record wakes the loop before the other records of its turn have arrived.
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

  /** Writes a batch to the journal. Retries while the disk is full or the database is away. */
  private readonly write = Effect.fnUntraced({ self: this }, function* (batch: Batch<Entry>) {
    const request = {
      firstSequence: batch.firstSequence,
      count: batch.entries.length,
      frames: batch.frames!,
    }
    let stalledSince: number | undefined
    let hadOutage = false
    while (true) {
      const refusal = yield* Effect.matchEffect(this.storage.append(request), {
        onSuccess: () => Effect.succeed(undefined),
        onFailure: (failure) => {
          if (failure._tag === "NoSpace") return Effect.succeed(failure)
          return failure._tag === "Fenced" ? this.refuseForEver(failure) : Effect.fail(failure)
        },
      })
      if (refusal === undefined) break
      hadOutage = refusal.outage !== undefined
      const now = Number(this.clock.monotonicTimeNanosUnsafe()) / 1e6
      if (stalledSince === undefined) {
        stalledSince = now
        this.stalled = true
        yield* logStall(refusal)
      }
      if (now - stalledSince >= limits.stalledAnswerMs) this.refuseWaiting(batch)
      yield* Effect.sleep(limits.noSpaceRetryMs)
    }
    if (!this.stalled) return
    this.stalled = false
    yield* Effect.logInfo(
      hadOutage
        ? "The journal's database answers again; accepting writes"
        : "Disk space recovered; accepting writes",
    )
  })

  /** Another server has the journal: records that are not in it will not enter it through this engine. */
  private readonly refuseForEver = Effect.fnUntraced({ self: this }, function* (fenced: Fenced) {
    this.stalled = true
    this.fenced = true
    this.options.onBroken(new Broken({ operation: "commit", cause: fenced }))
    while (true) {
      this.refuseWaiting(this.flushing!)
      yield* Effect.sleep(limits.noSpaceRetryMs)
    }
  })

  /** Answers the callers of all records that are not durable: the disk has been full for too long. */
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

// A timer of Node: under a virtual clock a commit would wait until a test moves the clock.
const pause = Effect.callback<void>((resume) => {
  const timer = setTimeout(() => resume(Effect.void), limits.commitDelayMs)
  return Effect.sync(() => clearTimeout(timer))
})

const logStall = ({ operation, outage }: NoSpace) =>
  Effect.logError(
    outage === undefined
      ? "Disk full: refusing writes until space is free"
      : "The journal's database does not answer: refusing writes until it does",
  ).pipe(Effect.annotateLogs({ operation, ...(outage !== undefined && { cause: outage }) }))

/**
 * The path of a durable record: named stages, in this order, for one record after the other. Parts of the
 * engine subscribe to a stage when they are made; the place of a stage, with its reason, is stated here alone.
 *
 * A stage runs inside the commit of a batch, up to `commitTurnRecordsMax` records in a turn of the event loop: it is
 * synchronous, must not throw, and leaves long work to a fiber.
 * Recovery runs the stages up to `erasure` for the records that it finds in the journal.
 */
export const commitStages = [
  /** Counts and the list of users, which no later stage reads. */
  "counts",
  /** The answer is kept under its key, so that no caller finds the key free again. */
  "idempotency",
  /** The record joins those that await the next snapshot; the actor's list of durable records begins with it. */
  "snapshot",
  /** An erasure hides all records before it: before the actor's state does, so that no reader finds one without the other. */
  "erasure",
  /** The actor's durable state follows, and with it boards and agenda. All that comes later reads it. */
  "actor",
  /** Closes windows by the new settings of a project. */
  "windows",
  /** Streams and webhooks. */
  "feed",
  /** Starts the run of a badge. */
  "backfills",
  /** Tests that watch. */
  "observer",
  /** The answer. Last, since the caller may resume at once, in the middle of the batch. */
  "caller",
] as const

export type CommitStage = (typeof commitStages)[number]

/** Called after each batch that is in the journal: how many records it has, their bytes, and how long the disk took. */
type Written = (records: number, bytes: number, durationMs: number) => void

export class CommitPipeline<Entry> {
  readonly #stages = new Map<CommitStage, (entry: Entry) => void>()
  #inOrder: ReadonlyArray<(entry: Entry) => void> = []
  readonly #whenStalled: Array<(entry: Entry) => void> = []
  readonly #whenWritten: Array<Written> = []

  /** Sets what a stage does; a stage without a subscriber does nothing. */
  on(stage: CommitStage, run: (entry: Entry) => void): void {
    this.#stages.set(stage, run)
    this.#inOrder = commitStages.flatMap((name) => this.#stages.get(name) ?? [])
  }

  /** These records are durable, in the order of their sequences. */
  readonly committed = (entries: ReadonlyArray<Entry>): void => {
    for (const entry of entries) for (const run of this.#inOrder) run(entry)
  }

  /** Calls back for each record whose caller has waited too long for a full disk, at each retry. */
  onStalled(run: (entry: Entry) => void): void {
    this.#whenStalled.push(run)
  }

  onWritten(run: Written): void {
    this.#whenWritten.push(run)
  }

  readonly stalled = (entries: ReadonlyArray<Entry>): void => {
    for (const entry of entries) for (const run of this.#whenStalled) run(entry)
  }

  readonly written: Written = (...batch) => {
    for (const run of this.#whenWritten) run(...batch)
  }
}
