/**
 * The storage of a data directory: `lock`, `journal/` (segments) and `live/` (LMDB). Opened in this
 * order and closed in reverse, so that the journal's clean mark follows LMDB's last write.
 */
import path from "node:path"
import { Effect, Layer, Random, type Scope } from "effect"
import { limits } from "../../Limits.ts"
import type { Metrics } from "../../metrics/Metrics.ts"
import { settleSwap } from "../archive/ArchiveSwap.ts"
import { GatheredJournals } from "../archive/GatheredJournals.ts"
import { withDeadline } from "../disk/Deadline.ts"
import { lockDirectory } from "../disk/DirectoryLock.ts"
import type { Disk, DiskError, OnDisk } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import type { Journal } from "../journal/Journal.ts"
import { openJournal } from "../journal/Journal.ts"
import { removeOldCuts } from "../journal/JournalRecovery.ts"
import type { DoSegmentWork } from "../journal/Seal.ts"
import type { Sealer } from "../journal/Sealer.ts"
import { segmentWorkOf } from "../journal/SealThread.ts"
import type { JournalPosition } from "../journal/SegmentFormat.ts"
import { openLmdbStore } from "../lmdb/LmdbStore.ts"
import { Broken, Storage } from "../Storage.ts"

export interface DurableStorageOptions {
  /** Created if missing. */
  readonly directory: string
  /** Where the journal lives; LMDB and the lock are always on the real disk. */
  readonly disk?: Disk
  /**
   * Makes all ended writes durable; only for a `disk` whose durable writes are not durable at once.
   */
  readonly flush?: OnDisk<void>
  readonly segmentBytes?: number
  readonly freeSpaceBytesMin?: number
  /** Progress of the check of the snapshot, in entries. */
  readonly onChecking?: (done: number, total: number) => void
  readonly metrics?: Metrics | undefined
  /** Absent: in a thread, or with `disk` in this thread. */
  readonly workOnSegment?: DoSegmentWork
}

/** An open data directory: the `Storage` service, and functions that only this storage has. */
export interface OpenedStorage {
  readonly storage: Storage["Service"]
  /** The end of the durable journal. */
  readonly position: () => JournalPosition
  /** The opening checked the whole snapshot. */
  readonly isChecked: boolean
  /** Unpins the pages of readers whose process died. */
  readonly forgetDeadReaders: Effect.Effect<void>
}

/**
 * Opens a data directory for the surrounding scope. Fails when it is in use, damaged or not
 * writable.
 */
export const open = Effect.fnUntraced(function* (
  options: DurableStorageOptions,
): Effect.fn.Return<OpenedStorage, Broken, Scope.Scope> {
  const directory = path.resolve(options.directory)
  const live = path.join(directory, "live")
  const opening = Effect.mapError((cause: DiskError) => new Broken({ operation: "open", cause }))
  yield* opening(nodeDisk.makeFolder(directory))
  yield* lockDirectory(directory)
  yield* opening(settleSwap(nodeDisk, directory))
  yield* opening(nodeDisk.makeFolder(live))
  const freeSpaceBytesMin = options.freeSpaceBytesMin ?? limits.freeSpaceBytesMin
  const journal = yield* openJournal({
    disk: options.disk ?? nodeDisk,
    folder: path.join(directory, "journal"),
    segmentBytes: options.segmentBytes ?? limits.segmentBytes,
    freeSpaceBytesMin,
    ...(options.flush !== undefined && { flush: options.flush }),
    workOnSegment: options.workOnSegment ?? segmentWorkOf(options.disk),
    onFlushed: options.metrics && flushesOf(options.metrics),
  })
  yield* keepFlushedMark(journal)
  yield* Effect.forkScoped(keepSealed(journal.sealer))
  yield* Effect.forkScoped(scrub(journal.sealer))
  const cuts = removeOldCuts(options.disk ?? nodeDisk, path.join(directory, "journal"))
  // After a failure the next run tries again.
  const removed = Effect.andThen(Effect.ignore(cuts), Effect.sleep(limits.leftoverSweepMs))
  yield* Effect.forkScoped(Effect.forever(removed))
  const gathered = yield* GatheredJournals.open(nodeDisk, directory)
  const entries = yield* openLmdbStore({
    folder: live,
    freeSpaceBytesMin,
    uncleanShutdown: !journal.wasClosed,
    ...(options.onChecking !== undefined && { onChecking: options.onChecking }),
  })
  const storage = Storage.of({
    lastSequence: journal.lastSequence,
    firstSequence: Effect.sync(() => journal.firstSequence),
    segments: Effect.sync(() => journal.segments),
    append: (batch) => {
      // LMDB is written only after an append. If the opening started the thread, a server would
      // start later.
      entries.startWriter()
      return journal.append(batch)
    },
    readRecords: journal.readRecords,
    readRecord: (sequence, work, environment) =>
      (gathered.journalOf(environment, sequence) ?? journal).readRecord(sequence, work),
    journalOf: (environment, sequence) => gathered.journalOf(environment, sequence),
    eraseRecords: (sequences, environment) =>
      (gathered.journalOf(environment, sequences[0]!) ?? journal).sealer.erase(sequences),
    prune: journal.prune,
    writeEntries: entries.writeEntries,
    readEntry: entries.readEntry,
    readEntries: entries.readEntries,
    readBlocks: entries.readBlocks,
  })
  return {
    storage,
    position: () => journal.position,
    isChecked: entries.isChecked,
    forgetDeadReaders: entries.forgetDeadReaders,
  }
})

export const flushesOf = (metrics: Metrics): ((durationMs: number) => void) => {
  const durations = metrics.histogram("laurel_journal_flush_duration_seconds")
  return (durationMs) => durations.observe(durationMs / 1_000)
}

/** Seals full segments, which it looks for every `sealIntervalMs`. */
export const keepSealed = (sealer: Pick<Sealer, "sealNext">): Effect.Effect<never> =>
  Effect.gen(function* () {
    while (true) {
      yield* Effect.catchCause(Effect.repeat(sealer.sealNext, { while: (more) => more }), (cause) =>
        Effect.logWarning("A full segment of the journal was not sealed, and stays plain", cause),
      )
      yield* Effect.sleep(limits.sealIntervalMs)
    }
  })

/** Reads each sealed segment once in `scrubIntervalMs`. A restart goes on anywhere. */
export const scrub = (sealer: Pick<Sealer, "sealed" | "verify">): Effect.Effect<never> =>
  Effect.gen(function* () {
    let last = (sealer.sealed.at(-1) ?? 0) * (yield* Random.next)
    while (true) {
      yield* Effect.sleep(limits.scrubIntervalMs / Math.max(1, sealer.sealed.length))
      const { sealed } = sealer
      const next = sealed.find((first) => first > last) ?? sealed[0]
      if (next === undefined) continue
      last = next
      yield* Effect.catchCause(sealer.verify(next), (cause) =>
        Effect.logError(
          "A sealed segment of the journal is damaged: only reads of its damaged records fail. Replace the file by that of an archive or of another server",
          cause,
        ),
      )
    }
  })

/** Writes the flushed mark now, every `flushedMarkMs` and at the end. */
const keepFlushedMark = Effect.fnUntraced(function* (
  journal: Journal,
): Effect.fn.Return<void, never, Scope.Scope> {
  let isTold = false
  const told = (cause: DiskError) => {
    if (isTold) return Effect.void
    isTold = true
    return Effect.logWarning("Writing the flushed mark of the journal failed").pipe(
      Effect.annotateLogs({ cause: cause.message }),
    )
  }
  // Detached: if the file closed during the write, its descriptor could belong to another file.
  const marked = withDeadline("mark", Effect.catch(journal.markFlushed, told), () => {})
  const mark = Effect.ignore(marked)
  yield* mark
  yield* Effect.addFinalizer(() => mark)
  yield* Effect.forkScoped(
    Effect.gen(function* () {
      while (true) {
        yield* Effect.sleep(limits.flushedMarkMs)
        yield* mark
      }
    }),
  )
})

/** `open` for callers that need only the `Storage` service. */
export const make = (
  options: DurableStorageOptions,
): Effect.Effect<Storage["Service"], Broken, Scope.Scope> =>
  Effect.map(open(options), ({ storage }) => storage)

export const layer = (options: DurableStorageOptions): Layer.Layer<Storage, Broken> =>
  Layer.effect(Storage, make(options))
