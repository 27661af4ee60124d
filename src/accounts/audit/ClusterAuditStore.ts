/**
 * The audit log of a cluster: one table in PostgreSQL for all partitions and servers. Every server
 * can read the whole log, and the log outlives each server. Restores do not change it; `laurel
 * cluster install` writes an entry.
 *
 * - The table has no fence. An entry describes an action under the fence of the journal. If another
 *   server took over between the action and the entry, the entry is still true, and must not be
 *   lost.
 * - Each entry has an id, so that a write whose answer was lost can be repeated. The writer waits
 *   up to `auditWriteMs` for PostgreSQL. After that, only the server's log has the entry.
 * - Pages are sorted by time, then by the order of writing. The clocks of servers may differ; on
 *   one server time never goes back.
 * - Entries expire as in files (`AuditStore.ts`). The owner of the first partition removes expired
 *   entries hourly.
 * - Opening a data directory of a server without a cluster moves the log in its files to the table.
 *   The ids of moved entries come from their contents, so that a
 *   move that is repeated after a crash adds no entry twice.
 *
 * Cost: one statement before an action, and one after it. A page reads at most `auditSearchedMax`
 * entries.
 */
import { createHash, randomUUID } from "node:crypto"
import path from "node:path"
import { Effect, type Scope } from "effect"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { monotonicMs } from "../../storage/disk/Deadline.ts"
import { type Disk, type DiskError, namesIn, removeTree } from "../../storage/disk/Disk.ts"
import { batchOf } from "../../storage/Frames.ts"
import { openJournal } from "../../storage/journal/Journal.ts"
import type { InPostgres, PgFailure, Rows, Sessions } from "../../storage/postgres/PgConnection.ts"
import type { StorageError } from "../../storage/Storage.ts"
import type { AuditEntry, AuditLog, AuditPage, AuditQuery, NewAuditEntry } from "./AuditLog.ts"
import { auditFolder, openAuditStore, tooMany } from "./AuditStore.ts"
import { decodeEntry, EntryFilter, encodeEntry } from "./entryText.ts"
import { HourlyCounts } from "./failedSignIns.ts"

export interface ClusterAuditOptions {
  readonly sessions: Pick<Sessions, "run">
  readonly now: () => number
  /** Default: `auditEntriesMax`. */
  readonly entriesMax?: number
}

const away = laurelError(
  "storage_unavailable",
  "PostgreSQL cannot take an entry of the audit log, so nothing was changed. Try again.",
  { retryAfterSeconds: 5 },
)
const notWritten = laurelError(
  "storage_unavailable",
  "This was done, but the audit log could not be written. The server's log has the entry.",
)
const unreadable = laurelError(
  "storage_unavailable",
  "The audit log cannot be read: PostgreSQL does not answer. Try again.",
  { retryAfterSeconds: 5 },
)

const admitText = "SELECT 1 FROM laurel_audit LIMIT 0"

const writeText = `INSERT INTO laurel_audit (id, at, body)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[]) ON CONFLICT (id) DO NOTHING`

const page = (before: string): string => `SELECT number, at, body FROM laurel_audit
WHERE at >= $1 AND at < $2${before}
ORDER BY laurel_audit.at DESC, laurel_audit.number DESC LIMIT $3`
const newestText = page("")
const beforeText = page(
  " AND (at, number) < (SELECT b.at, b.number FROM laurel_audit b WHERE b.number = $4)",
)

// No entry is before time 0 and number 0.
const afterText = `SELECT number, at, body FROM laurel_audit WHERE (at, number) > ($1::bigint, $2::bigint)
ORDER BY laurel_audit.at, laurel_audit.number LIMIT $3`

const pruneText = `DELETE FROM laurel_audit WHERE at < $1 OR (at, number) <= (
  SELECT b.at, b.number FROM laurel_audit b ORDER BY b.at DESC, b.number DESC OFFSET $2 LIMIT 1
)`

interface Encoded {
  readonly id: string
  readonly at: number
  readonly body: Uint8Array
}

export class ClusterAuditStore implements AuditLog {
  readonly #sessions: Pick<Sessions, "run">
  readonly #now: () => number
  readonly #actions: HourlyCounts
  readonly #entriesMax: number
  #lastAt = 0

  constructor({ entriesMax, now, sessions }: ClusterAuditOptions) {
    this.#entriesMax = entriesMax ?? limits.auditEntriesMax
    this.#sessions = sessions
    this.#now = now
    this.#actions = new HourlyCounts(limits.auditAccountActionsPerHourMax, now)
  }

  readonly admit = (accountId?: string): Effect.Effect<void, LaurelError> =>
    Effect.suspend((): Effect.Effect<void, LaurelError> => {
      if (accountId !== undefined && this.#actions.isFull(accountId)) return Effect.fail(tooMany)
      return this.#sessions.run({ text: admitText }).pipe(
        Effect.tapError(({ words }) =>
          Effect.logWarning("The audit log takes no entry").pipe(
            Effect.annotateLogs({ cause: words }),
          ),
        ),
        Effect.mapBoth({ onFailure: () => away, onSuccess: () => {} }),
      )
    })

  readonly write = (entry: NewAuditEntry): Effect.Effect<void, LaurelError> =>
    Effect.suspend(() => {
      const at = Math.max(this.#lastAt, this.#now())
      this.#lastAt = at
      if (typeof entry.by === "object" && "email" in entry.by) this.#actions.add(entry.by.id)
      return this.#insert([{ id: randomUUID(), at, body: encodeEntry(at, entry) }])
    }).pipe(
      Effect.catch(({ words }: PgFailure) =>
        Effect.logError("An action was not written to the audit log").pipe(
          Effect.annotateLogs({ entry: JSON.stringify(entry), cause: words }),
          Effect.andThen(Effect.fail(notWritten)),
        ),
      ),
    )

  /** Repeats the statement until PostgreSQL answers, for up to `auditWriteMs`. */
  readonly #insert = Effect.fnUntraced(function* (
    this: ClusterAuditStore,
    entries: ReadonlyArray<Encoded>,
  ): Effect.fn.Return<void, PgFailure> {
    const values = [
      entries.map(({ id }) => id),
      entries.map(({ at }) => at),
      entries.map(({ body }) => body),
    ]
    const insert = this.#sessions.run({ name: "write audit", text: writeText, values })
    const deadline = (yield* monotonicMs) + limits.auditWriteMs
    while (true) {
      const written = yield* Effect.result(insert)
      if (written._tag === "Success") return
      const isLate = (yield* monotonicMs) >= deadline
      if (isLate || !written.failure.isOutage) return yield* written.failure
      yield* Effect.sleep(limits.clusterRetryMs)
    }
  }).bind(this)

  readonly read = (query: AuditQuery): Effect.Effect<AuditPage, LaurelError> =>
    this.#search(query).pipe(
      Effect.catch(({ words }: PgFailure) =>
        Effect.logError("The audit log cannot be read").pipe(
          Effect.annotateLogs({ cause: words }),
          Effect.andThen(Effect.fail(unreadable)),
        ),
      ),
    )

  /** `next` is the number of the last searched entry, after which the next page begins. */
  readonly #search = Effect.fnUntraced(function* (
    this: ClusterAuditStore,
    query: AuditQuery,
  ): Effect.fn.Return<AuditPage, PgFailure> {
    const entries: Array<AuditEntry> = []
    const filter = new EntryFilter(query)
    let next = query.before
    let searched = 0
    // Without a filter, the first read returns a whole page.
    let count = limits.auditPageMax + 1
    while (true) {
      const rows = yield* this.#rows(query, next, count)
      for (const { at, body, number } of rows) {
        if (searched === limits.auditSearchedMax) {
          return { entries, next, searchedBackTo: Number(at) }
        }
        searched++
        const record = { sequence: Number(number), previous: 0, body: body as Uint8Array }
        const entry = filter.mayMatch(record) ? decodeEntry(record) : undefined
        if (entry !== undefined && filter.matches(entry)) {
          if (entries.length === limits.auditPageMax) {
            return { entries, next, searchedBackTo: undefined }
          }
          entries.push(entry)
        }
        next = record.sequence
      }
      if (rows.length < count) return { entries, next: undefined, searchedBackTo: undefined }
      count = Math.min(2 * count, limits.auditReadEntriesMax)
    }
  }).bind(this)

  #rows(
    { from = 0, until = Number.MAX_SAFE_INTEGER }: AuditQuery,
    before: number | undefined,
    count: number,
  ): InPostgres<Rows> {
    const oldestAt = Math.max(from, this.#expiredBefore)
    const values = [oldestAt, until, count]
    return before === undefined
      ? this.#sessions.run({ name: "newest audit", text: newestText, values })
      : this.#sessions.run({ name: "audit before", text: beforeText, values: [...values, before] })
  }

  /** The time before which entries have expired. */
  get #expiredBefore(): number {
    return this.#now() - limits.auditKeptMs + 1
  }

  /** Removes expired entries now and then every hour. */
  readonly prune: Effect.Effect<never> = Effect.suspend(() =>
    this.#sessions.run({ text: pruneText, values: [this.#expiredBefore, this.#entriesMax] }),
  ).pipe(
    Effect.catch(({ words }) =>
      Effect.logError("Expired entries of the audit log were not removed").pipe(
        Effect.annotateLogs({ cause: words }),
      ),
    ),
    Effect.andThen(Effect.sleep(limits.auditPruneMs)),
    Effect.forever,
  )

  /**
   * Moves the log of a data directory's files, if there is one, into the table, and removes the
   * files.
   */
  readonly take = (
    disk: Disk,
    directory: string,
  ): Effect.Effect<void, PgFailure | StorageError | DiskError | LaurelError> =>
    Effect.gen({ self: this }, function* () {
      const folder = path.join(directory, auditFolder)
      const names = yield* namesIn(disk, folder)
      if (names.length === 0) return
      const count = yield* Effect.scoped(this.#takeEntries(disk, directory))
      yield* removeTree(disk, folder)
      yield* Effect.logInfo("The audit log of the data directory is in PostgreSQL now").pipe(
        Effect.annotateLogs({ folder, entries: count }),
      )
    })

  /**
   * Writes the log to the files of a new data directory that leaves the cluster. Returns the number
   * of entries.
   */
  readonly copyTo = (
    disk: Disk,
    directory: string,
  ): Effect.Effect<number, PgFailure | StorageError | DiskError> =>
    Effect.gen({ self: this }, function* () {
      const folder = path.join(directory, auditFolder)
      // An earlier attempt may have failed.
      yield* removeTree(disk, folder)
      const { auditPageMax: count, auditSegmentBytes: segmentBytes } = limits
      const journal = yield* openJournal({ disk, folder, segmentBytes, freeSpaceBytesMin: 0 })
      let [at, number]: ReadonlyArray<unknown> = [0, 0]
      while (true) {
        const rows = yield* this.#sessions.run({ text: afterText, values: [at, number, count] })
        const last = rows.at(-1)
        if (last === undefined) return journal.lastSequence
        // One flush for the whole page, which fits in a segment.
        const bodies = rows.map(({ body }) => body as Uint8Array)
        yield* journal.append(batchOf(journal.lastSequence + 1, bodies))
        at = last.at
        number = last.number
      }
    }).pipe(Effect.scoped)

  readonly #takeEntries = Effect.fnUntraced(function* (
    this: ClusterAuditStore,
    disk: Disk,
    directory: string,
  ): Effect.fn.Return<number, PgFailure | StorageError | LaurelError, Scope.Scope> {
    const files = yield* openAuditStore({ disk, directory, now: this.#now, freeSpaceBytesMin: 0 })
    let before: number | undefined
    let count = 0
    do {
      const { entries, next }: AuditPage = yield* files.read({ before })
      yield* this.#insert(entries.toReversed().map(movedEntry))
      count += entries.length
      before = next
    } while (before !== undefined)
    return count
  }).bind(this)
}

const movedEntry = ({ at, sequence, ...entry }: AuditEntry): Encoded => {
  const body = encodeEntry(at, entry)
  const id = createHash("sha256").update(`${sequence} `).update(body).digest("hex")
  return { id, at, body }
}
