/**
 * The journal of one partition in PostgreSQL, and the fence around it (tables: `schema.ts`).
 *
 * - `claim` raises the epoch: from then on no earlier owner can append. The lock of the partition's
 *   row orders claims and appends, so a claimant reads all records that earlier owners have
 *   acknowledged.
 * - A runner claims because it has the partition's lock (`cluster/RunnerLocks.ts`), but it may have
 *   lost the lock without notice. Then the claim would fence the runner that has the lock by now
 *   and answers reads until it notices the fence. So `claim` checks the lock twice: before the
 *   commit, under the lock of the partition's row, so that a runner that takes the lock later also
 *   claims later; and after the commit, so that a runner that takes the lock later finds this live
 *   owner in the row and waits. `resume` fences nobody, so it checks only afterwards.
 * - An append is one statement and one flush. It changes the partition's row only if epoch, place
 *   and checksum match, and only then inserts the batch. If the statement returns no row, `#settle`
 *   finds out why.
 * - After an outage the caller repeats the append unchanged. If the journal already has a row of
 *   this epoch with the checksum of the batch, the earlier attempt was committed. Before the append
 *   is acknowledged, an additional write waits for the standbys: the lost attempt may not have
 *   waited for them.
 * - There is one append at a time. It completes even if its caller is interrupted.
 *
 * Cost: one round trip and one commit of PostgreSQL per batch. All state belongs to one partition.
 */
import { Effect, Semaphore, type Stream } from "effect"
import { limits } from "../../Limits.ts"
import { toItsEnd } from "../disk/Deadline.ts"
import { batchFault } from "../Frames.ts"
import { batchChecksum, type JournalPosition } from "../journal/SegmentFormat.ts"
import {
  Broken,
  DamagedElsewhere,
  Fenced,
  type JournalBatch,
  type StorageError,
} from "../Storage.ts"
import { formatRefusal } from "./formats.ts"
import { type More, makePartition, type Upload } from "./MakePartition.ts"
import { type ChainedBatch, eraseRows, readBatches, toStorageError } from "./PgBatches.ts"
import { type InPostgres, PgFailure, type Run } from "./PgConnection.ts"
import type { PgSessions } from "./PgPool.ts"

/** The row of a partition. */
export interface PartitionState extends JournalPosition {
  readonly lineage: string
  readonly epoch: number
  readonly owner: string
  /** The oldest record that is kept; without records, the next sequence. */
  readonly firstSequence: number
}

export interface PgJournalOptions {
  /** Shared with other partitions. */
  readonly sessions: PgSessions
  readonly partition: number
  /** Whether PostgreSQL has this runner's lock of the partition; absent: a claim needs no lock. */
  readonly hasLock?: HasLock
}

/** Checks by `run`, which may be part of a transaction. */
export type HasLock = (run: Run) => InPostgres<boolean>

const lockLost = new PgFailure({
  code: "lock",
  words: "This server does not hold the partition's lock in PostgreSQL",
  isOutage: true,
  isRefusal: false,
})

const appendText = `WITH head AS (
  UPDATE laurel_partition SET last = $2::bigint + $3::int - 1, checksum = $6
  WHERE id = $1 AND epoch = $4 AND last = $2::bigint - 1 AND checksum = $5::bigint
  RETURNING id
)
INSERT INTO laurel_journal (partition, first, count, epoch, previous, checksum, frames)
SELECT id, $2, $3, $4, $5, $6, $7 FROM head RETURNING count`

/**
 * The channel that announces a new owner to the other servers. `cluster/Owners.ts` also announces
 * there that the owner takes requests.
 */
export const ownerChannel = "laurel_owner"

const claimText = `WITH claimed AS (
  UPDATE laurel_partition SET epoch = epoch + 1, owner = $2, since = now()
  WHERE id = $1 AND lineage = coalesce($3, lineage) RETURNING epoch, last, checksum
)
SELECT epoch, last, checksum, pg_notify('${ownerChannel}', $1::text) FROM claimed`

// The epoch stays, since nobody else has claimed the partition. The statement corrects the owner
// that other runners read.
const resumeText = `WITH resumed AS (
  UPDATE laurel_partition SET owner = $2 WHERE id = $1 AND epoch = $3 RETURNING id
)
SELECT pg_notify('${ownerChannel}', $1::text) FROM resumed`

const settleText = `SELECT p.epoch, p.last, j.epoch AS row_epoch, j.checksum AS row_checksum
FROM laurel_partition p LEFT JOIN laurel_journal j ON j.partition = p.id AND j.first = $2
WHERE p.id = $1`

// An update without a change is still a commit, and its flush includes all earlier commits.
const confirmText = "UPDATE laurel_partition SET owner = owner WHERE id = $1"

const previousText = "SELECT previous FROM laurel_journal WHERE partition = $1 AND first = $2"

const pruneText = `DELETE FROM laurel_journal WHERE partition = $1 AND first = ANY (ARRAY(
  SELECT first FROM laurel_journal WHERE partition = $1 AND first + count <= $2
  ORDER BY first LIMIT $3
)) AND EXISTS (SELECT FROM laurel_partition WHERE id = $1 AND epoch = $4) RETURNING count`

export class PgJournal {
  readonly #options: PgJournalOptions
  readonly #appending = Semaphore.makeUnsafe(1)
  #owner = ""
  #epoch = 0
  #lastSequence = 0
  #checksum = 0

  constructor(options: PgJournalOptions) {
    this.#options = options
  }

  /** The end of the journal that this owner knows. */
  get position(): JournalPosition {
    return { lastSequence: this.#lastSequence, checksum: this.#checksum }
  }

  get epoch(): number {
    return this.#epoch
  }

  /**
   * Reads the partition's row; `undefined` if there is none. Fails if it has
   * another format.
   */
  readonly read: InPostgres<PartitionState | undefined> = Effect.suspend(() =>
    Effect.flatMap(this.#options.sessions.rows.state(this.#options.partition), (row) => {
      if (row === undefined) return Effect.undefined
      const refusal = formatRefusal(row)
      if (refusal !== undefined) return Effect.fail(refusal)
      return Effect.succeed({
        lineage: String(row.lineage),
        epoch: Number(row.epoch),
        owner: String(row.owner),
        lastSequence: Number(row.last),
        checksum: Number(row.checksum),
        firstSequence: Number(row.first),
      })
    }),
  )

  /**
   * Creates the partition with the batches that `upload` inserts in order: all or nothing. Fails
   * with SQLSTATE 23505 if the partition exists.
   */
  readonly create = <E>(lineage: string, upload: Upload<E>): Effect.Effect<void, PgFailure | E> =>
    makePartition({ ...this.#options, lineage, upload })

  /**
   * Like `create`, but replaces all data that PostgreSQL has of the partition, and fences its
   * owner. Fails with SQLSTATE 23505 if another server replaces the partition at the same time.
   */
  readonly replace = <E>(
    lineage: string,
    upload: Upload<E>,
    more: More<E>,
  ): Effect.Effect<void, PgFailure | E> =>
    makePartition({ ...this.#options, lineage, upload, more, replaces: true })

  /**
   * Makes this server the owner. Returns the end of the journal; `undefined` if the journal has
   * another lineage. A lost lock counts as an outage. The new epoch is greater than any earlier
   * epoch of this object.
   */
  readonly claim = (
    owner: string,
    lineage: string | null = null,
  ): InPostgres<JournalPosition | undefined> =>
    Effect.gen({ self: this }, function* () {
      const { partition, sessions } = this.#options
      const claiming = { text: claimText, values: [partition, owner, lineage] }
      const [row] = yield* sessions.appends.transaction((run) =>
        Effect.tap(run(claiming), this.#needsLock(run)),
      )
      if (row === undefined) return undefined
      yield* this.#needsLock(sessions.appends.run)
      const epoch = Number(row.epoch)
      if (!(epoch > this.#epoch)) {
        return yield* Effect.die(new Error(`the epoch ${epoch} does not follow ${this.#epoch}`))
      }
      this.#owner = owner
      this.#epoch = epoch
      this.#lastSequence = Number(row.last)
      this.#checksum = Number(row.checksum)
      return this.position
    })

  #needsLock(run: Run): InPostgres<void> {
    const { hasLock } = this.#options
    if (hasLock === undefined) return Effect.void
    return Effect.flatMap(hasLock(run), (has) => (has ? Effect.void : Effect.fail(lockLost)))
  }

  /** Whether this server is still the owner. */
  readonly isOwner: InPostgres<boolean> = Effect.suspend(() =>
    Effect.map(
      this.#options.sessions.rows.epoch(this.#options.partition),
      (row) => Number(row?.epoch) === this.#epoch,
    ),
  )

  /**
   * Like `isOwner`, for a server that released the partition and continues because nobody took it:
   * other servers send requests to it again. It is not interruptible: otherwise the statement could
   * run after the next release.
   */
  readonly resume: InPostgres<boolean> = Effect.uninterruptible(
    Effect.gen({ self: this }, function* () {
      const { partition, sessions } = this.#options
      const values = [partition, this.#owner, this.#epoch]
      const { length } = yield* sessions.appends.run({ text: resumeText, values })
      if (length > 0) yield* this.#needsLock(sessions.appends.run)
      return length > 0
    }),
  )

  /**
   * Appends a batch, then calls `onAppended` with it. The calls are in the order of the journal.
   */
  readonly append = (
    batch: JournalBatch,
    onAppended: (batch: JournalBatch) => void = () => {},
  ): Effect.Effect<void, StorageError | Fenced> =>
    toItsEnd(Semaphore.withPermit(this.#appending, this.#append(batch, onAppended)))

  readonly #append = Effect.fnUntraced(function* (
    this: PgJournal,
    batch: JournalBatch,
    onAppended: (batch: JournalBatch) => void,
  ): Effect.fn.Return<void, StorageError | Fenced> {
    const { count, firstSequence, frames } = batch
    const fault = batchFault(batch, this.#lastSequence)
    if (fault !== undefined) {
      return yield* new Broken({ operation: "append", cause: new Error(fault) })
    }
    const previous = this.#checksum
    const checksum = batchChecksum(batch, previous)
    const { partition, sessions } = this.#options
    const values = [partition, firstSequence, count, this.#epoch, previous, checksum, frames]
    const rows = yield* Effect.mapError(
      sessions.appends.run({ name: "append", text: appendText, values }),
      (failure) => toStorageError("append", failure),
    )
    if (rows.length === 0) yield* this.#settle(firstSequence, checksum)
    this.#lastSequence += count
    this.#checksum = checksum
    onAppended(batch)
  }).bind(this)

  /** Succeeds if the batch is already in its place, since an earlier attempt was committed. */
  readonly #settle = Effect.fnUntraced(function* (
    this: PgJournal,
    firstSequence: number,
    checksum: number,
  ): Effect.fn.Return<void, StorageError | Fenced> {
    const { partition, sessions } = this.#options
    const run = (text: string, values: ReadonlyArray<unknown>) =>
      Effect.mapError(sessions.appends.run({ text, values }), (failure) =>
        toStorageError("append", failure),
      )
    const [row] = yield* run(settleText, [partition, firstSequence])
    if (Number(row?.row_epoch) === this.#epoch && Number(row?.row_checksum) === checksum) {
      yield* run(confirmText, [partition])
      return
    }
    if (row !== undefined && Number(row.epoch) !== this.#epoch) {
      return yield* new Fenced({ operation: "append" })
    }
    const words =
      row === undefined
        ? "PostgreSQL has no such partition any more"
        : `PostgreSQL ends with record ${row.last}, but this server has acknowledged up to ${this.#lastSequence}: was a backup restored, or a standby promoted that was behind?`
    // The operator must decide what to do.
    return yield* new Broken({ operation: "append", cause: new DamagedElsewhere(words) })
  }).bind(this)

  /** The batches after `after`, in order, up to the last batch. */
  readonly readBatches = (
    after: JournalPosition,
  ): Stream.Stream<ReadonlyArray<ChainedBatch>, StorageError> =>
    readBatches(this.#options.sessions.others.run, this.#options.partition, after)

  /**
   * The checksum of the batch before the batch that begins with `sequence`; `undefined` if no batch
   * begins there.
   */
  readonly checksumBefore = (sequence: number): InPostgres<number | undefined> =>
    Effect.map(
      this.#options.sessions.others.run({
        text: previousText,
        values: [this.#options.partition, sequence],
      }),
      ([row]) => (row === undefined ? undefined : Number(row.previous)),
    )

  /**
   * Removes batches that hold only records below `sequence`. Does nothing if this server is not the
   * owner any more.
   */
  readonly prune = (sequence: number): InPostgres<void> => {
    const { partition, sessions } = this.#options
    const rows = limits.postgresPruneRows
    return Effect.gen({ self: this }, function* () {
      while (true) {
        const values = [partition, sequence, rows, this.#epoch]
        const removed = yield* sessions.others.run({ name: "prune", text: pruneText, values })
        if (removed.length < rows) return
      }
    })
  }

  /**
   * Erases records of the journal with this lineage, owner or not: they become tombstones, and
   * their batches keep their checksums.
   */
  readonly erase = (
    sequences: ReadonlyArray<number>,
    lineage: string,
  ): Effect.Effect<void, StorageError> => {
    const { partition, sessions } = this.#options
    return eraseRows(sessions.others, { partition, lineage }, sequences)
  }

  /** Ends when no append is in flight. */
  readonly settled: Effect.Effect<void> = Semaphore.withPermit(this.#appending, Effect.void)
}
