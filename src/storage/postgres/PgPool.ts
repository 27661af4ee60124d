/**
 * Several sessions of PostgreSQL: a call uses any free session.
 *
 * - A call or a transaction borrows a session. If none is free it waits in order, and fails after
 *   `answerMs` as if PostgreSQL had not answered; its statement was not sent. Once it has a
 *   session, the deadlines of `PgConnection` apply.
 * - An interrupted call cuts its session, so that the next call does not wait for an answer that
 *   nobody needs.
 * - A session connects when a call needs one more session. The last used session is used first,
 *   since it has prepared statements.
 */
import { Effect, Exit, type Scope } from "effect"
import { limits } from "../../Limits.ts"
import { PartitionRows } from "./PartitionRows.ts"
import {
  type InPostgres,
  PgConnection,
  type PgConnectionOptions,
  PgFailure,
  type Run,
  type Sessions,
} from "./PgConnection.ts"
import { inIndexOrder } from "./PgTables.ts"

export interface PgPoolOptions extends PgConnectionOptions {
  readonly sessions: number
}

export class PgPool implements Sessions {
  readonly #all: ReadonlyArray<PgConnection>
  readonly #free: Array<PgConnection>
  /** The calls that wait for a session, in order. */
  readonly #waiting = new Set<(session: PgConnection) => void>()
  readonly #waitMs: number

  constructor({ sessions, ...options }: PgPoolOptions) {
    this.#all = Array.from({ length: sessions }, () => new PgConnection(options))
    this.#free = [...this.#all]
    this.#waitMs = options.answerMs ?? limits.postgresAnswerMs
  }

  readonly run: Run = (statement) => this.#borrow((session) => session.run(statement))

  readonly transaction: PgConnection["transaction"] = (use) =>
    this.#borrow((session) => session.transaction(use))

  /** Ends all sessions; later calls fail. */
  readonly close: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach(this.#all, (session) => session.close, {
      concurrency: "unbounded",
      discard: true,
    }),
  )

  #borrow<A, E>(
    use: (session: PgConnection) => Effect.Effect<A, E>,
  ): Effect.Effect<A, E | PgFailure> {
    return Effect.suspend(() => {
      // A variable outside the call, since the call may be interrupted at the moment in which it
      // gets a session.
      let lent: PgConnection | undefined
      const take: InPostgres<PgConnection> = Effect.suspend(() => {
        lent = this.#free.pop()
        return lent === undefined ? this.#turn((session) => (lent = session)) : Effect.succeed(lent)
      })
      return Effect.onExit(Effect.flatMap(take, use), (exit) =>
        Effect.sync(() => {
          if (lent === undefined) return
          if (Exit.hasInterrupts(exit)) lent.cut()
          this.#giveBack(lent)
        }),
      )
    })
  }

  #turn(lend: (session: PgConnection) => void): InPostgres<PgConnection> {
    return Effect.callback((resume) => {
      const take = (session: PgConnection): void => {
        leave()
        lend(session)
        resume(Effect.succeed(session))
      }
      const leave = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(take)
      }
      const timer = setTimeout(() => {
        leave()
        const words = `no session of PostgreSQL was free within ${this.#waitMs} ms`
        const code = "timeout"
        resume(Effect.fail(new PgFailure({ code, words, isOutage: true, isRefusal: false })))
      }, this.#waitMs)
      this.#waiting.add(take)
      return Effect.sync(leave)
    })
  }

  #giveBack(session: PgConnection): void {
    const [next] = this.#waiting
    if (next === undefined) this.#free.push(session)
    else next(session)
  }
}

/*
 * The sessions of PostgreSQL that the partitions of a process share. Their number does not depend
 * on the number of partitions.
 *
 * - No session belongs to a partition. The statements of the fence name partition, epoch and place,
 *   and PostgreSQL checks them under the lock of the partition's row. That also holds for a
 *   repeated append whose first attempt may still run in a session that was cut: the later attempt
 *   finds another place and changes nothing.
 * - Appends have separate sessions, and so have the reads of the partitions' rows, by which a
 *   runner knows that it is the owner: neither waits for a large write or an upload.
 * - A named statement has the same text in all files, so a session prepares it once for all
 *   partitions.
 */

export interface PgSessions {
  readonly appends: Sessions
  readonly rows: PartitionRows
  /** For all other statements. */
  readonly others: Sessions
}

/** Opens the sessions. The end of the scope closes them. */
export const openSessions = (
  options: PgConnectionOptions,
): Effect.Effect<PgSessions, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { postgresAppendSessions, postgresOtherSessions } = limits
    const closed = <A extends { readonly close: Effect.Effect<void> }>(make: () => A) =>
      Effect.acquireRelease(Effect.sync(make), (opened) => opened.close)
    const checks = yield* closed(() => new PgConnection(options))
    return {
      appends: yield* closed(() => new PgPool({ ...options, sessions: postgresAppendSessions })),
      rows: new PartitionRows(checks),
      others: yield* closed(
        () => new PgPool({ ...options, session: inIndexOrder, sessions: postgresOtherSessions }),
      ),
    }
  })
