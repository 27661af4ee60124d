/**
 * The audit log on disk: a journal of its own (`storage/journal`) in the folder `audit/` of the
 * data directory, one entry per batch. Archives do not contain the folder, and restores keep it: a
 * restore does not change who did what.
 *
 * - An entry is flushed before `write` succeeds. Ingestion never waits for it, because the log has
 *   its own files.
 * - Entries expire after `auditKeptMs`. If there are more than `auditEntriesMax`, the oldest expire
 *   before. Reads hide expired entries at once. The hourly prune removes whole segments, so an
 *   expired entry stays on disk for at most `auditSegmentMs` and one segment.
 * - The time of an entry is never earlier than the time of the entry before it, so that times can
 *   be found by bisection.
 * - A damaged log does not stop the server: its folder is set aside, and a new log begins with an
 *   entry that says so. A log of another format stops the server.
 *
 * Cost: an append is one write and one flush. A page reads at most `auditSearchedMax` entries, and
 * at most `auditReadEntriesMax` in one turn of the event loop.
 */
import path from "node:path"
import { Effect, type Scope, Semaphore, Stream } from "effect"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import { limits } from "../../Limits.ts"
import { type Disk, DiskError } from "../../storage/disk/Disk.ts"
import { batchOf } from "../../storage/Frames.ts"
import type { Journal } from "../../storage/journal/Journal.ts"
import { openJournal } from "../../storage/journal/Journal.ts"
import {
  type Broken,
  OtherFormat,
  type StorageError,
  type StoredRecord,
  toBroken,
} from "../../storage/Storage.ts"
import type { AuditEntry, AuditLog, AuditPage, AuditQuery, NewAuditEntry } from "./AuditLog.ts"
import { decodeEntry, EntryFilter, encodeEntry } from "./entryText.ts"
import { HourlyCounts } from "./failedSignIns.ts"

export interface AuditStoreOptions {
  readonly disk: Disk
  /** The data directory. */
  readonly directory: string
  readonly now: () => number
  readonly freeSpaceBytesMin?: number
  readonly segmentBytes?: number
}

export const auditFolder = "audit"

const full = laurelError(
  "storage_unavailable",
  "The disk has no space for the audit log, so nothing was changed. Free some space and try again.",
  { retryAfterSeconds: 5 },
)
const failed = laurelError(
  "storage_unavailable",
  "The audit log failed, so nothing was changed. The server's log has the reason; restart the server.",
)
const notWritten = laurelError(
  "storage_unavailable",
  "This was done, but the audit log could not be written. The server's log has the entry.",
)
const unreadable = laurelError(
  "storage_unavailable",
  "The audit log cannot be read. The server's log has the reason.",
)
export const tooMany = laurelError(
  "rate_limited",
  `Your account changed something ${limits.auditAccountActionsPerHourMax} times within an hour. Try again later.`,
  { retryAfterSeconds: 3_600 },
)

/** Opens the log for the surrounding scope. Fails if its folder cannot be used. */
export const openAuditStore = Effect.fnUntraced(function* (
  options: AuditStoreOptions,
): Effect.fn.Return<AuditLog, StorageError, Scope.Scope> {
  const folder = path.join(options.directory, auditFolder)
  const opened = openJournal({
    disk: options.disk,
    folder,
    segmentBytes: options.segmentBytes ?? limits.auditSegmentBytes,
    freeSpaceBytesMin: options.freeSpaceBytesMin ?? limits.freeSpaceBytesMin,
  })
  let aside: string | undefined
  const journal = yield* Effect.catch(opened, (broken) => {
    const { cause } = broken
    if (cause instanceof DiskError || cause instanceof OtherFormat) return Effect.fail(broken)
    aside = `${auditFolder}-damaged-${isoTime(options.now()).replaceAll(":", "-")}`
    return Effect.andThen(setAside(options, aside, broken), opened)
  })
  const store = new AuditStore(options, folder, journal)
  yield* store.begin
  if (aside !== undefined) {
    const told = { ...byServer, action: "log.replace", subject: aside } as const
    yield* Effect.ignore(store.write(told))
  }
  yield* Effect.forkScoped(store.pruneHourly)
  return store
})

const byServer: Omit<NewAuditEntry, "action"> = {
  by: "server",
  subject: "",
  detail: "",
  projectId: null,
  environment: null,
  address: "",
  requestId: "",
}

const setAside = (
  { directory, disk }: AuditStoreOptions,
  name: string,
  { cause }: Broken,
): Effect.Effect<void, Broken> => {
  const moved = disk.rename(path.join(directory, auditFolder), path.join(directory, name))
  return Effect.andThen(moved, disk.syncFolder(directory)).pipe(
    Effect.mapError((error) => toBroken("open", error)),
    Effect.andThen(
      Effect.logError("The audit log is damaged: it was set aside, and a new one begins").pipe(
        Effect.annotateLogs({ folder: path.join(directory, name), cause: String(cause) }),
      ),
    ),
  )
}

class AuditStore implements AuditLog {
  readonly #options: AuditStoreOptions
  readonly #folder: string
  readonly #journal: Journal
  readonly #writing = Semaphore.makeUnsafe(1)
  /** Held by reads and by prunes, so that no prune removes a segment during a read. */
  readonly #reading = Semaphore.makeUnsafe(1)
  readonly #actions: HourlyCounts
  #lastAt = 0
  #broken = false

  constructor(options: AuditStoreOptions, folder: string, journal: Journal) {
    this.#options = options
    this.#folder = folder
    this.#journal = journal
    this.#actions = new HourlyCounts(limits.auditAccountActionsPerHourMax, options.now)
  }

  readonly begin: Effect.Effect<void, StorageError> = Effect.suspend(() =>
    Effect.flatMap(this.#timeOf(this.#journal.lastSequence), (at = 0) => {
      this.#lastAt = at
      return this.#prune
    }),
  )

  readonly admit = (accountId?: string): Effect.Effect<void, LaurelError> =>
    Effect.suspend((): Effect.Effect<void, LaurelError> => {
      if (accountId !== undefined && this.#actions.isFull(accountId)) return Effect.fail(tooMany)
      if (this.#broken) return Effect.fail(failed)
      const { disk, freeSpaceBytesMin, segmentBytes } = this.#options
      // The journal allocates whole segments, and prepares the next segment in advance.
      const needed =
        (freeSpaceBytesMin ?? limits.freeSpaceBytesMin) +
        2 * (segmentBytes ?? limits.auditSegmentBytes)
      return Effect.flatMap(
        Effect.orElseSucceed(disk.freeBytes(this.#folder), () => Number.POSITIVE_INFINITY),
        (free) => (free < needed ? Effect.fail(full) : Effect.void),
      )
    })

  readonly write = (entry: NewAuditEntry): Effect.Effect<void, LaurelError> =>
    Semaphore.withPermit(this.#writing, this.#append(entry)).pipe(
      Effect.catch((error: StorageError) =>
        Effect.logError("An action was not written to the audit log").pipe(
          Effect.annotateLogs({ entry: JSON.stringify(entry), cause: error.message }),
          Effect.andThen(Effect.fail(notWritten)),
        ),
      ),
    )

  readonly #append = Effect.fnUntraced(function* (
    this: AuditStore,
    entry: NewAuditEntry,
  ): Effect.fn.Return<void, StorageError> {
    const at = Math.max(this.#lastAt, this.#options.now())
    const body = encodeEntry(at, entry)
    const sequence = this.#journal.lastSequence + 1
    yield* this.#noted(this.#journal.append(batchOf(sequence, [body])))
    this.#lastAt = at
    if (typeof entry.by === "object" && "email" in entry.by) this.#actions.add(entry.by.id)
    if (sequence % limits.auditReadEntriesMax === 0) yield* this.#pruneOrTell
  }).bind(this)

  readonly read = (query: AuditQuery): Effect.Effect<AuditPage, LaurelError> =>
    Semaphore.withPermit(this.#reading, this.#search(query)).pipe(
      Effect.catch((error: Broken) =>
        Effect.logError("The audit log cannot be read").pipe(
          Effect.annotateLogs({ cause: error.message }),
          Effect.andThen(Effect.fail(unreadable)),
        ),
      ),
    )

  readonly #search = Effect.fnUntraced(function* (
    this: AuditStore,
    query: AuditQuery,
  ): Effect.fn.Return<AuditPage, Broken> {
    const { before = Number.POSITIVE_INFINITY, from = 0, until } = query
    const oldestAt = Math.max(from, this.#expiredBefore(limits.auditKeptMs))
    const last = this.#journal.lastSequence
    const bottom = Math.max(this.#journal.firstSequence, last - limits.auditEntriesMax + 1)
    let top = Math.min(before, last + 1)
    if (until !== undefined) top = Math.min(top, yield* this.#firstSince(until))
    const entries: Array<AuditEntry> = []
    const end = { entries, next: undefined, searchedBackTo: undefined }
    const filter = new EntryFilter(query)
    let searched = 0
    // Without a filter, the first read returns a whole page.
    let count = limits.auditPageMax + 1
    while (top > bottom) {
      const lowest = Math.max(bottom, top - count)
      count = Math.min(2 * count, limits.auditReadEntriesMax)
      for (const record of (yield* this.#records(lowest, top)).toReversed()) {
        const isLast = searched === limits.auditSearchedMax
        searched++
        if (!isLast && !filter.mayMatch(record)) continue
        const entry = decodeEntry(record)
        if (entry.at < oldestAt) return end
        const next = entry.sequence + 1
        if (isLast) return { entries, next, searchedBackTo: entry.at }
        if (!filter.matches(entry)) continue
        if (entries.length === limits.auditPageMax) return { ...end, next }
        entries.push(entry)
      }
      top = lowest
    }
    return end
  }).bind(this)

  readonly pruneHourly: Effect.Effect<never> = Effect.suspend(() =>
    Effect.forever(Effect.andThen(Effect.sleep(limits.auditPruneMs), this.#pruneOrTell)),
  )

  readonly #prune: Effect.Effect<void, StorageError> = Effect.suspend(() =>
    Semaphore.withPermit(
      this.#reading,
      Effect.gen({ self: this }, function* () {
        const { lastSequence } = this.#journal
        if (lastSequence === 0) return
        const expired = yield* this.#firstSince(this.#expiredBefore(limits.auditKeptMs))
        const surplus = lastSequence - limits.auditEntriesMax + 1
        const old = (yield* this.#firstSince(this.#expiredBefore(limits.auditSegmentMs))) - 1
        yield* this.#noted(this.#journal.prune(Math.max(expired, surplus), old))
      }),
    ),
  )

  readonly #pruneOrTell: Effect.Effect<void> = Effect.suspend(() =>
    Effect.catchCause(this.#prune, (cause) =>
      Effect.logError("Expired entries of the audit log were not removed", cause),
    ),
  )

  /** The time before which entries are older than `ms`. */
  #expiredBefore(ms: number): number {
    return this.#options.now() - ms + 1
  }

  /**
   * The number of the first entry at `time` or later, by bisection; if there is none, the number
   * after the last entry.
   */
  readonly #firstSince = Effect.fnUntraced(function* (
    this: AuditStore,
    time: number,
  ): Effect.fn.Return<number, Broken> {
    let low = this.#journal.firstSequence
    let high = this.#journal.lastSequence + 1
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const at = yield* this.#timeOf(middle)
      if (at === undefined || at >= time) high = middle
      else low = middle + 1
    }
    return low
  }).bind(this)

  /** The records from `from` (inclusive) to `until` (exclusive). */
  readonly #records = Effect.fnUntraced(function* (
    this: AuditStore,
    from: number,
    until: number,
  ): Effect.fn.Return<ReadonlyArray<StoredRecord>, Broken> {
    const found: Array<StoredRecord> = []
    if (until <= from || from < this.#journal.firstSequence) return found
    yield* Stream.runForEachWhile(this.#journal.readRecords(from), (records) =>
      Effect.sync(() => {
        for (const record of records) {
          if (record.sequence >= until) return false
          found.push(record)
        }
        return found.length < until - from
      }),
    )
    return found
  }).bind(this)

  /** The time of the entry with this number, epoch milliseconds; `undefined` if there is none. */
  #timeOf(sequence: number): Effect.Effect<number | undefined, Broken> {
    return Effect.map(
      this.#records(sequence, sequence + 1),
      ([record]) => record && decodeEntry(record).at,
    )
  }

  /** Remembers `Broken`, after which the journal accepts no entry. */
  #noted<A>(work: Effect.Effect<A, StorageError>): Effect.Effect<A, StorageError> {
    return Effect.tapError(work, ({ _tag }) =>
      Effect.sync(() => {
        if (_tag === "Broken") this.#broken = true
      }),
    )
  }
}
