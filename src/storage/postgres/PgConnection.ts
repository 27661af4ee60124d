/**
 * One session of PostgreSQL, connected when a statement needs it and again after it was lost.
 * Statements run one at a time, in the order of the calls.
 *
 * - PostgreSQL has `answerMs` to answer a statement, and longer for a large one. Then the
 *   connection is cut, not cancelled: PostgreSQL can end the wait for a standby of a cancelled
 *   statement and still keep what the statement wrote. So after a failure the outcome of a
 *   statement is unknown, and the caller must be able to repeat it.
 * - PostgreSQL may go on with a session that was cut: it finds out within `postgresLostSessionMs`,
 *   except while it waits for a standby. So the next session ends the one before it, and this
 *   connection never has more than these two. A wait for a lock ends before `answerMs`, and costs
 *   no session.
 * - A session never acknowledges before the flush, even if the server's default is
 *   `synchronous_commit = off`.
 *
 * `pg` takes less processor time for an append than `postgres` and `@effect/sql-pg`, and lets go of
 * a connection without a cancel request.
 */

import { Data, Effect } from "effect"
import pg from "pg"
import { limits } from "../../Limits.ts"

/*
 * The client of one session, for an address that is read as libpq reads it, PostgreSQL's own
 * library: `sslmode=require` encrypts, `verify-ca` also checks the server's certificate against
 * `sslrootcert`, `verify-full` its host name, too.
 *
 * By default `pg` takes all three for `verify-full`, and warns that this will change. The files of
 * certificates are read with each session, so that a replaced one needs no restart.
 */

/** `options` are those of `pg`; throws where the address names a file that cannot be read. */
export const newClient = (url: string, options: pg.ClientConfig): pg.Client =>
  new pg.Client({
    ...options,
    connectionString: `${url}${url.includes("?") ? "&" : "?"}uselibpqcompat=true`,
    connectionTimeoutMillis: limits.postgresConnectMs,
  })

/** `code` is PostgreSQL's SQLSTATE, or that of the operating system or of TLS, or `timeout`. */
export class PgFailure extends Data.TaggedError("PgFailure")<{
  readonly code: string
  readonly words: string
  /** PostgreSQL does not answer, or cannot now: the same statement may succeed later. */
  readonly isOutage: boolean
  /**
   * PostgreSQL refuses this user, has no such database, or its certificate is not trusted: later
   * only if an operator changes that.
   */
  readonly isRefusal: boolean
}> {
  override get message(): string {
    return this.words
  }
}

/** The SQLSTATE of a table that does not exist. */
export const undefinedTable = "42P01"

export interface Statement {
  /** A named statement is prepared once for each connection. */
  readonly name?: string
  readonly text: string
  readonly values?: ReadonlyArray<unknown>
  /** Beyond those of the connection, and those for the bytes of `values`. */
  readonly moreAnswerMs?: number
}

export type Rows = ReadonlyArray<Record<string, unknown>>
export type InPostgres<A> = Effect.Effect<A, PgFailure>
export type Run = (statement: Statement) => InPostgres<Rows>

export interface PgConnectionOptions {
  /** `postgres://user:password@host:port/database?options`. */
  readonly url: string
  /** Default: `postgresAnswerMs`. */
  readonly answerMs?: number
  /**
   * Calls `notified` with each notification's text; those of the time without a connection are
   * missed.
   */
  readonly listening?: { readonly channel: string; readonly notified: (text: string) => void }
  /** Runs at the begin of each session, which a rejection ends. */
  readonly session?: (query: Query) => Promise<unknown>
}

export type Query = (text: string, values?: ReadonlyArray<unknown>) => Promise<Rows>

/**
 * Connection, resources, operator's intervention, input and output, rollback for other
 * transactions, a standby that does not take writes, and a transaction that PostgreSQL ended since
 * this process stood still within it.
 */
const outages = /^(08|53|57|58|40)|^25006$|^25P0[34]$|^55P03$/
const refusals = /^(28|3D)/
/** Of certificates, as Node and OpenSSL name them, such as `CERT_HAS_EXPIRED`. */
const untrusted = /^(CERT|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED|INVALID|HOSTNAME|ERR_TLS_CERT)_/

export const failureOf = (error: unknown): PgFailure => {
  if (error instanceof pg.DatabaseError) {
    const code = error.code ?? "XX000"
    const isRefusal = refusals.test(code)
    const isOutage = outages.test(code) || isRefusal
    return new PgFailure({ code, words: `PostgreSQL: ${error.message}`, isOutage, isRefusal })
  }
  // Several addresses of one name were tried.
  const first = error instanceof AggregateError ? error.errors[0] : error
  const { code = "closed", message } = first as { readonly code?: string; readonly message: string }
  const words = `No connection to PostgreSQL: ${message}`
  return new PgFailure({ code, words, isOutage: true, isRefusal: untrusted.test(code) })
}

/** Ends a session without a word, by the socket, which the types of `pg`'s client do not have. */
export const cut = (client: pg.Client): void => {
  const { connection } = client as unknown as {
    readonly connection: { readonly stream: { destroy(): void } }
  }
  connection.stream.destroy()
}

/** A server that stands still within a transaction must not hold its rows for ever. */
const idleBound = `SET LOCAL idle_in_transaction_session_timeout = ${limits.postgresTransactionIdleMs}`

const flushing = `SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'`

/** The SQLSTATE of a lock that was not to be had in time: the session goes on. */
const lockNotAvailable = "55P03"

/** A setting that PostgreSQL does not have on its operating system. */
const invalidValue = "22023"

/** Another process may get the number of one that ended. */
const sessionName = "pid || ' ' || extract(epoch FROM backend_start)"
const nameText = `SELECT ${sessionName} AS name FROM pg_stat_activity WHERE pid = pg_backend_pid()`
const endText = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${sessionName} = $1`

/** A large value would otherwise be cut at each attempt. */
const timeToTake = (values: ReadonlyArray<unknown> = []): number => {
  let bytes = 0
  for (const value of values) if (value instanceof Uint8Array) bytes += value.length
  return answerMsOf(bytes)
}

/** Time that PostgreSQL has for so many bytes, beyond that of a statement without any. */
export const answerMsOf = (bytes: number): number =>
  Math.floor(bytes / 1_024) * limits.postgresKibibyteAnswerMs

/** What a call borrows: this connection, or one of several (`PgPool.ts`). */
export type Sessions = Pick<PgConnection, "run" | "transaction">

export class PgConnection {
  readonly #url: string
  readonly #answerMs: number
  readonly #listening: PgConnectionOptions["listening"]
  readonly #session: PgConnectionOptions["session"]
  #client: pg.Client | undefined
  /** The last statement of a client that has not ended. `pg`'s own queue is deprecated. */
  readonly #running = new WeakMap<pg.Client, Promise<pg.QueryResult>>()
  #connecting: Promise<pg.Client> | undefined
  /** PostgreSQL's name of the last session. */
  #name: string | undefined
  #closed = false

  constructor(options: PgConnectionOptions) {
    this.#url = options.url
    this.#answerMs = options.answerMs ?? limits.postgresAnswerMs
    this.#listening = options.listening
    this.#session = options.session
  }

  readonly run: Run = (statement) =>
    Effect.callback((resume) => {
      this.#connected().then(
        (client) => resume(this.#on(client)(statement)),
        (error) => resume(Effect.fail(failureOf(error))),
      )
    })

  /**
   * Runs `use` in a transaction: all of it is kept, or, after a failure, nothing; an outage of its
   * end leaves that unknown.
   */
  readonly transaction = <A, E>(
    use: (run: Run) => Effect.Effect<A, E>,
  ): Effect.Effect<A, E | PgFailure> =>
    Effect.callback<pg.Client, PgFailure>((resume) => {
      this.#connected().then(
        (client) => resume(Effect.succeed(client)),
        (error) => resume(Effect.fail(failureOf(error))),
      )
    }).pipe(
      Effect.flatMap((client) => {
        // On this session alone: another one would be outside the transaction.
        const run = this.#on(client)
        return run({ text: "BEGIN" }).pipe(
          Effect.andThen(run({ text: idleBound })),
          Effect.andThen(use(run)),
          Effect.tap(run({ text: "COMMIT" })),
          Effect.onError(() => Effect.sync(() => this.#drop(client))),
        )
      }),
    )

  /** Ends the session without an answer to what it runs; a later statement connects again. */
  cut(): void {
    if (this.#client !== undefined) this.#drop(this.#client)
  }

  /** Ends the session; later statements fail. */
  readonly close: Effect.Effect<void> = Effect.promise(async () => {
    this.#closed = true
    const client = this.#client
    if (client === undefined) return
    this.#client = undefined
    const timer = setTimeout(() => cut(client), this.#answerMs)
    await client.end().catch(() => {})
    clearTimeout(timer)
  })

  /** Runs statements on one client. */
  readonly #on =
    (client: pg.Client): Run =>
    (statement) =>
      Effect.callback((resume) => {
        if (client !== this.#client) {
          const lost = new Error("the connection was lost")
          return resume(Effect.fail(failureOf(lost)))
        }
        const { moreAnswerMs = 0, values, ...rest } = statement
        const answerMs = this.#answerMs + moreAnswerMs + timeToTake(values)
        const timer = setTimeout(() => {
          this.#drop(client)
          const words = `PostgreSQL did not answer within ${answerMs} ms`
          const code = "timeout"
          resume(Effect.fail(new PgFailure({ code, words, isOutage: true, isRefusal: false })))
        }, answerMs)
        const query = { ...rest, ...(values !== undefined && { values: [...values] }) }
        const send = () => client.query(query)
        const before = this.#running.get(client)
        const running = before === undefined ? send() : before.then(send, send)
        this.#running.set(client, running)
        const settle = (outcome: Effect.Effect<Rows, PgFailure>) => {
          clearTimeout(timer)
          if (this.#running.get(client) === running) this.#running.delete(client)
          resume(outcome)
        }
        running.then(
          ({ rows }) => settle(Effect.succeed(rows)),
          (error) => {
            const failure = failureOf(error)
            if (failure.isOutage && failure.code !== lockNotAvailable) this.#drop(client)
            settle(Effect.fail(failure))
          },
        )
      })

  #connected(): Promise<pg.Client> {
    if (this.#closed) return Promise.reject(new Error("the connection is closed"))
    if (this.#client !== undefined) return Promise.resolve(this.#client)
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #connect(): Promise<pg.Client> {
    const client = newClient(this.#url, { application_name: "laurel", keepAlive: true })
    // Without a listener a lost connection would end the process.
    client.on("error", () => this.#drop(client))
    const timer = setTimeout(() => cut(client), limits.postgresConnectMs + this.#answerMs)
    try {
      await client.connect()
      await this.#bound(client)
      await client.query(flushing)
      await this.#session?.(
        async (text, values = []) => (await client.query(text, [...values])).rows,
      )
      await this.#listen(client)
    } catch (error) {
      cut(client)
      throw error
    } finally {
      clearTimeout(timer)
    }
    if (this.#closed) {
      cut(client)
      throw new Error("the connection is closed")
    }
    this.#client = client
    return client
  }

  /** Ends the session before this one, and bounds how long this one may outlive its connection. */
  async #bound(client: pg.Client): Promise<void> {
    if (this.#name !== undefined) await client.query(endText, [this.#name])
    const { rows } = await client.query<{ name: string }>(nameText)
    this.#name = rows[0]?.name
    const lockMs = Math.ceil(this.#answerMs * limits.postgresLockShare)
    await client.query(`SET lock_timeout = ${lockMs}`)
    const interval = `SET client_connection_check_interval = ${limits.postgresLostSessionMs}`
    await client.query(interval).catch((error) => {
      if (!(error instanceof pg.DatabaseError) || error.code !== invalidValue) throw error
    })
  }

  async #listen(client: pg.Client): Promise<void> {
    if (this.#listening === undefined) return
    const { channel, notified } = this.#listening
    client.on("notification", ({ payload = "" }) => notified(payload))
    await client.query(`LISTEN ${channel}`)
  }

  #drop(client: pg.Client): void {
    if (this.#client === client) this.#client = undefined
    cut(client)
  }
}
