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
import { Broken, brokenBy, type Fenced, Storage } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { RecordBuffer } from "../records/RecordBuffer.ts"
import { CommitDelay } from "./CommitDelay.ts"

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
  const { shared = { bytes: 0 }, texts } = options
  let durableSequence = storage.lastSequence
  let pendingBytes = 0
  let stalled = false
  let isFenced = false
  let collecting = new Batch<Entry>(texts.nextSequence)
  const sealed: Array<Batch<Entry>> = []
  let flushing: Batch<Entry> | undefined
  let wake: (() => void) | undefined

  // After the loop: nothing is on its way to the disk.
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      shared.bytes -= pendingBytes
    }),
  )

  const seal = () => {
    collecting.frames = texts.framesFrom(collecting.firstSequence)
    sealed.push(collecting)
    collecting = new Batch(texts.nextSequence)
  }

  /** The batch of the latest record that is not in the journal. */
  const latest = () =>
    collecting.entries.length > 0 ? collecting : (sealed[sealed.length - 1] ?? flushing)

  const commit: GroupCommit<Entry> = {
    get nextSequence() {
      return texts.nextSequence
    },
    get durableSequence() {
      return durableSequence
    },
    get stalled() {
      return stalled
    },
    get fenced() {
      return isFenced
    },
    get pendingBytes() {
      return pendingBytes
    },
    get accepting() {
      return shared.bytes < limits.commitPendingBytesMax
    },
    append(encoded, entry) {
      if (collecting.entries.length > 0 && !texts.hasRoom(encoded)) seal()
      const sequence = texts.nextSequence
      const added = texts.append(encoded)
      collecting.entries.push(entry)
      collecting.bytes += added
      pendingBytes += added
      shared.bytes += added
      if (collecting.bytes >= limits.commitBatchBytesMax) seal()
      if (wake !== undefined) {
        wake()
        wake = undefined
      }
      return sequence
    },
    afterCommit(waiter) {
      const last = latest()
      if (last === undefined || last.announced) waiter.committed()
      else last.waiters.push(waiter)
    },
    written: Effect.callback((resume) => {
      const committed = () => resume(Effect.void)
      // Else only what is in the journal is handed on.
      if (options.durability === "relaxed" && flushing !== undefined) {
        flushing.writtenWaiters.push({ committed, stalled: () => true })
      } else committed()
    }),
    settled: Effect.callback((resume) => {
      const last = latest()
      if (last === undefined) return resume(Effect.succeed(true))
      last.writtenWaiters.push({
        committed: () => resume(Effect.succeed(true)),
        stalled: () => {
          resume(Effect.succeed(false))
          return false
        },
      })
    }),
  }

  const hasPending = () => sealed.length > 0 || collecting.entries.length > 0
  const pending = Effect.callback<void>((resume) => {
    if (hasPending()) resume(Effect.void)
    else wake = () => resume(Effect.void)
  })

  const delay = new CommitDelay()
  // A timer of Node: under a virtual clock a commit would wait until a test moves the clock.
  const pause = Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), limits.commitDelayMs)
    return Effect.sync(() => clearTimeout(timer))
  })

  const announce = Effect.fnUntraced(function* (batch: Batch<Entry>) {
    const { entries, firstSequence } = batch
    const most = limits.commitTurnRecordsMax
    for (let from = 0; from < entries.length; from += most) {
      if (from > 0) yield* yieldToEventLoop
      const slice = entries.length <= most ? entries : entries.slice(from, from + most)
      durableSequence = firstSequence + from + slice.length - 1
      options.onCommitted(slice)
    }
    batch.announced = true
    for (const waiter of batch.waiters) waiter.committed()
  })

  const isUrgent = (): boolean =>
    options.isUrgent !== undefined && collecting.entries.some(options.isUrgent)

  /** The disk has been full for too long. */
  const tellOfStall = (batch: Batch<Entry>) => {
    if (!batch.announced) {
      options.onStalled(batch.entries)
      batch.waiters = batch.waiters.filter((waiter) => waiter.stalled())
    }
    batch.writtenWaiters = batch.writtenWaiters.filter((waiter) => waiter.stalled())
  }

  /** Another server has the journal now: what is not in it never will be, as far as this engine knows. */
  const refuseForEver = Effect.fnUntraced(function* (fenced: Fenced) {
    stalled = true
    isFenced = true
    options.onBroken(new Broken({ operation: "commit", cause: fenced }))
    while (true) {
      for (const waiting of [flushing!, ...sealed, collecting]) tellOfStall(waiting)
      yield* Effect.sleep(limits.noSpaceRetryMs)
    }
  })

  const append = Effect.fnUntraced(function* (batch: Batch<Entry>) {
    const request = {
      firstSequence: batch.firstSequence,
      count: batch.entries.length,
      frames: batch.frames!,
    }
    let stalledSince: number | undefined
    let hadOutage = false
    while (true) {
      const error = yield* Effect.matchEffect(storage.append(request), {
        onSuccess: () => Effect.succeed(undefined),
        onFailure: (failure) => {
          if (failure._tag === "NoSpace") return Effect.succeed(failure)
          return failure._tag === "Fenced" ? refuseForEver(failure) : Effect.fail(failure)
        },
      })
      if (error === undefined) break
      hadOutage = error.outage !== undefined
      const now = Number(clock.monotonicTimeNanosUnsafe()) / 1e6
      if (stalledSince === undefined) {
        stalledSince = now
        stalled = true
        yield* Effect.logError(
          error.outage === undefined
            ? "Disk full: refusing writes until space is free"
            : "The journal's database does not answer: refusing writes until it does",
        ).pipe(
          Effect.annotateLogs({
            operation: error.operation,
            ...(error.outage !== undefined && { cause: error.outage }),
          }),
        )
      }
      if (now - stalledSince >= limits.stalledAnswerMs) {
        for (const waiting of [batch, ...sealed, collecting]) tellOfStall(waiting)
      }
      yield* Effect.sleep(limits.noSpaceRetryMs)
    }
    if (stalled) {
      stalled = false
      yield* Effect.logInfo(
        hadOutage
          ? "The journal's database answers again; accepting writes"
          : "Disk space recovered; accepting writes",
      )
    }
  })

  yield* Effect.gen(function* () {
    while (true) {
      const slept = !hasPending()
      yield* pending
      // As long as more records come with every turn of the event loop, they join the batch; but when turns are
      // long, those that wait already wait no longer than for one.
      const wokenAt = performance.now()
      for (let turn = 0; turn < limits.commitTurnsMax && sealed.length === 0; turn++) {
        // The first record wakes the loop; those of the same turn still come.
        if ((turn > 0 || !slept) && isUrgent()) break
        const before = collecting.entries.length
        yield* yieldToEventLoop
        if (collecting.entries.length === before) break
        if (performance.now() - wokenAt >= limits.commitCollectMs) break
      }
      const { length } = collecting.entries
      const few = length >= limits.commitDelayRecordsMin && length < limits.commitDelayRecordsMax
      if (sealed.length === 0 && few && !isUrgent() && delay.isDue()) {
        yield* pause
        delay.waited(sealed.length > 0 || collecting.entries.length > length)
      }
      if (sealed.length === 0) seal()
      flushing = sealed.shift()!
      if (options.durability === "relaxed") yield* announce(flushing)
      const startedAt = performance.now()
      yield* append(flushing)
      const durationMs = performance.now() - startedAt
      options.onWritten?.(flushing.entries.length, flushing.bytes, durationMs)
      pendingBytes -= flushing.bytes
      shared.bytes -= flushing.bytes
      if (options.durability === "fsync") yield* announce(flushing)
      const { writtenWaiters } = flushing
      flushing = undefined
      for (const waiter of writtenWaiters) waiter.committed()
    }
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.sync(() => {
        if (Cause.hasInterruptsOnly(cause)) return
        options.onBroken(brokenBy("commit", cause))
      }),
    ),
    Effect.forkScoped,
  )

  return commit
})
