/**
 * A runner's state in PostgreSQL: its heartbeat, in a row that the other runners read, and an
 * advisory lock for each partition that it has. One session holds all the locks. `Placement.ts`
 * makes Effect Cluster's storage of them.
 *
 * - A **confirmation** is one statement on this session. It renews the heartbeat, and reads which
 *   locks the session has.
 * - A lock counts as **held** for `lockHeldShare` of the expiration after the begin of the last
 *   confirmation that found it, on a monotonic clock. No other runner claims the partition in that
 *   time: a claim needs the lock, and the owner's heartbeat must be older than the expiration
 *   (`free`). `acquire` checks this again once it has the lock. Without the second check, an owner
 *   whose heartbeat was late, and whose session ended between the check and the acquisition, would
 *   be replaced without its notice.
 * - Effect Cluster gives up all locks of a runner when a confirmation takes 0.3 of the expiration.
 *   So a slow confirmation continues in the background, and until it ends the held locks are the
 *   answer. The next confirmation then begins at once.
 * - After an outage of PostgreSQL all heartbeats are old, and the first runner that reconnects
 *   could take the partitions of all others. So a runner whose own heartbeat was late leaves the
 *   other runners `lockGraceShare` of the expiration to renew theirs.
 * - A lost lock counts as held until a confirmation misses it, and another runner may have it
 *   already. So a claim asks PostgreSQL whether the session has the lock (`hasLock`,
 *   `storage/postgres/PgJournal.ts`). A second lock, which only this runner has, identifies the
 *   session.
 * - A failed confirmation means that the session is lost, with its locks. PostgreSQL ends a session
 *   that was silent for the expiration, for example that of a machine that lost its power.
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
  /** The address of this runner, `host:port`. */
  readonly address: string
  readonly lockExpirationMs: number
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number
}

/** The lock of one partition. */
export interface PartitionLock {
  /** Whether no other runner can have claimed the partition, by the last confirmation. */
  readonly isHeld: () => boolean
  /** Asks PostgreSQL whether this runner has the lock. */
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
// Also deletes the rows of runners that are gone.
const leaveText = `DELETE FROM ${table}
WHERE address = $1 OR ${silentSecondsText} > $2::float8 / 1000`
const presentText = `SELECT FROM ${table}
WHERE address = $1 AND ${silentSecondsText} <= $2::float8 / 1000`

// PostgreSQL shows the two halves of a key as unsigned numbers.
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
// A session can acquire a lock several times, and would have to release it as often.
const acquireText = `WITH sign AS (${signText}), held AS MATERIALIZED (${heldText})
SELECT id, CASE WHEN id IN (SELECT id FROM held) THEN true
  ELSE pg_try_advisory_lock($3::int, ${firstKey} + id) END AS is_held
FROM unnest($4::int[]) AS wanted (id) WHERE ${isSigned}`
const releaseText = `SELECT pg_advisory_unlock($1::int, ${firstKey} + $2::int)`
const takenText = `SELECT p.id FROM laurel_partition p JOIN ${table} r ON r.address = p.owner
WHERE p.owner <> $1 AND ${silentSecondsText} <= $2::float8 / 1000`
const disownText = "UPDATE laurel_partition SET owner = $3 WHERE id = $1 AND owner = $2"

/** The first half of a lock's key (FNV-1a). It differs between the clusters of a database. */
const namespaceOf = (prefix: string): number => {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(`effect-cluster:${prefix}`)) {
    hash = Math.imul(hash ^ byte, 0x01000193)
  }
  return hash | 0
}

/**
 * The prefix of the names of locks. It includes the schema, because locks belong to the whole
 * database.
 */
export const lockPrefix = (schema: unknown): string => `${schema}.${tablePrefix}`

export class RunnerLocks {
  readonly #address: string
  readonly #lockExpirationMs: number
  readonly #heldMs: number
  readonly #now: () => number
  /** Holds the locks. */
  readonly #session: PgConnection
  /**
   * The key of the lock that identifies the session. The number of its process does not: after a
   * restart another session may get it.
   */
  readonly #mark = randomInt(2 ** 48 - 1)
  readonly #markText = `SELECT pg_advisory_lock_shared(${this.#mark})`
  /** For statements that must not wait for a slow confirmation. */
  readonly #others: PgPool
  #namespace = 0
  /** For each lock that the last confirmation found: when that confirmation began. */
  readonly #foundAt = new Map<number, number>()
  /** When the last confirmation began; `undefined` before the first. */
  #signedAt: number | undefined
  /** When the first confirmation after an outage ended. */
  #backAt = Number.NEGATIVE_INFINITY
  #confirming: Fiber.Fiber<void, PgFailure> | undefined
  #isAskedAgain = false
  /**
   * How many times all locks were released. An `acquire` in progress may have lost its locks by
   * that.
   */
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

  /** Open until the scope closes. Closing the scope releases all locks. */
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

  /** Writes the runner's row, and returns its number. */
  readonly register = (runner: string): InPostgres<number> =>
    Effect.map(this.#others.run({ text: registerText, values: [this.#address, runner] }), ([row]) =>
      Number(row?.machine_id),
    )

  readonly unregister: InPostgres<void> = Effect.suspend(() =>
    Effect.asVoid(
      this.#others.run({ text: leaveText, values: [this.#address, this.#lockExpirationMs] }),
    ),
  )

  /** Whether the runner's row exists and its heartbeat is younger than the expiration. */
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

  /**
   * Returns which of the locks are held. While PostgreSQL is slow, this is the result of the last
   * confirmation.
   */
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

  /** Whether the other runners see this runner as alive, by its last confirmation. */
  get #isSigned(): boolean {
    return this.#signedAt === undefined || this.#now() - this.#signedAt < this.#heldMs
  }

  /** Returns which of the partitions no other live runner owns. */
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

  /**
   * Acquires the locks that no other runner has, and keeps those of partitions that are still free
   * then.
   */
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
      // A confirmation that began before the release may have found the lock.
      Effect.ensuring(Effect.sync(() => this.#foundAt.delete(partition))),
    )

  readonly releaseAll: InPostgres<void> = Effect.suspend(() => {
    this.#releasedAll++
    return this.#session.run({ text: `${this.#markText} FROM pg_advisory_unlock_all()` })
  }).pipe(Effect.asVoid, Effect.ensuring(Effect.sync(() => this.#foundAt.clear())))

  /**
   * Replaces this runner as the owner in the fence. While this runner is the owner there, no other
   * runner asks for the lock.
   */
  readonly disown = (partition: number, heir: string): InPostgres<void> =>
    Effect.asVoid(this.#others.run({ text: disownText, values: [partition, this.#address, heir] }))
}
