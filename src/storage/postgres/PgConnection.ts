/**
 * One session of PostgreSQL. It connects when a statement needs it, and again after a loss.
 * Statements run one at a time, in the order of the calls.
 *
 * - PostgreSQL has `answerMs` to answer a statement, and longer for a large one. Then the
 *   connection is cut. The statement is not cancelled: PostgreSQL can end the wait of a cancelled
 *   statement for a standby and still keep the changes. So after a failure the outcome of a
 *   statement is unknown, and the caller must be able to repeat it.
 * - PostgreSQL may continue a session that was cut: it notices the loss within
 *   `postgresLostSessionMs`, except while it waits for a standby. So the next session ends the
 *   previous one, and this connection never has more than two. A wait for a lock ends before
 *   `answerMs`, and does not cost the session.
 * - A session never acknowledges before the flush, even if the server's default is
 *   `synchronous_commit = off`.
 *
 * `pg` takes less processor time for an append than `postgres` and `@effect/sql-pg`, and can drop a
 * connection without a cancel request.
 */

import { Data, Effect } from "effect"
import pg from "pg"
import { limits } from "../../Limits.ts"

/*
 * The client of one session. The address means the same as for libpq, PostgreSQL's own library:
 * `sslmode=require` encrypts, `verify-ca` also checks the server's certificate against
 * `sslrootcert`, and `verify-full` also checks its host name.
 *
 * By default `pg` treats all three as `verify-full`, and warns that this will change. Each session
 * reads the certificate files, so that a replaced file needs no restart.
 */

/** `options` are options of `pg`. Throws if the address names a file that cannot be read. */
export const newClient = (url: string, options: pg.ClientConfig): pg.Client =>
  new pg.Client({
    ...options,
    connectionString: `${url}${url.includes("?") ? "&" : "?"}uselibpqcompat=true`,
    connectionTimeoutMillis: limits.postgresConnectMs,
  })

/**
 * `code` is PostgreSQL's SQLSTATE, an error code of the operating system or of TLS, or `timeout`.
 */
export class PgFailure extends Data.TaggedError("PgFailure")<{
  readonly code: string
  readonly words: string
  /**
   * PostgreSQL does not answer, or cannot run the statement now: the same statement may succeed
   * later.
   */
  readonly isOutage: boolean
  /**
   * PostgreSQL refuses this user, has no such database, or its certificate is not trusted: only an
   * operator can change that.
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
  /** Time to answer in addition to `answerMs` and the time for the bytes of `values`. */
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
   * Calls `notified` with the text of each notification. Notifications are lost while there is no
   * connection.
   */
  readonly listening?: { readonly channel: string; readonly notified: (text: string) => void }
  /** Runs at the start of each session; a rejection ends the session. */
  readonly session?: (query: Query) => Promise<unknown>
}

export type Query = (text: string, values?: ReadonlyArray<unknown>) => Promise<Rows>

/**
 * Errors of connections, resources, operator intervention, input and output; a rollback because of
 * other transactions; a standby that takes no writes; a transaction that PostgreSQL ended because
 * this process was suspended within it.
 */
const outages = /^(08|53|57|58|40)|^25006$|^25P0[34]$|^55P03$/
const refusals = /^(28|3D)/
/** Errors of certificates, as Node and OpenSSL name them, such as `CERT_HAS_EXPIRED`. */
const untrusted = /^(CERT|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED|INVALID|HOSTNAME|ERR_TLS_CERT)_/

export const failureOf = (error: unknown): PgFailure => {
  if (error instanceof pg.DatabaseError) {
    const code = error.code ?? "XX000"
    const isRefusal = refusals.test(code)
    const isOutage = outages.test(code) || isRefusal
    return new PgFailure({ code, words: `PostgreSQL: ${error.message}`, isOutage, isRefusal })
  }
  // Several addresses of one host name were tried.
  const first = error instanceof AggregateError ? error.errors[0] : error
  const { code = "closed", message } = first as { readonly code?: string; readonly message: string }
  const words = `No connection to PostgreSQL: ${message}`
  return new PgFailure({ code, words, isOutage: true, isRefusal: untrusted.test(code) })
}

/** Ends a session by closing its socket. The types of `pg` do not include the socket. */
export const cut = (client: pg.Client): void => {
  const { connection } = client as unknown as {
    readonly connection: { readonly stream: { destroy(): void } }
  }
  connection.stream.destroy()
}

/** A server that is suspended within a transaction must not hold its row locks forever. */
const idleBound = `SET LOCAL idle_in_transaction_session_timeout = ${limits.postgresTransactionIdleMs}`

const flushing = `SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'`

/** The SQLSTATE of a lock that was not available in time. The session continues. */
const lockNotAvailable = "55P03"

/** The SQLSTATE of a setting that PostgreSQL does not support on its operating system. */
const invalidValue = "22023"

/** The process id alone is not unique: a new process may get the id of an ended one. */
const sessionName = "pid || ' ' || extract(epoch FROM backend_start)"
const nameText = `SELECT ${sessionName} AS name FROM pg_stat_activity WHERE pid = pg_backend_pid()`
const endText = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${sessionName} = $1`

/**
 * The time for the bytes of `values`. Without it, each attempt to write a large value would be cut.
 */
const timeToTake = (values: ReadonlyArray<unknown> = []): number => {
  let bytes = 0
  for (const value of values) if (value instanceof Uint8Array) bytes += value.length
  return answerMsOf(bytes)
}

/** The additional time that PostgreSQL has for a statement with this many bytes. */
export const answerMsOf = (bytes: number): number =>
  Math.floor(bytes / 1_024) * limits.postgresKibibyteAnswerMs

/** Runs statements: on this connection, or on one of several (`PgPool.ts`). */
export type Sessions = Pick<PgConnection, "run" | "transaction">

export class PgConnection {
  readonly #url: string
  readonly #answerMs: number
  readonly #listening: PgConnectionOptions["listening"]
  readonly #session: PgConnectionOptions["session"]
  #client: pg.Client | undefined
  /** The last statement of each client that has not ended. The queue of `pg` is deprecated. */
  readonly #running = new WeakMap<pg.Client, Promise<pg.QueryResult>>()
  #connecting: Promise<pg.Client> | undefined
  /** The name of the last session in PostgreSQL. */
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
   * Runs `use` in a transaction: PostgreSQL keeps all changes or, after a failure, none. An outage
   * during the commit leaves the outcome unknown.
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
        // Only on this session: another session would be outside the transaction.
        const run = this.#on(client)
        return run({ text: "BEGIN" }).pipe(
          Effect.andThen(run({ text: idleBound })),
          Effect.andThen(use(run)),
          Effect.tap(run({ text: "COMMIT" })),
          Effect.onError(() => Effect.sync(() => this.#drop(client))),
        )
      }),
    )

  /** Ends the session without waiting for its statement. A later statement connects again. */
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

  /** Runs statements on `client` only. */
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
    // Without a listener, a lost connection would end the process.
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

  /** Ends the previous session, and bounds how long this session may outlive its connection. */
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
