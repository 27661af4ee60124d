/**
 * What PostgreSQL knows of a runner: its sign of life, in a row that the others read, and an advisory lock for each partition
 * that it has, all of one session. `Placement.ts` makes Effect Cluster's storage of them.
 *
 * - A **confirmation** is one statement on the session: it renews the sign of life, and reads which locks the session has.
 * - A lock is **held** for `lockHeldShare` of the expiration after the begin of the last confirmation that found it, on a clock
 *   that only goes forward. Meanwhile no other runner claims the partition: it does so only with the lock, and where the owner's
 *   sign of life is as old as the expiration (`free`), which it asks once more when it has the lock. Else the owner, whose
 *   sign of life was late and whose session ended in between, would be replaced without its notice.
 * - Effect Cluster gives up all locks of a runner when a confirmation takes 0.3 of the expiration. So a slow one goes on, and
 *   the locks that are held are the answer until it ends. The next one begins at once then.
 * - After an outage of PostgreSQL all signs of life are old, and the first runner to come back would take what the others own. So
 *   a runner whose own sign was late gives them `lockGraceShare` of the expiration to renew theirs.
 * - Until the loss of a lock is noticed, it is held by this clock, and another runner may have it. So a claim asks PostgreSQL
 *   (`hasLock`, `storage/postgres/PgJournal.ts`), which knows the session by a lock that only this runner has.
 * - A confirmation that fails is a failure: the session is lost, and its locks with it. PostgreSQL ends a session that was
 *   silent for the expiration, such as that of a machine that lost its power.
 *
 * Table and locks are those of Effect Cluster's own storage, which earlier versions use beside this one.
 */
import { randomInt } from "node:crypto"
import { Effect, Fiber, Option, type Scope } from "effect"
import { limits } from "../Limits.ts"
import { type InPostgres, PgConnection, type PgFailure } from "../storage/postgres/PgConnection.ts"
import type { HasLock } from "../storage/postgres/PgJournal.ts"
import { PgPool } from "../storage/postgres/PgPool.ts"
import { silentSecondsText, tablePrefix } from "./status.ts"

export interface RunnerLocksOptions {
  readonly url: string
  /** Of this runner, `host:port`. */
  readonly address: string
  readonly lockExpirationMs: number
  /** Milliseconds, on a clock that only goes forward. */
  readonly now?: () => number
}

/** The lock of one partition. */
export interface PartitionLock {
  /** Whether no other runner can have claimed the partition, as far as this one knows. */
  readonly isHeld: () => boolean
  /** Whether PostgreSQL has the lock for this runner. */
  readonly hasLock: HasLock
}

const table = `${tablePrefix}_runners`
/** The key of partition 0. */
const firstKey = 1_000_000

const registerText = `INSERT INTO ${table} (address, runner, last_heartbeat, healthy)
VALUES ($1, $2, now() AT TIME ZONE 'UTC', true)
ON CONFLICT (address) DO UPDATE
SET runner = EXCLUDED.runner, last_heartbeat = EXCLUDED.last_heartbeat, healthy = true
RETURNING machine_id`
// With those of runners that are gone.
const leaveText = `DELETE FROM ${table}
WHERE address = $1 OR ${silentSecondsText} > $2::float8 / 1000`
const presentText = `SELECT FROM ${table}
WHERE address = $1 AND ${silentSecondsText} <= $2::float8 / 1000`

// PostgreSQL shows the two halves of a key as numbers without a sign.
const heldText = `SELECT objid::bigint - ${firstKey} AS id FROM pg_locks
WHERE locktype = 'advisory' AND granted AND classid = $2::bigint::oid AND objsubid = 2 AND pid = pg_backend_pid()`
const signText = `UPDATE ${table} SET last_heartbeat = now() AT TIME ZONE 'UTC' WHERE address = $1 RETURNING 1`
const isSigned = "EXISTS (SELECT FROM sign)"
const confirmText = `WITH sign AS (${signText}) ${heldText} AND ${isSigned}`
const hasLockText = `SELECT FROM pg_locks held JOIN pg_locks mark USING (pid)
WHERE held.locktype = 'advisory' AND held.granted AND held.classid = $1::bigint::oid
AND held.objid::bigint = ${firstKey} + $2::int AND held.objsubid = 2
AND mark.locktype = 'advisory' AND mark.objsubid = 1
AND (mark.classid::bigint << 32 | mark.objid::bigint) = $3::bigint`
// A session can have a lock several times: each would have to be released.
const acquireText = `WITH sign AS (${signText}), held AS MATERIALIZED (${heldText})
SELECT id, CASE WHEN id IN (SELECT id FROM held) THEN true
  ELSE pg_try_advisory_lock($3::int, ${firstKey} + id) END AS is_held
FROM unnest($4::int[]) AS wanted (id) WHERE ${isSigned}`
const releaseText = `SELECT pg_advisory_unlock($1::int, ${firstKey} + $2::int)`
const takenText = `SELECT p.id FROM laurel_partition p JOIN ${table} r ON r.address = p.owner
WHERE p.owner <> $1 AND ${silentSecondsText} <= $2::float8 / 1000`
const disownText = "UPDATE laurel_partition SET owner = $3 WHERE id = $1 AND owner = $2"

/** The first half of a lock's key (FNV-1a), which tells the locks of a database's clusters apart. */
const namespaceOf = (prefix: string): number => {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(`effect-cluster:${prefix}`)) {
    hash = Math.imul(hash ^ byte, 0x01000193)
  }
  return hash | 0
}

/** The prefix names the locks, too, which belong to the whole database: clusters in other schemas have others. */
export const lockPrefix = (schema: unknown): string => `${schema}.${tablePrefix}`

export class RunnerLocks {
  readonly #address: string
  readonly #lockExpirationMs: number
  readonly #heldMs: number
  readonly #now: () => number
  /** Has the locks. */
  readonly #session: PgConnection
  /** The session's lock, by which PostgreSQL knows it: another one may get the number of its process after a restart. */
  readonly #mark = randomInt(2 ** 48 - 1)
  readonly #markText = `SELECT pg_advisory_lock_shared(${this.#mark})`
  /** Nothing here waits for a slow confirmation. */
  readonly #others: PgPool
  #namespace = 0
  /** Of each lock that the last confirmation found: when that began. */
  readonly #foundAt = new Map<number, number>()
  /** When the last confirmation began; `undefined` before the first. */
  #signedAt: number | undefined
  /** When the first one after an outage ended. */
  #backAt = Number.NEGATIVE_INFINITY
  #confirming: Fiber.Fiber<void, PgFailure> | undefined
  #isAskedAgain = false
  /** How often all locks were released: an `acquire` under way may have lost its locks by that. */
  #releasedAll = 0

  private constructor({ address, lockExpirationMs, now, url }: RunnerLocksOptions) {
    this.#address = address
    this.#lockExpirationMs = lockExpirationMs
    this.#heldMs = lockExpirationMs * limits.lockHeldShare
    this.#now = now ?? (() => performance.now())
    this.#session = new PgConnection({
      url,
      answerMs: Math.min(limits.postgresAnswerMs, this.#heldMs),
      session: (query) =>
        query(`SET idle_session_timeout = ${Math.ceil(lockExpirationMs)}; ${this.#markText}`),
    })
    this.#others = new PgPool({ url, sessions: limits.clusterConnectionsMax - 1 })
  }

  /** Until the scope closes, which releases all locks. */
  static readonly open = (
    options: RunnerLocksOptions,
  ): Effect.Effect<RunnerLocks, PgFailure, Scope.Scope> =>
    Effect.gen(function* () {
      const locks = new RunnerLocks(options)
      yield* Effect.addFinalizer(() => Effect.andThen(locks.#session.close, locks.#others.close))
      const [row] = yield* locks.#others.run({ text: "SELECT current_schema() AS schema" })
      locks.#namespace = namespaceOf(lockPrefix(row?.schema))
      return locks
    })

  /** Makes the runner's row; its number. */
  readonly register = (runner: string): InPostgres<number> =>
    Effect.map(this.#others.run({ text: registerText, values: [this.#address, runner] }), ([row]) =>
      Number(row?.machine_id),
    )

  readonly unregister: InPostgres<void> = Effect.suspend(() =>
    Effect.asVoid(
      this.#others.run({ text: leaveText, values: [this.#address, this.#lockExpirationMs] }),
    ),
  )

  /** Whether the runner's row is there, and new enough. */
  readonly isPresent: InPostgres<boolean> = Effect.suspend(() =>
    Effect.map(
      this.#others.run({ text: presentText, values: [this.#address, this.#lockExpirationMs] }),
      ({ length }) => length > 0,
    ),
  )

  /** Whether no other runner can have claimed the partition. */
  readonly isHeld = (partition: number): boolean =>
    this.#now() - (this.#foundAt.get(partition) ?? Number.NEGATIVE_INFINITY) < this.#heldMs

  of(partition: number): PartitionLock {
    const values = [this.#namespace >>> 0, partition, this.#mark]
    return {
      isHeld: () => this.isHeld(partition),
      hasLock: (run) => Effect.map(run({ text: hasLockText, values }), ({ length }) => length > 0),
    }
  }

  /** Which of the locks are held; while PostgreSQL is slow, by what it last said. */
  readonly confirmed = (partitions: ReadonlyArray<number>): InPostgres<ReadonlyArray<number>> =>
    Effect.gen({ self: this }, function* () {
      const confirming = Fiber.join(this.#confirm())
      const waitMs = this.#lockExpirationMs * limits.lockWaitShare
      const isSlow = Option.isNone(yield* Effect.timeoutOption(confirming, waitMs))
      if (isSlow && !partitions.some(this.isHeld)) yield* confirming
      return partitions.filter(this.isHeld)
    })

  #confirm(): Fiber.Fiber<void, PgFailure> {
    if (this.#confirming !== undefined) {
      this.#isAskedAgain = true
      return this.#confirming
    }
    const askedAt = this.#now()
    const values = [this.#address, this.#namespace >>> 0]
    const confirming = Effect.runFork(
      this.#session.run({ name: "confirm", text: confirmText, values }).pipe(
        Effect.flatMap((rows) => {
          if (!this.#isSigned) this.#backAt = this.#now()
          this.#signedAt = askedAt
          this.#foundAt.clear()
          for (const { id } of rows) this.#foundAt.set(Number(id), askedAt)
          return Effect.void
        }),
        Effect.onExit(() =>
          Effect.sync(() => {
            this.#confirming = undefined
            if (!this.#isAskedAgain) return
            this.#isAskedAgain = false
            this.#confirm()
          }),
        ),
      ),
    )
    this.#confirming = confirming
    return confirming
  }

  /** Whether others have this runner for alive, as far as it knows. */
  get #isSigned(): boolean {
    return this.#signedAt === undefined || this.#now() - this.#signedAt < this.#heldMs
  }

  /** Which of the partitions no other runner that is alive owns. */
  readonly free = (partitions: ReadonlyArray<number>): InPostgres<ReadonlyArray<number>> =>
    Effect.suspend(() => {
      const graceMs = this.#lockExpirationMs * limits.lockGraceShare
      const waits = !this.#isSigned || this.#now() - this.#backAt < graceMs
      const silentMs = waits ? Number.POSITIVE_INFINITY : this.#lockExpirationMs
      return Effect.map(
        this.#others.run({ text: takenText, values: [this.#address, silentMs] }),
        (rows) => {
          const taken = new Set(rows.map(({ id }) => Number(id)))
          return partitions.filter((id) => !taken.has(id))
        },
      )
    })

  /** Takes the locks that no other runner has, of partitions that are still free then. */
  readonly acquire = (partitions: ReadonlyArray<number>): InPostgres<ReadonlyArray<number>> =>
    Effect.gen({ self: this }, function* () {
      const askedAt = this.#now()
      const times = this.#releasedAll
      const rows = yield* this.#session.run({
        text: acquireText,
        values: [this.#address, this.#namespace >>> 0, this.#namespace, partitions],
      })
      const acquired = rows.filter((row) => row.is_held === true).map(({ id }) => Number(id))
      if (acquired.length === 0) return []
      const free = yield* this.free(acquired)
      const kept = times === this.#releasedAll ? free : []
      for (const id of acquired.filter((each) => !kept.includes(each))) yield* this.release(id)
      for (const id of kept) this.#foundAt.set(id, Math.max(askedAt, this.#foundAt.get(id) ?? 0))
      return kept
    })

  readonly release = (partition: number): InPostgres<void> =>
    this.#session.run({ text: releaseText, values: [this.#namespace, partition] }).pipe(
      Effect.asVoid,
      // A confirmation before it has found the lock.
      Effect.ensuring(Effect.sync(() => this.#foundAt.delete(partition))),
    )

  readonly releaseAll: InPostgres<void> = Effect.suspend(() => {
    this.#releasedAll++
    return this.#session.run({ text: `${this.#markText} FROM pg_advisory_unlock_all()` })
  }).pipe(Effect.asVoid, Effect.ensuring(Effect.sync(() => this.#foundAt.clear())))

  /** The fence may have this runner as the owner already: as long as it has, no other runner asks for the lock. */
  readonly disown = (partition: number, heir: string): InPostgres<void> =>
    Effect.asVoid(this.#others.run({ text: disownText, values: [partition, this.#address, heir] }))
}
