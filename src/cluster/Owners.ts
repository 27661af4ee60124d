/**
 * The owner of each partition according to the fence, and the live runners. Read at the start, when
 * an owner sends a notification, when a runner answers that it is not the owner (`renew`), and
 * every `ownersReadMs`. Each read also writes how far this runner follows, this runner's row
 * (`RunnerRow.ts`) and the loads of its partitions (`Loads.ts`), and reads which followers have all
 * records.
 *
 * One session of PostgreSQL listens, reads, and holds the advisory lock of the runner's address.
 * Two runners with one address would share one row of Effect Cluster's table, and would receive
 * each other's requests. PostgreSQL ends a session that was silent for the lock's expiration, which
 * frees the address of a machine that lost its power.
 */
import { Effect, type Scope } from "effect"
import { limits } from "../Limits.ts"
import {
  PgConnection,
  PgFailure,
  type Query,
  type Rows,
  type Statement,
  undefinedTable,
} from "../storage/postgres/PgConnection.ts"
import { ownerChannel } from "../storage/postgres/PgJournal.ts"
import { type LoadRow, Loads } from "./Loads.ts"
import { RunnerRow } from "./RunnerRow.ts"
import { silentSecondsText, tablePrefix } from "./status.ts"

/**
 * The object stays the same until the partition has another owner, or the owner announces that it
 * serves.
 */
export interface Owner {
  /** The address of the runner, `host:port`. */
  readonly address: string
  readonly epoch: number
}

export interface OwnersOptions {
  readonly url: string
  readonly address: string
  readonly lockExpirationMs: number
}

/** How far this runner follows a partition. */
export interface Follows {
  readonly partition: number
  readonly lastSequence: number
  readonly behindSeconds: number
}

/** Another runner has this address. */
export class AddressTaken extends Error {
  constructor(address: string) {
    super(`Another server has the address ${address}`)
  }
}

/**
 * The prefix of the notification that an owner serves a partition. The partition's number follows.
 * Any other text announces a claim.
 */
const announcement = "serves "

const ownersText = `SELECT id, owner, epoch::float8 AS epoch,
  last::float8 AS last, load FROM laurel_partition LEFT JOIN laurel_load ON partition = id`
const runnersText = `SELECT address FROM ${tablePrefix}_runners
WHERE ${silentSecondsText} < $1::float8 / 1000 ORDER BY machine_id`
const followsText = `WITH former AS (
  DELETE FROM laurel_follower WHERE runner = $1 AND partition <> ALL ($2::int[])
)
INSERT INTO laurel_follower (partition, runner, last, complete_at)
SELECT partition, $1, last, now() - lag * interval '1 second'
FROM unnest($2::int[], $3::bigint[], $4::float8[]) AS follows (partition, last, lag)
ON CONFLICT (partition, runner) DO UPDATE SET last = EXCLUDED.last, complete_at = EXCLUDED.complete_at`
const caughtUpText = `SELECT partition, runner FROM laurel_follower
WHERE complete_at > now() - $1::float8 / 1000 * interval '1 second'`
// Advisory locks belong to the whole database, which may have clusters in other schemas.
const lockText = `SELECT pg_try_advisory_lock(
  hashtextextended('laurel runner ' || $1 || ' ' || current_schema(), 0)
) AS held`
// This session writes the same rows again a second later, so no write waits for a flush or a
// standby.
const relaxedText = "SET synchronous_commit = off"
const timeoutText = `SELECT set_config(name, $1, false) FROM pg_settings WHERE name = 'idle_session_timeout'`

export class Owners {
  readonly #options: OwnersOptions
  readonly #waiting = new Set<() => void>()
  #owners = new Map<number, Owner>()
  /**
   * The addresses of the live runners, in the order in which they joined: their heartbeats are
   * younger than the lock's expiration.
   */
  runners: ReadonlyArray<string> = []
  /** The partitions that this runner follows. */
  follows: () => ReadonlyArray<Follows> = () => []
  #hasFollowed = true
  readonly row: RunnerRow
  readonly loads = new Loads()
  #caughtUp: ReadonlySet<string> = new Set()
  readonly #connection: PgConnection
  #isAddressTaken = false
  #reading: Promise<void> | undefined
  #isOutdated = false
  #timer: NodeJS.Timeout | undefined
  #closed = false
  /** Called after each change of an owner. */
  onChange: () => void = () => {}
  /** Why the last read failed. `undefined` once a read succeeds. */
  failure: string | undefined

  constructor(options: OwnersOptions) {
    this.#options = options
    this.row = new RunnerRow(options)
    this.#connection = new PgConnection({
      url: options.url,
      listening: { channel: ownerChannel, notified: (text) => this.#notified(text) },
      session: this.#begin,
    })
  }

  of(partition: number): Owner | undefined {
    return this.#owners.get(partition)
  }

  /** Whether a runner follows a partition and had all its records within `followerCaughtUpMs`. */
  isCaughtUp(partition: number, address: string): boolean {
    return this.#caughtUp.has(`${partition} ${address}`)
  }

  /** Ends at the next change or announcement of an owner, or after `ms`. */
  changed(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      this.#waiting.add(end)
    })
  }

  /**
   * Reads the owners. A call during a read starts another read after it, and ends with that read.
   */
  renew(): Promise<void> {
    this.#isOutdated = this.#reading !== undefined
    this.#reading ??= this.#readUntilNew().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /**
   * Tells the other runners that this runner serves the partition now. It has refused requests
   * since its claim, so the others avoid it. If the announcement is lost, they try again after
   * `ownerAvoidedMs`.
   */
  announce(partition: number): void {
    const text = `SELECT pg_notify('${ownerChannel}', $1)`
    this.#run({ text, values: [announcement + partition] }).catch(() => {})
  }

  #notified(text: string): void {
    if (!text.startsWith(announcement)) {
      void this.renew()
      return
    }
    const partition = Number(text.slice(announcement.length))
    const owner = this.#owners.get(partition)
    if (owner !== undefined) this.#owners.set(partition, { ...owner })
    this.#wake()
  }

  #wake(): void {
    for (const end of [...this.#waiting]) end()
  }

  /** Rejects with `AddressTaken`, with `ExpirationDiffers`, or with PostgreSQL's failure. */
  async open(): Promise<void> {
    const deadline = performance.now() + limits.runnerAddressMs
    while (true) {
      try {
        await this.row.insistExpiration(this.#run)
        break
      } catch (error) {
        if (!this.#isAddressTaken) throw error
        if (performance.now() > deadline) throw new AddressTaken(this.#options.address)
        await new Promise((resolve) => setTimeout(resolve, limits.clusterRetryMs))
      }
    }
    await this.renew()
    this.#keepReading()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#wake()
    this.#connection.cut()
    Effect.runFork(this.#connection.close)
  }

  readonly #run = (statement: Statement): Promise<Rows> =>
    Effect.runPromise(this.#connection.run(statement))

  /** Prepares a new session. Each session acquires the lock of the address. */
  readonly #begin = async (query: Query): Promise<void> => {
    const { address, lockExpirationMs } = this.#options
    await query(relaxedText)
    await query(timeoutText, [String(Math.ceil(lockExpirationMs))])
    const [row] = await query(lockText, [address])
    this.#isAddressTaken = row?.held !== true
    if (this.#isAddressTaken) throw new AddressTaken(address)
  }

  #keepReading(): void {
    const ms = Math.min(limits.ownersReadMs, this.#options.lockExpirationMs / 3)
    this.#timer = setTimeout(async () => {
      await this.renew()
      if (!this.#closed) this.#keepReading()
    }, ms)
  }

  async #readUntilNew(): Promise<void> {
    do {
      this.#isOutdated = false
      await this.#read()
    } while (this.#isOutdated && !this.#closed)
  }

  /** Never fails: the known owners stay, and the next read reconnects. */
  async #read(): Promise<void> {
    const from = performance.now()
    const error = await this.#readAll()
    if (error === undefined) return
    // PostgreSQL ends the session of a process that was paused. A new session answers at once.
    const isNew = this.failure === undefined && performance.now() - from < limits.ownersReadMs
    const again = isNew ? await this.#readAll() : error
    if (again !== undefined) this.failure = again instanceof Error ? again.message : String(again)
  }

  /** Returns the error, or `undefined`. */
  async #readAll(): Promise<unknown> {
    try {
      const rows = await this.#run({ text: ownersText })
      this.runners = await this.#readRunners()
      await this.#writeFollows()
      await this.row.write(this.#run)
      const loads = this.loads.read(rows as ReadonlyArray<Record<keyof LoadRow, unknown>>)
      if (loads !== undefined) await this.#run(loads)
      this.#caughtUp = await this.#readCaughtUp()
      this.failure = undefined
      const owners = new Map<number, Owner>()
      let isChanged = false
      for (const row of rows) {
        const read = { address: String(row.owner), epoch: Number(row.epoch) }
        const known = this.#owners.get(Number(row.id))
        const isKnown = known?.epoch === read.epoch && known.address === read.address
        owners.set(Number(row.id), isKnown ? known : read)
        isChanged ||= !isKnown
      }
      this.#owners = owners
      if (isChanged) {
        this.#wake()
        this.onChange()
      }
      return undefined
    } catch (error) {
      this.#connection.cut()
      return error ?? new Error("unknown")
    }
  }

  async #readRunners(): Promise<ReadonlyArray<string>> {
    const values = [this.#options.lockExpirationMs]
    try {
      return (await this.#run({ text: runnersText, values })).map(({ address }) => String(address))
    } catch (error) {
      // No runner has joined yet, so there is no table.
      if (error instanceof PgFailure && error.code === undefinedTable) return []
      throw error
    }
  }

  async #writeFollows(): Promise<void> {
    const follows = this.follows()
    // Rows of an earlier run of this runner, which was killed, are removed with the first write.
    if (follows.length === 0 && !this.#hasFollowed) return
    const values = [
      this.#options.address,
      follows.map(({ partition }) => partition),
      follows.map(({ lastSequence }) => lastSequence),
      follows.map(({ behindSeconds }) => behindSeconds),
    ]
    await this.#run({ text: followsText, values })
    this.#hasFollowed = follows.length > 0
  }

  async #readCaughtUp(): Promise<ReadonlySet<string>> {
    const rows = await this.#run({ text: caughtUpText, values: [limits.followerCaughtUpMs] })
    return new Set(rows.map(({ partition, runner }) => `${partition} ${runner}`))
  }
}

/** Open until the scope closes. */
export const openOwners = (options: OwnersOptions): Effect.Effect<Owners, unknown, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const owners = new Owners(options)
        await owners.open()
        return owners
      },
      catch: (error) => error,
    }),
    (owners) => Effect.sync(() => owners.close()),
  )
